"""Turning a plan away from dead links without a solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from controller.engine.pin_repair import swap_dead
from controller.engine.view import demand_of, view_of
from controller.fabric.model import Fabric
from controller.optimizer import paths
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState


def reweigh_dead(plan: Plan, fabric: Fabric, link_state: LinkState) -> Plan:
    """The plan without weight on trees that are dead from their source; no solver, milliseconds.

    The rest is scaled up to the same total. A demand whose weighted trees are all dead is spread
    over its other living trees, and keeps its weights if there is none: the switches' own repair
    is then all there is. Pins go to their backups. Load and certificate stay as they were. Returns
    ``plan`` itself when nothing is dead.
    """
    view = view_of(plan, fabric, link_state)
    known = [k for k in plan.weights if k.ingress in fabric.switch_index]
    demand = demand_of(fabric, known, [0.0] * len(known), view.egresses)
    usable = paths.trace(view.network, view.forest, demand)
    tree_id = view.forest.tree_id.tolist()
    alive: dict[int, list[int]] = {}
    for d, t in zip(usable.demand.tolist(), usable.tree.tolist(), strict=True):
        alive.setdefault(d, []).append(tree_id[t])
    weights = dict(plan.weights)
    for d, living in alive.items():
        row = plan.weights[known[d]]
        if row.keys() <= set(living):
            continue
        trees = sorted(living)
        share = np.array([row.get(tree, 0) for tree in trees])
        if not share.any():
            share[:] = 1
        rounded = _scaled(share, sum(row.values())).tolist()
        weights[known[d]] = {
            tree: units for tree, units in zip(trees, rounded, strict=True) if units
        }
    pins = swap_dead(plan, fabric, link_state)
    if weights == plan.weights and pins is plan.pins:
        return plan
    made_from = (*plan.made_from[:2], link_state.version)
    return replace(plan, made_from=made_from, weights=weights, pins=pins)


def _scaled(share: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.int64]:
    """Integers in proportion to ``share`` that sum to ``total``, by largest remainder."""
    exact = share * (total / share.sum())
    units: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(units - exact, kind="stable")
    units[order[: total - int(units.sum())]] += 1
    return units
