"""How well a plan does on given snapshots, and whether another is worth the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controller.engine.pinned import left, reserved
from controller.engine.protecting import audited
from controller.engine.repair import reweigh_dead
from controller.engine.view import demand_of, units_of, view_of
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer import buckets, churn, paths
from controller.optimizer.certificate import gap
from controller.optimizer.plan import Certificate, Plan
from controller.telemetry.link_state import Floats, LinkState

ABSOLUTE_GAIN = 0.02
NOTICED = 0.01
"""Of the worst link: less is not worth a message, however few slots it moves."""


def evaluate(
    plan: Plan, fabric: Fabric, demands: Demands, link_state: LinkState | None
) -> tuple[float, Floats]:
    """MLU and load of each arc, ``[A]``, if the plan's weights carried these demands.

    Pins are in the load; the MLU is of everything else on what they leave. What a dead tree should
    carry goes to the demand's other trees, as local repair does.
    """
    certificate, load = certified(plan, plan.certificate, fabric, demands, link_state, False)
    return certificate.mlu, load


def certified(
    plan: Plan,
    best: Certificate,
    fabric: Fabric,
    demands: Demands,
    link_state: LinkState | None,
    failures: bool = True,
) -> tuple[Certificate, Floats]:
    """``best``, which is of other weights for the same, as it would be of the plan's, and the load
    of each arc, see :func:`evaluate`; ``failures``: and with what single ones leave, where its
    strategy plans against them."""
    view = view_of(plan, fabric, link_state)
    keys = [
        (key, rate)
        for key, rate in zip(demands.keys, demands.rate_bps, strict=True)
        if key.egress in view.position
    ]
    demand = demand_of(fabric, [k for k, _ in keys], [r for _, r in keys], view.egresses)
    pinned = reserved(plan, fabric)
    network = left(view.network, pinned)
    traced = paths.trace(network, view.forest, demand)
    units = units_of(plan, [k for k, _ in keys], view.forest, traced)
    load, mlu = buckets.evaluate(traced, units, demand, network)
    bound = min(best.bound, mlu)
    certificate = replace(best, mlu=mlu, bound=bound, gap=gap(mlu, bound))
    if failures:
        certificate = audited(certificate, fabric, network, demand, traced, units)
    return certificate, load[: len(fabric.arcs)] + pinned


def worth_committing(
    current: Plan,
    candidate: Plan,
    fabric: Fabric,
    demands: Demands,
    link_state: LinkState | None,
    least_gain: float = ABSOLUTE_GAIN,
) -> bool:
    """Whether the candidate's gain on today's snapshots beats the churn that it costs.

    Always when the current plan lacks a demand or weighs a dead tree that the candidate serves
    better, or has trees, egresses, zones or pins that differ; else when the MLU falls by more than
    5 % of itself for all slots moved (see ``churn``), in proportion for fewer but for the first
    per cent, and by more than ``least_gain``; where that is 0, also when a link is used that was
    idle: one that is back is counted on again, however little there is to carry just now.
    Of plans against failures it is the MLU after the worst of these that counts.
    """
    if candidate.zones != current.zones or candidate.egresses != current.egresses:
        return True
    if (candidate.pins, candidate.refused) != (current.pins, current.refused):
        return True
    if candidate.weights.keys() != current.weights.keys():
        return True
    if _ways(candidate) != _ways(current):
        return True
    if link_state is not None and reweigh_dead(current, fabric, link_state) is not current:
        return True
    if candidate.weights == current.weights:
        return False
    if not least_gain and used(candidate, fabric, demands) - used(current, fabric, demands):
        return True
    blank = replace(candidate.certificate, failed_mlu=0.0)
    now, then = (
        max(certificate.mlu, certificate.failed_mlu)
        for certificate, _ in (
            certified(plan, blank, fabric, demands, link_state) for plan in (current, candidate)
        )
    )
    price = now * max(NOTICED, churn.PRICE * (candidate.certificate.moved or 1.0))
    return now - then > max(least_gain, price)


def used(plan: Plan, fabric: Fabric, demands: Demands) -> set[int]:
    """The arcs that lie on a way with weight."""
    view = view_of(plan, fabric, None)
    keys = [key for key in demands.keys if key.egress in view.position]
    demand = demand_of(fabric, keys, [0.0] * len(keys), view.egresses)
    traced = paths.trace(view.network, view.forest, demand)
    weighted = units_of(plan, keys, view.forest, traced) > 0
    return set(np.unique(traced.arcs[np.repeat(weighted, traced.hops)]).tolist())


def _ways(plan: Plan) -> dict[tuple[int, int], Mapping[str, int]]:
    return {(t.egress, t.id): t.next_port for t in plan.trees}
