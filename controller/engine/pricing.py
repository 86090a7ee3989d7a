"""How much of a better plan is worth its churn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from controller.engine.pinned import left, reserved
from controller.engine.view import demand_of, units_of, view_of
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer import buckets, churn, paths
from controller.optimizer.certificate import gap
from controller.optimizer.plan import PlacementKey, Plan
from controller.telemetry.link_state import LinkState


def priced(
    current: Plan, candidate: Plan, fabric: Fabric, demands: Demands, link_state: LinkState | None
) -> Plan:
    """The candidate, but for placements whose move buys less than it costs: those keep the weights
    of ``current``. Both are of the same trees.

    Its certificate has the whole curve, from the current spread to the candidate's, and how far
    along this one is. A placement with weight on a dead tree always moves.
    """
    view = view_of(candidate, fabric, link_state)
    keys = [key for key in demands.keys if key.egress in view.position]
    rate = dict(zip(demands.keys, demands.rate_bps, strict=True))
    demand = demand_of(fabric, keys, [rate[key] for key in keys], view.egresses)
    pinned = reserved(candidate, fabric)
    network = left(view.network, pinned)
    traced = paths.trace(network, view.forest, demand)
    before, after = (units_of(plan, keys, view.forest, traced) for plan in (current, candidate))
    found = churn.curve(network, demand, traced, before, after)
    point = found.best
    rows = dict(candidate.weights)
    stays = ~found.gone_over(point)
    living = np.bincount(traced.demand, before, minlength=len(keys))
    for key, keeps, weight in zip(keys, stays.tolist(), living.tolist(), strict=True):
        row = current.weights.get(PlacementKey(*key))
        if keeps and row is not None and sum(row.values()) == weight:
            rows[PlacementKey(*key)] = row
    mixed = replace(candidate, weights=rows)
    load, mlu = buckets.evaluate(
        traced, units_of(mixed, keys, view.forest, traced), demand, network
    )
    arcs = load[: len(fabric.arcs)] + pinned
    certificate = candidate.certificate
    return replace(
        mixed,
        load_bps={
            (arc.tail.switch, arc.tail.port): bps
            for arc, bps in zip(fabric.arcs, arcs.tolist(), strict=True)
        },
        certificate=replace(
            certificate,
            mlu=mlu,
            gap=gap(mlu, certificate.bound),
            moved=found.points[point].moved,
            churn=tuple((p.moved, p.mlu) for p in found.points),
        ),
    )
