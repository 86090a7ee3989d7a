"""What stands in the way of a path, or of a second one beside it.

Over the residual graph of a flow of one path, in which each node has a side where paths arrive and
one where they leave.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.ground import Ask, Ground
from controller.optimizer.kernels import pairs
from controller.optimizer.problem import Bools, Ints
from controller.optimizer.reservation import Protection

FAR = 1 << 30


def obstacles(ground: Ground, ask: Ask, open_: Bools, blocked: Bools) -> set[int]:
    """The ``blocked[A]`` arcs on those ways over ``open_[A]`` arcs that have the fewest of them,
    from source to egress, and on the best ways to add a disjoint one if that is asked.

    Were they not blocked, what is asked would be there, bounds of latency, vias and risks aside.
    """
    binding = _Residual(ground, ask, open_, blocked, ()).costly()
    if not ask.protection:
        return binding
    one = _path(ground, ask, open_, blocked)
    blocked = blocked.copy()
    blocked[list(one)] = False
    return binding | _Residual(ground, ask, open_, blocked, one).costly()


def bottleneck(ground: Ground, ask: Ask, open_: Bools) -> set[int]:
    """The arc of the link, or the arcs into the node, that any two paths share; the nearest to the
    source. Empty if two are disjoint."""
    one = _path(ground, ask, open_, ground.none)
    residual = _Residual(ground, ask, open_, ground.none, one)
    reached = residual.cost < FAR
    if not one or reached[-1]:
        return set()
    for arc in one:
        a, b = int(ground.tail[arc]), int(ground.head[arc])
        if not reached[2 * a + 1]:
            into = np.flatnonzero(open_ & (ground.head == a) & reached[2 * ground.tail + 1])
            return set(into.tolist())
        if not reached[2 * b]:
            return {arc}
    raise AssertionError("the egress is reached")


def _path(ground: Ground, ask: Ask, open_: Bools, blocked: Bools) -> tuple[int, ...]:
    """One with the fewest blocked arcs, then the fewest arcs."""
    walk, _, _ = pairs.cheapest(
        ask.source,
        ask.inside,
        np.where(blocked, ground.nodes + 1, 1),
        ground.unguided,
        np.where(open_, np.inf, -1.0),
        0.0,
        ground.none,
        ground.nothing,
        0,
        ground.first,
        ground.arcs,
        ground.head,
    )
    return tuple(walk.tolist())


class _Residual:
    """States 2 n (arriving at node n), 2 n + 1 (leaving it), and last the egress. ``cost`` counts
    the blocked arcs on the way to each, FAR where there is none."""

    def __init__(
        self, ground: Ground, ask: Ask, open_: Bools, blocked: Bools, path: tuple[int, ...]
    ) -> None:
        taken = ground.mask(path)
        outer = ~ask.inside
        over = np.flatnonzero(
            open_ & ~taken & outer[ground.tail] & (ground.head != ask.source)
        ).astype(np.int32)
        back = np.array(path[:-1], np.int32)
        met = np.zeros(ground.nodes, np.bool_)
        met[ground.head[back]] = True
        split = met & (ask.protection >= Protection.NODE)
        nodes = np.arange(ground.nodes)
        edges = (
            (2 * ground.tail[over] + 1, 2 * ground.head[over], over),
            (2 * ground.head[back], 2 * ground.tail[back] + 1, None),
            (2 * nodes[outer & ~split], 2 * nodes[outer & ~split] + 1, None),
            (2 * nodes[met] + 1, 2 * nodes[met], None),
            (2 * nodes[ask.inside], np.full(int(ask.inside.sum()), 2 * ground.nodes), None),
        )
        self.start = np.concatenate([a for a, _, _ in edges])
        self.end = np.concatenate([b for _, b, _ in edges])
        self.arc: Ints = np.concatenate(
            [np.full(len(a), -1, np.int32) if arcs is None else arcs for a, _, arcs in edges]
        )
        self.step = np.where(self.arc >= 0, blocked[self.arc], False).astype(np.int64)
        self.cost = np.full(2 * ground.nodes + 1, FAR, np.int64)
        self.cost[2 * ask.source + 1] = 0
        while True:
            better = self.cost.copy()
            np.minimum.at(better, self.end, np.minimum(self.cost[self.start] + self.step, FAR))
            if np.array_equal(better, self.cost):
                break
            self.cost = better

    def costly(self) -> set[int]:
        """Blocked arcs on the cheapest ways to the egress."""
        if self.cost[-1] == FAR:
            return set()
        tight = (self.cost[self.start] + self.step == self.cost[self.end]) & (
            self.cost[self.start] < FAR
        )
        on_way = np.zeros(len(self.cost), np.bool_)
        on_way[-1] = True
        count = 0
        while count != (count := int(on_way.sum())):
            on_way[self.start[tight & on_way[self.end]]] = True
        return set(self.arc[tight & on_way[self.end] & (self.step > 0)].tolist())
