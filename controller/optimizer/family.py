"""The trees of one egress while they are grown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer.disjoint import DisjointPair, disjoint_pair
from controller.optimizer.graph import Graph
from controller.optimizer.kernels import growth, ways
from controller.optimizer.problem import Bools, Floats, Indices, Ints
from controller.optimizer.survival import survives


@dataclass(slots=True)
class _Ways:
    """How the sources of a family get to the egress by one tree: ``arcs[S, H]``, padded with -1."""

    arcs: Ints
    hops: Indices


NARROW = 8


class Family:
    """The trees of one egress while they are grown."""

    def __init__(
        self,
        graph: Graph,
        members: Sequence[int],
        sources: Collection[int],
        along: Collection[int] = (),
        limit: int = 1,
    ) -> None:
        self.graph, self.limit = graph, limit
        self.members = np.array(sorted(set(members)), np.int64)
        nodes = graph.network.nodes
        self.root = np.zeros(nodes, bool)
        self.root[self.members] = True
        self.start = np.where(self.root, 0.0, np.inf)
        self.distance, _ = graph.distances(self.start, np.ones(len(graph.arcs)), self.root)
        candidates = np.array(sorted(set(sources)), np.int64)
        self.sources = candidates[
            ~self.root[candidates] & np.isfinite(self.distance[candidates])
        ].astype(np.int64)
        self.reachable = np.isfinite(self.distance)
        self.trees: list[Ints] = []
        self.ways: list[_Ways] = []
        self.along = np.array(sorted(along), np.int64)
        self.arc_use = np.zeros(len(graph.network.tail), np.int64)
        self.node_use = np.zeros(nodes, np.int64)
        self.chosen = np.zeros(len(graph.network.tail), np.int64)
        self.longest = max(1.0, self.distance[self.reachable].max(initial=0.0))
        self.spread, self.turn = self._turn()

    def reaches(self, tree: Ints, start: Indices) -> Bools:
        """Which of the nodes ``start`` get to a member over living arcs."""
        arcs, end = ways.follow(tree, self.graph.network.head, start)
        capacity = np.append(self.graph.network.capacity_bps, np.inf)
        alive = (capacity[arcs] > 0).all(1)
        return np.asarray(alive & (end >= 0) & self.root[end])

    def adopt(self, tree: Ints) -> bool:
        """Take over a previous tree if it still works from every node that it knows."""
        known = np.flatnonzero(tree >= 0)
        if self.root[known].any() or not self.reaches(tree, known).all():
            return False
        if len(known) and not self.reachable[known].all():
            return False
        hops = np.full(len(tree), np.inf)
        hops[self.root] = 0
        arcs, _ = ways.follow(tree, self.graph.network.head, known)
        hops[known] = (arcs >= 0).sum(1)
        self._add(self._attach(tree, hops))
        return True

    def fill(self) -> None:
        """Add trees until the limit, or until nothing new comes."""
        limit = self.limit
        kept = len(self.trees)
        if not kept:
            self._add(self.shortest())
        self._saturate(limit, detours=False)
        if limit < 2 or (self._covered(shortest_only=True).all() and self._survives().all()):
            return
        pair = disjoint_pair(self.graph.network, self.members.tolist(), self.graph.reverse)
        followed = self._in_need(pair)
        base = max(kept, limit - 2)
        if len(followed):
            self._drop_to(base)
        base = min(base, len(self.trees))
        shortest = self._covered(shortest_only=True)
        detours = not shortest[pair.protected[self.sources]].all()
        while True:
            if len(followed):
                self._add(self._along(pair.red, followed))
                self._add(self._along(pair.blue, followed))
            self._saturate(limit, detours)
            # Ways of the trees that have come may have needs of their own.
            more = np.setdiff1d(self._in_need(pair), followed)
            if not len(more):
                return
            followed = np.union1d(followed, more)
            self._drop_to(base)

    def shed(self, idle: Collection[int], limit: int) -> list[int]:
        """Drop trees of the positions ``idle`` beyond the limit, newest first, but none that a
        failure needs; returns the positions."""
        dropped = []
        for position in sorted(idle, reverse=True):
            if len(self.trees) <= limit:
                break
            covered, exposed = self._covered(), self._exposed()
            tree = self.trees.pop(position)
            self._use_ways(taken := self.ways.pop(position), -1)
            if (covered & ~self._covered()).any() or self._exposed() - exposed:
                self.trees.insert(position, tree)
                self.ways.insert(position, taken)
                self._use_ways(taken, 1)
            else:
                dropped.append(position)
        return dropped

    def _saturate(self, limit: int, detours: bool) -> None:
        while len(self.trees) < limit:
            if not self._add_if_new(self.shortest()) and not (
                detours and self._add_if_new(self._detour())
            ):
                break

    def _in_need(self, pair: DisjointPair) -> Indices:
        """Nodes that the pair would help: sources without two ways, and where packets may be
        stranded."""
        bare = self.sources[~self._covered() & pair.protected[self.sources]]
        if (safe := self._survives()).all():
            return bare
        used = self._used()
        helped = survives(self.graph, self.root, (pair.red, pair.blue), used) & ~safe
        stranding = self.graph.network.tail[used[helped.any(1)]]
        return np.union1d(bare, stranding).astype(np.int64)

    def _used(self) -> Indices:
        """Arcs that packets take: on the ways from sources, and ``along``."""
        return np.union1d(np.flatnonzero(self.arc_use), self.along)

    def _survives(self) -> Bools:
        return survives(self.graph, self.root, self.trees, self._used())

    def _exposed(self) -> set[tuple[int, int]]:
        """(Arc, 0 or 1): what no detour survives, see ``survives``."""
        row, column = np.nonzero(~self._survives())
        return set(zip(self._used()[row].tolist(), column.tolist(), strict=True))

    def shortest(self) -> Ints:
        """A tree of fewest hops; among those, by the arcs and nodes that siblings use least."""
        _, tree = self.graph.distances(self.start, self._fewest_hops(), self.root)
        return tree

    def _detour(self) -> Ints:
        """A tree that rather takes a hop more than an arc that all sources use already."""
        use = self._use()
        top = use.max(initial=0.0)
        cost = 1 + 2 * use / top if top > 0 else np.ones(len(use))
        _, tree = self.graph.distances(self.start, cost, self.root)
        return tree

    def _fewest_hops(self) -> Floats:
        """Arc costs by which hops come first, then use by siblings, then turn."""
        trees = len(self.trees) + 1
        unit = 1 / (8 * self.longest * trees)
        # In a wide layer it would draw all to the one node that is a little less used than others.
        use = np.where(self.spread, 0.0, self._use())
        return np.asarray(1 + unit * (use + (self.chosen[self.graph.arcs] + self.turn) / 1000))

    def _use(self) -> Floats:
        """Ways over each living arc and through its head, as a share of the sources."""
        use = self.arc_use[self.graph.arcs] + self.node_use[self.graph.head]
        return np.asarray(use / max(1, len(self.sources)))

    def _turn(self) -> tuple[Bools, Floats]:
        """Which living arcs touch a layer of more nodes than the family will have trees, and the
        order (0..1) in which equal next hops are tried.

        Towards such a layer each switch and each egress starts elsewhere, so that the trees of an
        egress use all of it; elsewhere all switches use the same node in a tree.
        """
        graph, distance = self.graph, self.distance
        layer, size = np.unique(distance[self.reachable], return_counts=True)
        wide = np.isin(distance, layer[size > max(self.limit, NARROW)])
        nearer = np.isfinite(distance[graph.tail])
        nearer &= distance[graph.head] == distance[graph.tail] - 1
        place = np.cumsum(nearer) - nearer
        place -= place[graph.out_first[graph.tail]]
        count = np.maximum(1, np.bincount(graph.tail[nearer], minlength=len(distance)))[graph.tail]
        egress = self.limit * self.members[:1].sum()
        start = graph.tail + graph.tail // count + egress + egress // count
        order = np.where(wide[graph.head], (place - start) % count, place % count)
        return wide[graph.head] | wide[graph.tail], order / count

    def _along(self, colour: Ints, sources: Indices) -> Ints:
        """The tree that follows ``colour`` from ``sources`` and is short from everywhere else."""
        arcs, _ = ways.follow(colour, self.graph.network.head, sources)
        tree = np.full(self.graph.network.nodes, -1, np.int32)
        hops = np.full(len(tree), np.inf)
        hops[self.root] = 0
        real = arcs >= 0
        left = real.sum(1, keepdims=True) - np.arange(arcs.shape[1])
        node = self.graph.network.tail[arcs[real]]
        tree[node] = arcs[real]
        hops[node] = left[real]
        return self._attach(tree, hops)

    def _attach(self, tree: Ints, hops: Floats) -> Ints:
        """Join nodes that the tree does not know to it, as ``shortest`` would."""
        settled = np.isfinite(hops)
        _, joined = self.graph.distances(hops, self._fewest_hops(), settled)
        return np.where(settled, tree, joined).astype(np.int32)

    def _add(self, tree: Ints) -> None:
        taken = self._trace(tree)
        self._use_ways(taken, 1)
        self.chosen[tree[tree >= 0]] += 1
        self.trees.append(tree)
        self.ways.append(taken)

    def _drop_to(self, count: int) -> None:
        while len(self.trees) > count:
            tree = self.trees.pop()
            self.chosen[tree[tree >= 0]] -= 1
            self._use_ways(self.ways.pop(), -1)

    def _add_if_new(self, tree: Ints) -> bool:
        """Add the tree if it gives some source a way that it does not have yet."""
        taken = self._trace(tree)
        new = np.ones(len(self.sources), bool)
        for other in self.ways:
            growth.differ(taken.arcs, other.arcs, new)
        if new.any():
            self._add(tree)
        return bool(new.any())

    def _trace(self, tree: Ints) -> _Ways:
        arcs, _ = ways.follow(tree, self.graph.network.head, self.sources)
        return _Ways(arcs, (arcs >= 0).sum(1))

    def _use_ways(self, taken: _Ways, count: int) -> None:
        used = taken.arcs[taken.arcs >= 0]
        network = self.graph.network
        self.arc_use += count * np.bincount(used, minlength=len(network.tail))
        self.node_use += count * np.bincount(network.head[used], minlength=network.nodes)

    def _covered(self, shortest_only: bool = False) -> Bools:
        """Sources that have two link-disjoint ways."""
        covered = np.zeros(len(self.sources), bool)
        least = self.distance[self.sources]
        for i, one in enumerate(self.ways):
            for other in self.ways[:i]:
                if shortest_only:
                    skipped = covered | (one.hops != least) | (other.hops != least)
                    found = skipped.copy()
                    growth.apart(self.graph.link, one.arcs, other.arcs, found)
                    covered |= found & ~skipped
                else:
                    growth.apart(self.graph.link, one.arcs, other.arcs, covered)
                if covered.all():
                    return covered
        return covered
