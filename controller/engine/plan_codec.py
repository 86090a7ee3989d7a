"""Plans as canonical JSON, so that equal plans are equal bytes in the store.

A plan that differs from one in the store by some weights only is stored as these (`encode_change`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from controller.optimizer.plan import (
    Certificate,
    MadeFor,
    Pin,
    PlacedFlow,
    PlacementKey,
    Plan,
    PlannedEgress,
    PlannedTree,
    Retired,
)

FORMAT = 3
WITHOUT_PINS = 2


def encode(plan: Plan) -> bytes:
    """UTF-8 JSON with its id, then the other keys sorted, and no spaces."""
    return numbered(plan.id, body(plan))


def numbered(plan_id: int, body: bytes) -> bytes:
    """The document of a plan whose id was not known when its body was made."""
    return b'{"id":%d,' % plan_id + body[1:]


def encode_change(base: Plan, plan: Plan) -> bytes:
    """What of ``plan`` is not in ``base``: only id, versions, weights, loads and certificate may
    differ."""
    before = base.weights
    changed = [
        [*key, sorted(row.items())] for key, row in plan.weights.items() if row is not before[key]
    ]
    document = {
        "format": FORMAT,
        "id": plan.id,
        "base": base.id,
        "made_from": plan.made_from,
        "weights": changed,
        "load_bps": [
            [*port, bps] for port, bps in plan.load_bps.items() if bps != base.load_bps.get(port)
        ],
        "certificate": asdict(plan.certificate),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def decode_change(base: Plan, data: bytes) -> Plan:
    """The plan that was encoded; ``base`` itself if the change is one of another plan. Raises
    ValueError when ``data`` is none, or of another format."""
    try:
        document: dict[str, Any] = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']!r}")
        if document["base"] != base.id:
            return base
        fabric, demands, link_state = document["made_from"]
        weights = {
            PlacementKey(ingress, tuple(egress), name): dict(row)
            for ingress, egress, name, row in document["weights"]
        }
        return replace(
            base,
            id=document["id"],
            made_from=(fabric, demands, link_state),
            weights={**base.weights, **weights},
            load_bps={
                **base.load_bps,
                **{(switch, port): bps for switch, port, bps in document["load_bps"]},
            },
            certificate=_certificate(**document["certificate"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"stored change of a plan: damaged ({error!r})") from error


def body(plan: Plan) -> bytes:
    """The plan's document without its id."""
    document = {
        "format": FORMAT,
        "made_from": plan.made_from,
        "egresses": [[e.id, e.members] for e in plan.egresses],
        "trees": [[t.egress, t.id, dict(t.next_port)] for t in plan.trees],
        "weights": sorted([*key, sorted(weights.items())] for key, weights in plan.weights.items()),
        "zones": sorted([sorted(names), zone] for names, zone in plan.zones.items()),
        "load_bps": sorted([*port, bps] for port, bps in plan.load_bps.items()),
        "certificate": asdict(plan.certificate),
        "retired": {
            "egresses": sorted(plan.retired.egresses),
            "trees": sorted(plan.retired.trees),
            "zones": sorted(plan.retired.zones),
        },
        "pins": sorted([*flow, asdict(pin)] for flow, pin in plan.pins.items()),
        "asked": dict(plan.asked),
        "refused": sorted(plan.refused),
        "made_for": asdict(plan.made_for),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def decode(data: bytes) -> Plan:
    """The plan that was encoded. Raises ValueError when ``data`` is none, or of another format."""
    try:
        document: dict[str, Any] = json.loads(data)
        found = document["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"stored plan: not a plan document ({error!r})") from error
    if found not in (WITHOUT_PINS, FORMAT):
        raise ValueError(
            f"stored plan: format {found!r}, this version of Heald reads {WITHOUT_PINS} and "
            f"{FORMAT}"
        )
    if found == WITHOUT_PINS:
        document |= {"pins": [], "asked": {}, "refused": []}
    try:
        fabric, demands, link_state = document["made_from"]
        retired = document["retired"]
        return Plan(
            id=document["id"],
            made_from=(fabric, demands, link_state),
            egresses=tuple(PlannedEgress(i, tuple(m)) for i, m in document["egresses"]),
            trees=tuple(PlannedTree(e, i, dict(ports)) for e, i, ports in document["trees"]),
            weights={
                PlacementKey(ingress, tuple(egress), name): dict(weights)
                for ingress, egress, name, weights in document["weights"]
            },
            zones={frozenset(names): zone for names, zone in document["zones"]},
            load_bps={(switch, port): bps for switch, port, bps in document["load_bps"]},
            certificate=_certificate(**document["certificate"]),
            retired=Retired(
                frozenset(retired["egresses"]),
                frozenset((egress, tree) for egress, tree in retired["trees"]),
                frozenset(retired["zones"]),
            ),
            pins={PlacedFlow(*flow): _pin(**pin) for *flow, pin in document["pins"]},
            asked=dict(document["asked"]),
            refused=frozenset(document["refused"]),
            # Plans of older releases do not tell.
            made_for=MadeFor(**document.get("made_for", {})),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"stored plan: damaged document ({error!r})") from error


def _pin(egress: list[str], binding: list[str], rivals: list[str], **others: Any) -> Pin:
    return Pin(egress=tuple(egress), binding=tuple(binding), rivals=tuple(rivals), **others)


def _certificate(churn: Iterable[tuple[float, float]] = (), **others: Any) -> Certificate:
    return Certificate(churn=tuple((moved, mlu) for moved, mlu in churn), **others)
