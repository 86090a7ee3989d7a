"""One request alone: it gets what it asks for if and only if there is such a path or pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.optimizer.problem import Network
from controller.optimizer.reservation import Grant, Protection, Request, Shortage, Terrain
from controller.optimizer.reserve import reserve
from tests.optimizer.terrains import MICROSECOND, check, choices, requests_on, terrain, terrains

LINK, NODE, SRLG = Protection.LINK, Protection.NODE, Protection.SRLG


def one(on: Terrain, request: Request, kept: Grant | None = None) -> Grant:
    [grant] = reserve(on, [request], [kept])
    check(on, [request], [grant])
    return grant


def wider(on: Terrain, arcs: tuple[int, ...], rate: float) -> Terrain:
    """With room for the rate on these arcs."""
    net = on.network
    capacity = net.capacity_bps.copy()
    capacity[list(arcs)] = max(rate, 1.0)
    return replace(on, network=Network(net.nodes, net.tail, net.head, capacity))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_granted_if_and_only_if_there_is_a_way(data: st.DataObject) -> None:
    on = data.draw(terrains())
    request = replace(data.draw(requests_on(on)), degrade=False)
    grant = one(on, request)
    assert grant.proven
    found = choices(on, request, request.rate_bps)
    assert (grant.primary is not None) == bool(found)
    if found and not request.via and request.protection < SRLG:
        # Of least sum, where that is quick enough.
        def cost(ways: tuple[tuple[int, ...], ...]) -> float:
            return sum(1 + round(on.latency_s[a] * 1e6) for way in ways for a in way)

        best = min(map(cost, choices(on, replace(request, max_latency_s=np.inf), request.rate_bps)))
        granted = (grant.primary or (), grant.backup or ())
        assert cost(granted) == best or np.isfinite(request.max_latency_s)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_lacking_is_named(data: st.DataObject) -> None:
    on = data.draw(terrains())
    request = replace(data.draw(requests_on(on)), degrade=False)
    grant = one(on, request)
    alone = replace(request, protection=Protection.NONE, max_latency_s=np.inf)
    plain = replace(alone, via=(), avoid=frozenset())
    limit = request.max_latency_s

    def slowest(which: Request) -> float:
        return min(max(on.latency_s[list(p)].sum() for p in way) for way in choices(on, which, 0))

    if not choices(on, plain, 0):
        assert grant.shortage == Shortage.UNREACHABLE
        assert choices(wider(on, grant.binding, 1.0), plain, 0) or not grant.binding
    elif not choices(on, alone, 0):
        assert grant.shortage == Shortage.CONSTRAINED
        assert grant.binding
        if choices(on, replace(alone, avoid=frozenset()), 0):
            assert set(grant.binding) <= request.avoid
            assert choices(on, replace(alone, avoid=request.avoid - set(grant.binding)), 0)
        else:
            assert set(grant.binding) <= set().union(*request.via)
    elif not choices(on, replace(alone, max_latency_s=limit), 0):
        assert grant.shortage == Shortage.TOO_SLOW
        assert grant.best_latency_s == pytest.approx(slowest(alone))
    elif not choices(on, pair := replace(alone, protection=request.protection), 0):
        assert grant.shortage == Shortage.NOT_DISJOINT
        assert grant.binding or len(choices(on, replace(pair, protection=Protection.NONE), 0)) < 2
    elif not choices(on, request, 0):
        assert grant.shortage == Shortage.TOO_SLOW
        assert grant.best_latency_s == pytest.approx(slowest(pair))
    elif not choices(on, request, request.rate_bps):
        assert grant.shortage == Shortage.NO_CAPACITY
        assert grant.binding
        assert one(wider(on, grant.binding, request.rate_bps), request).shortage == 0
    else:
        assert grant.shortage == Shortage.NOTHING


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_less_protection_first_then_less_rate(data: st.DataObject) -> None:
    on = data.draw(terrains())
    request = replace(data.draw(requests_on(on)), degrade=True)
    grant = one(on, request)
    rates = {request.rate_bps, 0.0, *on.network.capacity_bps.tolist()}
    options = [
        (rate, level)
        for rate in rates
        for level in range(request.protection + 1)
        if rate <= request.rate_bps
        and choices(on, replace(request, protection=Protection(level)), rate)
    ]
    if not options:
        assert grant.primary is None
        return
    rate, level = max(options)
    assert grant.rate_bps == pytest.approx(rate) and grant.protection == level


def test_a_first_path_that_blocks_every_second_one_is_no_trap() -> None:
    """The shortest path, 0-1-2-3, leaves no second one; two others do it together."""
    on = terrain(
        8,
        [
            (0, 1, 1),
            (1, 2, 1),
            (2, 3, 1),
            (0, 4, 1),
            (4, 5, 1),
            (5, 2, 1),
            (1, 6, 1),
            (6, 7, 1),
            (7, 3, 1),
        ],
    )
    request = Request(0, frozenset({3}), 1.0, NODE)
    assert one(on, replace(request, protection=Protection.NONE)).primary == (0, 2, 4)
    grant = one(on, request)
    assert {grant.primary, grant.backup} == {(0, 12, 14, 16), (6, 8, 10, 4)}


def test_a_trap_of_shared_risks() -> None:
    """The cheapest two paths lie in one duct, and each shares another with the third."""
    on = terrain(
        6,
        [(0, 1, 1), (1, 5, 1), (0, 2, 1), (2, 5, 1), (0, 3, 1), (3, 4, 1), (4, 5, 1)],
        risks=[[0], [1], [0], [2], [1], [], []],
    )
    request = Request(0, frozenset({5}), 1.0, NODE)
    assert {one(on, request).primary, one(on, request).backup} == {(0, 2), (4, 6)}
    grant = one(on, replace(request, protection=SRLG))
    assert (grant.primary, grant.backup) == ((4, 6), (8, 10, 12))


def test_a_single_uplink_cannot_be_protected_and_is_named() -> None:
    on = terrain(4, [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 3, 1)])
    grant = one(on, Request(0, frozenset({3}), 1.0, LINK))
    assert (grant.shortage, grant.binding) == (Shortage.NOT_DISJOINT, (0,))
    grant = one(on, Request(0, frozenset({3}), 1.0, LINK, degrade=True))
    assert grant.primary == (0, 6) and grant.backup is None


def test_a_switch_that_both_must_pass_is_named() -> None:
    on = terrain(5, [(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 4, 1)])
    assert one(on, Request(0, frozenset({4}), 1.0, LINK)).backup is not None
    grant = one(on, Request(0, frozenset({4}), 1.0, NODE))
    assert (grant.shortage, grant.binding) == (Shortage.NOT_DISJOINT, (4, 6))


def test_source_and_end_are_the_only_switches_that_may_be_shared() -> None:
    """Parallel links between neighbours are as disjoint as switches; members may differ."""
    on = terrain(3, [(0, 1, 1), (0, 1, 1), (0, 2, 1)])
    grant = one(on, Request(0, frozenset({1}), 1.0, NODE))
    assert {grant.primary, grant.backup} == {(0,), (2,)}
    on = terrain(4, [(0, 1, 1), (1, 2, 1), (0, 3, 1)])
    grant = one(on, Request(0, frozenset({2, 3}), 1.0, NODE))
    assert {grant.primary, grant.backup} == {(0, 2), (4,)}


def test_a_source_that_is_a_member_needs_no_path() -> None:
    on = terrain(2, [(0, 1, 1)])
    grant = one(on, Request(0, frozenset({0, 1}), 5.0, SRLG))
    assert (grant.primary, grant.shortage) == ((), Shortage.NOTHING)


def test_flows_without_a_rate_spread_too() -> None:
    on = terrain(4, [(0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1)])
    requests = [Request(0, frozenset({3}), 0.0)] * 6
    grants = reserve(on, requests, [None] * 6)
    assert sorted(g.primary or () for g in grants) == [(0, 2)] * 3 + [(4, 6)] * 3


BAD = Request(0, frozenset({1}), 1.0)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (replace(BAD, source=7), "request 0 has no source"),
        (replace(BAD, members=frozenset()), "request 0 has no members"),
        (replace(BAD, rate_bps=-1.0), "request 0 has no rate >= 0"),
        (replace(BAD, rate_bps=float("nan")), "request 0 has no rate >= 0"),
        (replace(BAD, max_latency_s=0.0), "request 0 has no latency bound > 0"),
        (replace(BAD, avoid=frozenset({9})), "request 0 has via or avoid beyond 2 arcs"),
        (replace(BAD, via=(frozenset({9}),)), "request 0 has via or avoid beyond 2 arcs"),
    ],
)
def test_a_bad_request_is_named(request_: Request, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        reserve(terrain(2, [(0, 1, 1)]), [request_], [None])


def test_bad_arrays_are_named() -> None:
    on = terrain(2, [(0, 1, 1), (0, 1, 1)])
    for wrong, text in (
        (replace(on, latency_s=np.ones(3)), "3 latencies"),
        (replace(on, latency_s=np.array([1, 1, -1, 1.0])), "arc 2 has no latency"),
        (replace(on, link=np.array([0, 0, 1, 2], np.int32)), "arc 3 has link 2"),
        (replace(on, link=np.array([0, 1, 0, 1], np.int32)), "arcs 0 and 2 are link 0"),
    ):
        with pytest.raises(ValueError, match=text):
            reserve(wrong, [BAD], [None])
    with pytest.raises(ValueError, match="1 requests but 0 kept"):
        reserve(on, [BAD], [])
    with pytest.raises(ValueError, match="kept grant 0 has arcs beyond 4"):
        reserve(on, [BAD], [Grant((4,))])


def test_latency_decides_beyond_the_least_sum() -> None:
    """The pair of least sum has a path of 7 us; within 6 us there is another."""
    on = terrain(
        6,
        [
            (0, 1, 1),
            (1, 5, 1),
            (0, 2, 1),
            (2, 5, 1),
            (0, 3, 1),
            (3, 5, 1),
            (1, 2, 1),
            (0, 4, 1),
            (4, 5, 1),
        ],
        [1, 1, 3, 4, 3, 3, 9, 3, 3],
    )
    grant = one(on, Request(0, frozenset({5}), 1.0, NODE, 5 * MICROSECOND))
    assert (grant.shortage, round(grant.best_latency_s * 1e6)) == (Shortage.TOO_SLOW, 6)
    assert one(on, Request(0, frozenset({5}), 1.0, NODE, 6 * MICROSECOND)).backup in (
        (8, 10),
        (14, 16),
    )
