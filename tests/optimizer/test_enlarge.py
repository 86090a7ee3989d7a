"""Forests that are as good as all ways there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from controller.optimizer.certificate import Found
from controller.optimizer.enlarge import ENOUGH, enlarge
from controller.optimizer.forest import TREE_IDS, grow
from controller.optimizer.instances import INSTANCES
from controller.optimizer.paths import Paths, trace
from controller.optimizer.problem import Demand, Floats, Network
from tests.optimizer.graphs import demand, leaf_spine, network, path, solve
from tests.optimizer.test_forest import check, meshes


def least_mlu(net: Network, members: list[list[int]], asked: Demand) -> float:
    """Over all ways, by a linear program of flows to each egress."""
    arcs, groups = len(net.tail), len(members)
    cost = np.append(np.zeros(groups * arcs), 1.0)
    balance = np.zeros((groups * net.nodes, len(cost)))
    supply = np.zeros(groups * net.nodes)
    keep = np.ones(groups * net.nodes, bool)
    for g, group in enumerate(members):
        for arc in range(arcs):
            balance[g * net.nodes + net.tail[arc], g * arcs + arc] += 1
            balance[g * net.nodes + net.head[arc], g * arcs + arc] -= 1
        keep[[g * net.nodes + n for n in group]] = False
    np.add.at(supply, asked.egress * net.nodes + asked.source, asked.rate_bps)
    room = np.zeros((arcs, len(cost)))
    for arc in range(arcs):
        room[arc, arc : groups * arcs : arcs] = 1
        room[arc, -1] = -net.capacity_bps[arc]
    found = linprog(cost, room, np.zeros(arcs), balance[keep], supply[keep], method="highs")
    assert found.status == 0
    return float(found.fun)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_ways_at_all_are_better_by_more_than_is_enough(data: st.DataObject) -> None:
    net = data.draw(meshes())
    node = st.integers(0, net.nodes - 1)
    members = [[n] for n in data.draw(st.lists(node, min_size=1, max_size=4, unique=True))]
    rows = data.draw(
        st.lists(
            st.tuples(node, st.integers(0, len(members) - 1), st.floats(0.01, 10.0)),
            min_size=1,
            max_size=12,
        )
    )
    asked = demand((a, g, rate) for a, g, rate in rows if members[g] != [a])
    net.capacity_bps[:] *= np.repeat(
        data.draw(
            st.lists(
                st.sampled_from([1.0, 2.0, 10.0]),
                min_size=len(net.tail) // 2,
                max_size=len(net.tail) // 2,
            )
        ),
        2,
    )
    sources = set(asked.source.tolist())
    few = grow(net, members, data.draw(st.sampled_from([1, 2, 4])), sources=sources)
    wider = enlarge(net, members, few, asked)
    check(net, members, wider.forest)
    best = least_mlu(net, members, asked) if len(asked.source) else 0.0
    assert wider.bound <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= wider.mlu <= best * (1 + ENOUGH + 1e-6)
    assert solve(net, wider.forest, asked).mlu <= best * (1 + ENOUGH + 1e-6)
    for row, g, name in zip(few.next_arc, few.egress, few.tree_id, strict=True):
        at = np.flatnonzero((wider.forest.egress == g) & (wider.forest.tree_id == name))
        assert np.array_equal(wider.forest.next_arc[at], [row])


def test_a_hot_pair_gets_every_spine_and_the_others_keep_few_trees() -> None:
    net = leaf_spine(6, 24, 1.0)
    members = [[leaf] for leaf in range(6)]
    asked = demand((a, b, 20.0 if (a, b) == (0, 1) else 0.1) for a in range(6) for b in range(6))
    few = grow(net, members, 4)
    assert solve(net, few, asked).mlu > 4
    wider = enlarge(net, members, few, asked)
    assert wider.mlu < 1.01 * (20 + 4 * 0.1) / 24 * 1.03
    trees = np.bincount(wider.forest.egress)
    ways = {
        tuple(path(net, wider.forest, t, 0) or [])
        for t in np.flatnonzero(wider.forest.egress == 1).tolist()
    }
    assert len(ways) >= 24
    assert trees[[0, 2, 3, 4, 5]].max() <= 8
    assert enlarge(net, members, few, asked, idle=10.0).forest is few


def test_no_trees_are_added_once_weights_alone_leave_links_idle() -> None:
    net = leaf_spine(6, 24, 1.0)
    members = [[leaf] for leaf in range(6)]
    asked = demand((a, b, 20.0 if (a, b) == (0, 1) else 0.1) for a in range(6) for b in range(6))
    few = grow(net, members, 4)
    best = solve(net, few, asked).mlu
    paths = trace(net, few, asked)
    one = np.zeros(len(paths))
    one[paths.starts] = 1.0
    wider = enlarge(net, members, few, asked, one, idle=best * 1.05)
    assert wider.forest is few
    assert wider.mlu <= best * 1.05


def test_an_egress_without_an_id_left_keeps_the_trees_that_it_has() -> None:
    net = network(6, [(0, n, 1.0) for n in range(1, 5)] + [(n, 5, 1.0) for n in range(1, 5)])
    few = grow(net, [[5]], 2, sources=[0])
    asked = demand([(0, 0, 4.0)])
    gone = {0: set(TREE_IDS) - {0, 1, 7}}
    wider = enlarge(net, [[5]], few, asked, reserved=gone)
    assert sorted(wider.forest.tree_id.tolist()) == [0, 1, 7]


def test_where_nothing_could_be_solved_no_trees_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(6, [(0, n, 1.0) for n in range(1, 5)] + [(n, 5, 1.0) for n in range(1, 5)])
    few = grow(net, [[5]], 2, sources=[0])

    def unsolved(net: Network, asked: Demand, paths: Paths, share: Floats, _: float) -> Found:
        return Found(share, np.zeros(len(net.tail)), "none", 60.0)

    monkeypatch.setattr("controller.optimizer.portfolio.optimum", unsolved)
    wider = enlarge(net, [[5]], few, demand([(0, 0, 4.0)]))
    assert wider.forest is few
    assert wider.bound == 0


def test_ids_that_are_reserved_are_not_given() -> None:
    net = network(6, [(0, n, 1.0) for n in range(1, 5)] + [(n, 5, 1.0) for n in range(1, 5)])
    few = grow(net, [[5]], 2, sources=[0])
    wider = enlarge(net, [[5]], few, demand([(0, 0, 4.0)]), reserved={0: {2}})
    assert sorted(wider.forest.tree_id.tolist()) == [0, 1, 3, 4]
    assert wider.mlu == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["ft8_a2a", "ft16_a2a", "ft16_perm", "ls512_rail", "ls512_moe"])
def test_eight_trees_and_those_that_are_asked_for_are_enough(name: str) -> None:
    instance = INSTANCES[name]()
    sources = set(instance.demand.source.tolist())
    few = grow(instance.network, instance.members, 8, sources=sources)
    wider = enlarge(instance.network, instance.members, few, instance.demand)
    assert wider.mlu <= (1 + ENOUGH) * wider.bound
