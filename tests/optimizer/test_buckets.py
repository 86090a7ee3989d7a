"""Integer weights: exact sums, little loss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from controller.emulator.groups import hash_slots
from controller.optimizer import buckets, portfolio
from controller.optimizer.forest import grow
from controller.optimizer.instances import INSTANCES
from controller.optimizer.paths import trace
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
    assert set(rows.sum(1)[~solution.unroutable].tolist()) <= {4, 8, 16, 32, 64, 128, 256}
    assert not rows[solution.unroutable].any()
    assert (rows > 0).sum(1).max(initial=0) <= 32
    for row in rows:
        used = [int(w) for w in row if w]
        if used:
            slots = Counter(hash_slots(tuple(used), 256))
            count, total = sum(slots.values()), sum(used)
            assert [slots[i] * total for i in range(len(used))] == [w * count for w in used]
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


def test_many_trees_get_more_units() -> None:
    net = leaf_spine(2, 12)
    forest = grow(net, [[0], [1]], trees_per_egress=12)
    asked = demand([(0, 1, 100.0)])
    solution = solve(net, forest, asked)
    weights = buckets.quantise(solution.paths, solution.share, asked, net)
    assert np.count_nonzero(weights) == 12
    assert weights.max() <= 1.15 * weights.sum() / 12


@pytest.mark.parametrize("name", ["ft8_a2a", "ft16_a2a"])
def test_rounding_loses_less_than_a_per_cent_of_a_fabric(name: str) -> None:
    instance = INSTANCES[name]()
    sources = set(instance.demand.source.tolist())
    forest = grow(instance.network, instance.members, instance.trees, sources=sources)
    solution = solve(instance.network, forest, instance.demand)
    weights = buckets.quantise(solution.paths, solution.share, instance.demand, instance.network)
    _, mlu = buckets.evaluate(solution.paths, weights, instance.demand, instance.network)
    assert mlu <= 1.01 * solution.mlu
    used = np.bincount(solution.paths.demand, weights > 0)
    assert used[used > 0].mean() <= 8


@pytest.mark.parametrize("seed", [6, 8, 12, 21, 24])
def test_links_that_differ_200_fold_are_not_filled_by_single_units(seed: int) -> None:
    random = np.random.default_rng(seed)
    leaves, spines = int(random.integers(2, 7)), int(random.integers(1, 60))
    network = leaf_spine(leaves, spines, 1.0)
    network.capacity_bps[:] *= np.repeat(
        random.choice([1, 2, 0.01, 0.3], len(network.tail) // 2), 2
    )
    if seed % 3 == 0:
        network.capacity_bps[:] *= np.repeat(random.random(len(network.tail) // 2) > 0.2, 2)
    pairs = [(a, b) for a in range(leaves) for b in range(leaves) if a != b]
    asked = demand([(a, b, float(random.lognormal(0, 2))) for a, b in pairs])
    paths = trace(network, grow(network, [[leaf] for leaf in range(leaves)], 8), asked)
    solution = portfolio.solve(network, asked, paths)
    units = buckets.quantise(paths, solution.share, asked, network)
    # Half of what is lost where all demands have so many units as divide by everything (2.2).
    assert buckets.evaluate(paths, units, asked, network)[1] < 1.25 * solution.mlu
