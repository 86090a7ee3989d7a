"""Turning a plan away from dead links without a solver.

A repair is a function of the plan that was last optimised, its *base*, and of all links that are
dead now; not of the repairs before it. So a link that returns brings exactly the weights back that
its loss has taken, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from controller.engine.pin_repair import swap_dead
from controller.engine.view import demand_of, view_of
from controller.fabric.model import Fabric
from controller.optimizer import paths
from controller.optimizer.plan import PlacementKey, Plan
from controller.optimizer.problem import Bools, Indices, Ints
from controller.telemetry.link_state import LinkState

Row = Mapping[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """Weights other than the base's, while the arcs that are ``up`` live."""

    up: Bools
    weights: Mapping[PlacementKey, Row]


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Which paths cross which arc: over the trees of a plan, of its placements in their order.

    Paths ``first[d]`` to ``first[d + 1]`` are those of placement d, path p is on ``tree[p]``. Those
    that cross arc a are ``path[begin[a]:begin[a + 1]]``. Links that are down count like others.
    """

    first: Indices
    tree: Ints
    begin: Indices
    path: Ints

    @staticmethod
    def of(plan: Plan, fabric: Fabric) -> Crossings:
        view = view_of(plan, fabric, None)
        known = [n for n, key in enumerate(plan.weights) if key.ingress in fabric.switch_index]
        keys = list(plan.weights)
        demand = demand_of(fabric, [keys[n] for n in known], [0.0] * len(known), view.egresses)
        traced = paths.trace(view.network, view.forest, demand)
        placement = np.array(known, np.int64)[traced.demand]
        count = len(fabric.arcs)
        crossed = np.argsort(traced.arcs, kind="stable")
        return Crossings(
            np.searchsorted(placement, np.arange(len(keys) + 1)),
            view.forest.tree_id[traced.tree],
            np.searchsorted(traced.arcs[crossed], np.arange(count + 1)),
            np.repeat(np.arange(len(traced), dtype=np.int32), traced.hops)[crossed],
        )

    def repaired(self, base: Plan, up: Bools, last: Repaired | None = None) -> Repaired:
        """The weights of those placements that cannot keep the weights of ``base``, the plan that
        the crossings are of, while only the arcs that are ``up`` live.

        Weight goes from dead trees to the placement's others, in proportion to what these have. A
        placement whose weighted trees are all dead is spread over its other living trees, and keeps
        its weights if there is none: the switches' own repair is then all there is.

        ``last`` is an earlier answer for the same base; only what crosses arcs that have changed
        since is then worked out anew, with the same outcome.
        """
        changed = np.flatnonzero(~up if last is None else up != last.up)
        weights = {} if last is None else dict(last.weights)
        dead = np.zeros(len(self.tree), np.bool_)
        dead[self._crossing(np.flatnonzero(~up))] = True
        crossing = self._crossing(changed)
        who = np.unique(np.searchsorted(self.first, crossing, "right") - 1)
        first, last_path = self.first[who], self.first[who + 1]
        # Of all of them at once: this is what a failed link waits for.
        count = last_path - first
        end = np.cumsum(count)
        paths = np.arange(count.sum()) + np.repeat(first - (end - count), count)
        trees, gone = self.tree[paths].tolist(), dead[paths].tolist()
        keys = tuple(base.weights)
        for d, begin, stop in zip(who.tolist(), (end - count).tolist(), end.tolist(), strict=True):
            key = keys[d]
            row = base.weights[key]
            living = [
                tree
                for tree, lost in zip(trees[begin:stop], gone[begin:stop], strict=True)
                if not lost
            ]
            if living and not row.keys() <= set(living):
                weights[key] = _moved(row, living)
            else:
                weights.pop(key, None)
        return Repaired(up, weights)

    def _crossing(self, arcs: npt.NDArray[np.intp]) -> Ints:
        """The paths that cross any of these arcs, each at least once."""
        begin, end = self.begin[arcs], self.begin[arcs + 1]
        parts = [self.path[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        return np.concatenate([np.zeros(0, np.int32), *parts])


def reweigh_dead(plan: Plan, fabric: Fabric, link_state: LinkState) -> Plan:
    """The plan as its own base, repaired, with pins on their backups; ``plan`` itself when nothing
    is dead. Load and certificate stay as they were."""
    changed = Crossings.of(plan, fabric).repaired(plan, link_state.up).weights
    pins = swap_dead(plan, fabric, link_state)
    if pins is plan.pins and all(plan.weights[key] == row for key, row in changed.items()):
        return plan
    made_from = (*plan.made_from[:2], link_state.version)
    weights = {**plan.weights, **changed}
    return replace(plan, made_from=made_from, weights=weights, pins=pins)


def _moved(row: Row, living: list[int]) -> Row:
    """The units of ``row`` on living trees only, in proportion to what they have; by largest
    remainder, of equal ones the lower tree."""
    total = sum(row.values())
    weighted = sorted([tree for tree in living if tree in row])
    share = [row[tree] for tree in weighted]
    if not share:
        weighted, share = sorted(living), [1] * len(living)
    whole = sum(share)
    units = [total * s // whole for s in share]
    more = total - sum(units)
    if more:
        rest = [total * s % whole for s in share]
        for i in sorted(range(len(rest)), key=rest.__getitem__, reverse=True)[:more]:
            units[i] += 1
    return {tree: n for tree, n in zip(weighted, units, strict=True) if n}
