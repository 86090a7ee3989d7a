"""A network's living arcs, and cheapest ways over them."""

from __future__ import annotations

import numpy as np

from controller.optimizer.disjoint import Bools, reverse_arcs
from controller.optimizer.problem import Floats, Ints, Network


class Graph:
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
