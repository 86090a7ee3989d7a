"""Strategies: optimal, certified, and what people compute by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.optimizer import certificate, paths
from controller.optimizer.certificate import Solution
from controller.optimizer.forest import grow
from controller.optimizer.problem import Demand, Forest, Network
from controller.optimizer.strategies import STRATEGIES
from tests.optimizer.graphs import demand, groups, leaf_spine, networks, path, solve, table


def check(net: Network, forest: Forest, asked: Demand, solution: Solution) -> None:
    """Recompute everything that a solution claims, from the trees up."""
    load = np.zeros(len(net.tail))
    shares = table(solution, solution.share, len(forest.egress))
    for d, (source, g, rate) in enumerate(
        zip(asked.source.tolist(), asked.egress.tolist(), asked.rate_bps.tolist(), strict=True)
    ):
        share = shares[d]
        assert (share >= 0).all()
        assert (share[forest.egress != g] == 0).all()
        if solution.unroutable[d]:
            assert (share == 0).all()
            continue
        assert share.sum() == pytest.approx(1, abs=1e-9)
        for t in np.flatnonzero(share).tolist():
            arcs = path(net, forest, t, source)
            assert arcs is not None
            assert (net.capacity_bps[arcs] > 0).all()
            load[arcs] += share[t] * rate
    assert solution.load_bps == pytest.approx(load, rel=1e-9, abs=1e-6)
    alive = net.capacity_bps > 0
    mlu = (load[alive] / net.capacity_bps[alive]).max(initial=0)
    assert solution.mlu == pytest.approx(mlu, rel=1e-9)
    assert solution.bound <= solution.mlu
    if solution.mlu == 0:
        assert solution.gap == 0
    elif solution.bound > 0:
        assert solution.gap == pytest.approx(solution.mlu / solution.bound - 1, abs=1e-9)


@st.composite
def instances(draw: st.DrawFn) -> tuple[Network, Forest, Demand]:
    net = draw(networks())
    members = draw(groups(net.nodes))
    rates = st.sampled_from([0.0, 1e-3, 1.0, 5e6, 1e9, 3e10, 1e12])
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, net.nodes - 1), st.integers(0, len(members) - 1), rates
            ).filter(lambda r: r[0] not in members[r[1]]),
            max_size=8,
        )
    )
    return net, grow(net, members, 4), demand(rows)


@settings(max_examples=100, deadline=None)
@given(instances())
def test_every_certificate_is_sound_and_tight(instance: tuple[Network, Forest, Demand]) -> None:
    net, forest, asked = instance
    solution = solve(net, forest, asked)
    check(net, forest, asked, solution)
    assert solution.gap < 1e-4
    hashed = solve(net, forest, asked, STRATEGIES["ecmp"])
    check(net, forest, asked, hashed)
    assert hashed.bound <= solution.mlu * (1 + 1e-9)
    assert solution.mlu <= hashed.mlu * (1 + 1e-5)


@settings(max_examples=40, deadline=None)
@given(instances(), st.randoms(use_true_random=False))
def test_any_prices_bound_any_shares(
    instance: tuple[Network, Forest, Demand], random: object
) -> None:
    net, forest, asked = instance
    traced = paths.trace(net, forest, asked)
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    price = rng.normal(size=len(net.tail)) ** 3
    best = solve(net, forest, asked).mlu
    assert certificate.dual_bound(net, asked, traced, price) <= best


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_no_grid_point_beats_the_optimum(data: st.DataObject) -> None:
    net = leaf_spine(3, 2)
    capacities = data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=12, max_size=12))
    net.capacity_bps[:] = capacities
    rates = data.draw(st.lists(st.sampled_from([0.0, 1.0, 3.0]), min_size=3, max_size=3))
    pairs = [(0, 1), (1, 2), (2, 0)]
    forest = grow(net, [[0], [1], [2]])
    asked = demand((a, b, r) for (a, b), r in zip(pairs, rates, strict=True))
    solution = solve(net, forest, asked)
    for grid in itertools.product(np.linspace(0, 1, 9), repeat=3):
        load = np.zeros(12)
        for (a, b), rate, part in zip(pairs, rates, grid, strict=True):
            for spine, share in ((0, part), (1, 1 - part)):
                load[2 * (2 * a + spine)] += rate * share
                load[2 * (2 * b + spine) + 1] += rate * share
        assert solution.bound <= (load / net.capacity_bps).max() + 1e-9


def test_a_half_rate_link_gets_half_the_traffic() -> None:
    # Leaf 0 has 100 + 50 upwards: the best of 120 is 80 + 40, both at 0.8. Hashing puts 60 on 50.
    net = leaf_spine(4, 2)
    net.capacity_bps[[2, 3]] = 50.0
    forest = grow(net, [[leaf] for leaf in range(4)])
    asked = demand([(0, 1, 40.0), (0, 2, 40.0), (0, 3, 40.0)])
    solution = solve(net, forest, asked)
    assert solution.mlu == pytest.approx(0.8, rel=1e-5)
    assert solution.bound == pytest.approx(0.8, rel=1e-5)
    assert solution.load_bps[0] == pytest.approx(80, rel=1e-5)
    hashed = solve(net, forest, asked, STRATEGIES["ecmp"])
    assert hashed.mlu == pytest.approx(1.2)
    assert hashed.bound == pytest.approx(0.8, rel=1e-5)
    assert hashed.gap == pytest.approx(0.5, rel=1e-4)


def test_links_that_do_not_bind_are_balanced_too() -> None:
    # The lone link of leaf 3 binds at 0.9; leaf 0 still spreads over both of its spines.
    net = leaf_spine(4, 2)
    net.capacity_bps[[14, 15]] = 0.0
    forest = grow(net, [[leaf] for leaf in range(4)])
    asked = demand([(3, 0, 90.0), (0, 1, 60.0), (2, 1, 20.0)])
    solution = solve(net, forest, asked)
    assert solution.mlu == pytest.approx(0.9, rel=1e-5)
    assert solution.load_bps[[0, 2]] == pytest.approx([30, 30], rel=1e-4)


def test_after_the_worst_link_the_next_ones_are_minimised() -> None:
    # Leaf 0 binds at 2/3 (100 over 100 + 50); all other leaves can and shall stay at 1/2.
    net = leaf_spine(4, 2)
    net.capacity_bps[[2, 3]] = 50.0
    forest = grow(net, [[leaf] for leaf in range(4)])
    asked = demand((i, j, 100 / 3) for i in range(4) for j in range(4) if i != j)
    solution = solve(net, forest, asked)
    assert solution.mlu == pytest.approx(2 / 3, rel=1e-5)
    assert solution.load_bps[4:] == pytest.approx([50.0] * 12, rel=1e-4)


def test_large_problems_are_spread_without_max_min_rounds() -> None:
    leaves, spines = 20, 6
    net = leaf_spine(leaves, spines)
    forest = grow(net, [[i] for i in range(leaves)])
    asked = demand((i, j, 1.0) for i in range(leaves) for j in range(leaves) if i != j)
    even = solve(net, forest, asked)
    check(net, forest, asked, even)
    assert even.gap < 1e-6
    assert even.share.max() == pytest.approx(1 / spines, rel=1e-6)
    net.capacity_bps[[0, 1]] = 10.0
    tilted = solve(net, forest, asked)
    check(net, forest, asked, tilted)
    assert tilted.gap < 1e-6
    others = (asked.source > 0) & (asked.egress > 0)
    shares = table(tilted, tilted.share, len(forest.egress))
    assert (shares[others] > 0).sum(1).min() >= spines // 2


def test_idle_demands_are_spread_by_capacity() -> None:
    net = leaf_spine(2, 2)
    net.capacity_bps[[2, 3]] = 50.0
    forest = grow(net, [[0], [1]])
    solution = solve(net, forest, demand([(0, 1, 0.0)]))
    assert (solution.mlu, solution.bound, solution.gap) == (0, 0, 0)
    assert solution.share == pytest.approx([2 / 3, 1 / 3])


def test_cut_off_demands_are_reported_and_the_rest_is_served() -> None:
    net = leaf_spine(3, 1)
    forest = grow(net, [[0], [1], [2]])
    net.capacity_bps[[4, 5]] = 0.0
    solution = solve(net, forest, demand([(0, 2, 10.0), (0, 1, 10.0)]))
    assert solution.unroutable.tolist() == [True, False]
    assert solution.mlu == pytest.approx(0.1)


def test_no_demands_at_all() -> None:
    net = leaf_spine(2, 1)
    solution = solve(net, grow(net, []), demand([]))
    assert solution.share.shape == (0,)
    assert solution.mlu == solution.bound == 0
