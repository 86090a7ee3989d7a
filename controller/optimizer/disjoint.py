"""Two spanning in-trees that are link-disjoint from every node, as far as the graph allows.

Within each biconnected block an st-numbering gives each node one way down and one way up (Itai
and Rodeh, "The multi-tree approach to reliability in distributed networks", 1988); the numbering
is Tarjan's ("Two streamlined depth-first search algorithms", 1986). Blocks are chained by their
articulation nodes, so the two paths share exactly the bridges between a node and the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer.kernels import biconnected
from controller.optimizer.problem import Bools, Ints, Network


@dataclass(frozen=True, slots=True)
class DisjointPair:
    """``red[N]``, ``blue[N]``: next arc of each node (-1: member or unreachable). From a node with
    ``protected[N]`` the two paths share no link."""

    red: Ints
    blue: Ints
    protected: Bools


def reverse_arcs(network: Network) -> Ints:
    """The other direction of each arc's link, ``[A]``, -1 if there is none.

    The n-th arc from a to b pairs with the n-th arc from b to a.
    """
    waiting: dict[tuple[int, int], list[int]] = {}
    reverse = np.full(len(network.tail), -1, np.int32)
    for arc, (a, b) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
        if opposite := waiting.get((b, a)):
            other = opposite.pop(0)
            reverse[arc], reverse[other] = other, arc
        else:
            waiting.setdefault((a, b), []).append(arc)
    return reverse


def disjoint_pair(network: Network, members: Sequence[int], reverse: Ints) -> DisjointPair:
    """Trees towards ``members`` over the links whose both directions have capacity."""
    alive = network.capacity_bps > 0
    two_way = alive & (reverse >= 0) & alive[reverse]
    inside = np.zeros(network.nodes, np.bool_)
    inside[list(members)] = True
    red, blue, protected = biconnected.pair(
        *biconnected.contract(network.tail, network.head, two_way, inside)
    )
    return DisjointPair(red, blue, protected | inside)
