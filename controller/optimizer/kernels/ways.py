"""Following trees: from given nodes, and for all demands at once."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Bools, Floats, Indices, Ints


@kernel
def end_of(row: Ints, head: Ints, start: int) -> tuple[int, int]:
    """Hops from ``start`` and the node where the tree ``row[N]`` ends; node -1 if it never does."""
    at, hops = start, 0
    while row[at] >= 0:
        at = head[row[at]]
        hops += 1
        if hops > len(row):
            return hops, -1
    return hops, at


@kernel
def follow(row: Ints, head: Ints, start: Indices) -> tuple[Ints, Indices]:
    """``arcs[P, H]`` from each ``start[P]``, padded with -1, and the node where each way ends (-1,
    and no arcs, if it never does)."""
    ends = np.empty(len(start), np.int64)
    longest = 0
    for i in range(len(start)):
        hops, ends[i] = end_of(row, head, start[i])
        if ends[i] >= 0:
            longest = max(longest, hops)
    arcs = np.full((len(start), longest), -1, np.int32)
    for i in range(len(start)):
        if ends[i] < 0:
            continue
        at, h = start[i], 0
        while row[at] >= 0:
            arcs[i, h] = row[at]
            at = head[row[at]]
            h += 1
    return arcs, ends


@kernel
def members(next_arc: Ints, head: Ints) -> Bools:
    """``[T, N]``: nodes where tree t ends, having been led there by some arc of it."""
    trees, nodes = next_arc.shape
    out = np.zeros((trees, nodes), np.bool_)
    for t in range(trees):
        for n in range(nodes):
            if next_arc[t, n] >= 0:
                out[t, head[next_arc[t, n]]] = True
        for n in range(nodes):
            if next_arc[t, n] >= 0:
                out[t, n] = False
    return out


@kernel
def works(
    next_arc: Ints,
    head: Ints,
    capacity: Floats,
    ends: Bools,
    source: Ints,
    first: Indices,
    trees: Indices,
) -> Ints:
    """Hops of demand d on each of its candidates ``trees[first[d]:first[d + 1]]``; -1 where it does
    not get to a member over arcs with capacity."""
    out = np.full(len(trees), -1, np.int32)
    for d in range(len(source)):
        for i in range(first[d], first[d + 1]):
            t = trees[i]
            at, hops = source[d], 0
            while next_arc[t, at] >= 0 and hops <= next_arc.shape[1]:
                arc = next_arc[t, at]
                if not capacity[arc] > 0:
                    break
                at = head[arc]
                hops += 1
            if next_arc[t, at] < 0 and ends[t, at]:
                out[i] = hops
    return out


@kernel
def lay(
    next_arc: Ints, head: Ints, capacity: Floats, start: Ints, tree: Indices, first: Indices
) -> tuple[Ints, Floats]:
    """Arcs of path p, from ``start[p]`` on ``tree[p]``, at ``[first[p]:first[p + 1]]``; and the
    least capacity of each path."""
    arcs = np.empty(first[-1], np.int32)
    bottleneck = np.full(len(tree), np.inf)
    for p in range(len(tree)):
        at = start[p]
        for k in range(first[p], first[p + 1]):
            arc = next_arc[tree[p], at]
            arcs[k] = arc
            bottleneck[p] = min(bottleneck[p], capacity[arc])
            at = head[arc]
    return arcs, bottleneck


@kernel
def twins(starts: Indices, first: Indices, arcs: Ints) -> Ints:
    """For each path, the paths of the same demand (``starts[G + 1]``) that take the same arcs."""
    count = np.ones(len(first) - 1, np.int32)
    for g in range(len(starts) - 1):
        for p in range(starts[g], starts[g + 1]):
            for q in range(p + 1, starts[g + 1]):
                size = first[p + 1] - first[p]
                if first[q + 1] - first[q] != size:
                    continue
                same = True
                for k in range(size):
                    if arcs[first[p] + k] != arcs[first[q] + k]:
                        same = False
                        break
                if same:
                    count[p] += 1
                    count[q] += 1
    return count
