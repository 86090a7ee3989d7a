"""Handing out bucket units, aware of the load that all others make; see ``buckets``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints


@kernel
def put(
    path: int,
    count: int,
    first: Indices,
    arcs: Ints,
    quantum: Floats,
    inverse: Floats,
    units: Indices,
    level: Floats,
) -> None:
    """``count`` units more on a path; each is ``quantum[P]`` of load."""
    units[path] += count
    for k in range(first[path], first[path + 1]):
        level[arcs[k]] += count * quantum[path] * inverse[arcs[k]]


@kernel
def peak(
    path: int, first: Indices, arcs: Ints, quantum: Floats, inverse: Floats, level: Floats
) -> float:
    """Worst utilisation on a path if it had one unit more."""
    worst = 0.0
    for k in range(first[path], first[path + 1]):
        worst = max(worst, level[arcs[k]] + quantum[path] * inverse[arcs[k]])
    return worst


@kernel
def hand_out(
    order: Indices,
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    quantum: Floats,
    inverse: Floats,
    total: Indices,
    exact: Floats,
    most: Indices,
    units: Indices,
    level: Floats,
) -> None:
    """Give each demand in ``order`` the units that it lacks, each where it hurts least.

    Of equals the one that is furthest below ``exact``; of those, ties rotate from demand to
    demand, or idle ones would all prefer the same spine.
    """
    for g in order:
        begin, end = bounds[g], bounds[g + 1]
        size = end - begin
        for _ in range(total[g] - units[begin:end].sum()):
            best, best_full, best_hurt, best_above = -1, True, np.inf, np.inf
            for turn in range(size):
                p = begin + (turn + g) % size
                full = units[p] >= most[p]
                hurt = np.round(peak(p, first, arcs, quantum, inverse, level), 9)
                above = np.round(units[p] - exact[p], 6)
                if best < 0 or (full, hurt, above) < (best_full, best_hurt, best_above):
                    best, best_full, best_hurt, best_above = p, full, hurt, above
            put(best, 1, first, arcs, quantum, inverse, units, level)


@kernel
def improve(
    moves: int,
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    quantum: Floats,
    inverse: Floats,
    least: Indices,
    most: Indices,
    crossing_first: Indices,
    crossing: Indices,
    owner: Indices,
    units: Indices,
    level: Floats,
) -> None:
    """Move single units off the worst arc while that helps and all stay within their bounds.

    ``crossing[crossing_first[a]:...]`` are the paths over arc a, ``owner[P]`` their demands.
    """
    for _ in range(moves):
        worst = level.argmax()
        best, source, target = level[worst] * (1 - 1e-9), -1, -1
        for i in range(crossing_first[worst], crossing_first[worst + 1]):
            p = crossing[i]
            if units[p] <= least[p] or not quantum[p] > 0.0:
                continue
            put(p, -1, first, arcs, quantum, inverse, units, level)
            for other in range(bounds[owner[p]], bounds[owner[p] + 1]):
                if other != p and units[other] < most[other]:
                    hurt = peak(other, first, arcs, quantum, inverse, level)
                    if hurt < best:
                        best, source, target = hurt, p, other
            put(p, 1, first, arcs, quantum, inverse, units, level)
        if source < 0:
            return
        put(source, -1, first, arcs, quantum, inverse, units, level)
        put(target, 1, first, arcs, quantum, inverse, units, level)
