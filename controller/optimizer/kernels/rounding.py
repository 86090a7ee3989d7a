"""Handing out bucket units, aware of the load that all others make; see ``buckets``."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Bools, Floats, Indices, Ints


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
def settle(
    order: Indices,
    bounds: Indices,
    first: Indices,
    arcs: Ints,
    quantum: Floats,
    inverse: Floats,
    frozen: Bools,
    units: Indices,
    level: Floats,
    sharpness: float,
    tries: int,
) -> int:
    """For each demand in ``order``, up to ``tries`` times: move a unit from its costliest path to
    its cheapest, if that lowers the sum of ``exp(sharpness * (level - top))``; returns the moves.

    Paths that are ``frozen[P]`` keep their units. The cost of an arc is the derivative, as in
    ``descent.sweep``.
    """
    top = level.max()
    cost = np.empty(len(level))
    for a in range(len(level)):
        cost[a] = inverse[a] * np.exp(sharpness * (level[a] - top))
    moves = 0
    for g in order:
        begin, end = bounds[g], bounds[g + 1]
        for _ in range(tries):
            least, most = np.inf, -1.0
            to, away = -1, -1
            for p in range(begin, end):
                if frozen[p]:
                    continue
                way = 0.0
                for k in range(first[p], first[p + 1]):
                    way += cost[arcs[k]]
                if way < least:
                    least, to = way, p
                if units[p] > 0 and way > most:
                    most, away = way, p
            if away < 0 or to < 0 or to == away or not most > least * (1 + 1e-9):
                break
            before = potential(away, first, arcs, level, sharpness, top)
            put(away, -1, first, arcs, quantum, inverse, units, level)
            before += potential(to, first, arcs, level, sharpness, top)
            after = potential(away, first, arcs, level, sharpness, top)
            put(to, 1, first, arcs, quantum, inverse, units, level)
            after += potential(to, first, arcs, level, sharpness, top)
            if after >= before:
                put(to, -1, first, arcs, quantum, inverse, units, level)
                put(away, 1, first, arcs, quantum, inverse, units, level)
                break
            moves += 1
            for path in (away, to):
                for k in range(first[path], first[path + 1]):
                    a = arcs[k]
                    cost[a] = inverse[a] * np.exp(sharpness * (level[a] - top))
    return moves


@kernel
def potential(
    path: int, first: Indices, arcs: Ints, level: Floats, sharpness: float, top: float
) -> float:
    total = 0.0
    for k in range(first[path], first[path + 1]):
        total += np.exp(sharpness * (level[arcs[k]] - top))
    return total
