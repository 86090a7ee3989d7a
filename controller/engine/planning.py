"""Making plans from fabric, demands and link state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from controller.dataplane.policy import admitted
from controller.engine.names import made_for
from controller.engine.numbering import numbered, retired, taken
from controller.engine.path_trees import PathTrees
from controller.engine.pin_repair import swap_dead
from controller.engine.pinned import left, on_primaries
from controller.engine.placing import Placed, Placement, digests, place
from controller.engine.plans import zones_of
from controller.engine.protecting import audited, solve
from controller.engine.view import (
    demand_of,
    forest_of,
    network_of,
    sound_network_of,
    units_of,
)
from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import Demands
from controller.optimizer import buckets, forest
from controller.optimizer.certificate import gap
from controller.optimizer.enlarge import enlarge
from controller.optimizer.paths import Paths, normalised, spread, trace
from controller.optimizer.plan import (
    PATH_TREES,
    Certificate,
    Pin,
    PlacedFlow,
    PlacementKey,
    Plan,
    PlannedEgress,
    PlannedTree,
)
from controller.optimizer.problem import Forest, Ints, Network
from controller.telemetry.link_state import Floats, LinkState

TREES_PER_EGRESS = 8
"""At least, where the fabric has them; more where capacity asks for them."""
IDLE = 0.5
"""The MLU up to which no more trees are asked for."""
EGRESSES = range(1 << 14)
ZONES = range(1, 1 << 30)


def _untold(stage: str) -> None:
    pass


def make_plan(
    fabric: Fabric,
    demands: Demands,
    link_state: LinkState | None,
    previous: Plan | None,
    *,
    settled: bool = False,
    strategy: str = "auto",
    plan_id: int,
    tell: Callable[[str], None] = _untold,
) -> Plan:
    """The plan for these snapshots; equal inputs make equal plans, but for the seconds they took.

    Every tree of ``previous`` that the fabric still has stays, even if links of it are down: it
    only gets no weight where it is dead. One over a barred link goes. A source that no tree serves
    any more gets one over the links that are up. Demands that nothing can serve are absent from
    ``weights`` (``unroutable`` lists them). What ``previous`` has numbered keeps its number;
    numbers that were retired are free again if the fabric is ``settled``: every switch of it holds
    ``previous`` and nothing older.

    Point-to-point flows come first (``placing``); everything else is spread over what they leave.
    The certificate is of that: with the pins as they are and each link as much smaller as they have
    reserved there, no shares over these trees have an MLU below its bound.

    ``tell`` is called as each stage begins. Raises ValueError for an unknown strategy or when
    egress, tree or zone numbers run out.
    """
    held = taken(previous, settled)
    if previous is not None and link_state is not None:
        previous = replace(previous, pins=swap_dead(previous, fabric, link_state))
    network = network_of(fabric, link_state)
    tell("placing flows")
    placement = place(fabric, _nominal(fabric, network), demands.flows, previous)
    before = {e.members: e.id for e in previous.egresses} if previous is not None else {}
    wanted = sorted({key.egress for key in demands.keys} | {f.egress for f in demands.flows})
    numbers = numbered(wanted, before, held.egresses, EGRESSES, "egress")
    egresses = sorted(wanted, key=numbers.__getitem__)

    members = [[fabric.switch_index[s] for s in egress] for egress in egresses]
    sources = {fabric.switch_index[key.ingress] for key in demands.keys}
    position = {numbers[egress]: g for g, egress in enumerate(egresses)}
    reserved = _by_egress(held.trees, position)
    tell("growing trees")
    grown = forest.grow(
        sound_network_of(fabric, link_state),
        members,
        TREES_PER_EGRESS,
        forest_of(fabric, previous, egresses) if previous is not None else None,
        sources,
        idle=_by_egress(_idle(previous), position) if previous is not None else None,
        reserved=reserved,
        along=_along(placement, egresses),
    )
    grown = forest.reconnect(network, members, grown, sources, reserved=reserved)
    pinned = on_primaries(fabric, ((p.rate_bps, p.primary) for p in placement.placed))
    network = left(network, pinned)
    demand = demand_of(fabric, demands.keys, demands.rate_bps, egresses)
    paths = trace(network, grown, demand)
    start = _shares(previous, demands, grown, paths) if previous is not None else None
    wider = enlarge(network, members, grown, demand, start, idle=IDLE, reserved=reserved)
    grown, paths = wider.forest, wider.paths
    trees = _trees(fabric, grown, [numbers[egress] for egress in egresses])
    paths_of_pins = PathTrees(fabric, numbers, held.trees)
    paths_of_pins.know(trees, previous)
    pins = _pins(fabric, placement, paths_of_pins, previous)
    trees = tuple(sorted((*trees, *paths_of_pins.used()), key=lambda t: (t.egress, t.id)))

    tell("solving")
    solved = solve(strategy, fabric, network, demand, paths, wider.share)
    solution = solved.solution
    tell("rounding weights")
    units = buckets.quantise(paths, solution.share, demand, network)
    load, mlu = buckets.evaluate(paths, units, demand, network)
    certificate = Certificate(
        strategy,
        solution.solver,
        mlu,
        min(solution.bound, mlu),
        gap(mlu, solution.bound),
        solution.seconds,
        failed_bound=solved.bound,
    )
    planned = tuple(PlannedEgress(numbers[egress], egress) for egress in egresses)
    zones = _zones(admitted(demands, placement.refused), previous, held.zones)
    return Plan(
        id=plan_id,
        made_from=(fabric.version, demands.version, link_state.version if link_state else 0),
        egresses=planned,
        trees=trees,
        weights=_weights(demands, grown, paths, units),
        zones=zones,
        load_bps=_by_port(fabric, load[: len(fabric.arcs)] + pinned),
        certificate=audited(certificate, fabric, network, demand, paths, units),
        retired=retired(held, planned, trees, zones),
        pins=pins,
        asked=digests(demands.flows),
        refused=placement.refused,
        made_for=made_for(fabric, demands.flows),
    )


def _nominal(fabric: Fabric, network: Network) -> Network:
    """What links that are up are made for, whatever is measured."""
    capacity = np.array([*(arc.capacity_bps for arc in fabric.arcs), 0.0])
    return replace(network, capacity_bps=np.where(network.capacity_bps > 0, capacity, 0.0))


def _along(placement: Placement, egresses: Sequence[AttachmentSet]) -> Mapping[int, set[int]]:
    position = {egress: g for g, egress in enumerate(egresses)}
    out: dict[int, set[int]] = {}
    for placed in placement.placed:
        for way in (placed.primary, placed.backup):
            out.setdefault(position[placed.flow.egress], set()).update(way or ())
    return out


def _pins(
    fabric: Fabric, placement: Placement, trees: PathTrees, previous: Plan | None
) -> dict[PlacedFlow, Pin]:
    before = previous.pins if previous is not None else {}
    return {
        PlacedFlow(*placed.flow.id): _pin(
            fabric, placed, trees, before.get(PlacedFlow(*placed.flow.id))
        )
        for placed in placement.placed
    }


def _pin(fabric: Fabric, placed: Placed, trees: PathTrees, before: Pin | None) -> Pin:
    egress = placed.flow.egress
    primary = backup = None
    if placed.primary:
        primary = trees.tree_of(egress, placed.primary, before.primary if before else None)
    if placed.backup:
        backup = trees.tree_of(egress, placed.backup, before.backup if before else None)
    return Pin(
        egress,
        primary,
        backup,
        placed.rate_bps,
        placed.protection.name.lower(),
        placed.shortage,
        tuple(sorted({fabric.arcs[arc].link for arc in placed.binding})),
        placed.rivals,
        placed.best_latency_s,
    )


def _shares(plan: Plan, demands: Demands, grown: Forest, paths: Paths) -> Floats:
    """The shares of the plan's weights; plain where it has none for a demand."""
    units = units_of(plan, demands.keys, grown, paths).astype(np.float64)
    return normalised(paths, units, spread(paths, by_capacity=True))


def _weights(
    demands: Demands, grown: Forest, paths: Paths, units: Ints
) -> dict[PlacementKey, dict[int, int]]:
    used = np.flatnonzero(units)
    used = used[np.lexsort((grown.tree_id[paths.tree[used]], paths.demand[used]))]
    tree_id = grown.tree_id[paths.tree[used]]
    weights: dict[PlacementKey, dict[int, int]] = {}
    row: dict[int, int] = {}
    last = -1
    for d, tree, count in zip(
        paths.demand[used].tolist(), tree_id.tolist(), units[used].tolist(), strict=True
    ):
        if d != last:
            row = weights[PlacementKey(*demands.keys[d])] = {}
            last = d
        row[tree] = count
    return weights


def _idle(plan: Plan) -> set[tuple[int, int]]:
    """(Egress, tree) ids of the trees of the forest that carry nothing."""
    number = {e.members: e.id for e in plan.egresses}
    used = {(number[key.egress], tree) for key, row in plan.weights.items() for tree in row}
    for pin in plan.pins.values():
        used |= {
            (number[pin.egress], tree) for tree in (pin.primary, pin.backup) if tree is not None
        }
    return {(tree.egress, tree.id) for tree in plan.trees if tree.id not in PATH_TREES} - used


def _by_egress(
    trees: Collection[tuple[int, int]], position: Mapping[int, int]
) -> Mapping[int, set[int]]:
    """Tree ids by the position of their egress; those of other egresses are left out."""
    out: dict[int, set[int]] = {}
    for egress, tree in trees:
        if egress in position:
            out.setdefault(position[egress], set()).add(tree)
    return out


def _trees(fabric: Fabric, grown: Forest, numbers: Sequence[int]) -> tuple[PlannedTree, ...]:
    names = [switch.name for switch in fabric.switches]
    ports = [arc.tail.port for arc in fabric.arcs]
    trees = [
        PlannedTree(
            numbers[g],
            tree_id,
            {name: ports[arc] for name, arc in zip(names, row.tolist(), strict=True) if arc >= 0},
        )
        for g, tree_id, row in zip(
            grown.egress.tolist(), grown.tree_id.tolist(), grown.next_arc, strict=True
        )
    ]
    return tuple(sorted(trees, key=lambda t: (t.egress, t.id)))


def _zones(
    demands: Demands, previous: Plan | None, taken: Collection[int]
) -> Mapping[frozenset[str], int]:
    wanted = sorted(set(zones_of(demands).values()), key=sorted)
    return numbered(wanted, previous.zones if previous is not None else {}, taken, ZONES, "zone")


def _by_port(fabric: Fabric, load: Floats) -> dict[tuple[str, int], float]:
    return {
        (arc.tail.switch, arc.tail.port): bps
        for arc, bps in zip(fabric.arcs, load.tolist(), strict=False)
    }
