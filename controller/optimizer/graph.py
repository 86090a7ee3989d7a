"""A network's living arcs, and cheapest ways over them."""

from __future__ import annotations

import numpy as np

from controller.optimizer.disjoint import reverse_arcs
from controller.optimizer.kernels import growth
from controller.optimizer.problem import Bools, Floats, Ints, Network


class Graph:
    """The network's living arcs sorted by tail: ``arcs``, ``tail``, ``head``; those of node n from
    ``out_first[n]``. ``link[A]`` is the same for both directions of a link."""

    def __init__(self, network: Network) -> None:
        self.network = network
        alive = np.flatnonzero(network.capacity_bps > 0)
        self.arcs = alive[np.argsort(network.tail[alive], kind="stable")]
        self.tail = network.tail[self.arcs].astype(np.int64)
        self.head = network.head[self.arcs].astype(np.int64)
        nodes = np.arange(network.nodes + 1)
        self.out_first = np.searchsorted(self.tail, nodes).astype(np.int64)
        self._into = np.argsort(self.head, kind="stable")
        self._into_first = np.searchsorted(self.head[self._into], nodes).astype(np.int64)
        self.reverse = reverse_arcs(network)
        ids = np.arange(len(network.tail), dtype=np.int32)
        self.link = np.where(self.reverse >= 0, np.minimum(ids, self.reverse), ids)

    def distances(self, start: Floats, cost: Floats, settled: Bools) -> tuple[Floats, Ints]:
        """Cheapest way from every node to where ``start`` is finite; ``settled`` nodes stay put.

        ``cost[living arcs]`` is positive. Returns cost and next arc (-1: settled or unreachable).
        """
        return growth.cheapest(
            start,
            settled,
            cost,
            self.tail,
            self._into_first,
            self._into,
            self.out_first,
            self.head,
            self.arcs,
        )
