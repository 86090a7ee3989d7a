"""Max-min sharing against a slow, independent statement of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.linear_solver import pywraplp

from controller.emulator.sharing import Flows, Lanes, levels


def lanes_of(capacity: list[float]) -> Lanes:
    """One queue for each port."""
    count = len(capacity)
    return Lanes(
        np.arange(count), np.array(capacity, float), np.zeros(count), np.full(count, np.inf)
    )


def flows_of(
    paths: list[list[int]],
    rate: list[float],
    weight: list[float] | None = None,
    adapts: bool = True,
) -> Flows:
    width = max(map(len, paths))
    lane = np.full((len(paths), width), -1)
    for row, path in enumerate(paths):
        lane[row, : len(path)] = path
    return Flows(
        lane,
        np.array(weight or [1.0] * len(paths)),
        np.array(rate, float),
        np.ones(lane.shape),
        np.full(len(paths), adapts),
    )


def rates(flows: Flows, level: np.ndarray) -> np.ndarray:
    rate: np.ndarray = flows.weight * level[:, -1]
    return rate


def max_min_by_linear_programs(
    capacity: list[float], paths: list[list[int]], cap: list[float], weight: list[float]
) -> list[float]:
    """Lexicographic: raise the lowest level as far as it goes, fix the flows that cannot do better,
    go on with the others."""
    fixed: dict[int, float] = {}
    while len(fixed) < len(paths):
        best, _ = _program(capacity, paths, cap, weight, fixed, None, 0.0)
        stuck = []
        for flow in set(range(len(paths))) - set(fixed):
            more, _ = _program(capacity, paths, cap, weight, fixed, flow, best)
            if more <= best * (1 + 1e-7) + 1e-9:
                stuck.append(flow)
        assert stuck
        fixed |= dict.fromkeys(stuck, best)
    return [fixed[i] * weight[i] for i in range(len(paths))]


def _program(
    capacity: list[float],
    paths: list[list[int]],
    cap: list[float],
    weight: list[float],
    fixed: dict[int, float],
    favoured: int | None,
    floor: float,
) -> tuple[float, list[float]]:
    solver = pywraplp.Solver.CreateSolver("GLOP")
    level = [solver.NumVar(0, c / w, "") for c, w in zip(cap, weight, strict=True)]
    for i, value in fixed.items():
        level[i].SetBounds(value * (1 - 1e-9), value)
    for lane, most in enumerate(capacity):
        users = [i for i, path in enumerate(paths) if lane in path]
        solver.Add(sum(weight[i] * level[i] for i in users) <= most)
    free = [i for i in range(len(paths)) if i not in fixed]
    if favoured is None:
        target = solver.NumVar(0, solver.infinity(), "")
        for i in free:
            solver.Add(level[i] >= target)
    else:
        target = level[favoured]
        for i in free:
            solver.Add(level[i] >= floor * (1 - 1e-9))
    solver.Maximize(target)
    assert solver.Solve() == pywraplp.Solver.OPTIMAL
    return target.solution_value(), [v.solution_value() for v in level]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[float], list[list[int]], list[float], list[float]]:
    count = draw(st.integers(1, 5))
    capacity = draw(st.lists(st.integers(1, 20).map(float), min_size=count, max_size=count))
    path = st.permutations(range(count)).flatmap(
        lambda order: st.integers(1, count).map(lambda size: list(order[:size]))
    )
    paths = draw(st.lists(path, min_size=1, max_size=6))
    number = len(paths)
    cap = draw(st.lists(st.integers(1, 20).map(float), min_size=number, max_size=number))
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=number, max_size=number))
    return capacity, paths, cap, weight


@given(cases())
@settings(max_examples=150, deadline=None)
def test_flows_that_adapt_get_the_max_min_rates_of_linear_programs(
    case: tuple[list[float], list[list[int]], list[float], list[float]],
) -> None:
    capacity, paths, cap, weight = case
    flows = flows_of(paths, cap, weight)
    level, _ = levels(lanes_of(capacity), flows)
    expected = max_min_by_linear_programs(capacity, paths, cap, weight)
    assert rates(flows, level) == pytest.approx(expected, rel=1e-5)


def load(flows: Flows, level: np.ndarray, lane: int) -> float:
    served = flows.weight[:, None] * flows.part * level
    return float(served[flows.lane == lane].sum())


@given(cases())
@settings(max_examples=150, deadline=None)
def test_every_full_lane_passes_its_capacity_and_its_fair_level(
    case: tuple[list[float], list[list[int]], list[float], list[float]],
) -> None:
    """Of flows that do not adapt: by definition, lane by lane."""
    capacity, paths, cap, weight = case
    flows = flows_of(paths, cap, weight, adapts=False)
    level, full = levels(lanes_of(capacity), flows)
    for row, path in enumerate(paths):
        before = cap[row] / weight[row]
        for position, lane in enumerate(path):
            assert level[row, position] == pytest.approx(min(before, full[lane]))
            before = level[row, position]
    for lane, most in enumerate(capacity):
        if np.isfinite(full[lane]):
            assert load(flows, level, lane) == pytest.approx(most)
        else:
            assert load(flows, level, lane) <= most * (1 + 1e-6)


@given(cases(), st.lists(st.booleans(), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_both_kinds_share_a_lane_fairly(
    case: tuple[list[float], list[list[int]], list[float], list[float]], kinds: list[bool]
) -> None:
    capacity, paths, cap, weight = case
    flows = flows_of(paths, cap, weight)
    flows.adapts[:] = kinds[: len(paths)]
    level, full = levels(lanes_of(capacity), flows)
    for lane, most in enumerate(capacity):
        assert load(flows, level, lane) <= most * (1 + 1e-6)
        if np.isfinite(full[lane]):
            assert load(flows, level, lane) == pytest.approx(most)
    for row, path in enumerate(paths):
        lowest = min([cap[row] / weight[row], *(full[lane] for lane in path)])
        assert level[row, -1] == pytest.approx(lowest)


def queues(capacity: float, bounds: list[tuple[float, float]]) -> Lanes:
    return Lanes(
        np.zeros(len(bounds), int),
        np.array([capacity]),
        np.array([b[0] for b in bounds]),
        np.array([b[1] for b in bounds]),
    )


INF = float("inf")


@pytest.mark.parametrize(
    ("bounds", "offered", "expected"),
    [
        ([(0, INF), (0, INF)], [10, 10], [5, 5]),
        ([(0, INF), (8, INF)], [10, 10], [2, 8]),
        ([(0, INF), (8, INF)], [10, 3], [7, 3]),
        ([(0, 3), (0, INF)], [10, 10], [3, 7]),
        ([(0, 3), (0, INF)], [10, 2], [3, 2]),
        ([(6, INF), (2, INF), (0, INF)], [10, 10, 10], [6, 2, 2]),
        ([(2, 4), (1, INF), (0, 1)], [10, 10, 10], [4, 5, 1]),
    ],
)
def test_queues_get_at_least_their_minimum_and_at_most_their_maximum(
    bounds: list[tuple[float, float]], offered: list[float], expected: list[float]
) -> None:
    flows = flows_of([[i] for i in range(len(bounds))], offered)
    level, _ = levels(queues(10.0, bounds), flows)
    assert rates(flows, level) == pytest.approx(expected)


def test_a_minimum_that_is_held_back_elsewhere_is_not_kept_free() -> None:
    lanes = Lanes(
        np.array([0, 0, 1]), np.array([10.0, 2.0]), np.array([0.0, 8, 0]), np.full(3, INF)
    )
    flows = flows_of([[0], [1, 2]], [10, 10])
    level, _ = levels(lanes, flows)
    assert rates(flows, level) == pytest.approx([8, 2])


def test_what_wires_lose_leaves_room_behind_them() -> None:
    flows = flows_of([[0, 1], [1]], [10, 10], adapts=False)
    flows.part[0, 1] = 0.2
    level, _ = levels(lanes_of([10, 12]), flows)
    assert load(flows, level, 0) == pytest.approx(10)
    assert load(flows, level, 1) == pytest.approx(12)
    assert level[0, 1] == pytest.approx(10)
