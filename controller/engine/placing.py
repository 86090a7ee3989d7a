"""Paths of their own for point-to-point flows: who gets one, and who is refused.

An intent that may not be degraded gets all that it asks for or nothing. Once it has been given that
it is not refused for what fails later: it keeps what can be had, and says what it lacks. Capacity
is that of the links that are up, whatever they carry just now, so measurements move no pin.

Where not all can be had, higher priority comes first, then who has paths already, then names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from controller.engine.pinned import Way, grants_of
from controller.fabric.model import Fabric
from controller.intents.demands import FlowId, PinnedFlow
from controller.intents.model import OnShortage
from controller.optimizer.plan import Plan
from controller.optimizer.problem import Network
from controller.optimizer.reservation import Grant, Protection, Request, Terrain
from controller.optimizer.reserve import reserve

SHADOWED = "SHADOWED"


@dataclass(frozen=True, slots=True)
class Placed:
    """What one flow was given: ways are arcs of the fabric, ``rivals`` intents, ``shortage`` as in
    ``Pin``."""

    flow: PinnedFlow
    primary: Way | None
    backup: Way | None
    rate_bps: float
    protection: Protection
    shortage: str
    binding: tuple[int, ...]
    rivals: tuple[str, ...]
    best_latency_s: float


@dataclass(frozen=True, slots=True)
class Placement:
    """All flows in the order of their ids; of ``refused`` intents nothing is placed."""

    placed: tuple[Placed, ...]
    refused: frozenset[str]


def digests(flows: Iterable[PinnedFlow]) -> dict[str, str]:
    """What each intent asks for, in a few characters that are the same in every process. Where its
    NICs happen to be attached is no part of it."""
    of_intent: dict[str, dict[str, None]] = {}
    for flow in flows:
        unattached = replace(flow, id=flow.id._replace(ingress=""), egress=())
        of_intent.setdefault(flow.id.intent, {})[repr(unattached)] = None
    return {
        intent: blake2b(repr(list(asked)).encode(), digest_size=8).hexdigest()
        for intent, asked in of_intent.items()
    }


def place(
    fabric: Fabric, network: Network, flows: Sequence[PinnedFlow], previous: Plan | None
) -> Placement:
    """``network`` has the fabric's arcs, dead ones without capacity; flows are sorted by id."""
    if not flows:
        return Placement((), frozenset())
    kept = grants_of(previous, fabric) if previous is not None else {}
    before = _admitted(previous)
    admitted = {intent for intent, asked in digests(flows).items() if before.get(intent) == asked}
    order = sorted(flows, key=lambda f: (-f.priority, f.id not in kept, f.id))
    names = _Names(fabric)
    asked = {f.id: names.request(f, _may_degrade(f, admitted)) for f in order}
    terrain = names.terrain(network)

    found: dict[FlowId, Placed] = {}
    lost: set[str] = set()
    while True:
        tried = [f for f in order if f.id.intent not in lost]
        shadows = _shadows(tried)
        distinct = [f for f in tried if f.id not in shadows]
        grants = reserve(
            terrain, [asked[f.id] for f in distinct], [kept.get(f.id) for f in distinct]
        )
        found |= {f.id: _shadowed(f, shadows[f.id]) for f in tried if f.id in shadows}
        for flow, grant in zip(distinct, grants, strict=True):
            rivals = {distinct[i].id.intent for i in grant.rivals} - {flow.id.intent}
            found[flow.id] = _placed(flow, grant, tuple(sorted(rivals)))
        short = [
            f.id for f in tried if found[f.id].shortage != "NOTHING" and not asked[f.id].degrade
        ]
        if not short:
            break
        holding = {f.id.intent for f in tried if found[f.id].primary}
        lost |= _turned_away(short, shadows, holding)
    return Placement(
        tuple(found[f.id] if f.id.intent not in lost else _nothing(found[f.id]) for f in flows),
        frozenset(lost),
    )


def _turned_away(
    short: Sequence[FlowId], shadows: Mapping[FlowId, str], holding: Collection[str]
) -> set[str]:
    """Some of the intents of the flows that are ``short``, after which it is tried anew.

    What such an intent holds in part may be what another lacks, so these go one by one, the last
    one first; those that hold nothing go at once; those whose packets another pins go last, if that
    stays.
    """
    lacking = list(dict.fromkeys(flow.intent for flow in short if flow not in shadows))
    in_part = [intent for intent in lacking if intent in holding]
    return set(in_part[-1:] or lacking or (flow.intent for flow in short))


def _admitted(previous: Plan | None) -> Mapping[str, str]:
    if previous is None:
        return {}
    return {i: asked for i, asked in previous.asked.items() if i not in previous.refused}


def _may_degrade(flow: PinnedFlow, admitted: set[str]) -> bool:
    return flow.on_shortage is OnShortage.DEGRADE or flow.id.intent in admitted


def _shadows(order: Sequence[PinnedFlow]) -> dict[FlowId, str]:
    """Flows whose packets an earlier one of another intent pins, and that intent."""
    pins: dict[tuple[str, str, str, int], str] = {}
    out = {}
    for flow in order:
        intent = pins.setdefault(flow.id[1:], flow.id.intent)
        if intent != flow.id.intent:
            out[flow.id] = intent
    return out


def _shadowed(flow: PinnedFlow, by: str) -> Placed:
    return Placed(flow, None, None, 0.0, Protection.NONE, SHADOWED, (), (by,), 0.0)


def _placed(flow: PinnedFlow, grant: Grant, rivals: tuple[str, ...]) -> Placed:
    return Placed(
        flow,
        grant.primary,
        grant.backup,
        grant.rate_bps,
        grant.protection,
        grant.shortage.name,
        grant.binding,
        rivals,
        grant.best_latency_s,
    )


def _nothing(placed: Placed) -> Placed:
    """With what it lacks, but without what it was to get."""
    return replace(placed, primary=None, backup=None, rate_bps=0.0, protection=Protection.NONE)


class _Names:
    """Switches, links and shared risk groups as arcs of a network."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._into: dict[str, set[int]] = {}
        self._out_of: dict[str, set[int]] = {}
        for arc in fabric.arcs:
            self._into.setdefault(arc.head.switch, set()).add(arc.index)
            self._out_of.setdefault(arc.tail.switch, set()).add(arc.index)
        self._over: dict[str, set[int]] = {}
        self._risks = []
        number: dict[str, int] = {}
        for i, link in enumerate(fabric.links):
            for name in (link.name, *link.srlgs):
                self._over.setdefault(name, set()).update((2 * i, 2 * i + 1))
            self._risks.append(frozenset(number.setdefault(r, len(number)) for r in link.srlgs))

    def terrain(self, network: Network) -> Terrain:
        """The arc behind those of the fabric, which is dead, is a link of its own."""
        latency = [arc.latency_s for arc in self._fabric.arcs]
        link = np.arange(len(network.tail), dtype=np.int32) // 2
        return Terrain(network, np.array([*latency, 0.0]), link, (*self._risks, frozenset()))

    def request(self, flow: PinnedFlow, degrade: bool) -> Request:
        index = self._fabric.switch_index
        latency = flow.max_latency_s
        return Request(
            index[flow.id.ingress],
            frozenset(index[switch] for switch in flow.egress),
            flow.rate_bps,
            Protection[flow.protection.name],
            float("inf") if latency is None else latency,
            tuple(self._via(name, flow.id.ingress) for name in flow.include),
            frozenset().union(*(self._all(name) for name in flow.avoid)),
            flow.priority,
            degrade,
        )

    def _via(self, name: str, ingress: str) -> frozenset[int]:
        at = self._out_of if name == ingress else self._into
        return frozenset(at.get(name, set()) | self._over.get(name, set()))

    def _all(self, name: str) -> frozenset[int]:
        passing = self._into.get(name, set()) | self._out_of.get(name, set())
        return frozenset(passing | self._over.get(name, set()))
