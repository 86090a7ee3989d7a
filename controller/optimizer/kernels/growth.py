"""What growing a family of trees asks of a graph again and again."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import heap, kernel
from controller.optimizer.problem import Bools, Floats, Indices, Ints


@kernel
def cheapest(
    start: Floats,
    settled: Bools,
    cost: Floats,
    tail: Indices,
    into_first: Indices,
    into: Indices,
    out_first: Indices,
    head: Indices,
    arcs: Indices,
) -> tuple[Floats, Ints]:
    """Cheapest ways from every node to where ``start[N]`` is finite (Dijkstra's, from there).

    Positions i of living arcs, sorted by tail, have ``cost[i] > 0``, ``tail[i]``, ``head[i]`` and
    index ``arcs[i]``; node n has those from ``out_first[n]``, and ``into[into_first[n]:...]`` lead
    to it. Returns cost and next arc, -1 where ``settled`` or unreachable; of equal arcs the first.
    """
    nodes = len(start)
    best = start.copy()
    chosen = np.full(nodes, -1, np.int32)
    done = np.zeros(nodes, np.bool_)
    keys = np.empty(nodes + len(arcs), np.float64)
    items = np.empty(nodes + len(arcs), np.int64)
    size = 0
    for n in range(nodes):
        if np.isfinite(start[n]):
            size = heap.push(keys, items, size, start[n], n)
    while size:
        key, n = keys[0], items[0]
        size = heap.pop(keys, items, size)
        if done[n] or key > best[n]:
            continue
        done[n] = True
        for k in range(into_first[n], into_first[n + 1]):
            i = into[k]
            a = tail[i]
            if not settled[a] and cost[i] + key < best[a]:
                best[a] = cost[i] + key
                size = heap.push(keys, items, size, best[a], a)
    for n in range(nodes):
        if not settled[n] and np.isfinite(best[n]):
            for i in range(out_first[n], out_first[n + 1]):
                if cost[i] + best[head[i]] == best[n]:
                    chosen[n] = arcs[i]
                    break
    return best, chosen


@kernel
def differ(ways: Ints, other: Ints, new: Bools) -> None:
    """Clear ``new[S]`` where both families of ways, padded with -1, have the same arcs."""
    for s in range(len(new)):
        if not new[s]:
            continue
        same = True
        for h in range(max(ways.shape[1], other.shape[1])):
            a = ways[s, h] if h < ways.shape[1] else -1
            b = other[s, h] if h < other.shape[1] else -1
            if a != b:
                same = False
                break
        if same:
            new[s] = False


@kernel
def apart(link: Ints, one: Ints, other: Ints, covered: Bools) -> None:
    """Set ``covered[S]`` where two ways share no link."""
    for s in range(len(covered)):
        if covered[s]:
            continue
        clash = False
        for h in range(one.shape[1]):
            if one[s, h] < 0:
                break
            for k in range(other.shape[1]):
                if other[s, k] < 0:
                    break
                if link[one[s, h]] == link[other[s, k]]:
                    clash = True
        covered[s] = not clash


@kernel
def detours(
    used: Indices,
    root: Bools,
    trees: Ints,
    tail: Ints,
    head: Ints,
    out_first: Indices,
    arcs: Indices,
) -> Bools:
    """See ``survival.survives``; ``arcs`` are the living ones by tail, as in ``cheapest``."""
    out = np.zeros((len(used), 2), np.bool_)
    for u in range(len(used)):
        here, behind = tail[used[u]], head[used[u]]
        for i in range(out_first[here], out_first[here + 1]):
            if out[u, 1]:
                break
            if arcs[i] == used[u]:
                continue
            for t in range(len(trees)):
                at, hops, past = head[arcs[i]], 0, False
                while at != here and trees[t, at] >= 0 and hops <= len(root):
                    past |= at == behind
                    at = head[trees[t, at]]
                    hops += 1
                if at != here and trees[t, at] < 0 and root[at]:
                    out[u, 0] = True
                    if root[behind] or not (past or at == behind):
                        out[u, 1] = True
                        break
    return out
