"""Which failures a family of trees survives by detours, before anybody acts.

A switch whose next hop is dead can hand a packet to any neighbour on any tree of the family that
leads from there to the egress without coming back. So what local repair needs is known exactly:
for each arc that packets may take, some other neighbour with some tree that avoids the switch
itself, and the switch behind the arc where that may die as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.optimizer.disjoint import Bools
from controller.optimizer.graph import Graph
from controller.optimizer.paths import Indices, walk
from controller.optimizer.problem import Ints


def survives(graph: Graph, root: Bools, trees: Sequence[Ints], used: Indices) -> Bools:
    """For each arc of ``used``, ``[U, 2]``: whether there is a detour when its link dies, and when
    the switch behind it dies (for a member of the egress, ``root``, the same as for the link)."""
    on, works = _paths(graph, root, trees)
    tail, head = graph.network.tail, graph.network.head
    first = np.searchsorted(graph.tail, tail[used], "left")
    count = np.searchsorted(graph.tail, tail[used], "right") - first
    which = np.repeat(np.arange(len(used)), count)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    other = graph.arcs[np.repeat(first, count) + nth]
    which, other = which[other != used[which]], other[other != used[which]]

    here, behind, neighbour = tail[used[which]], head[used[which]], head[other]
    leads = works[:, neighbour] & ~on[:, neighbour, here]
    around = leads & (~on[:, neighbour, behind] | root[behind])
    out = np.zeros((len(used), 2), bool)
    np.logical_or.at(out[:, 0], which, leads.any(0))
    np.logical_or.at(out[:, 1], which, around.any(0))
    return out


def _paths(graph: Graph, root: Bools, trees: Sequence[Ints]) -> tuple[Bools, Bools]:
    """``on[t, n, x]``: tree t leads from n through x, both ends included; ``works[t, n]``: to a
    member."""
    nodes = graph.network.nodes
    rows = np.repeat(np.array(trees, np.int32).reshape(-1, nodes), nodes, 0)
    start = np.tile(np.arange(nodes), len(trees))
    arcs, end = walk(rows, graph.network.head, start)
    on = np.zeros((len(start), nodes), bool)
    on[np.arange(len(start)), start] = True
    walker, hop = np.nonzero(arcs < len(graph.network.head))
    on[walker, graph.network.head[arcs[walker, hop]]] = True
    works = (end >= 0) & root[end]
    return on.reshape(len(trees), nodes, nodes), works.reshape(len(trees), nodes)
