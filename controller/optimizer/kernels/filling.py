"""Water-filling over weighted paths; see ``fairness``."""

from __future__ import annotations

import heapq

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints

SPENT = 1e-12
"""What is left of a sum of weights when all of them have been taken out again."""


@kernel
def fill(
    bounds: Indices,
    owner: Indices,
    first: Indices,
    arcs: Ints,
    arc_first: Indices,
    arc_paths: Indices,
    capacity: Floats,
    rate: Floats,
    weight: Floats,
) -> Floats:
    """What each path carries, ``[P]``, when all rise together in proportion to ``weight[P]``.

    A path stops when an arc of it is full, or its demand ``owner[P]`` has its ``rate[G]``; paths
    ``arc_paths[arc_first[a]:arc_first[a + 1]]`` are on arc a.
    """
    arc_count, demands = len(capacity), len(rate)
    left = np.concatenate((capacity, rate))
    load = np.zeros(arc_count + demands)
    for p in range(len(weight)):
        load[arc_count + owner[p]] += weight[p]
        for k in range(first[p], first[p + 1]):
            load[arcs[k]] += weight[p]
    carried = np.zeros(len(weight))
    stopped = np.zeros(len(weight), np.bool_)
    full = np.zeros(len(load), np.bool_)
    whole = load.copy()
    waiting = [(left[x] / load[x], x) for x in range(len(load)) if load[x] > 0.0]
    heapq.heapify(waiting)
    while len(waiting) > 0:
        height, x = heapq.heappop(waiting)
        if full[x] or load[x] <= SPENT * whole[x]:
            continue
        now = max(0.0, left[x]) / load[x]
        if now > height * (1 + 1e-9):
            heapq.heappush(waiting, (now, x))
            continue
        full[x] = True
        begin, end = 0, 0
        if x < arc_count:
            begin, end = arc_first[x], arc_first[x + 1]
        else:
            begin, end = bounds[x - arc_count], bounds[x - arc_count + 1]
        for i in range(begin, end):
            p = arc_paths[i] if x < arc_count else i
            if stopped[p]:
                continue
            stopped[p] = True
            carried[p] = weight[p] * now
            left[arc_count + owner[p]] -= carried[p]
            load[arc_count + owner[p]] -= weight[p]
            for k in range(first[p], first[p + 1]):
                left[arcs[k]] -= carried[p]
                load[arcs[k]] -= weight[p]
    return carried
