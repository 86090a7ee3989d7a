"""Max-min fair rates: within capacity and demand, and near the exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from controller.optimizer import fairness, instances
from controller.optimizer.forest import grow
from controller.optimizer.paths import Paths, load, trace
from controller.optimizer.problem import Demand, Floats, Forest, Network
from controller.optimizer.program import Program, solve
from tests.optimizer import test_linear
from tests.optimizer.graphs import demand, network


def rates(demands: Demand, paths: Paths, carried: Floats) -> Floats:
    return np.bincount(paths.demand, carried, len(demands.source))


def alike(one: Floats, other: Floats) -> float:
    """Geometric mean of min / max, rates below a 10,000th of the mean counting as that."""
    floor = 1e-4 * float(other.mean())
    one, other = np.maximum(one, floor), np.maximum(other, floor)
    return float(np.exp(np.log(np.minimum(one, other) / np.maximum(one, other)).mean()))


def exact(net: Network, asked: Demand, paths: Paths) -> Floats:
    """By linear programs: the least rate as large as can be, those that cannot have more fixed."""
    count, demands, arcs = len(paths), len(asked.source), len(net.tail)
    by_arc = sparse.csc_matrix(
        (np.ones(len(paths.arcs)), paths.arcs, paths.first), shape=(arcs, count)
    )
    sums = sparse.csr_matrix(
        (np.ones(count), (paths.demand, np.arange(count))), shape=(demands, count)
    )
    fixed = np.full(demands, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        level = sparse.csr_matrix(-free[:, None].astype(float))
        matrix = sparse.bmat([[by_arc, None], [sums, level], [None, np.ones((1, 1))]])
        most = float(asked.rate_bps[free].min())
        answer = solve(
            "GLOP",
            60.0,
            Program(
                np.append(np.zeros(count), -1.0),
                matrix,
                np.concatenate(
                    (np.full(arcs, -np.inf), np.where(free, 0.0, fixed * (1 - 1e-7)), [0.0])
                ),
                np.concatenate((net.capacity_bps, np.full(demands, np.inf), [most])),
            ),
        )
        assert answer is not None
        reached = float(answer.x[-1])
        stuck = free & (np.abs(answer.dual[arcs : arcs + demands]) > 1e-9)
        stuck |= free & (asked.rate_bps <= reached * (1 + 1e-9))
        assert stuck.any()
        fixed[stuck] = reached
    return fixed


def test_a_shared_link_is_divided_and_the_rest_goes_to_who_can_use_it() -> None:
    net = network(4, [(0, 1, 10.0), (1, 2, 4.0), (1, 3, 100.0)])
    asked = demand([(0, 2, 9.0), (0, 3, 9.0), (1, 2, 1.0)])
    members = [[n] for n in range(4)]
    paths = trace(net, grow(net, members, 2), asked)
    got = rates(asked, paths, fairness.fair_rates(net, asked, paths))
    assert got == pytest.approx([3.0, 7.0, 1.0], rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(test_linear.instances())
def test_no_link_carries_more_than_it_can(instance: tuple[Network, Forest, Demand]) -> None:
    net, forest, asked = instance
    paths = trace(net, forest, asked)
    carried = fairness.fair_rates(net, asked, paths)
    assert (carried >= 0).all()
    assert (load(paths, carried, len(net.tail)) <= net.capacity_bps * (1 + 1e-9)).all()
    assert (rates(asked, paths, carried) <= asked.rate_bps * (1 + 1e-9)).all()


@pytest.mark.parametrize(("k", "overload"), [(4, 1.5), (4, 2.0), (4, 4.0)])
def test_rates_are_near_the_exact_ones(k: int, overload: float) -> None:
    fabric = instances.fat_tree(k)
    net, asked = fabric.network, fabric.demand
    forest = grow(net, fabric.members, 8)
    paths = trace(net, forest, asked)
    share = load(paths, asked.rate_bps[paths.demand] / 8, len(net.tail)).max()
    asked = Demand(asked.source, asked.egress, asked.rate_bps * overload / share)
    got = rates(asked, paths, fairness.fair_rates(net, asked, paths))
    assert alike(got, exact(net, asked, paths)) >= 0.95
