"""Each demand's best answer to all others; see ``baselines.ssdo``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints

BISECTIONS = 30


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
    hot: float,
) -> None:
    """For each demand with a used arc at ``hot`` or above: the shares by which none of its paths is
    worse than need be, when they share no arc. ``share`` and ``level`` are updated."""
    for g in order:
        begin, end = bounds[g], bounds[g + 1]
        touched = False
        for p in range(begin, end):
            if share[p] > 0.0:
                for k in range(first[p], first[p + 1]):
                    touched |= level[arcs[k]] >= hot
        if not touched or not rate[g] > 0.0:
            continue
        for p in range(begin, end):
            for k in range(first[p], first[p + 1]):
                level[arcs[k]] -= share[p] * rate[g] * inverse[arcs[k]]
        low, high, lone = 0.0, np.inf, begin
        for p in range(begin, end):
            alone = 0.0
            for k in range(first[p], first[p + 1]):
                alone = max(alone, level[arcs[k]] + rate[g] * inverse[arcs[k]])
            if alone < high:
                high, lone = alone, p
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            total = 0.0
            for p in range(begin, end):
                total += room(p, first, arcs, inverse, level, middle)
            if total >= rate[g]:
                high = middle
            else:
                low = middle
        total = 0.0
        for p in range(begin, end):
            share[p] = room(p, first, arcs, inverse, level, high)
            total += share[p]
        if not total > 0.0:
            # Others' loads are so large that this one is lost in their rounding.
            share[lone] = total = 1.0
        for p in range(begin, end):
            share[p] /= total
            for k in range(first[p], first[p + 1]):
                level[arcs[k]] += share[p] * rate[g] * inverse[arcs[k]]


@kernel
def room(
    path: int, first: Indices, arcs: Ints, inverse: Floats, level: Floats, limit: float
) -> float:
    """What a path carries before some arc of it exceeds ``limit``."""
    least = np.inf
    for k in range(first[path], first[path + 1]):
        least = min(least, (limit - level[arcs[k]]) / inverse[arcs[k]])
    return max(0.0, least)
