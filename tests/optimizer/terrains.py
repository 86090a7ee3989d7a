"""Terrains and requests for the tests of reservations, and all there is to choose from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from controller.optimizer.problem import Floats
from controller.optimizer.reservation import Grant, Protection, Request, Terrain
from tests.optimizer.graphs import network

Path = tuple[int, ...]
MICROSECOND = 1e-6


def terrain(
    nodes: int,
    links: Iterable[tuple[int, int, float]],
    latency_us: Sequence[float] | None = None,
    risks: Sequence[Iterable[int]] | None = None,
) -> Terrain:
    """Arcs ``2 i`` and ``2 i + 1`` are the directions of link i; a microsecond each unless said."""
    net = network(nodes, links)
    count = len(net.tail) // 2
    each = np.ones(count) if latency_us is None else np.array(latency_us, np.float64)
    return Terrain(
        net,
        np.repeat(each, 2) * MICROSECOND,
        np.repeat(np.arange(count, dtype=np.int32), 2),
        [frozenset(r) for r in risks or [()] * count],
    )


def paths(on: Terrain, request: Request, rate: float) -> Iterator[Path]:
    """Every path with capacity for the rate that avoids what it must and is in time."""
    net = on.network

    def extend(path: Path, at: int, seen: frozenset[int]) -> Iterator[Path]:
        if at in request.members:
            if on.latency_s[list(path)].sum() <= request.max_latency_s * (1 + 1e-9):
                yield path
            return
        for arc in np.flatnonzero(net.tail == at).tolist():
            to = int(net.head[arc])
            alive = net.capacity_bps[arc] > 0 and net.capacity_bps[arc] >= rate
            if alive and to not in seen and arc not in request.avoid:
                yield from extend((*path, arc), to, seen | {to})

    yield from extend((), request.source, frozenset({request.source}))


def passes(request: Request, path: Path) -> bool:
    return all(any_of & set(path) for any_of in request.via)


def disjoint(on: Terrain, one: Path, other: Path, level: Protection) -> bool:
    def links(path: Path) -> set[int]:
        return set(on.link[list(path)].tolist())

    def between(path: Path) -> set[int]:
        return set(on.network.head[list(path[:-1])].tolist())

    def risks(path: Path) -> set[int]:
        return {r for link in links(path) for r in on.risks[link]}

    return (
        not (level >= Protection.LINK and links(one) & links(other))
        and not (level >= Protection.NODE and between(one) & between(other))
        and not (level >= Protection.SRLG and risks(one) & risks(other))
    )


def choices(on: Terrain, request: Request, rate: float) -> list[tuple[Path, ...]]:
    """Every primary, with every backup if protection is asked, that would do."""
    every = list(paths(on, request, rate))
    if not request.protection:
        return [(p,) for p in every if passes(request, p)]
    return [
        (p, b)
        for p, b in itertools.permutations(every, 2)
        if passes(request, p) and disjoint(on, p, b, request.protection)
    ]


def load(on: Terrain, grants: Sequence[Grant]) -> Floats:
    out = np.zeros(len(on.link))
    for grant in grants:
        for path in (grant.primary, grant.backup):
            out[list(path or ())] += grant.rate_bps
    return out


def check(on: Terrain, requests: Sequence[Request], grants: Sequence[Grant]) -> None:
    """What always holds of grants."""
    assert (load(on, grants) <= on.network.capacity_bps * (1 + 1e-6)).all()
    for request, grant in zip(requests, grants, strict=True):
        assert grant.rate_bps <= request.rate_bps
        assert grant.protection <= request.protection
        if grant.primary is None:
            assert grant.shortage and grant.backup is None and grant.rate_bps == 0
            continue
        full = grant.rate_bps == request.rate_bps and grant.protection == request.protection
        assert full == (not grant.shortage)
        if not grant.primary:
            assert request.source in request.members
            continue
        assert grant.primary in set(paths(on, request, 0.0)) and passes(request, grant.primary)
        assert (grant.backup is not None) == (grant.protection > Protection.NONE)
        if grant.backup is not None:
            assert grant.backup in set(paths(on, request, 0.0))
            assert disjoint(on, grant.primary, grant.backup, grant.protection)


@st.composite
def terrains(draw: st.DrawFn) -> Terrain:
    """Small multigraphs with thin, wide and dead links, a few latencies, and shared risks."""
    nodes = draw(st.integers(3, 6))
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    pairs = draw(st.lists(ends.filter(lambda ab: ab[0] != ab[1]), min_size=3, max_size=11))
    capacity = st.sampled_from([10.0, 10.0, 20.0, 0.0])
    risks = st.sets(st.integers(0, 3), max_size=1)
    return terrain(
        nodes,
        [(a, b, draw(capacity)) for a, b in pairs],
        [draw(st.sampled_from([1, 1, 2, 5])) for _ in pairs],
        [draw(risks) for _ in pairs],
    )


@st.composite
def requests_on(draw: st.DrawFn, on: Terrain) -> Request:
    nodes, arcs = on.network.nodes, len(on.link)
    arc = st.integers(0, arcs - 1)
    source = draw(st.integers(0, nodes - 1))
    others = [n for n in range(nodes) if n != source]
    return Request(
        source,
        draw(st.frozensets(st.sampled_from(others), min_size=1, max_size=2)),
        draw(st.sampled_from([0.0, 5.0, 10.0, 15.0])),
        Protection(draw(st.integers(0, 3))),
        draw(st.sampled_from([float("inf"), 3 * MICROSECOND, 6 * MICROSECOND])),
        tuple(draw(st.lists(st.frozensets(arc, min_size=1, max_size=4), max_size=1))),
        draw(st.frozensets(arc, max_size=2)),
        draw(st.integers(0, 2)),
        draw(st.booleans()),
    )
