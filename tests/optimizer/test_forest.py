"""Forests: loop-free, spanning, diverse, stable."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.optimizer.disjoint import reverse_arcs
from controller.optimizer.forest import grow, reconnect
from controller.optimizer.problem import Forest, Network
from tests.optimizer.graphs import fat_tree, groups, leaf_spine, network, networks, path


def same(a: Forest, b: Forest) -> bool:
    return (
        np.array_equal(a.egress, b.egress)
        and np.array_equal(a.tree_id, b.tree_id)
        and np.array_equal(a.next_arc, b.next_arc)
    )


def living(net: Network) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(net.nodes))
    alive = net.capacity_bps > 0
    graph.add_edges_from(zip(net.tail[alive].tolist(), net.head[alive].tolist(), strict=True))
    return graph


def links_of(net: Network, arcs: list[int]) -> set[int]:
    reverse = reverse_arcs(net)
    return {min(a, int(reverse[a])) if reverse[a] >= 0 else a for a in arcs}


def two_ways_exist(net: Network, members: list[int], source: int) -> bool:
    """Max-flow over links whose two directions are both alive."""
    reverse = reverse_arcs(net)
    graph = nx.Graph()
    graph.add_nodes_from([source, "egress"])
    for arc, back in enumerate(reverse.tolist()):
        if back > arc and net.capacity_bps[arc] > 0 and net.capacity_bps[back] > 0:
            a, b = int(net.tail[arc]), int(net.head[arc])
            a, b = ("egress" if a in members else a), ("egress" if b in members else b)
            if a != b:
                count = graph.get_edge_data(a, b, {"capacity": 0})["capacity"]
                graph.add_edge(a, b, capacity=count + 1)
    return bool(nx.maximum_flow_value(graph, source, "egress") >= 2)


def check(net: Network, members: list[list[int]], forest: Forest) -> None:
    graph = living(net)
    for g, group in enumerate(members):
        trees = np.flatnonzero(forest.egress == g)
        assert len(trees)
        assert len(set(forest.tree_id[trees].tolist())) == len(trees)
        reachable = set().union(*(nx.ancestors(graph, m) for m in group)) - set(group)
        for t in trees.tolist():
            assert set(np.flatnonzero(forest.next_arc[t] >= 0).tolist()) == reachable
            for node in reachable:
                arcs = path(net, forest, t, node)
                assert arcs is not None, "the tree loops"
                assert (net.capacity_bps[arcs] > 0).all()
                assert int(net.head[arcs[-1]]) in group


def test_leaf_spine_has_one_tree_for_each_spine() -> None:
    net = leaf_spine(4, 3)
    forest = grow(net, [[leaf] for leaf in range(4)])
    check(net, [[leaf] for leaf in range(4)], forest)
    assert forest.egress.tolist() == sorted([*range(4)] * 3)
    for g in range(4):
        spines = []
        for t in np.flatnonzero(forest.egress == g).tolist():
            via = {int(net.head[forest.next_arc[t, leaf]]) for leaf in range(4) if leaf != g}
            assert len(via) == 1
            spines += via
            assert all(len(path(net, forest, t, s) or []) == 1 for s in range(4, 7))
        assert spines == [4, 5, 6]


def test_fat_tree_has_one_tree_for_each_core_and_two_for_repair() -> None:
    net, edges, cores = fat_tree(4)
    forest = grow(net, [[e] for e in edges])
    check(net, [[e] for e in edges], forest)
    assert np.bincount(forest.egress).tolist() == [6] * len(edges)
    far = edges[-1]
    for g in range(len(edges) - 2):
        used = [
            node
            for t in np.flatnonzero(forest.egress == g).tolist()[:4]
            for node in net.head[path(net, forest, t, far)].tolist()
            if node in cores
        ]
        assert sorted(used) == cores


def test_families_are_capped_and_together_use_every_spine() -> None:
    net = leaf_spine(16, 32)
    forest = grow(net, [[leaf] for leaf in range(16)], trees_per_egress=8)
    assert len(forest.egress) == 16 * 8
    used = np.bincount(
        [net.head[forest.next_arc[t, (forest.egress[t] + 1) % 16]] for t in range(128)]
    )
    assert used[16:].min() >= 2
    assert used.max() <= 6


def test_trees_of_a_dual_homed_egress_end_at_both_members() -> None:
    net = leaf_spine(4, 2)
    forest = grow(net, [[0, 1], [2], [3]])
    ways = {
        tuple(net.head[path(net, forest, t, 3)].tolist())
        for t in np.flatnonzero(forest.egress == 0).tolist()
    }
    assert ways == {(4, 0), (4, 1), (5, 0), (5, 1)}


def test_a_ring_is_used_both_ways() -> None:
    net = network(6, [(i, (i + 1) % 6, 1.0) for i in range(6)])
    forest = grow(net, [[i] for i in range(6)])
    for g in range(6):
        for source in set(range(6)) - {g}:
            ways = {
                tuple(path(net, forest, t, source) or [])
                for t in np.flatnonzero(forest.egress == g).tolist()
            }
            assert len(ways) == 2


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_graph_gets_loop_free_spanning_disjoint_trees(data: st.DataObject) -> None:
    net = data.draw(networks())
    members = data.draw(groups(net.nodes))
    limit = data.draw(st.sampled_from([1, 2, 4, 8]))
    forest = grow(net, members, limit)
    check(net, members, forest)
    assert (np.bincount(forest.egress) <= limit).all()
    if limit < 2:
        return
    sources = {node for group in members for node in group}
    for g, group in enumerate(members):
        for source in sources - set(group):
            if two_ways_exist(net, group, source):
                ways = [
                    links_of(net, path(net, forest, t, source) or [])
                    for t in np.flatnonzero(forest.egress == g).tolist()
                ]
                assert any(not a & b for i, a in enumerate(ways) for b in ways[:i])


def has_detour(
    net: Network, forest: Forest, group: list[int], g: int, arc: int, around: bool
) -> bool:
    """Over another arc of the same switch, on a tree that leads to the egress without that switch,
    and ``around`` the switch behind the dead arc."""
    here, behind = int(net.tail[arc]), int(net.head[arc])
    for other in np.flatnonzero((net.tail == here) & (net.capacity_bps > 0)).tolist():
        if other == arc:
            continue
        start = int(net.head[other])
        for t in np.flatnonzero(forest.egress == g).tolist():
            arcs = path(net, forest, t, start) or []
            passed = {start, *net.head[arcs].tolist()}
            if here not in passed and passed & set(group) and not (around and behind in passed):
                return True
    return False


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_hop_of_any_graph_has_a_detour_where_there_is_one(data: st.DataObject) -> None:
    net = data.draw(networks(connected=True) | meshes())
    members = data.draw(groups(net.nodes))
    sources = data.draw(st.sets(st.integers(0, net.nodes - 1), min_size=1, max_size=2))
    forest = grow(net, members, sources=sources)
    for g, group in enumerate(members):
        for t in np.flatnonzero(forest.egress == g).tolist():
            for source in sources - set(group):
                for arc in path(net, forest, t, source) or []:
                    here, behind = int(net.tail[arc]), int(net.head[arc])
                    rest = network_graph(net)
                    if rest.number_of_edges(here, behind) == 1:
                        rest.remove_edge(here, behind)
                    if any(nx.has_path(rest, here, m) for m in group):
                        assert has_detour(net, forest, group, g, arc, around=False)
                    rest.remove_node(behind)
                    if behind not in group and any(nx.has_path(rest, here, m) for m in group):
                        assert has_detour(net, forest, group, g, arc, around=True)


@st.composite
def meshes(draw: st.DrawFn) -> Network:
    """Two-connected graphs: two rows with rungs between them, closed at the ends, and chords."""
    length = draw(st.integers(3, 7))
    links = [(row + i, row + i + 1, 1.0) for row in (0, length) for i in range(length - 1)]
    rungs = draw(st.sets(st.integers(1, length - 2)))
    links += [(i, length + i, 1.0) for i in {0, length - 1, *rungs}]
    node = st.integers(0, 2 * length - 1)
    chords = draw(st.lists(st.tuples(node, node), max_size=6))
    return network(2 * length, links + [(a, b, 1.0) for a, b in chords if a != b])


def network_graph(net: Network) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(net.nodes))
    graph.add_edges_from(zip(net.tail[::2].tolist(), net.head[::2].tolist(), strict=True))
    return graph


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_growing_again_changes_nothing(data: st.DataObject) -> None:
    net = data.draw(networks())
    members = data.draw(groups(net.nodes))
    forest = grow(net, members)
    assert same(forest, grow(net, members))
    assert same(forest, grow(net, members, previous=forest))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_repair_keeps_valid_trees_and_never_reuses_an_id(data: st.DataObject) -> None:
    net = data.draw(networks(connected=True))
    members = data.draw(groups(net.nodes))
    before = grow(net, members)
    dead = data.draw(st.sets(st.integers(0, len(net.tail) - 1), min_size=1, max_size=4))
    net.capacity_bps[sorted(dead)] = 0.0
    after = grow(net, members, previous=before)
    check(net, members, after)
    old = {
        (int(g), int(i)): row
        for g, i, row in zip(before.egress, before.tree_id, before.next_arc, strict=True)
    }
    new = {
        (int(g), int(i)): row
        for g, i, row in zip(after.egress, after.tree_id, after.next_arc, strict=True)
    }
    for name, row in old.items():
        if not dead & set(row.tolist()):
            assert np.array_equal(new[name], row)
        else:
            assert name not in new


def test_a_new_switch_joins_the_trees_that_exist() -> None:
    before = grow(leaf_spine(3, 2), [[0], [1], [2]])
    net = leaf_spine(4, 2)
    # Leaf 3 is new: spines move from nodes 3, 4 to 4, 5 while arcs 0..11 stay.
    old = np.full((len(before.egress), 6), -1, np.int32)
    old[:, [0, 1, 2, 4, 5]] = before.next_arc
    previous = Forest(before.egress, before.tree_id, old)
    after = grow(net, [[0], [1], [2], [3]], previous=previous)
    check(net, [[0], [1], [2], [3]], after)
    first = after.egress < 3
    assert np.array_equal(after.tree_id[first], before.tree_id)
    assert np.array_equal(after.next_arc[first][:, [0, 1, 2, 4, 5]], before.next_arc)


def test_reconnect_adds_a_tree_only_where_none_is_left() -> None:
    net = leaf_spine(3, 2)
    members = [[0], [1], [2]]
    forest = grow(net, members)
    net.capacity_bps[[0, 1]] = 0.0  # leaf 0 - spine 3
    assert same(reconnect(net, members, forest, [0, 1, 2]), forest)
    net.capacity_bps[[6, 7]] = 0.0  # leaf 1 - spine 4: 0 and 1 now meet only through leaf 2
    more = reconnect(net, members, forest, [0, 1, 2])
    assert more.egress[len(forest.egress) :].tolist() == [0, 1]
    assert more.tree_id[len(forest.egress) :].tolist() == [2, 2]
    assert len(path(net, more, len(forest.egress), 1) or []) == 4
    assert same(reconnect(net, members, more, [0, 1, 2]), more)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_reserved_ids_are_not_given(data: st.DataObject) -> None:
    net = data.draw(networks(connected=True))
    members = data.draw(groups(net.nodes))
    reserved = {g: data.draw(st.sets(st.integers(0, 9))) for g in range(len(members))}
    forest = grow(net, members, reserved=reserved)
    for g, tree_id in zip(forest.egress.tolist(), forest.tree_id.tolist(), strict=True):
        assert tree_id not in reserved[g]
    rows = np.full((1, net.nodes), -1, np.int32)
    dead = Forest(np.zeros(1, np.int32), np.array([3], np.int32), rows)
    sources = [node for group in members for node in group]
    more = reconnect(net, members, dead, sources, reserved=reserved)
    for g, tree_id in zip(more.egress[1:].tolist(), more.tree_id[1:].tolist(), strict=True):
        assert tree_id not in reserved[g] and (g, tree_id) != (0, 3)


def test_idle_trees_beyond_the_limit_go_but_none_that_a_failure_needs() -> None:
    net, edges, _ = fat_tree(4)
    members = [[edges[0]]]
    grown = grow(net, members, sources=edges)
    everything = {0: range(6)}
    less = grow(net, members, 4, grown, edges, idle=everything)
    assert less.tree_id[-2:].tolist() == [4, 5]
    assert same(less, grow(net, members, 4, less, edges, idle=everything))
    kept = grow(net, members, 4, grown, edges)
    assert same(kept, grown)


def test_running_out_of_tree_ids_says_so() -> None:
    net = leaf_spine(2, 1)
    full = Forest(
        np.zeros(1024, np.int32), np.arange(1024, dtype=np.int32), np.full((1024, 3), 0, np.int32)
    )
    with pytest.raises(ValueError, match="egress 0"):
        grow(net, [[0], [1]], previous=full)
