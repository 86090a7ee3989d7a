"""What each part of the way from one spread to a better one buys."""

from __future__ import annotations

import numpy as np
import pytest

from controller.optimizer import buckets, portfolio
from controller.optimizer.churn import curve
from controller.optimizer.paths import spread, trace
from controller.optimizer.problem import Demand
from tests.optimizer.test_descent import skewed


@pytest.mark.parametrize("seed", range(3))
def test_the_curve_ends_at_both_plans_and_each_point_is_what_it_says(seed: int) -> None:
    net, forest, asked = skewed(seed)
    paths = trace(net, forest, asked)
    now = buckets.quantise(paths, spread(paths, by_capacity=False), asked, net)
    best = buckets.quantise(paths, portfolio.solve(net, asked, paths).share, asked, net)
    found = curve(net, asked, paths, now, best)
    for point, (moved, mlu) in enumerate(found.points):
        over = found.gone_over(point)
        units = np.where(over[paths.demand], best, now)
        assert buckets.evaluate(paths, units, asked, net)[1] == pytest.approx(mlu)
        if over.any():
            assert 0 < moved <= 1
    assert found.points[0].moved == 0
    assert found.points[-1].mlu == pytest.approx(buckets.evaluate(paths, best, asked, net)[1])
    assert [p.moved for p in found.points] == sorted(p.moved for p in found.points)


def test_of_many_small_demands_only_the_one_that_hurts_moves() -> None:
    net, forest, small = skewed(0)
    paths = trace(net, forest, small)
    now = buckets.quantise(paths, portfolio.solve(net, small, paths).share, small, net)
    # All drift a little, one grows to three times the largest; then the best plan moves many.
    rate = small.rate_bps * np.random.default_rng(0).lognormal(0, 0.1, len(small.rate_bps))
    rate[7] = 3 * rate.max()
    grown = Demand(small.source, small.egress, rate)
    best = buckets.quantise(paths, portfolio.solve(net, grown, paths).share, grown, net)
    found = curve(net, grown, paths, now, best)
    first, last, taken = found.points[0], found.points[-1], found.points[found.best]
    assert last.moved > 0.05
    assert taken.moved < last.moved / 2
    assert first.mlu - taken.mlu > 0.9 * (first.mlu - last.mlu)


def test_nothing_to_change_is_one_point() -> None:
    net, forest, asked = skewed(1)
    paths = trace(net, forest, asked)
    units = buckets.quantise(paths, spread(paths, by_capacity=True), asked, net)
    found = curve(net, asked, paths, units, units)
    assert len(found.points) == 1
    assert found.best == 0
