"""Depth-first search, blocks and st-numberings; see ``disjoint``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Bools, Indices, Ints


@kernel
def contract(tail: Ints, head: Ints, two_way: Bools, inside: Bools) -> tuple[Indices, Ints, Ints]:
    """The graph of the two-way arcs with all nodes ``inside`` merged into node N.

    Node a has the arcs ``arcs[first[a]:first[a + 1]]``, in order, to nodes ``to`` likewise.
    """
    root = len(inside)
    first = np.zeros(root + 2, np.int64)
    for arc in range(len(tail)):
        a = root if inside[tail[arc]] else tail[arc]
        b = root if inside[head[arc]] else head[arc]
        if two_way[arc] and a != b:
            first[a + 1] += 1
    for n in range(root + 1):
        first[n + 1] += first[n]
    free = first.copy()
    arcs = np.empty(first[-1], np.int32)
    to = np.empty(first[-1], np.int32)
    for arc in range(len(tail)):
        a = root if inside[tail[arc]] else tail[arc]
        b = root if inside[head[arc]] else head[arc]
        if two_way[arc] and a != b:
            arcs[free[a]], to[free[a]] = arc, b
            free[a] += 1
    return first, arcs, to


@kernel
def search(first: Indices, to: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Depth-first from the last node: preorder, the number of each node in it (-1: not reached),
    its parent, and its low point (the first node that its subtree has an edge to)."""
    nodes = len(first) - 1
    root = nodes - 1
    number = np.full(nodes, -1, np.int32)
    parent = np.full(nodes, -1, np.int32)
    low = np.full(nodes, -1, np.int32)
    order = np.empty(nodes, np.int32)
    stack = np.empty(nodes, np.int32)
    rest = first[:-1].copy()
    number[root], parent[root], low[root], order[0], stack[0] = 0, root, root, root, root
    found, depth = 1, 1
    while depth:
        node = stack[depth - 1]
        if rest[node] < first[node + 1]:
            other = to[rest[node]]
            rest[node] += 1
            if number[other] < 0:
                number[other] = found
                order[found] = other
                parent[other], low[other] = node, other
                stack[depth] = other
                found += 1
                depth += 1
            elif other != parent[node] and number[other] < number[low[node]]:
                low[node] = other
        else:
            depth -= 1
            above = parent[node]
            if number[low[node]] < number[low[above]]:
                low[above] = low[node]
    return order[:found], number, parent, low


@kernel
def pair(first: Indices, arcs: Ints, to: Ints) -> tuple[Ints, Ints, Bools]:
    """Red and blue arc of each node and whether their ways share no link, on a contracted graph."""
    order, number, parent, low = search(first, to)
    nodes = len(first) - 1
    root = nodes - 1
    red = np.full(nodes, -1, np.int32)
    blue = np.full(nodes, -1, np.int32)
    protected = np.zeros(nodes, np.bool_)
    protected[root] = True
    block = np.empty(nodes, np.int32)
    inside = np.zeros(nodes, np.bool_)
    for i in range(1, len(order)):
        node = order[i]
        top = parent[node]
        if number[low[node]] < number[top]:
            continue
        # The biconnected block that is entered by this node, in preorder.
        block[0], size = node, 1
        inside[node] = True
        for j in range(i + 1, len(order)):
            other = order[j]
            if number[parent[other]] < i:
                break
            if inside[parent[other]] and number[low[other]] < number[parent[other]]:
                inside[other] = True
                block[size] = other
                size += 1
        if size == 1:
            doubled = _to_parent(first, arcs, to, node, top, red, blue)
        else:
            _two_ways(first, arcs, to, top, block[:size], parent, low, red, blue)
            doubled = True
        for j in range(size):
            inside[block[j]] = False
            protected[block[j]] = doubled and protected[top]
    return red[:root], blue[:root], protected[:root]


@kernel
def _to_parent(
    first: Indices, arcs: Ints, to: Ints, node: int, top: int, red: Ints, blue: Ints
) -> bool:
    """A block of one edge: the first and the last of its parallel arcs; whether they are two."""
    for k in range(first[node], first[node + 1]):
        if to[k] == top:
            if red[node] < 0:
                red[node] = arcs[k]
            blue[node] = arcs[k]
    return bool(red[node] != blue[node])


@kernel
def _two_ways(
    first: Indices,
    arcs: Ints,
    to: Ints,
    source: int,
    block: Ints,
    parent: Ints,
    low: Ints,
    red: Ints,
    blue: Ints,
) -> None:
    """Number the block from ``source`` to ``block[0]``; red goes down the numbers, blue up."""
    nodes = len(first) - 1
    sink = block[0]
    after = np.full(nodes, -1, np.int32)
    before = np.full(nodes, -1, np.int32)
    ahead = np.zeros(nodes, np.bool_)
    after[source], before[sink], ahead[source] = sink, source, True
    for i in range(1, len(block)):
        node = block[i]
        above = parent[node]
        if ahead[low[node]]:
            left, right = before[above], above
            ahead[above] = False
        else:
            left, right = above, after[above]
            ahead[above] = True
        after[left], before[node] = node, left
        after[node] = right
        if right >= 0:
            before[right] = node
    ranked = np.empty(len(block) + 1, np.int32)
    rank = np.full(nodes, -1, np.int32)
    node, count = source, 0
    while node >= 0:
        ranked[count], rank[node] = node, count
        node = after[node]
        count += 1

    depth = np.zeros(nodes, np.int32)
    for i in range(1, count):
        node = ranked[i]
        best = -1
        for k in range(first[node], first[node + 1]):
            other = to[k]
            if rank[other] < 0 or rank[other] >= i or (node == sink and other == source):
                continue
            if best < 0 or _nearer(depth, rank, other, to[best]):
                best = k
        depth[node] = depth[to[best]] + 1
        red[node] = arcs[best]
    depth[sink] = 0
    for k in range(first[sink], first[sink + 1]):
        if to[k] == source:
            blue[sink] = arcs[k]
            break
    for i in range(count - 2, 0, -1):
        node = ranked[i]
        best = -1
        for k in range(first[node], first[node + 1]):
            if rank[to[k]] > i and (best < 0 or _nearer(depth, rank, to[k], to[best])):
                best = k
        depth[node] = depth[to[best]] + 1
        blue[node] = arcs[best]


@kernel
def _nearer(depth: Ints, rank: Ints, a: int, b: int) -> bool:
    return bool(depth[a] < depth[b] or (depth[a] == depth[b] and rank[a] < rank[b]))
