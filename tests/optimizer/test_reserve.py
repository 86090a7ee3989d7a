"""Many requests: order, stickiness, displacement, equals that make room, and always the same."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.optimizer.problem import Network
from controller.optimizer.reservation import Grant, Protection, Request, Shortage, Terrain
from controller.optimizer.reserve import reserve
from tests.optimizer.graphs import fat_tree, leaf_spine
from tests.optimizer.terrains import check, choices, load, requests_on, terrain, terrains

NODE, NONE = Protection.NODE, Protection.NONE


def without(on: Terrain, links: set[int]) -> Terrain:
    net = on.network
    capacity = np.where(np.isin(on.link, list(links)), 0.0, net.capacity_bps)
    return replace(on, network=Network(net.nodes, net.tail, net.head, capacity))


def fabric(net: Network) -> Terrain:
    links = len(net.tail) // 2
    number = np.repeat(np.arange(links, dtype=np.int32), 2)
    return Terrain(net, np.full(2 * links, 1e-6), number, [frozenset()] * links)


def ways(grant: Grant) -> tuple[object, ...]:
    return grant.primary, grant.backup, grant.rate_bps


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_asked(data: st.DataObject) -> None:
    """Never more than there is, always the same, and nothing moves when nothing changed."""
    on = data.draw(terrains())
    asked = data.draw(st.lists(requests_on(on), min_size=2, max_size=6))
    grants = reserve(on, asked, [None] * len(asked))
    check(on, asked, grants)
    assert reserve(on, asked, [None] * len(asked)) == grants
    again = reserve(on, asked, grants)
    check(on, asked, again)
    for before, after in zip(grants, again, strict=True):
        if not before.shortage:
            assert ways(after) == ways(before)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_recovery_moves_nothing_that_need_not_move(data: st.DataObject) -> None:
    on = data.draw(terrains())
    # Of one priority, so that nobody is displaced; nobody takes less, so that nobody wants more.
    drawn = data.draw(st.lists(requests_on(on), min_size=1, max_size=5))
    asked = [replace(r, priority=0, degrade=False) for r in drawn]
    grants = reserve(on, asked, [None] * len(asked))
    fulfilled = [i for i, g in enumerate(grants) if g.primary]
    asked, grants = [asked[i] for i in fulfilled], [grants[i] for i in fulfilled]
    dead = data.draw(st.sets(st.integers(0, len(on.risks) - 1), min_size=1, max_size=2))
    after = without(on, dead)
    now = reserve(after, asked, grants)
    check(after, asked, now)
    everyone = {
        int(link) for g in grants for p in (g.primary, g.backup) for link in on.link[list(p or ())]
    }
    if not dead & everyone:
        assert [ways(g) for g in now] == [ways(g) for g in grants]


def test_a_failed_primary_gives_way_to_its_backup_and_others_stay() -> None:
    on = fabric(leaf_spine(3, 4, 10.0))
    asked = [Request(0, frozenset({1}), 1.0, NODE), Request(2, frozenset({1}), 1.0, NODE)]
    grants = reserve(on, asked, [None, None])
    first = grants[0]
    assert first.primary and first.backup
    dead = int(on.link[first.primary[0]])
    after = without(on, {dead})
    now = reserve(after, asked, grants)
    check(after, asked, now)
    assert now[0].primary == first.backup and now[0].protection == NODE
    assert ways(now[1]) == ways(grants[1])
    # Back again, nothing moves.
    assert [ways(g) for g in reserve(on, asked, now)] == [ways(g) for g in now]
    dead = int(on.link[(now[0].backup or ())[0]])
    third = reserve(without(on, {dead}), asked, now)
    assert third[0].primary == now[0].primary and third[0].backup not in (None, now[0].backup)


def test_a_path_that_lost_its_backup_for_good_stays() -> None:
    on = terrain(4, [(0, 1, 9), (1, 3, 9), (0, 2, 9), (2, 3, 9)])
    asked = [Request(0, frozenset({3}), 1.0, NODE)]
    grants = reserve(on, asked, [None])
    [left] = reserve(without(on, {0}), asked, grants)
    assert (left.primary, left.backup, left.rate_bps) == (grants[0].backup, None, 1.0)
    assert (left.shortage, left.protection) == (Shortage.NOT_DISJOINT, NONE)
    [healed] = reserve(on, asked, [left])
    assert (healed.primary, healed.backup) == (left.primary, grants[0].primary)


def test_higher_priority_displaces_and_the_lower_goes_elsewhere() -> None:
    on = terrain(4, [(0, 3, 10), (0, 1, 4), (1, 3, 4)])
    low = Request(0, frozenset({3}), 4.0)
    high = replace(low, rate_bps=8.0, priority=1)
    kept = reserve(on, [low], [None])
    assert kept[0].primary == (0,)
    now = reserve(on, [low, high], [*kept, None])
    check(on, [low, high], now)
    assert [g.primary for g in now] == [(2, 4), (0,)]
    assert not now[0].shortage and not now[1].shortage
    # With nowhere to go it is told who is in the way.
    now = reserve(on, [replace(low, rate_bps=5.0), high], [Grant((0,), None, 5.0), None])
    assert (now[0].primary, now[0].shortage, now[0].rivals) == (None, Shortage.NO_CAPACITY, (1,))
    assert now[0].binding == (0,) and not now[1].shortage


def test_nobody_is_displaced_without_need_or_by_an_equal() -> None:
    on = terrain(4, [(0, 3, 10), (0, 1, 8), (1, 3, 8)])
    low, high = Request(0, frozenset({3}), 4.0), Request(0, frozenset({3}), 8.0, priority=1)
    now = reserve(on, [low, high], [Grant((0,), None, 4.0), None])
    assert [g.primary for g in now] == [(0,), (2, 4)]
    asked = [Request(0, frozenset({3}), 10.0), Request(0, frozenset({3}), 9.0)]
    now = reserve(on, asked, [None, Grant((0,), None, 9.0)])
    assert (now[0].shortage, now[0].rivals) == (Shortage.NO_CAPACITY, (1,))
    assert now[1].primary == (0,) and now[0].proven


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_higher_priority_gets_what_it_would_get_without_lower_ones(data: st.DataObject) -> None:
    on = data.draw(terrains())
    asked = data.draw(st.lists(requests_on(on), min_size=1, max_size=4))
    lower = [replace(r, priority=0) for r in asked]
    upper = replace(data.draw(requests_on(on)), priority=1, degrade=data.draw(st.booleans()))
    kept = reserve(on, lower, [None] * len(lower))
    now = reserve(on, [*lower, upper], [*kept, None])
    check(on, [*lower, upper], now)
    [alone] = reserve(on, [upper], [None])
    assert (now[-1].rate_bps, now[-1].protection) == (alone.rate_bps, alone.protection)


def test_equals_make_room_and_lose_nothing() -> None:
    """Only the direct link is quick enough for the second; the first can go round."""
    on = terrain(3, [(0, 2, 10), (0, 1, 10), (1, 2, 10)])
    first = Request(0, frozenset({2}), 10.0)
    asked = [first, replace(first, max_latency_s=1e-6)]
    now = reserve(on, asked, [Grant((0,), None, 10.0), None])
    assert [g.primary for g in now] == [(2, 4), (0,)]
    # A lower priority moves nobody.
    asked[0] = replace(first, priority=1)
    now = reserve(on, asked, [Grant((0,), None, 10.0), None])
    assert [g.primary for g in now] == [(0,), None]
    assert now[1].rivals == (0,)


def test_two_equals_make_room_together() -> None:
    """No one of them can move alone: three links of 6 hold 2, 2, 2 and 3, 3; 4 has to fit."""
    on = terrain(2, [(0, 1, 6), (0, 1, 6), (0, 1, 6)])
    rates = [3.0, 3.0, 4.0, 2.0, 2.0, 4.0]
    kept = [Grant((a,), None, r) for a, r in zip((0, 2, 4, 0, 2), rates, strict=False)]
    asked = [Request(0, frozenset({1}), r) for r in rates]
    now = reserve(on, asked, [*kept, None])
    check(on, asked, now)
    assert all(not g.shortage for g in now)
    assert load(on, now).max() == 6.0
    more = [*asked, Request(0, frozenset({1}), 1.0)]
    refused = reserve(on, more, [*now, None])[-1]
    assert (refused.shortage, refused.proven) == (Shortage.NO_CAPACITY, True)
    assert refused.binding == (0, 2, 4) and refused.rivals == (0, 1, 2, 3, 4, 5)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_refused_among_equals_only_if_there_is_no_way_for_all(data: st.DataObject) -> None:
    on = data.draw(terrains())
    drawn = data.draw(st.lists(requests_on(on), min_size=2, max_size=3))
    asked = [replace(r, priority=0, degrade=False, rate_bps=max(5.0, r.rate_bps)) for r in drawn]
    now = reserve(on, asked, [None] * len(asked))
    options = [choices(on, r, r.rate_bps) for r in asked]
    granted = [i for i, g in enumerate(now) if g.primary is not None]
    for refused in set(range(len(asked))) - set(granted):
        # Earlier ones were there first; later ones may have taken what was left.
        together = [i for i in granted if i < refused] + [refused]
        assert now[refused].proven
        assert not fit(on, [options[i] for i in together], [asked[i].rate_bps for i in together])


def fit(on: Terrain, options: list[list[tuple[tuple[int, ...], ...]]], rates: list[float]) -> bool:
    def extend(used: np.ndarray, i: int) -> bool:
        if (used > on.network.capacity_bps).any():
            return False
        if i == len(options):
            return True
        for choice in options[i]:
            more = used.copy()
            for path in choice:
                more[list(path)] += rates[i]
            if extend(more, i + 1):
                return True
        return False

    return extend(np.zeros(len(on.link)), 0)


def test_the_earlier_of_equals_comes_first() -> None:
    on = terrain(2, [(0, 1, 10)])
    asked = [Request(0, frozenset({1}), 6.0), Request(0, frozenset({1}), 6.0, degrade=True)]
    now = reserve(on, asked, [None, None])
    assert [g.rate_bps for g in now] == [6.0, pytest.approx(4.0)]
    assert now[1].shortage == Shortage.NO_CAPACITY and now[1].rivals == (0,)
    # And when there is more room, it gets the rest where it is.
    wide = terrain(2, [(0, 1, 12)])
    assert [g.rate_bps for g in reserve(wide, asked, now)] == [6.0, 6.0]


def test_a_link_that_got_narrower_moves_the_lowest_and_latest() -> None:
    on = terrain(3, [(0, 2, 10), (0, 1, 10), (1, 2, 10)])
    asked = [Request(0, frozenset({2}), 3.0) for _ in range(3)]
    kept = reserve(on, asked, [None] * 3)
    assert [g.primary for g in kept] == [(0,)] * 3
    narrow = terrain(3, [(0, 2, 7), (0, 1, 10), (1, 2, 10)])
    assert [g.primary for g in reserve(narrow, asked, kept)] == [(0,), (0,), (2, 4)]


def pairs_on_fat_tree(k: int, count: int) -> tuple[Terrain, list[Request]]:
    net, edges, _ = fat_tree(k)
    rng = np.random.default_rng(0)
    ends = [rng.choice(edges, 2, replace=False).tolist() for _ in range(count)]
    return fabric(net), [Request(a, frozenset({b}), 1e-3, NODE) for a, b in ends]


@pytest.mark.parametrize(("k", "count", "seconds"), [(8, 1_000, 1.0), (16, 10_000, 6.0)])
def test_thousands_of_protected_flows_in_seconds(k: int, count: int, seconds: float) -> None:
    on, asked = pairs_on_fat_tree(k, count)
    reserve(on, asked[:1], [None])  # compiles
    began = process_time()
    grants = reserve(on, asked, [None] * count)
    took = process_time() - began
    print(f"{count} node-disjoint pairs on a fat-tree of k={k}: {took:.2f} s of CPU")
    assert took < 5 * seconds
    assert all(not g.shortage for g in grants)
    used = load(on, grants)
    print(f"reserved: mean {used.mean():.4f}, most {used.max():.4f} of a link")
    assert used.max() < 2 * used.mean()
