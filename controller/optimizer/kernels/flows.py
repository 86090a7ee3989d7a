"""Sums over paths: loads of arcs and lengths of paths."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints


@kernel
def load(first: Indices, arcs: Ints, carried: Floats, arc_count: int) -> Floats:
    """Sum of ``carried[P]`` over the paths on each arc."""
    total = np.zeros(arc_count)
    for p in range(len(carried)):
        if carried[p] != 0.0:
            for k in range(first[p], first[p + 1]):
                total[arcs[k]] += carried[p]
    return total


@kernel
def length(first: Indices, arcs: Ints, cost: Floats) -> Floats:
    """Sum of ``cost[A]`` over each path."""
    out = np.empty(len(first) - 1)
    for p in range(len(out)):
        total = 0.0
        for k in range(first[p], first[p + 1]):
            total += cost[arcs[k]]
        out[p] = total
    return out


@kernel
def cheapest(bounds: Indices, first: Indices, arcs: Ints, cost: Floats, rate: Floats) -> float:
    """Sum over demands of ``rate[G]`` x the least length of their paths."""
    total = 0.0
    for g in range(len(bounds) - 1):
        least = np.inf
        for p in range(bounds[g], bounds[g + 1]):
            way = 0.0
            for k in range(first[p], first[p + 1]):
                way += cost[arcs[k]]
                if way >= least:
                    break
            least = min(least, way)
        total += rate[g] * least
    return total
