"""Placement by OR-Tools' CP-SAT: completes what faster methods leave, or proves that none can."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from controller.optimizer import stopwatch
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Floats, Indices, Network

GRAIN = 1 << 20
"""Sizes are rounded up to that part of the largest, so what fits the integers fits."""

PEER_GRAIN = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """``path[G]`` with no arc above its limit, or None; ``impossible`` if that is proven."""

    path: Indices | None
    impossible: bool
    seconds: float


def pack(
    paths: Paths,
    size: Floats,
    limit: Floats,
    path: Indices,
    effort: float,
    seed: int = 0,
) -> Packed:
    """Place flows so that no load exceeds ``limit[A]``.

    ``size[G]`` of the flows that have paths, ``path[G]`` the row that each is on, which is the
    hint. ``effort`` is CP-SAT's deterministic time, near seconds, so that equal inputs give equal
    answers. A proof counts only where all sizes are equal.
    """
    began = stopwatch.now()
    equal = bool((size == size[0]).all())
    unit = float(size[0]) if equal else float(size.max()) / GRAIN
    weight = np.ceil(size / unit * (1 - 1e-12)).astype(np.int64)
    space = np.floor(limit / unit * (1 + 1e-9)).astype(np.int64)
    bounds = paths.bounds
    model = cp_model.CpModel()
    on_arc: dict[int, tuple[list[cp_model.IntVar], list[int]]] = {}
    choices: list[tuple[int, int, cp_model.IntVar]] = []
    for g in range(len(size)):
        ways = []
        for p in range(int(bounds[g]), int(bounds[g + 1])):
            arcs = paths.arcs[paths.first[p] : paths.first[p + 1]]
            if (space[arcs] < weight[g]).any():
                continue
            taken = model.new_bool_var("")
            ways.append(taken)
            choices.append((g, p, taken))
            model.add_hint(taken, p == path[g])
            for arc in arcs.tolist():
                there, weights = on_arc.setdefault(arc, ([], []))
                there.append(taken)
                weights.append(int(weight[g]))
        if not ways:
            return Packed(None, equal, stopwatch.now() - began)
        model.add_exactly_one(ways)
    for arc, (there, weights) in on_arc.items():
        if sum(weights) <= space[arc]:
            continue
        if equal and space[arc] == 1:
            model.add_at_most_one(there)
        else:
            model.add(cp_model.LinearExpr.weighted_sum(there, weights) <= int(space[arc]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    seconds = stopwatch.now() - began
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        proven = status == cp_model.INFEASIBLE and equal
        return Packed(None, proven, seconds)
    placed = path.copy()
    for g, p, taken in choices:
        if solver.boolean_value(taken):
            placed[g] = p
    return Packed(placed, False, seconds)


def pack_best(
    network: Network, demand: Demand, paths: Paths, limit_s: float
) -> tuple[Indices | None, float]:
    """CP-SAT alone, on two threads, to measure against: the rows of the best paths found in time
    (None: none) and the bound on the utilisation that it proved."""
    starts, bounds = paths.starts, paths.bounds
    size = demand.rate_bps[paths.demand[starts]]
    if not size.max(initial=0.0) > 0:
        return starts, 0.0
    equal = bool((size == size[0]).all())
    # Rounded down, so that the bound holds.
    weight = np.floor(size / (size[0] if equal else size.max() / PEER_GRAIN)).astype(np.int64)
    unit = float(size[0]) if equal else float(size.max()) / PEER_GRAIN
    capacity = network.capacity_bps
    widest = float(capacity.max())
    model = cp_model.CpModel()
    most = int(np.ceil(widest / capacity[capacity > 0].min()))
    worst = model.new_int_var(0, int(weight.sum()) * most, "")
    taken = [model.new_bool_var("") for _ in range(len(paths))]
    for a, b in itertools.pairwise(bounds.tolist()):
        model.add_exactly_one(taken[a:b])
    owner = np.repeat(np.arange(len(starts)), np.diff(bounds))
    row = np.repeat(np.arange(len(paths)), paths.hops)
    order = np.argsort(paths.arcs, kind="stable")
    arcs, first = np.unique(paths.arcs[order], return_index=True)
    for arc, rows in zip(arcs.tolist(), np.split(row[order], first[1:]), strict=True):
        weights = (weight[owner[rows]] * (widest / capacity[arc])).astype(np.int64)
        there = [taken[p] for p in rows.tolist()]
        model.add(cp_model.LinearExpr.weighted_sum(there, weights.tolist()) <= worst)
    model.minimize(worst)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = limit_s
    status = solver.solve(model)
    bound = solver.best_objective_bound * unit / widest
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, bound
    chosen = np.array([solver.boolean_value(x) for x in taken])
    return np.flatnonzero(chosen), bound
