"""Plans against failures: the worst case is what the audit says, and near what none can beat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from controller.optimizer import linear, portfolio
from controller.optimizer.audit import audit, links_of, survivors, switches_of
from controller.optimizer.forest import grow
from controller.optimizer.paths import trace
from controller.optimizer.problem import Demand, Forest, Network
from controller.optimizer.robust import protect
from tests.optimizer.graphs import demand, leaf_spine
from tests.optimizer.test_descent import skewed
from tests.optimizer.test_linear import instances


@settings(max_examples=25, deadline=None)
@given(instances())
def test_no_worst_case_is_below_its_bound_nor_above_that_of_the_plain_plan(
    instance: tuple[Network, Forest, Demand],
) -> None:
    net, forest, asked = instance
    paths = trace(net, forest, asked)
    failures = [*links_of(net), *switches_of(net)]
    found = protect(net, asked, paths, failures, limit_s=1.0)
    share = found.solution.share
    said = audit(net, asked, paths, share, failures).mlu.max(initial=found.solution.mlu)
    plain = portfolio.solve(net, asked, paths)
    before = audit(net, asked, paths, plain.share, failures).mlu.max(initial=plain.mlu)
    assert found.mlu == pytest.approx(float(said), rel=1e-6)
    assert found.mlu <= before * (1 + 1e-9)
    assert found.bound <= found.mlu
    # What no routing of any failure can do better, by another solver.
    least = plain.bound
    for failure in failures:
        rest, _ = survivors(paths, share, [int(arc) for arc in failure])
        if len(rest):
            least = max(least, linear.solve(net, asked, rest).mlu)
    assert found.bound <= least * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_case_is_proven_to_a_hundredth(seed: int) -> None:
    net, forest, asked = skewed(seed)
    paths = trace(net, forest, asked)
    found = protect(net, asked, paths, [*links_of(net), *switches_of(net)], limit_s=60.0)
    assert found.mlu <= found.bound * 1.011


def test_traffic_leaves_a_spine_that_could_not_be_replaced() -> None:
    # Of three spines one has thin links: used in full it cannot take over from the others.
    net = leaf_spine(2, 3)
    forest = grow(net, [[0], [1]], trees_per_egress=3)
    asked = demand([(0, 1, 60.0)])
    paths = trace(net, forest, asked)
    found = protect(net, asked, paths, links_of(net))
    assert found.mlu == pytest.approx(0.3, rel=0.02)
    assert np.isfinite(found.bound)
