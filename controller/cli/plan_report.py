"""A study of a plan as plain data: what ``heald plan FILE --json`` prints, and tables show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from controller.cli.plan_inputs import Inputs
from controller.engine.offline import Study, intents_between
from controller.engine.shortages import lacks
from controller.fabric.model import Arc
from controller.intents import words
from controller.intents.demands import DemandKey
from controller.optimizer.plan import Certificate

MOST_DEMANDS = 100
"""Of those that make the bound, and of those that are cut to fair rates."""


def report(
    inputs: Inputs, study: Study, compare: str, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Rates are bits per second, shares parts of 1."""
    fabric, demands = inputs.fabric, inputs.demands
    before = next(each for each in study.outcomes if each.strategy == compare)
    after = study.outcomes[0]
    return {
        "fabric": fabric.name,
        "counts": {
            "switches": len(fabric.switches),
            "links": len(fabric.links),
            "hosts": len(fabric.hosts),
            "demands": len(demands.keys),
            "trees": len(study.plan.trees),
        },
        "demands": {
            "from": inputs.said,
            "bps": sum(demands.rate_bps),
            "local_bps": inputs.local_bps,
            "by_pins_bps": inputs.pinned_bps,
            "not_allowed_bps": inputs.stray_bps,
        },
        "plans": [
            {
                "strategy": each.strategy,
                "solver": each.solver,
                "mlu": each.mlu,
                "bound": each.bound,
                "gap": _finite(each.gap),
                "seconds": each.seconds,
            }
            for each in study.outcomes
        ],
        "before": compare,
        "after": after.strategy,
        "links": [
            _arc(arc)
            | {"before_bps": before.load_bps[arc.index], "after_bps": after.load_bps[arc.index]}
            for arc in fabric.arcs
        ],
        "bound": _bound(inputs, study),
        "failure": _failure(study.plan.certificate),
        "fair_rates": _fair(inputs, study),
        "pinned": {
            "flows": len(study.plan.pins),
            "short": {
                words.short_name(intent): {"refused": lack.refused, "lacks": lack.message}
                for intent, lack in lacks(study.plan, demands.flows).items()
            },
        },
        "unroutable": [_key(key) for key in study.unroutable],
        "seconds": {stage: round(spent, 4) for stage, spent in seconds.items()},
    }


def _arc(arc: Arc) -> dict[str, Any]:
    return {
        "link": arc.link,
        "sender": str(arc.tail),
        "receiver": str(arc.head),
        "capacity_bps": arc.capacity_bps,
    }


def _key(key: DemandKey) -> dict[str, Any]:
    return {"from": key.ingress, "to": list(key.egress), "class": key.traffic_class}


def _bound(inputs: Inputs, study: Study) -> dict[str, Any]:
    why, arcs, demands = study.reasons, inputs.fabric.arcs, inputs.demands
    first = why.demands[:MOST_DEMANDS].tolist()
    keys = [demands.keys[d] for d in first]
    whose: list[tuple[str, ...]] = [()] * len(keys)
    if inputs.by_intents:
        whose = intents_between(inputs.fabric, demands, keys)
    return {
        "mlu": why.bound,
        "links": [
            _arc(arcs[a]) | {"part": part}
            for a, part in zip(why.arcs.tolist(), why.arc_part.tolist(), strict=True)
        ],
        "demands": len(why.demands),
        "largest": [
            _key(demands.keys[d])
            | {
                "bps": demands.rate_bps[d],
                "part": part,
                "intents": list(map(words.short_name, names)),
            }
            for d, part, names in zip(first, why.demand_part.tolist(), whose, strict=False)
        ],
    }


def _failure(certificate: Certificate) -> dict[str, Any] | None:
    """The worst single one; None where the plan is not made against any."""
    if not certificate.failure:
        return None
    return {
        "name": certificate.failure,
        "mlu": certificate.failed_mlu,
        "bound": certificate.failed_bound,
        "cut_off_bps": certificate.cut_off_bps,
    }


def _fair(inputs: Inputs, study: Study) -> dict[str, Any] | None:
    if study.fair_bps is None:
        return None
    demands = inputs.demands
    asked = np.array(demands.rate_bps)
    part = np.divide(study.fair_bps, asked, out=np.ones(len(asked)), where=asked > 0)
    worst = np.argsort(part, kind="stable")
    cut = worst[part[worst] < 1 - 1e-6]
    return {
        "asked_bps": float(asked.sum()),
        "granted_bps": float(study.fair_bps.sum()),
        "cut": len(cut),
        "most_cut": [
            _key(demands.keys[d])
            | {"bps": demands.rate_bps[d], "fair_bps": float(study.fair_bps[d])}
            for d in cut[:MOST_DEMANDS].tolist()
        ],
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if np.isfinite(value) else None
