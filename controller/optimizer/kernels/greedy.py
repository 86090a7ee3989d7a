"""Flows onto paths one after the other, and finding a route among paths."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints


@kernel
def least_loaded(
    order: Indices, bounds: Indices, first: Indices, arcs: Ints, size: Floats, inverse: Floats
) -> Indices:
    """Path of each flow: in ``order``, that whose worst utilisation is least with the flow on it;
    among equals, that with the least sum of squares."""
    level = np.zeros(len(inverse))
    path = np.empty(len(size), np.int64)
    for g in order:
        best, least, least_sum = bounds[g], np.inf, np.inf
        for p in range(bounds[g], bounds[g + 1]):
            worst, total = 0.0, 0.0
            for k in range(first[p], first[p + 1]):
                after = level[arcs[k]] + size[g] * inverse[arcs[k]]
                worst = max(worst, after)
                total += after * after
            if worst < least or (worst == least and total < least_sum):
                best, least, least_sum = p, worst, total
        path[g] = best
        for k in range(first[best], first[best + 1]):
            level[arcs[k]] += size[g] * inverse[arcs[k]]
    return path


@kernel
def find(
    flows: Indices,
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    route_first: Indices,
    route_arcs: Ints,
) -> Indices:
    """The path of flow ``flows[G]`` that takes exactly its route, ``[G]``; -1 where none does."""
    path = np.full(len(flows), -1, np.int64)
    for g in range(len(flows)):
        begin = route_first[flows[g]]
        hops = route_first[flows[g] + 1] - begin
        for p in range(bounds[g], bounds[g + 1]):
            if first[p + 1] - first[p] != hops:
                continue
            same = True
            for k in range(hops):
                if arcs[first[p] + k] != route_arcs[begin + k]:
                    same = False
                    break
            if same:
                path[g] = p
                break
    return path
