"""Families of diverse in-trees, a few for each egress, on any graph.

Shortest-path trees come first, each avoiding the nodes and arcs that its siblings use, so a Clos
fabric gets one tree for each spine or core. Where shortest trees leave a source without two
link-disjoint ways although the graph has them, a red and a blue tree are added (``disjoint``),
then trees that may detour.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.optimizer.disjoint import disjoint_pair, reverse_arcs
from controller.optimizer.paths import Indices, walk
from controller.optimizer.problem import Floats, Forest, Ints, Network

Bools = npt.NDArray[np.bool_]
MAX_TREE_ID = 1023


def grow(
    network: Network,
    members: Sequence[Sequence[int]],
    trees_per_egress: int = 8,
    previous: Forest | None = None,
    sources: Collection[int] | None = None,
) -> Forest:
    """A forest with up to ``trees_per_egress`` trees for each egress ``members[g]``.

    Every tree spans all nodes that can reach the egress over arcs with capacity, and from every
    source two trees are link-disjoint where the graph allows it (and ``trees_per_egress`` is at
    least 2; this may exceed it when previous trees fill the family). Traffic enters at
    ``sources``, by default where it may leave: at all members. Previous trees whose arcs are all
    alive keep their ids and arcs, at most with nodes added that they did not know; no new tree
    has an id that any previous one has.

    Raises ValueError when an egress runs out of tree ids.
    """
    if sources is None:
        sources = {node for group in members for node in group}
    graph = _Graph(network)
    egress: list[int] = []
    ids: list[int] = []
    rows: list[Ints] = []
    for g, group in enumerate(members):
        family = _Family(graph, group, sources)
        kept: list[int] = []
        taken: set[int] = set()
        if previous is not None:
            for t in np.flatnonzero(previous.egress == g):
                taken.add(int(previous.tree_id[t]))
                if family.adopt(previous.next_arc[t]):
                    kept.append(int(previous.tree_id[t]))
        family.fill(trees_per_egress)
        ids += kept + _unused(taken, len(family.trees) - len(kept), g)
        egress += [g] * len(family.trees)
        rows += family.trees
    return _forest(network, egress, ids, rows)


def reconnect(
    network: Network, members: Sequence[Sequence[int]], forest: Forest, sources: Collection[int]
) -> Forest:
    """Add one tree over living arcs to each egress that a source can reach, but by no tree."""
    graph = _Graph(network)
    egress, ids = forest.egress.tolist(), forest.tree_id.tolist()
    rows = list(forest.next_arc)
    for g, group in enumerate(members):
        family = _Family(graph, group, sources)
        own = np.flatnonzero(forest.egress == g)
        reached = np.zeros(len(family.sources), bool)
        for t in own:
            reached |= family.reaches(forest.next_arc[t], family.sources)
        if not reached.all():
            taken = set(forest.tree_id[own].tolist())
            egress.append(g)
            ids += _unused(taken, 1, g)
            rows.append(family.shortest())
    return _forest(network, egress, ids, rows)


def _unused(taken: set[int], count: int, egress: int) -> list[int]:
    free = [i for i in range(MAX_TREE_ID + 1) if i not in taken][:count]
    if len(free) < count:
        raise ValueError(
            f"egress {egress} has no tree id left of {MAX_TREE_ID + 1}: "
            "remove trees that no plan uses"
        )
    return free


def _forest(network: Network, egress: list[int], ids: list[int], rows: list[Ints]) -> Forest:
    return Forest(
        np.array(egress, np.int32),
        np.array(ids, np.int32),
        np.array(rows, np.int32).reshape(len(rows), network.nodes),
    )


class _Graph:
    """The network's living arcs sorted by tail, for vectorised relaxation."""

    def __init__(self, network: Network) -> None:
        self.network = network
        alive = np.flatnonzero(network.capacity_bps > 0)
        self.arcs = alive[np.argsort(network.tail[alive], kind="stable")]
        self.tail = network.tail[self.arcs].astype(np.int64)
        self.head = network.head[self.arcs].astype(np.int64)
        self.starts = np.flatnonzero(np.diff(self.tail, prepend=-1))
        self.reverse = reverse_arcs(network)
        ids = np.arange(len(network.tail))
        link = np.where(self.reverse >= 0, np.minimum(ids, self.reverse), ids)
        self.link = np.append(link, -1)

    def distances(self, start: Floats, cost: Floats, settled: Bools) -> tuple[Floats, Ints]:
        """Cheapest way from every node to where ``start`` is finite; ``settled`` nodes stay put.

        ``cost[living arcs]`` is positive. Returns cost and next arc (-1: settled or unreachable).
        """
        best = start.copy()
        chosen = np.full(len(best), -1, np.int32)
        if not len(self.arcs):
            return best, chosen
        movable = self.tail[self.starts][~settled[self.tail[self.starts]]]
        while True:
            offer = np.full(len(best), np.inf)
            offer[self.tail[self.starts]] = np.minimum.reduceat(cost + best[self.head], self.starts)
            improved = movable[offer[movable] < best[movable]]
            if not len(improved):
                break
            best[improved] = offer[improved]
        tight = (cost + best[self.head] == best[self.tail]) & np.isfinite(best[self.tail])
        tight &= ~settled[self.tail]
        # The first tight arc of each node wins.
        chosen[self.tail[tight][::-1]] = self.arcs[tight][::-1]
        return best, chosen


@dataclass(slots=True)
class _Ways:
    """How the sources of a family get to the egress by one tree."""

    links: Indices
    arcs: Indices
    hops: Indices


class _Family:
    """The trees of one egress while they are grown."""

    def __init__(self, graph: _Graph, members: Sequence[int], sources: Collection[int]) -> None:
        self.graph = graph
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
        self.arc_use = np.zeros(len(graph.network.tail))
        self.node_use = np.zeros(nodes)

    def reaches(self, tree: Ints, start: Indices) -> Bools:
        """Which of the nodes ``start`` get to a member over living arcs."""
        arcs, end = walk(np.repeat(tree[None], len(start), 0), self.graph.network.head, start)
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
        arcs, _ = walk(np.repeat(tree[None], len(known), 0), self.graph.network.head, known)
        hops[known] = (arcs < len(self.graph.network.head)).sum(1)
        self._add(self._attach(tree, hops))
        return True

    def fill(self, limit: int) -> None:
        """Add trees until the limit, or until nothing new comes."""
        kept = len(self.trees)
        if not kept:
            self._add(self.shortest())
        while len(self.trees) < limit and self._add_if_new(self.shortest()):
            pass
        if limit < 2 or self._covered(shortest_only=True).all():
            return
        pair = disjoint_pair(self.graph.network, self.members.tolist(), self.graph.reverse)
        bare = ~self._covered() & pair.protected[self.sources]
        if bare.any():
            while len(self.trees) > max(kept, limit - 2):
                self._drop_last()
            bare = ~self._covered() & pair.protected[self.sources]
            for colour in (pair.red, pair.blue):
                self._add(self._along(colour, self.sources[bare]))
        elif self._covered(shortest_only=True)[pair.protected[self.sources]].all():
            return
        while len(self.trees) < limit:
            if not self._add_if_new(self.shortest()) and not self._add_if_new(self._detour()):
                break

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
        longest = max(1.0, self.distance[self.reachable].max(initial=0.0))
        trees, sources = len(self.trees) + 1, len(self.sources) + 1
        unit = 1 / (4 * longest * trees)
        return np.asarray(1 + unit * (self._use() + self._turn() / (1000 * sources)))

    def _use(self) -> Floats:
        return self.arc_use[self.graph.arcs] + self.node_use[self.graph.head]

    def _turn(self) -> Floats:
        """Order (0..1) in which equal nodes are tried, for each arc by its head.

        When a layer has more nodes than the family will have trees, each egress starts elsewhere.
        """
        turn = np.zeros(self.graph.network.nodes)
        shift = int(self.members[0]) * 8 if len(self.members) else 0
        for hop in range(1, int(self.distance[self.reachable].max(initial=0.0)) + 1):
            layer = np.flatnonzero(self.distance == hop)
            first = shift % len(layer) if len(layer) > 8 else 0
            turn[layer] = (np.arange(len(layer)) - first) % len(layer) / len(layer)
        return turn[self.graph.head]

    def _along(self, colour: Ints, sources: Indices) -> Ints:
        """The tree that follows ``colour`` from ``sources`` and is short from everywhere else."""
        arcs, _ = walk(np.repeat(colour[None], len(sources), 0), self.graph.network.head, sources)
        tree = np.full(self.graph.network.nodes, -1, np.int32)
        hops = np.full(len(tree), np.inf)
        hops[self.root] = 0
        real = arcs < len(self.graph.network.tail)
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
        ways = self._trace(tree)
        self._use_ways(ways, 1.0)
        self.trees.append(tree)
        self.ways.append(ways)

    def _drop_last(self) -> None:
        self.trees.pop()
        self._use_ways(self.ways.pop(), -1.0)

    def _add_if_new(self, tree: Ints) -> bool:
        """Add the tree if it gives some source a way that it does not have yet."""
        ways = self._trace(tree)
        new = np.ones(len(self.sources), bool)
        for other in self.ways:
            width = max(ways.arcs.shape[1], other.arcs.shape[1])
            new &= (_widen(ways.arcs, width) != _widen(other.arcs, width)).any(1)
        if new.any():
            self._add(tree)
        return bool(new.any())

    def _trace(self, tree: Ints) -> _Ways:
        arcs, _ = walk(
            np.repeat(tree[None], len(self.sources), 0), self.graph.network.head, self.sources
        )
        none = len(self.graph.network.tail)
        hops = (arcs < none).sum(1)
        return _Ways(self.graph.link[arcs], np.where(arcs < none, arcs, -1), hops)

    def _use_ways(self, ways: _Ways, sign: float) -> None:
        used = ways.arcs[ways.arcs >= 0]
        share = sign / max(1, len(self.sources))
        np.add.at(self.arc_use, used, share)
        np.add.at(self.node_use, self.graph.network.head[used], share)

    def _covered(self, shortest_only: bool = False) -> Bools:
        """Sources that have two link-disjoint ways."""
        covered = np.zeros(len(self.sources), bool)
        least = self.distance[self.sources]
        for i, one in enumerate(self.ways):
            for other in self.ways[:i]:
                clash = (one.links[:, :, None] == other.links[:, None, :]) & (
                    one.links[:, :, None] >= 0
                )
                apart = ~clash.any((1, 2))
                if shortest_only:
                    apart &= (one.hops == least) & (other.hops == least)
                covered |= apart
                if covered.all():
                    return covered
        return covered


def _widen(arcs: Indices, width: int) -> Indices:
    return np.pad(arcs, ((0, 0), (0, width - arcs.shape[1])), constant_values=-1)
