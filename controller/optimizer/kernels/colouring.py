"""Edge colouring of bipartite multigraphs whose vertices lack some colours; see ``colouring``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Indices, Ints

FREE, FORBIDDEN = -1, -2


@kernel
def colour(
    up: Ints, down: Ints, holder: Ints, order: Indices, seed: int, most_evictions: int
) -> Ints:
    """Colour of each edge, ``[F]``, such that no two at a vertex share one; -1 where none is found.

    Edge f joins the vertices ``up[f]`` and ``down[f]`` (rows of ``holder``). ``holder[v, c]`` is
    ``FREE``, ``FORBIDDEN``, or, afterwards, the edge that has colour c at v. Edges are taken in
    ``order``: a colour that is free at both ends; else one that a Kempe chain frees; else one that
    is taken from other edges, which then look for another, ``most_evictions`` times in all.
    """
    colours = holder.shape[1]
    chosen = np.full(len(up), -1, np.int32)
    chain = np.empty(holder.shape[0] + 1, np.int64)
    waiting = np.empty(len(up) + 1, np.int64)
    random = seed % 2147483648
    evictions = 0
    for i in range(len(order)):
        waiting[0] = order[i]
        count = 1
        while count > 0:
            count -= 1
            f = waiting[count]
            random = (random * 1103515245 + 12345) % 2147483648
            start = (random >> 8) % colours
            if settle(f, start, up, down, holder, chosen, chain):
                continue
            if evictions >= most_evictions:
                continue
            random = (random * 1103515245 + 12345) % 2147483648
            c = victim(up[f], down[f], holder, (random >> 8) % colours)
            if c < 0:
                continue
            evictions += 1
            for v in (up[f], down[f]):
                g = holder[v, c]
                if g >= 0:
                    holder[up[g], c] = FREE
                    holder[down[g], c] = FREE
                    chosen[g] = -1
                    waiting[count] = g
                    count += 1
            keep(f, c, up[f], down[f], holder, chosen)
    return chosen


@kernel
def settle(
    f: int, start: int, up: Ints, down: Ints, holder: Ints, chosen: Ints, chain: Indices
) -> bool:
    """Colour edge f without taking a colour from another for good, if that can be."""
    u, v = up[f], down[f]
    colours = holder.shape[1]
    c = start
    for _ in range(colours):
        if holder[u, c] == FREE and holder[v, c] == FREE:
            keep(f, c, u, v, holder, chosen)
            return True
        c += 1
        if c == colours:
            c = 0
    a = start
    for _ in range(colours):
        a += 1
        if a == colours:
            a = 0
        if holder[u, a] != FREE or holder[v, a] == FORBIDDEN:
            continue
        # a is free at u and taken at v.
        for b in range(colours):
            if holder[v, b] != FREE:
                continue
            if holder[u, b] != FORBIDDEN and swap(u, b, a, up, down, holder, chosen, chain):
                keep(f, b, u, v, holder, chosen)
                return True
            if swap(v, a, b, up, down, holder, chosen, chain):
                keep(f, a, u, v, holder, chosen)
                return True
    return False


@kernel
def swap(
    start: int, a: int, b: int, up: Ints, down: Ints, holder: Ints, chosen: Ints, chain: Indices
) -> bool:
    """Exchange a and b along the chain of edges a, b, a, ... that begins at ``start``, where b is
    free: then a is. Not if the chain ends where the other colour is forbidden."""
    vertex, c, other, count = start, a, b, 0
    while holder[vertex, c] >= 0:
        f = holder[vertex, c]
        chain[count] = f
        count += 1
        vertex = up[f] + down[f] - vertex
        c, other = other, c
    if holder[vertex, c] == FORBIDDEN:
        return False
    for i in range(count):
        f = chain[i]
        holder[up[f], chosen[f]] = FREE
        holder[down[f], chosen[f]] = FREE
    for i in range(count):
        f = chain[i]
        chosen[f] = a + b - chosen[f]
        holder[up[f], chosen[f]] = f
        holder[down[f], chosen[f]] = f
    return True


@kernel
def keep(f: int, c: int, u: int, v: int, holder: Ints, chosen: Ints) -> None:
    chosen[f] = c
    holder[u, c] = f
    holder[v, c] = f


@kernel
def victim(u: int, v: int, holder: Ints, start: int) -> int:
    """A colour that neither end forbids, held at one end only if there is such; else -1."""
    colours = holder.shape[1]
    found = -1
    c = start
    for _ in range(colours):
        c += 1
        if c >= colours:
            c = 0
        if holder[u, c] == FORBIDDEN or holder[v, c] == FORBIDDEN:
            continue
        if holder[u, c] == FREE or holder[v, c] == FREE:
            return c
        if found < 0:
            found = c
    return found
