"""Cheapest ways from a node to an egress, and cheapest pairs of disjoint ones.

Arcs ``arcs[first[n]:first[n + 1]]`` leave node n. An arc may be used if it has ``room >= rate`` and
is not ``barred``. Costs are positive whole numbers, so that nothing depends on rounding.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import heap, kernel
from controller.optimizer.problem import Bools, Floats, Indices, Ints

FAR = 1 << 60


@kernel
def toward(
    inside: Bools, cost: Indices, room: Floats, tail: Ints, into_first: Indices, into: Indices
) -> Indices:
    """Least cost from each node to a node ``inside``; FAR where there is no way. ``into`` are the
    arcs by head."""
    nodes = len(inside)
    best = np.full(nodes, FAR, np.int64)
    keys = np.empty(nodes + len(into), np.int64)
    items = np.empty(nodes + len(into), np.int64)
    size = 0
    for n in range(nodes):
        if inside[n]:
            best[n] = 0
            size = heap.push(keys, items, size, 0, n)
    while size:
        key, n = keys[0], items[0]
        size = heap.pop(keys, items, size)
        if key > best[n]:
            continue
        for k in range(into_first[n], into_first[n + 1]):
            arc = into[k]
            a = tail[arc]
            if room[arc] >= 0.0 and not inside[a] and key + cost[arc] < best[a]:
                best[a] = key + cost[arc]
                size = heap.push(keys, items, size, best[a], a)
    return best


@kernel
def cheapest(
    source: int,
    inside: Bools,
    cost: Indices,
    least: Indices,
    room: Floats,
    rate: float,
    barred: Bools,
    passing: Indices,
    wanted: int,
    first: Indices,
    arcs: Ints,
    head: Ints,
) -> tuple[Ints, Indices, int]:
    """The cheapest walk that ends where it first gets ``inside`` (A*; Hart, Nilsson and Raphael,
    1968), by its arcs, if the ``passing`` of its arcs together are ``wanted``; a path if that is 0.

    ``least[N]`` is consistent: no more than the cost to get inside, falling by no more than an
    arc's cost along it. Also returns each state's least cost so far, node * (wanted + 1) + passed,
    and the walk's, both reduced by ``least``; -1 where there is no walk.
    """
    kinds = wanted + 1
    states = len(inside) * kinds
    best = np.full(states, FAR, np.int64)
    by = np.full(states, -1, np.int32)
    came = np.full(states, -1, np.int64)
    keys = np.empty(1 + len(arcs) * kinds, np.int64)
    items = np.empty(1 + len(arcs) * kinds, np.int64)
    best[source * kinds] = 0
    size = heap.push(keys, items, 0, 0, source * kinds)
    while size:
        key, state = keys[0], items[0]
        size = heap.pop(keys, items, size)
        if key > best[state]:
            continue
        n, passed = state // kinds, state % kinds
        if inside[n]:
            if passed == wanted:
                count = 0
                at = state
                while came[at] >= 0:
                    count += 1
                    at = came[at]
                walk = np.empty(count, np.int32)
                while came[state] >= 0:
                    count -= 1
                    walk[count] = by[state]
                    state = came[state]
                return walk, best, key
            continue
        for k in range(first[n], first[n + 1]):
            arc = arcs[k]
            b = head[arc]
            if room[arc] < rate or barred[arc] or b == source or least[b] >= FAR:
                continue
            target = b * kinds + (passed | passing[arc])
            reached = key + cost[arc] + least[b] - least[n]
            if reached < best[target]:
                best[target], by[target], came[target] = reached, arc, state
                size = heap.push(keys, items, size, reached, target)
    return np.empty(0, np.int32), best, -1


@kernel
def second(
    source: int,
    inside: Bools,
    cost: Indices,
    least: Indices,
    room: Floats,
    rate: float,
    barred: Bools,
    first: Indices,
    arcs: Ints,
    tail: Ints,
    head: Ints,
    path: Ints,
    best: Indices,
    total: int,
    apart: bool,
) -> tuple[Ints, Ints]:
    """Two ways of least sum that share no arc, and no node between source and end if ``apart``,
    from what ``cheapest`` found; empty if there are none.

    Suurballe and Tarjan, "A quick method for finding shortest pairs of disjoint paths" (1984), by
    one augmentation with nodes split as in Bhandari, "Survivable networks" (1999). The sum being
    least, the two never use both directions of a link, and neither meets itself.
    """
    nodes = len(inside)
    before = np.full(nodes, -1, np.int32)
    taken = np.zeros(len(arcs), np.bool_)
    for arc in path:
        before[head[arc]] = arc
        taken[arc] = True
    # Of a node on the first way that must not be shared, 2 n is arrived at, 2 n + 1 left from.
    states = 2 * nodes
    reach = np.full(states, FAR, np.int64)
    by = np.full(states, -1, np.int32)
    came = np.full(states, -1, np.int64)
    keys = np.empty(1 + len(arcs) + 2 * nodes, np.int64)
    items = np.empty(1 + len(arcs) + 2 * nodes, np.int64)
    reach[2 * source + 1] = 0
    size = heap.push(keys, items, 0, 0, 2 * source + 1)
    end = -1
    while size:
        key, state = keys[0], items[0]
        size = heap.pop(keys, items, size)
        if key > reach[state]:
            continue
        n = state // 2
        if inside[n]:
            end = state
            break
        if before[n] >= 0:
            target = 2 * tail[before[n]] + 1
            if key < reach[target]:
                reach[target], by[target], came[target] = key, before[n], state
                size = heap.push(keys, items, size, key, target)
        if state % 2 == 0:
            continue
        for k in range(first[n], first[n + 1]):
            arc = arcs[k]
            b = head[arc]
            if taken[arc] or room[arc] < rate or barred[arc] or b == source or least[b] >= FAR:
                continue
            reduced = cost[arc] + least[b] - least[n] + min(best[n], total) - min(best[b], total)
            target = 2 * b if apart and before[b] >= 0 and not inside[b] else 2 * b + 1
            if key + reduced < reach[target]:
                reach[target], by[target], came[target] = key + reduced, arc, state
                size = heap.push(keys, items, size, key + reduced, target)
    if end < 0:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    while came[end] >= 0:
        # What goes back over an arc of the first way takes it from the sum.
        taken[by[end]] = not taken[by[end]]
        end = came[end]
    one = _unravel(source, inside, taken, first, arcs, head)
    return one, _unravel(source, inside, taken, first, arcs, head)


@kernel
def _unravel(
    source: int, inside: Bools, taken: Bools, first: Indices, arcs: Ints, head: Ints
) -> Ints:
    """A way over ``taken`` arcs, which it clears."""
    way = np.empty(len(arcs), np.int32)
    at, count = source, 0
    while not inside[at]:
        for k in range(first[at], first[at + 1]):
            if taken[arcs[k]]:
                break
        way[count] = arcs[k]
        taken[arcs[k]] = False
        at = head[arcs[k]]
        count += 1
    return way[:count].copy()
