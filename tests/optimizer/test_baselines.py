"""Baselines do what their names say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.optimizer import linear
from controller.optimizer.baselines import BASELINES, WHOLE, shares
from controller.optimizer.baselines.pop import copies_of, pop
from controller.optimizer.certificate import Found, Solution, finish
from controller.optimizer.forest import grow
from controller.optimizer.paths import Paths, trace
from controller.optimizer.problem import Demand, Floats, Network
from tests.optimizer.graphs import demand, leaf_spine, network

ALL = [(a, b, 1.0 + (3 * a + b) % 5) for a in range(8) for b in range(8) if a != b]


def problem(
    net: Network, rows: list[tuple[int, int, float]], leaves: int, trees: int = 8
) -> tuple[Network, Demand, Paths]:
    asked = demand(rows)
    return net, asked, trace(net, grow(net, [[leaf] for leaf in range(leaves)], trees), asked)


def by(name: str, net: Network, asked: Demand, paths: Paths) -> Solution:
    return done(net, asked, paths, shares(name, net, asked, paths))


def done(net: Network, asked: Demand, paths: Paths, share: Floats) -> Solution:
    return finish(net, asked, paths, share, Found(share, np.zeros(len(net.tail)), "", 0.0), "")


def by_spine(net: Network, paths: Paths, share: Floats, leaves: int) -> dict[int, float]:
    """Share of the first demand over each spine."""
    first = [p for p in range(len(paths)) if paths.demand[p] == 0]
    return {int(net.head[paths.arcs[paths.first[p]]]) - leaves: float(share[p]) for p in first}


def test_shares_of_equal_and_of_unequal_links() -> None:
    speed = {0: 10.0, 1: 40.0}
    net = network(4, [(leaf, 2 + spine, speed[spine]) for leaf in range(2) for spine in range(2)])
    given = problem(net, [(0, 1, 10.0)], 2)
    assert by_spine(net, given[2], shares("ecmp", *given), 2) == {0: 0.5, 1: 0.5}
    assert by_spine(net, given[2], shares("wcmp", *given), 2) == pytest.approx({0: 0.2, 1: 0.8})
    assert by("ssdo", *given).mlu == pytest.approx(0.2)
    assert by("least-loaded", *given).mlu == pytest.approx(0.25)


def test_equal_split_takes_ways_that_are_longer() -> None:
    ring = network(4, [(i, (i + 1) % 4, 1.0) for i in range(4)])
    given = problem(ring, [(0, 1, 1.0)], 4)
    hops = given[2].hops
    assert np.bincount(hops, shares("ecmp", *given)) == pytest.approx([0, 1, 0, 0])
    assert np.bincount(hops, shares("equal-split", *given)) == pytest.approx([0, 0.5, 0, 0.5])


@pytest.mark.parametrize("name", WHOLE)
def test_whole_demands_are_not_split(name: str) -> None:
    given = problem(leaf_spine(8, 4), ALL, 8)
    share = shares(name, *given)
    assert set(share.tolist()) == {0.0, 1.0}
    assert (np.add.reduceat(share, given[2].starts) == 1).all()


def test_a_hash_takes_every_shortest_path_as_often_and_no_other() -> None:
    net = network(
        6,
        [(leaf, 2 + spine, 1.0) for leaf in range(2) for spine in range(2)]
        + [(0, 4, 1.0), (4, 5, 1.0), (5, 1, 1.0)],
    )
    net, asked, paths = problem(net, [(0, 1, 1.0)] * 2000, 2)
    share = shares("ecmp-hash", net, asked, paths)
    used = paths.hops[share > 0]
    assert set(used.tolist()) == {2}
    spine = net.head[paths.arcs[paths.first[:-1][share > 0]]]
    count = np.bincount(spine)[2:4]
    assert count.sum() == 2000
    # Five sigma of a fair coin.
    assert abs(int(count[0]) - 1000) < 5 * np.sqrt(2000) / 2
    again = shares("ecmp-hash", net, asked, paths)
    assert np.array_equal(share, again)


def test_round_robin_goes_around() -> None:
    net, asked, paths = problem(leaf_spine(2, 4), [(0, 1, 1.0)] * 8, 2)
    solution = by("round-robin", net, asked, paths)
    assert solution.load_bps[solution.load_bps > 0].tolist() == [2.0] * 8


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 3))
def test_least_loaded_keeps_grahams_bound(sizes: list[int], spines: int) -> None:
    given = problem(leaf_spine(2, spines, 1.0), [(0, 1, float(size)) for size in sizes], 2)
    best = min(
        max(
            sum(s for s, spine in zip(sizes, taken, strict=True) if spine == i)
            for i in range(spines)
        )
        for taken in itertools.product(range(spines), repeat=len(sizes))
    )
    worst = by("least-loaded", *given).mlu
    assert best <= worst * (1 + 1e-9)
    assert worst <= best * (4 / 3 - 1 / (3 * spines)) * (1 + 1e-9)


def test_pop_of_one_part_is_the_optimum_and_of_more_is_near() -> None:
    given = problem(leaf_spine(8, 4), ALL, 8)
    best = linear.solve(*given).mlu
    assert done(*given, pop(*given, parts=1)).mlu == pytest.approx(best)
    assert done(*given, pop(*given, parts=4)).mlu <= best * 1.25


def test_pop_splits_what_is_too_large_for_a_part() -> None:
    copies = copies_of(np.array([100.0, 30.0, *[1.0] * 54]), 16)
    assert copies[0] == 16
    assert 4 <= copies[1] <= 16
    assert (copies[2:] == 1).all()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1e-30, 1.0, 3.0, 1e9, 1e30]), min_size=1, max_size=40),
    st.sampled_from([1, 2, 16, 64]),
)
def test_pop_splits_into_no_more_than_there_are_parts_and_twice_the_demands(
    rates: list[float], parts: int
) -> None:
    copies = copies_of(np.array(rates), parts)
    assert (copies >= 1).all() and (copies <= parts).all()
    assert copies.sum() <= 2 * len(rates)


def test_ssdo_is_near_the_optimum_on_a_clos_fabric() -> None:
    given = problem(leaf_spine(8, 4), ALL, 8)
    assert by("ssdo", *given).mlu <= linear.solve(*given).mlu * 1.01


def test_every_baseline_takes_nothing_for_an_answer() -> None:
    net = leaf_spine(2, 2)
    for name in BASELINES:
        assert len(shares(name, *problem(net, [], 2))) == 0
        still = by(name, *problem(net, [(0, 1, 0.0)], 2))
        assert (still.mlu, still.share.sum()) == (0.0, pytest.approx(1.0))
