"""Integer weights: exact sums, little loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from controller.optimizer import buckets
from controller.optimizer.forest import grow
from controller.optimizer.problem import Demand, Forest, Network
from tests.optimizer.graphs import demand, leaf_spine, solve, table
from tests.optimizer.test_linear import instances


@settings(max_examples=50, deadline=None)
@given(instances())
def test_weights_sum_to_the_total_on_trees_that_work(
    instance: tuple[Network, Forest, Demand],
) -> None:
    net, forest, asked = instance
    solution = solve(net, forest, asked)
    weights = buckets.quantise(solution.paths, solution.share, asked, net)
    rows = table(solution, weights, len(forest.egress))
    assert (rows.sum(1) == np.where(solution.unroutable, 0, 16)).all()
    assert (weights[solution.share == 0] == 0).all()
    assert (np.abs(weights - 16 * solution.share) < 1 + 1e-5).all()
    load, mlu = buckets.evaluate(solution.paths, weights, asked, net)
    again = solve(net, forest, asked)
    assert np.array_equal(weights, buckets.quantise(again.paths, again.share, asked, net))
    assert solution.bound <= mlu * (1 + 1e-9)
    assert (load >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_rounding_loses_at_most_a_few_per_cent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaves, spines = 8, 4
    net = leaf_spine(leaves, spines)
    net.capacity_bps[:] = np.repeat(rng.choice([50.0, 100.0], leaves * spines), 2)
    forest = grow(net, [[i] for i in range(leaves)])
    asked = demand((i, j, rng.lognormal()) for i in range(leaves) for j in range(leaves) if i != j)
    solution = solve(net, forest, asked)
    weights = buckets.quantise(solution.paths, solution.share, asked, net)
    _, mlu = buckets.evaluate(solution.paths, weights, asked, net)
    assert mlu < 1.05 * solution.mlu


def test_equal_shares_do_not_all_round_the_same_spine_up() -> None:
    net = leaf_spine(10, 3)
    forest = grow(net, [[i] for i in range(10)])
    asked = demand((i, j, 1.0) for i in range(10) for j in range(10) if i != j)
    solution = solve(net, forest, asked)
    weights = buckets.quantise(solution.paths, solution.share, asked, net)
    _, mlu = buckets.evaluate(solution.paths, weights, asked, net)
    assert mlu < 1.03 * 9 / 3 / 100
    idle = Demand(asked.source, asked.egress, np.zeros(90))
    spread = buckets.quantise(solution.paths, solution.share, idle, net)
    spread = table(solution, spread, len(forest.egress))
    per_spine = [spread[:, forest.tree_id == s].sum() for s in range(3)]
    assert max(per_spine) - min(per_spine) <= 2


def test_many_trees_get_more_buckets() -> None:
    net = leaf_spine(2, 12)
    forest = grow(net, [[0], [1]], trees_per_egress=12)
    asked = demand([(0, 1, 100.0)])
    solution = solve(net, forest, asked)
    weights = buckets.quantise(solution.paths, solution.share, asked, net)
    assert weights.sum() == 32
    assert weights.min() >= 2
