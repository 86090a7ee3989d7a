"""What is claimed holds for every method and any numbers; nonsense is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps import flags
from controller.engine.protecting import PROTECTING
from controller.fabric import model
from controller.optimizer import certificate, strategies
from controller.optimizer.baselines import shares
from controller.optimizer.certificate import Found, Solution
from controller.optimizer.descent import descend
from controller.optimizer.fairness import fair_rates
from controller.optimizer.forest import grow
from controller.optimizer.paths import Paths, spread, trace
from controller.optimizer.problem import Demand, Forest, Network
from controller.optimizer.reasons import reasons
from controller.optimizer.scaled import Scaled
from controller.optimizer.strategies import STRATEGIES
from tests.optimizer.graphs import demand, groups, leaf_spine, network, networks
from tests.optimizer.test_linear import check

RATES = st.sampled_from([0.0, 1e-30, 1e-9, 1.0, 3.0, 1e6, 1e9, 1e15, 1e30])
CAPACITIES = st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 2.5e9, 1e12, 1e30])


@st.composite
def extremes(draw: st.DrawFn) -> tuple[Network, Forest, Demand]:
    net = draw(networks())
    size = len(net.tail)
    net.capacity_bps[:] = draw(st.lists(CAPACITIES, min_size=size, max_size=size))
    members = draw(groups(net.nodes))
    node, egress = st.integers(0, net.nodes - 1), st.integers(0, len(members) - 1)
    rows = draw(st.lists(st.tuples(node, egress, RATES), max_size=12))
    forest = grow(net, members, 4)
    for arc in draw(st.sets(st.integers(0, size - 1), max_size=4)):
        net.capacity_bps[arc] = 0.0
    return net, forest, demand(rows)


def every_solution(net: Network, asked: Demand, paths: Paths) -> dict[str, Solution]:
    solutions = {name: strategies.solve(name, net, asked, paths) for name in STRATEGIES}
    found = descend(Scaled(net, asked, paths), None, 1e-3, most_sweeps=40)
    solutions["descent"] = certificate.finish(net, asked, paths, found.share, found, "descent")
    return solutions


@settings(max_examples=60, deadline=None)
@given(extremes())
def test_no_bound_is_above_what_anybody_reaches(
    instance: tuple[Network, Forest, Demand],
) -> None:
    net, forest, asked = instance
    solutions = every_solution(net, asked, trace(net, forest, asked))
    for solution in solutions.values():
        check(net, forest, asked, solution)
        assert np.isfinite(solution.mlu)
    highest = max(solutions, key=lambda name: solutions[name].bound)
    for name, solution in solutions.items():
        assert solutions[highest].bound <= solution.mlu * (1 + 1e-9), (highest, name)


@settings(max_examples=100, deadline=None)
@given(extremes(), st.integers(0, 2**32 - 1))
def test_any_prices_give_a_bound(instance: tuple[Network, Forest, Demand], seed: int) -> None:
    net, forest, asked = instance
    paths = trace(net, forest, asked)
    rng = np.random.default_rng(seed)
    price = rng.choice([0.0, 1e-300, 1.0, 1e300, -1.0, np.nan, np.inf], len(net.tail))
    bound = certificate.dual_bound(net, asked, paths, price)
    why = reasons(net, asked, paths, price)
    assert why.bound == pytest.approx(bound, rel=1e-9)
    for part in (why.arc_part, why.demand_part):
        assert ((part >= 0) & (part <= 1)).all()
        assert part.sum() <= 1 + 1e-9
    assert (net.capacity_bps[why.arcs] > 0).all()
    for by in ("ecmp", "wcmp", "ssdo"):
        share = shares(by, net, asked, paths)
        none = Found(share, price, by, 0.0)
        assert bound <= certificate.finish(net, asked, paths, share, none, by).mlu * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(extremes(), st.sampled_from(list(STRATEGIES)))
def test_equal_arrays_give_equal_shares(
    instance: tuple[Network, Forest, Demand], name: str
) -> None:
    net, forest, asked = instance
    first, again = (strategies.solve(name, net, asked, trace(net, forest, asked)) for _ in range(2))
    assert np.array_equal(first.share, again.share)
    assert (first.mlu, first.bound, first.solver) == (again.mlu, again.bound, again.solver)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, d: n.capacity_bps.__setitem__(3, -1.0), "arc 3 has no capacity >= 0: -1.0"),
        (lambda n, d: n.capacity_bps.__setitem__(3, np.nan), "arc 3 has no capacity >= 0: nan"),
        (lambda n, d: n.capacity_bps.__setitem__(3, np.inf), "arc 3 has no capacity >= 0: inf"),
        (lambda n, d: n.head.__setitem__(5, 9), "arc 5 has no head among 6 nodes: 9"),
        (lambda n, d: n.tail.__setitem__(5, -1), "arc 5 has no tail among 6 nodes: -1"),
        (lambda n, d: d.source.__setitem__(1, 7), "demand 1 has no source among 6 nodes: 7"),
        (lambda n, d: d.egress.__setitem__(1, -1), "demand 1 has no egress: -1"),
        (lambda n, d: d.rate_bps.__setitem__(0, -2.0), "demand 0 has no rate >= 0: -2.0"),
        (lambda n, d: d.rate_bps.__setitem__(0, np.nan), "demand 0 has no rate >= 0: nan"),
    ],
)
def test_nonsense_is_refused_by_name(change: object, message: str) -> None:
    net = leaf_spine(4, 2)
    forest = grow(net, [[leaf] for leaf in range(4)])
    asked = demand([(0, 1, 1.0), (1, 2, 1.0)])
    change(net, asked)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message.replace("=", "[=]")):
        trace(net, forest, asked)


def test_arrays_of_different_lengths_are_refused() -> None:
    net = network(3, [(0, 1, 1.0), (1, 2, 1.0)])
    short = Network(3, net.tail, net.head[:3], net.capacity_bps)
    with pytest.raises(ValueError, match="4 tails, 3 heads and 4 capacities"):
        grow(short, [[0]])


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, d, p, s: n.capacity_bps.__setitem__(3, np.nan), "arc 3 has no capacity >= 0"),
        (lambda n, d, p, s: d.rate_bps.__setitem__(1, -1.0), "demand 1 has no rate >= 0"),
        (lambda n, d, p, s: p.arcs.__setitem__(2, 99), "entry 2 of the paths is no arc of 16: 99"),
        (lambda n, d, p, s: p.arcs.__setitem__(2, -1), "entry 2 of the paths is no arc of 16: -1"),
        (lambda n, d, p, s: p.demand.__setitem__(3, 2), "path 3 is of no demand: 2"),
        (lambda n, d, p, s: p.demand.__setitem__(0, 1), "path 1 is not behind those of earlier"),
        (lambda n, d, p, s: p.first.__setitem__(1, 5), "paths do not part 8 arcs"),
        (lambda n, d, p, s: s.__setitem__(0, np.nan), "4 shares to begin from, some of them no"),
    ],
)
def test_every_strategy_refuses_nonsense(name: str, change: object, message: str) -> None:
    net = leaf_spine(4, 2)
    asked = demand([(0, 1, 1.0), (1, 2, 1.0)])
    paths = trace(net, grow(net, [[leaf] for leaf in range(4)], 2), asked)
    start = spread(paths, by_capacity=True)
    change(net, asked, paths, start)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message.replace("=", "[=]")):
        strategies.solve(name, net, asked, paths, start)


def test_fair_rates_refuse_paths_over_arcs_that_are_none() -> None:
    net = leaf_spine(4, 2)
    asked = demand([(0, 1, 1.0)])
    paths = trace(net, grow(net, [[leaf] for leaf in range(4)], 2), asked)
    paths.arcs[1] = 16
    with pytest.raises(ValueError, match="entry 1 of the paths is no arc of 16: 16"):
        fair_rates(net, asked, paths)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.next_arc.__setitem__((1, 0), 16), "tree 1 has an arc that is none of 16: 16"),
        (lambda f: f.next_arc.__setitem__((1, 0), -2), "tree 1 has an arc below -1: -2"),
        (lambda f: f.egress.__setitem__(3, -1), "tree 3 has no egress: -1"),
    ],
)
def test_trees_that_lead_nowhere_are_refused(change: object, message: str) -> None:
    net = leaf_spine(4, 2)
    forest = grow(net, [[leaf] for leaf in range(4)], 2)
    change(forest)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        trace(net, forest, demand([(0, 1, 1.0)]))


def test_an_unknown_strategy_is_refused() -> None:
    net = leaf_spine(4, 2)
    asked = demand([(0, 1, 1.0)])
    paths = trace(net, grow(net, [[leaf] for leaf in range(4)], 2), asked)
    with pytest.raises(ValueError, match="unknown strategy 'magic': use one of auto, exact, ecmp,"):
        strategies.solve("magic", net, asked, paths)


def test_the_names_are_the_same_everywhere() -> None:
    assert (*STRATEGIES, *PROTECTING) == model.STRATEGIES == flags.STRATEGIES
