"""Descent: certified, near the optimum, the same every time; and what there is without it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from controller.optimizer import certificate, linear, portfolio
from controller.optimizer.certificate import Solution
from controller.optimizer.descent import descend
from controller.optimizer.forest import grow
from controller.optimizer.paths import Paths, trace
from controller.optimizer.problem import Demand, Floats, Forest, Network
from controller.optimizer.scaled import Scaled
from tests.optimizer.graphs import demand, fat_tree, leaf_spine, solve
from tests.optimizer.test_linear import check, instances


def by_descent(
    network: Network, asked: Demand, paths: Paths, start: Floats | None = None, sweeps: int = 100
) -> Solution:
    found = descend(Scaled(network, asked, paths), start, 1e-3, most_sweeps=sweeps)
    return certificate.finish(network, asked, paths, found.share, found, found.solver)


@settings(max_examples=50, deadline=None)
@given(instances())
def test_bounds_hold_on_any_graph(instance: tuple[Network, Forest, Demand]) -> None:
    net, forest, asked = instance
    solution = solve(net, forest, asked, by_descent)
    check(net, forest, asked, solution)
    exact = solve(net, forest, asked, linear.solve)
    assert solution.bound <= exact.mlu * (1 + 1e-9)
    assert exact.bound <= solution.mlu * (1 + 1e-9)
    again = solve(net, forest, asked, by_descent)
    assert np.array_equal(solution.share, again.share)


def skewed(seed: int) -> tuple[Network, Forest, Demand]:
    """A leaf-spine of spines of two generations with log-normal demands between its 24 leaves."""
    rng = np.random.default_rng(seed)
    leaves, spines = 24, 8
    net = leaf_spine(leaves, spines)
    net.capacity_bps[:] = np.repeat(np.tile(rng.choice([100.0, 400.0], spines), leaves), 2)
    net.capacity_bps[np.repeat(rng.random(leaves * spines) < 0.03, 2)] = 0.0
    forest = grow(net, [[i] for i in range(leaves)])
    rows = [(i, j, rng.lognormal(0, 2)) for i in range(leaves) for j in range(leaves) if i != j]
    return net, forest, demand(rows)


@pytest.mark.parametrize("seed", range(3))
def test_large_problems_are_solved_to_a_thousandth(seed: int) -> None:
    net, forest, asked = skewed(seed)
    solution = solve(net, forest, asked)
    check(net, forest, asked, solution)
    assert solution.solver == "descent"
    assert solution.gap <= 1.001e-3
    plain = solve(net, forest, asked, lambda n, d, p, s: by_descent(n, d, p, s, sweeps=0))
    assert plain.mlu > 1.01 * solution.mlu
    exact = solve(net, forest, asked, linear.solve)
    assert exact.bound * (1 - 1e-6) <= solution.mlu <= exact.mlu * 1.002


def test_a_fat_tree_needs_no_solver() -> None:
    net, edges, _ = fat_tree(8)
    forest = grow(net, [[e] for e in edges])
    pairs = [(a, b) for a in edges for b in range(len(edges)) if edges[b] != a]
    asked = demand((a, b, 1.0) for a, b in pairs)
    solution = solve(net, forest, asked)
    assert solution.solver == "descent"
    assert solution.gap <= 1.001e-3


def test_good_shares_are_soon_improved() -> None:
    net, forest, asked = skewed(0)
    paths = trace(net, forest, asked)
    cold = by_descent(net, asked, paths)
    few = by_descent(net, asked, paths, None, 1)
    warm = by_descent(net, asked, paths, cold.share, 1)
    assert warm.mlu <= cold.mlu * (1 + 1e-9)
    assert warm.mlu < few.mlu


def test_torus_permutations_are_within_a_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "EXACT_PATHS", 0)
    side = 6
    nodes = np.arange(side**2).reshape(side, side)
    links = [
        (a, b)
        for axis in (0, 1)
        for a, b in zip(nodes.flat, np.roll(nodes, 1, axis).flat, strict=True)
    ]
    tail = np.array([end for a, b in links for end in (a, b)], np.int32)
    head = np.array([end for a, b in links for end in (b, a)], np.int32)
    net = Network(side**2, tail, head, np.ones(len(tail)))
    order = np.random.default_rng(1).permutation(side**2)
    asked = demand((a, b, 1.0) for a, b in enumerate(order.tolist()) if a != b)
    forest = grow(net, [[n] for n in range(side**2)])
    solution = solve(net, forest, asked)
    check(net, forest, asked, solution)
    assert solution.gap < 0.01


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import numpy as np
from controller.optimizer import kernels
from tests.optimizer.graphs import solve
from tests.optimizer.test_descent import skewed
assert "numba" in kernels.problem, kernels.problem
solution = solve(*skewed(0))
print(solution.solver, solution.mlu)
"""


def test_without_numba_linear_programming_serves() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, timeout=110
    )
    assert run.returncode == 0, run.stderr
    solver, mlu = run.stdout.split()
    assert solver in ("GLOP", "PDLP")
    assert float(mlu) == pytest.approx(solve(*skewed(0)).mlu, rel=2e-3)
