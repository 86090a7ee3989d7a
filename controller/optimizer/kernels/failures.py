"""Loads after failures, one after another; see ``audit``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices, Ints

CARRIED = 1e-12


@kernel
def audit(
    failed_first: Indices,
    failed_arcs: Indices,
    crossing_first: Indices,
    crossing: Indices,
    bounds: Indices,
    owner: Indices,
    first: Indices,
    arcs: Ints,
    rate: Floats,
    inverse: Floats,
    share: Floats,
    level: Floats,
) -> tuple[Floats, Floats]:
    """Worst level of any arc, and the rate that is cut off, after each failure alone.

    Failure f takes the arcs ``failed_arcs[failed_first[f]:...]``, and with them the paths
    ``crossing[crossing_first[a]:...]`` over each. What a demand sent by them goes over its other
    paths in proportion, in equal parts if those carried nothing.
    """
    failures = len(failed_first) - 1
    worst, lost = np.zeros(failures), np.zeros(failures)
    path_dead = np.full(len(share), -1, np.int64)
    demand_seen = np.full(len(rate), -1, np.int64)
    arc_seen = np.full(len(level), -1, np.int64)
    hit = np.empty(len(rate), np.int64)
    touched = np.empty(len(level), np.int64)
    steepest = np.argsort(-level)
    now = level.copy()
    for f in range(failures):
        hits, count = 0, 0
        for i in range(failed_first[f], failed_first[f + 1]):
            for j in range(crossing_first[failed_arcs[i]], crossing_first[failed_arcs[i] + 1]):
                p = crossing[j]
                path_dead[p] = f
                if demand_seen[owner[p]] != f:
                    demand_seen[owner[p]] = f
                    hit[hits] = owner[p]
                    hits += 1
        for i in range(hits):
            g = hit[i]
            dead, alive, living = 0.0, 0.0, 0
            for p in range(bounds[g], bounds[g + 1]):
                if path_dead[p] == f:
                    dead += share[p]
                else:
                    alive += share[p]
                    living += 1
            if dead <= 0.0:
                continue
            if living == 0:
                lost[f] += dead * rate[g]
            for p in range(bounds[g], bounds[g + 1]):
                if path_dead[p] == f:
                    more = -share[p]
                elif alive > CARRIED:
                    more = share[p] * dead / alive
                else:
                    more = dead / living
                if more == 0.0:
                    continue
                for k in range(first[p], first[p + 1]):
                    e = arcs[k]
                    if arc_seen[e] != f:
                        arc_seen[e] = f
                        touched[count] = e
                        count += 1
                    now[e] += more * rate[g] * inverse[e]
        for i in range(len(steepest)):
            if arc_seen[steepest[i]] != f:
                worst[f] = level[steepest[i]]
                break
        for i in range(count):
            worst[f] = max(worst[f], now[touched[i]])
            now[touched[i]] = level[touched[i]]
    return worst, lost
