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
import numpy.typing as npt

from controller.optimizer.problem import Ints, Network

Bools = npt.NDArray[np.bool_]
Edges = dict[int, dict[int, list[int]]]


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
    root = network.nodes
    edges = _contract(network, members, reverse, root)
    order, parent, low = _search(edges, root)
    number = {node: i for i, node in enumerate(order)}
    red = np.full(network.nodes, -1, np.int32)
    blue = red.copy()
    protected = np.zeros(network.nodes, bool)
    protected[list(members)] = True
    for node in order:
        if node != root and number[low[node]] >= number[parent[node]]:
            top = parent[node]
            block = _block(node, order, number, parent, low)
            if len(block) == 1:
                arcs = edges[node][top]
                red[node], blue[node] = arcs[0], arcs[-1]
                doubled = len(arcs) > 1
            else:
                _two_ways(edges, top, block, parent, low, red, blue)
                doubled = True
            above = True if top == root else bool(protected[top])
            protected[block] = doubled and above
    return DisjointPair(red, blue, protected)


def _contract(network: Network, members: Sequence[int], reverse: Ints, root: int) -> Edges:
    """``edges[a][b]``: arcs from a to b, with all members merged into ``root``."""
    inside = set(members)
    edges: Edges = {root: {}}
    for arc, (a, b) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
        back = reverse[arc]
        if back < 0 or not network.capacity_bps[arc] > 0 or not network.capacity_bps[back] > 0:
            continue
        a, b = (root if a in inside else a), (root if b in inside else b)
        if a != b:
            edges.setdefault(a, {}).setdefault(b, []).append(arc)
    return edges


def _search(edges: Edges, root: int) -> tuple[list[int], dict[int, int], dict[int, int]]:
    """Depth-first: preorder, parent of each node, and its low point (the first node that its
    subtree has an edge to)."""
    number, parent, low = {root: 0}, {root: root}, {root: root}
    order = [root]
    stack = [(root, iter(edges[root]))]
    while stack:
        node, rest = stack[-1]
        for to in rest:
            if to not in number:
                number[to] = len(order)
                order.append(to)
                parent[to], low[to] = node, to
                stack.append((to, iter(edges[to])))
                break
            if to != parent[node] and number[to] < number[low[node]]:
                low[node] = to
        else:
            stack.pop()
            above = parent[node]
            if number[low[node]] < number[low[above]]:
                low[above] = low[node]
    return order, parent, low


def _block(
    first: int,
    order: list[int],
    number: dict[int, int],
    parent: dict[int, int],
    low: dict[int, int],
) -> list[int]:
    """Nodes of the biconnected block that is entered by ``first``, in preorder."""
    inside = {first}
    block = [first]
    for node in order[number[first] + 1 :]:
        if number[parent[node]] < number[first]:
            break
        if parent[node] in inside and number[low[node]] < number[parent[node]]:
            inside.add(node)
            block.append(node)
    return block


def _two_ways(
    edges: Edges,
    source: int,
    block: list[int],
    parent: dict[int, int],
    low: dict[int, int],
    red: Ints,
    blue: Ints,
) -> None:
    """Number the block from ``source`` to ``block[0]``; red goes down the numbers, blue up."""
    sink = block[0]
    after: dict[int, int] = {source: sink, sink: -1}
    before: dict[int, int] = {sink: source, source: -1}
    ahead = {source: True}
    for node in block[1:]:
        above = parent[node]
        if ahead.get(low[node], False):
            left, right = before[above], above
            ahead[above] = False
        else:
            left, right = above, after[above]
            ahead[above] = True
        after[left], before[node] = node, left
        after[node] = right
        if right >= 0:
            before[right] = node
    ranked = [source]
    while (step := after[ranked[-1]]) >= 0:
        ranked.append(step)
    rank = {node: i for i, node in enumerate(ranked)}

    depth = {source: 0}
    for node in ranked[1:]:
        lower = [
            to
            for to in edges[node]
            if to in rank and rank[to] < rank[node] and (node, to) != (sink, source)
        ]
        to = min(lower, key=lambda x: (depth[x], rank[x]))
        depth[node] = depth[to] + 1
        red[node] = edges[node][to][0]
    blue[sink] = edges[sink][source][0]
    depth = {sink: 0}
    for node in reversed(ranked[1:-1]):
        to = min(
            (to for to in edges[node] if to in rank and rank[to] > rank[node]),
            key=lambda x: (depth[x], rank[x]),
        )
        depth[node] = depth[to] + 1
        blue[node] = edges[node][to][0]
