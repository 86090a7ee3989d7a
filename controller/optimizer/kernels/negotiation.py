"""Negotiated congestion over given paths; see ``negotiation``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints

DETOUR = 0.02
"""What an arc costs beside its excess: so little that it only decides between equals."""


@kernel
def negotiate(
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    size: Floats,
    limit: Floats,
    price: Floats,
    path: Indices,
    load: Floats,
    growth: float,
    sweeps: int,
    seed: int,
) -> int:
    """Move flows until no load is above its ``limit[A]``; how many sweeps were left then, or -1.

    Flow g is on ``path[g]``, one of ``bounds[g]..bounds[g + 1]``; that, ``load[A]`` and
    ``price[A]`` are updated. A flow on an overloaded arc moves to where it adds least to the sum
    of price x excess, by chance among equals; arcs that stay overloaded then cost ``growth`` times
    as much. ``size`` and ``limit`` are in units in which excesses of different arcs compare.
    """
    random = seed % 2147483648
    count = len(size)
    for sweep in range(sweeps):
        worst = 0.0
        for a in range(len(load)):
            if load[a] > limit[a]:
                price[a] *= growth
                worst = max(worst, price[a])
        if worst == 0.0:
            return sweeps - sweep
        if worst > 1e12:
            for a in range(len(price)):
                price[a] = max(1.0, price[a] * 1e-9)
        random = (random * 1103515245 + 12345) % 2147483648
        begin = (random >> 8) % count
        for i in range(count):
            g = begin + i
            if g >= count:
                g -= count
            p = path[g]
            over = False
            for k in range(first[p], first[p + 1]):
                if load[arcs[k]] > limit[arcs[k]]:
                    over = True
                    break
            if not over:
                continue
            for k in range(first[p], first[p + 1]):
                load[arcs[k]] -= size[g]
            best, least, equals = p, np.inf, 0
            for q in range(bounds[g], bounds[g + 1]):
                cost = DETOUR * size[g] * (first[q + 1] - first[q])
                for k in range(first[q], first[q + 1]):
                    a = arcs[k]
                    excess = min(size[g], load[a] + size[g] - limit[a])
                    if excess > 0.0:
                        cost += price[a] * excess
                        if cost > least:
                            break
                if cost < least:
                    best, least, equals = q, cost, 1
                elif cost == least:
                    equals += 1
                    random = (random * 1103515245 + 12345) % 2147483648
                    if (random >> 8) % equals == 0:
                        best = q
            path[g] = best
            for k in range(first[best], first[best + 1]):
                load[arcs[k]] += size[g]
    return -1
