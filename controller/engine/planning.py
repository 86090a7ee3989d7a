"""Plans from fabric, demands and link state, and their repair when links die.

Names become indices on the way into the optimizer and names again on the way out. What a plan has
numbered (egresses, trees, zones) keeps its number in the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey, Demands
from controller.optimizer import buckets, ecmp, forest, linear, paths
from controller.optimizer.plan import (
    Certificate,
    PlacementKey,
    Plan,
    PlannedEgress,
    PlannedTree,
)
from controller.optimizer.problem import Demand, Forest, Ints, Network, Solution
from controller.telemetry.link_state import Floats, LinkState

Strategy = Callable[[Network, Forest, Demand], Solution]
STRATEGIES: Mapping[str, Strategy] = {"lp": linear.solve, "ecmp": ecmp.solve}
TREES_PER_EGRESS = 8
MAX_EGRESSES = 1 << 14
RELATIVE_GAIN = 0.05
ABSOLUTE_GAIN = 0.02

Name = TypeVar("Name", bound=Hashable)


def make_plan(
    fabric: Fabric,
    demands: Demands,
    link_state: LinkState | None,
    previous: Plan | None,
    *,
    strategy: str = "lp",
    plan_id: int,
) -> Plan:
    """The plan for these snapshots; equal inputs make equal plans, but for the seconds they took.

    Every tree of ``previous`` that the fabric still has stays, even if links of it are down: it
    only gets no weight where it is dead. A source that no tree serves any more gets one over the
    links that are up. Demands that nothing can serve are absent from ``weights`` (``unroutable``
    lists them).

    Raises ValueError for an unknown strategy or when egress or tree ids run out.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy {strategy!r}: use one of {', '.join(STRATEGIES)}")
    wanted = sorted({key.egress for key in demands.keys})
    before = {e.members: e.id for e in previous.egresses} if previous is not None else {}
    numbers = _numbered(wanted, before, MAX_EGRESSES, "egress")
    egresses = sorted(wanted, key=numbers.__getitem__)

    members = [[fabric.switch_index[s] for s in egress] for egress in egresses]
    sources = {fabric.switch_index[key.ingress] for key in demands.keys}
    kept = _forest(fabric, previous, egresses, _surplus(previous)) if previous is not None else None
    grown = forest.grow(_network(fabric, None), members, TREES_PER_EGRESS, kept, sources)
    network = _network(fabric, link_state)
    grown = forest.reconnect(network, members, grown, sources)

    demand = _demand(fabric, demands.keys, demands.rate_bps, egresses)
    solution = STRATEGIES[strategy](network, grown, demand)
    units = buckets.quantise(solution.share, demand, network, grown)
    load, mlu = buckets.evaluate(units, demand, network, grown)
    weights: dict[PlacementKey, dict[int, int]] = {}
    for d, key in enumerate(demands.keys):
        used = np.flatnonzero(units[d])
        if len(used):
            weights[PlacementKey(*key)] = {
                int(grown.tree_id[t]): int(units[d, t])
                for t in sorted(used, key=lambda t: int(grown.tree_id[t]))
            }
    return Plan(
        id=plan_id,
        made_from=(fabric.version, demands.version, link_state.version if link_state else 0),
        egresses=tuple(PlannedEgress(numbers[egress], egress) for egress in egresses),
        trees=_trees(fabric, grown, [numbers[egress] for egress in egresses]),
        weights=weights,
        zones=_zones(demands, previous),
        load_bps=_by_port(fabric, load),
        certificate=Certificate(
            strategy,
            solution.solver,
            mlu,
            min(solution.bound, mlu),
            linear.gap(mlu, solution.bound),
            solution.seconds,
        ),
    )


def unroutable(plan: Plan, demands: Demands) -> tuple[DemandKey, ...]:
    """Demands that the plan has no path for."""
    return tuple(key for key in demands.keys if PlacementKey(*key) not in plan.weights)


def evaluate(
    plan: Plan, fabric: Fabric, demands: Demands, link_state: LinkState | None
) -> tuple[float, Floats]:
    """MLU and load of each arc, ``[A]``, if the plan's weights carried these demands.

    What a dead tree should carry goes to the demand's other trees, as local repair does.
    """
    view = _view(plan, fabric, link_state)
    keys = [
        (key, rate)
        for key, rate in zip(demands.keys, demands.rate_bps, strict=True)
        if key.egress in view.position
    ]
    demand = _demand(fabric, [k for k, _ in keys], [r for _, r in keys], view.egresses)
    units = view.units(plan, [PlacementKey(*k) for k, _ in keys])
    load, mlu = buckets.evaluate(units, demand, view.network, view.forest)
    return mlu, load[: len(fabric.arcs)]


def reweigh_dead(plan: Plan, fabric: Fabric, link_state: LinkState) -> Plan:
    """The plan without weight on trees that are dead from their source; no solver, milliseconds.

    The rest is scaled up to the same total. A demand whose weighted trees are all dead is spread
    over its other living trees, and keeps its weights if there is none: the switches' own repair
    is then all there is. Load and certificate stay those of the whole plan. Returns ``plan``
    itself when nothing is dead.
    """
    view = _view(plan, fabric, link_state)
    known = [k for k in plan.weights if k.ingress in fabric.switch_index]
    demand = _demand(fabric, known, [0.0] * len(known), view.egresses)
    usable = paths.trace(view.network, view.forest, demand)
    alive = np.zeros((len(known), len(view.forest.egress)), bool)
    alive[usable.demand, usable.tree] = True
    units = view.units(plan, known)
    weights = dict(plan.weights)
    for d in np.flatnonzero(((units > 0) & ~alive).any(1) & alive.any(1)).tolist():
        total = int(units[d].sum())
        share = np.where(alive[d], units[d], 0).astype(np.int32)
        if not share.any():
            share = alive[d].astype(np.int32)
        rounded = _scaled(share, total)
        weights[known[d]] = {
            int(view.forest.tree_id[t]): int(rounded[t])
            for t in sorted(np.flatnonzero(rounded), key=lambda t: int(view.forest.tree_id[t]))
        }
    if weights == plan.weights:
        return plan
    made_from = (*plan.made_from[:2], link_state.version)
    return replace(plan, made_from=made_from, weights=weights)


def worth_committing(
    current: Plan,
    candidate: Plan,
    fabric: Fabric,
    demands: Demands,
    link_state: LinkState | None,
) -> bool:
    """Whether the candidate's gain on today's snapshots beats the churn that it costs.

    Always when the current plan lacks a demand or weighs a dead tree that the candidate serves
    better, or has trees, egresses or zones that differ; else when the MLU falls by more than 5 %
    and by more than 0.02.
    """
    if candidate.zones != current.zones or candidate.egresses != current.egresses:
        return True
    if candidate.weights.keys() != current.weights.keys():
        return True
    if _ways(candidate) != _ways(current):
        return True
    if link_state is not None and reweigh_dead(current, fabric, link_state) is not current:
        return True
    if candidate.weights == current.weights:
        return False
    now, _ = evaluate(current, fabric, demands, link_state)
    then, _ = evaluate(candidate, fabric, demands, link_state)
    return now - then > max(ABSOLUTE_GAIN, RELATIVE_GAIN * now)


@dataclass(frozen=True, slots=True)
class _View:
    """A plan in the optimizer's terms, on one fabric and link state."""

    network: Network
    egresses: list[AttachmentSet]
    position: Mapping[AttachmentSet, int]
    forest: Forest

    def units(self, plan: Plan, keys: Sequence[PlacementKey]) -> Ints:
        column = {
            (int(g), int(i)): t
            for t, (g, i) in enumerate(zip(self.forest.egress, self.forest.tree_id, strict=True))
        }
        units = np.zeros((len(keys), len(self.forest.egress)), np.int32)
        for d, key in enumerate(keys):
            for tree, weight in plan.weights.get(key, {}).items():
                t = column.get((self.position[key.egress], tree))
                if t is not None:
                    units[d, t] = weight
        return units


def _view(plan: Plan, fabric: Fabric, link_state: LinkState | None) -> _View:
    egresses = [e.members for e in plan.egresses]
    position = {egress: g for g, egress in enumerate(egresses)}
    return _View(_network(fabric, link_state), egresses, position, _forest(fabric, plan, egresses))


def _network(fabric: Fabric, link_state: LinkState | None) -> Network:
    """The fabric's arcs, and behind them a dead one for ports that the fabric no longer has."""
    index = fabric.switch_index
    capacity = np.array([a.capacity_bps for a in fabric.arcs], np.float64)
    if link_state is not None:
        usable = np.minimum(capacity, np.maximum(link_state.usable_bps, 0.0))
        capacity = np.where(link_state.up, usable, 0.0)
    return Network(
        len(fabric.switches),
        np.array([*(index[a.tail.switch] for a in fabric.arcs), 0], np.int32),
        np.array([*(index[a.head.switch] for a in fabric.arcs), 0], np.int32),
        np.append(capacity, 0.0),
    )


def _demand(
    fabric: Fabric,
    keys: Sequence[DemandKey] | Sequence[PlacementKey],
    rates: Iterable[float],
    egresses: Sequence[AttachmentSet],
) -> Demand:
    position = {egress: g for g, egress in enumerate(egresses)}
    return Demand(
        np.array([fabric.switch_index[key.ingress] for key in keys], np.int32),
        np.array([position[key.egress] for key in keys], np.int32),
        np.array(list(rates), np.float64),
    )


def _forest(
    fabric: Fabric,
    plan: Plan,
    egresses: Sequence[AttachmentSet],
    without: Collection[tuple[int, int]] = (),
) -> Forest:
    """The plan's trees of these egresses; those ``without`` are dead, only to hold their ids."""
    position = {egress: g for g, egress in enumerate(egresses)}
    name = {e.id: e.members for e in plan.egresses}
    arcs = {(a.tail.switch, a.tail.port): a.index for a in fabric.arcs}
    gone = len(fabric.arcs)
    egress: list[int] = []
    ids: list[int] = []
    rows: list[Ints] = []
    for tree in plan.trees:
        g = position.get(name[tree.egress])
        if g is None or not all(s in fabric.switch_index for s in name[tree.egress]):
            continue
        row = np.full(len(fabric.switches), -1, np.int32)
        for switch, port in tree.next_port.items():
            if switch in fabric.switch_index:
                row[fabric.switch_index[switch]] = arcs.get((switch, port), gone)
        if (tree.egress, tree.id) in without:
            row.fill(gone)
        egress.append(g)
        ids.append(tree.id)
        rows.append(row)
    return Forest(
        np.array(egress, np.int32),
        np.array(ids, np.int32),
        np.array(rows, np.int32).reshape(len(rows), len(fabric.switches)),
    )


def _surplus(plan: Plan) -> set[tuple[int, int]]:
    """(Egress, tree) ids beyond the family size that carry nothing, newest first."""
    number = {e.members: e.id for e in plan.egresses}
    used = {(number[key.egress], tree) for key, row in plan.weights.items() for tree in row}
    excess = {e.id: -TREES_PER_EGRESS for e in plan.egresses}
    for tree in plan.trees:
        excess[tree.egress] += 1
    surplus: set[tuple[int, int]] = set()
    for tree in sorted(plan.trees, key=lambda t: -t.id):
        if excess[tree.egress] > 0 and (tree.egress, tree.id) not in used:
            excess[tree.egress] -= 1
            surplus.add((tree.egress, tree.id))
    return surplus


def _trees(fabric: Fabric, grown: Forest, numbers: Sequence[int]) -> tuple[PlannedTree, ...]:
    trees = [
        PlannedTree(
            numbers[int(g)],
            int(tree_id),
            {
                fabric.switches[node].name: fabric.arcs[int(row[node])].tail.port
                for node in np.flatnonzero(row >= 0).tolist()
            },
        )
        for g, tree_id, row in zip(grown.egress, grown.tree_id, grown.next_arc, strict=True)
    ]
    return tuple(sorted(trees, key=lambda t: (t.egress, t.id)))


def _ways(plan: Plan) -> dict[tuple[int, int], Mapping[str, int]]:
    return {(t.egress, t.id): t.next_port for t in plan.trees}


def _zones(demands: Demands, previous: Plan | None) -> Mapping[frozenset[str], int]:
    intents: dict[str, set[str]] = {}
    for reach in demands.reaches:
        for nic in reach.nics:
            intents.setdefault(nic, set()).add(reach.intent)
    wanted = sorted({frozenset(names) for names in intents.values()}, key=sorted)
    return _numbered(wanted, previous.zones if previous is not None else {}, 1 << 30, "zone", 1)


def _numbered(
    wanted: Sequence[Name], before: Mapping[Name, int], limit: int, what: str, first: int = 0
) -> dict[Name, int]:
    """Known things keep their number, new ones get the lowest that nothing had before."""
    taken = set(before.values())
    numbers: dict[Name, int] = {}
    free = first
    for name in wanted:
        if name in before:
            numbers[name] = before[name]
            continue
        while free in taken:
            free += 1
        if free >= limit:
            raise ValueError(f"no {what} id left of {limit}: {name!r} cannot be planned")
        numbers[name] = free
        free += 1
    return numbers


def _by_port(fabric: Fabric, load: Floats) -> dict[tuple[str, int], float]:
    return {
        (arc.tail.switch, arc.tail.port): bps
        for arc, bps in zip(fabric.arcs, load.tolist(), strict=False)
    }


def _scaled(share: npt.NDArray[np.int32], total: int) -> npt.NDArray[np.int64]:
    """Integers in proportion to ``share`` that sum to ``total``, by largest remainder."""
    exact = share * (total / share.sum())
    units: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(units - exact, kind="stable")
    units[order[: total - int(units.sum())]] += 1
    return units
