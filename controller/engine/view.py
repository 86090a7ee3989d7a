"""Plans, demands and links in the optimizer's terms: names become indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey
from controller.optimizer.paths import Paths
from controller.optimizer.plan import PATH_TREES, PlacementKey, Plan
from controller.optimizer.problem import Demand, Forest, Ints, Network
from controller.telemetry.link_state import Floats, LinkState


@dataclass(frozen=True, slots=True)
class View:
    """A plan in the optimizer's terms, on one fabric and link state."""

    network: Network
    egresses: list[AttachmentSet]
    position: Mapping[AttachmentSet, int]
    forest: Forest


def units_of(
    plan: Plan, keys: Sequence[DemandKey] | Sequence[PlacementKey], forest: Forest, paths: Paths
) -> Ints:
    """The plan's bucket weight of each path of the demands ``keys``, ``[P]``."""
    ids = forest.tree_id.tolist()
    rows = [plan.weights.get(PlacementKey(*key), {}) for key in keys]
    return np.array(
        [
            rows[d].get(ids[t], 0)
            for d, t in zip(paths.demand.tolist(), paths.tree.tolist(), strict=True)
        ],
        np.int32,
    )


def view_of(plan: Plan, fabric: Fabric, link_state: LinkState | None) -> View:
    egresses = [e.members for e in plan.egresses]
    position = {egress: g for g, egress in enumerate(egresses)}
    return View(
        network_of(fabric, link_state), egresses, position, forest_of(fabric, plan, egresses)
    )


def network_of(fabric: Fabric, link_state: LinkState | None) -> Network:
    """The fabric's arcs, and behind them a dead one for ports that the fabric no longer has."""
    capacity = np.array([a.capacity_bps for a in fabric.arcs], np.float64)
    if link_state is not None:
        usable = np.minimum(capacity, np.maximum(link_state.usable_bps, 0.0))
        capacity = np.where(link_state.up, usable, 0.0)
    return _network(fabric, capacity)


def sound_network_of(fabric: Fabric, link_state: LinkState | None) -> Network:
    """All arcs as if they were up, but for barred ones."""
    capacity = np.array([a.capacity_bps for a in fabric.arcs], np.float64)
    if link_state is not None and link_state.barred is not None:
        capacity = np.where(link_state.barred, 0.0, capacity)
    return _network(fabric, capacity)


def _network(fabric: Fabric, capacity: Floats) -> Network:
    index = fabric.switch_index
    return Network(
        len(fabric.switches),
        np.array([*(index[a.tail.switch] for a in fabric.arcs), 0], np.int32),
        np.array([*(index[a.head.switch] for a in fabric.arcs), 0], np.int32),
        np.append(capacity, 0.0),
    )


def demand_of(
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


def forest_of(
    fabric: Fabric,
    plan: Plan,
    egresses: Sequence[AttachmentSet],
) -> Forest:
    """The plan's trees of these egresses but for ``PATH_TREES``, which are no part of a forest."""
    return _forest_of(_Forests(fabric, plan), tuple(egresses))


class _Forests:
    """Equal to another of the same fabric with the very same trees: a plan and those that differ in
    weights are looked at several times for one answer, and are large."""

    def __init__(self, fabric: Fabric, plan: Plan) -> None:
        self.fabric, self.plan = fabric, plan
        self._of = fabric, plan.trees, plan.egresses

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Forests) and all(
            a is b for a, b in zip(self._of, other._of, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._of)))


@lru_cache(maxsize=2)
def _forest_of(forests: _Forests, egresses: tuple[AttachmentSet, ...]) -> Forest:
    fabric, plan = forests.fabric, forests.plan
    position = {egress: g for g, egress in enumerate(egresses)}
    name = {e.id: e.members for e in plan.egresses}
    arcs = {(a.tail.switch, a.tail.port): a.index for a in fabric.arcs}
    gone = len(fabric.arcs)
    egress: list[int] = []
    ids: list[int] = []
    rows: list[Ints] = []
    for tree in plan.trees:
        g = position.get(name[tree.egress])
        if (
            tree.id in PATH_TREES
            or g is None
            or not all(s in fabric.switch_index for s in name[tree.egress])
        ):
            continue
        row = np.full(len(fabric.switches), -1, np.int32)
        for switch, port in tree.next_port.items():
            if switch in fabric.switch_index:
                row[fabric.switch_index[switch]] = arcs.get((switch, port), gone)
        egress.append(g)
        ids.append(tree.id)
        rows.append(row)
    return Forest(
        np.array(egress, np.int32),
        np.array(ids, np.int32),
        np.array(rows, np.int32).reshape(len(rows), len(fabric.switches)),
    )
