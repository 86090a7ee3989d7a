"""Pairwise descent on the smoothed maximum; see ``descent``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints

USED = 1e-12
EQUAL = 1 + 1e-3


@kernel
def sweep(
    order: Indices,
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    rate: Floats,
    inverse: Floats,
    share: Floats,
    level: Floats,
    cost: Floats,
    sharpness: float,
    tries: int,
) -> None:
    """For each demand in ``order``, up to ``tries`` times: move share from its costliest used path
    to its cheapest, by a damped Newton step on the sum of ``exp(sharpness * (level - 1))``.

    Demand g has the paths ``bounds[g]:bounds[g + 1]``; ``rate[G] * inverse[A]`` is what it adds to
    ``level[A]`` of an arc. ``cost[A]`` is the derivative, ``inverse * exp(...)``. ``share``,
    ``level`` and ``cost`` are updated.
    """
    longest = 0
    for g in order:
        longest = max(longest, bounds[g + 1] - bounds[g])
    way = np.empty(longest)
    for g in order:
        begin, end = bounds[g], bounds[g + 1]
        if end - begin < 2 or not rate[g] > 0.0:
            continue
        for p in range(begin, end):
            way[p - begin] = length(p, first, arcs, cost)
        for _ in range(tries):
            least, most = np.inf, -1.0
            to, away = -1, -1
            for p in range(begin, end):
                if way[p - begin] < least:
                    least, to = way[p - begin], p
                if share[p] > USED and way[p - begin] > most:
                    most, away = way[p - begin], p
            if away < 0 or to == away or most <= least * EQUAL:
                break
            curvature, steepest = 0.0, 0.0
            for k in range(first[away], first[away + 1]):
                curvature += cost[arcs[k]] * inverse[arcs[k]]
            for k in range(first[to], first[to + 1]):
                curvature += cost[arcs[k]] * inverse[arcs[k]]
                steepest = max(steepest, inverse[arcs[k]])
            # Exponentials grow faster than Newton's model of them: no level by more than one e.
            amount = min(share[away] * rate[g], 1.0 / (steepest * sharpness))
            if curvature * sharpness > 0.0:
                amount = min(amount, (most - least) / (sharpness * curvature))
            share[away] -= amount / rate[g]
            share[to] += amount / rate[g]
            if share[away] < USED:
                share[away] = 0.0
            for k in range(first[away], first[away + 1]):
                e = arcs[k]
                level[e] -= amount * inverse[e]
                cost[e] = inverse[e] * np.exp(sharpness * (level[e] - 1.0))
            for k in range(first[to], first[to + 1]):
                e = arcs[k]
                level[e] += amount * inverse[e]
                cost[e] = inverse[e] * np.exp(sharpness * (level[e] - 1.0))
            # Others that share an arc with these two wait for the next sweep.
            way[away - begin] = length(away, first, arcs, cost)
            way[to - begin] = length(to, first, arcs, cost)


@kernel
def length(path: int, first: Indices, arcs: Ints, cost: Floats) -> float:
    total = 0.0
    for k in range(first[path], first[path + 1]):
        total += cost[arcs[k]]
    return total
