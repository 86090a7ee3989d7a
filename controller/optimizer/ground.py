"""Where paths are sought: a terrain, checked and indexed, and what a request asks for on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer.kernels import pairs
from controller.optimizer.problem import Bools, Indices, check_network
from controller.optimizer.reservation import Protection, Request, Terrain

HOP_S = 1e-6
"""What a hop costs beside its latency: the delay of a switch, and the resolution of costs."""
TICK_S = 1e-11
"""Latencies are compared in these."""
LONGEST_S = 1.0
"""More in one link makes no difference to costs."""
TIES = 1 << 15
"""A hop's cost is this many units for how full it is, so that more never outweighs a hop."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A request on its ground: ``inside[N]`` are its members, ``barred[A]`` what it avoids, and
    ``passing[A]`` has a bit for each via that an arc will do for, ``wanted`` all of them."""

    source: int
    inside: Bools
    least: Indices
    rate_bps: float
    protection: Protection
    max_latency_s: float
    passing: Indices
    wanted: int
    barred: Bools


class Ground:
    """Arcs by tail and by head, and costs: ``base[A]`` of an arc for hop and latency, in ``unit``s.

    ``dead[A]`` arcs have no capacity. Raises ValueError for arrays that make no sense.
    """

    def __init__(self, terrain: Terrain) -> None:
        network = terrain.network
        check_network(network)
        _check(terrain)
        self.nodes, self.capacity = network.nodes, network.capacity_bps.astype(np.float64)
        self.tail, self.head = network.tail.astype(np.int32), network.head.astype(np.int32)
        self.link = terrain.link.astype(np.int32)
        self.latency_s = terrain.latency_s.astype(np.float64)
        self.risks = terrain.risks
        self.dead = self.capacity <= 0
        self.open = np.where(self.dead, -1.0, np.inf)
        nodes = np.arange(self.nodes + 1)
        self.arcs = np.argsort(self.tail, kind="stable").astype(np.int32)
        self.first = np.searchsorted(self.tail[self.arcs], nodes).astype(np.int64)
        self._into = np.argsort(self.head, kind="stable").astype(np.int64)
        self._into_first = np.searchsorted(self.head[self._into], nodes).astype(np.int64)
        self.unit = TIES * 2 * (self.nodes + 1)
        hops = 1 + np.rint(np.minimum(self.latency_s, LONGEST_S) / HOP_S)
        self.base = hops.astype(np.int64) * self.unit
        # Equal latencies go by hops.
        ticks = np.rint(np.minimum(self.latency_s, LONGEST_S) / TICK_S).astype(np.int64)
        self.delay = ticks * 2 * (self.nodes + 1) + 1
        self.none = np.zeros(len(self.tail), np.bool_)
        self.nothing = np.zeros(len(self.tail), np.int64)
        self.unguided = np.zeros(self.nodes, np.int64)
        self._members: dict[frozenset[int], tuple[Bools, Indices]] = {}
        self._avoided: dict[frozenset[int], Bools] = {frozenset(): self.none}
        self._passing: dict[tuple[frozenset[int], ...], Indices] = {(): self.nothing}

    def ask(self, request: Request) -> Ask:
        """The request in arrays, which requests share."""
        if request.members not in self._members:
            inside = np.zeros(self.nodes, np.bool_)
            inside[list(request.members)] = True
            least = pairs.toward(
                inside, self.base, self.open, self.tail, self._into_first, self._into
            )
            self._members[request.members] = inside, least
        if request.avoid not in self._avoided:
            self._avoided[request.avoid] = self.mask(request.avoid)
        if request.via not in self._passing:
            passing = np.zeros(len(self.tail), np.int64)
            for bit, any_of in enumerate(request.via):
                passing[list(any_of)] |= 1 << bit
            self._passing[request.via] = passing
        inside, least = self._members[request.members]
        return Ask(
            request.source,
            inside,
            least,
            request.rate_bps,
            request.protection,
            request.max_latency_s,
            self._passing[request.via],
            (1 << len(request.via)) - 1,
            self._avoided[request.avoid],
        )

    def mask(self, arcs: Iterable[int]) -> Bools:
        out = np.zeros(len(self.tail), np.bool_)
        out[list(arcs)] = True
        return out

    def risks_of(self, path: Iterable[int]) -> set[int]:
        """The shared risk groups of a path's links."""
        return {risk for arc in path for risk in self.risks[self.link[arc]]}

    def between(self, path: Sequence[int]) -> set[int]:
        """The nodes that a path passes between source and end."""
        return {int(self.head[arc]) for arc in path[:-1]}

    def apart(self, one: Sequence[int], other: Sequence[int]) -> Protection:
        """The strongest protection that two paths of a request are to each other."""
        if {int(self.link[a]) for a in one} & {int(self.link[a]) for a in other}:
            return Protection.NONE
        if self.between(one) & self.between(other):
            return Protection.LINK
        if self.risks_of(one) & self.risks_of(other):
            return Protection.NODE
        return Protection.SRLG

    def latency(self, path: Sequence[int]) -> float:
        return float(self.latency_s[list(path)].sum())

    def suits(self, ask: Ask, path: Sequence[int], primary: bool) -> bool:
        """Whether a path may serve as primary (else as backup), whatever its rate: alive, from the
        source to a member, without meeting itself, within all that is asked of it."""
        arcs = list(path)
        tails, heads = self.tail[arcs].tolist(), self.head[arcs].tolist()
        if not arcs:
            return bool(ask.inside[ask.source])
        return bool(
            tails == [ask.source, *heads[:-1]]
            and len({*tails, heads[-1]}) == len(arcs) + 1
            and ask.inside[heads[-1]]
            and not ask.inside[tails].any()
            and not self.dead[arcs].any()
            and not ask.barred[arcs].any()
            and self.in_time(ask, arcs)
            and (not primary or self.passes(ask, arcs))
        )

    def passes(self, ask: Ask, path: Sequence[int]) -> bool:
        return int(np.bitwise_or.reduce(ask.passing[list(path)], initial=0)) == ask.wanted

    def in_time(self, ask: Ask, path: Sequence[int]) -> bool:
        return self.latency(path) <= ask.max_latency_s * (1 + 1e-9)


def _check(terrain: Terrain) -> None:
    network, link, latency = terrain.network, terrain.link, terrain.latency_s
    count = len(network.tail)
    if not len(link) == len(latency) == count:
        raise ValueError(
            f"{count} arcs, {len(link)} link numbers and {len(latency)} latencies: give one of "
            "each for every arc"
        )
    for arc in np.flatnonzero(~((latency >= 0) & np.isfinite(latency))).tolist():
        raise ValueError(f"arc {arc} has no latency >= 0: {latency[arc]}")
    for arc in np.flatnonzero((link < 0) | (link >= len(terrain.risks))).tolist():
        raise ValueError(f"arc {arc} has link {link[arc]}: risks has {len(terrain.risks)} links")
    order = np.argsort(link, kind="stable")
    same = np.flatnonzero(np.diff(link[order]) == 0)
    one, other = order[same], order[same + 1]
    twisted = (network.tail[one] != network.head[other]) | (
        network.head[one] != network.tail[other]
    )
    for k in np.flatnonzero(twisted).tolist():
        raise ValueError(
            f"arcs {one[k]} and {other[k]} are link {link[one[k]]}, but not its two directions"
        )
    for k in np.flatnonzero(np.diff(same) == 1).tolist():
        raise ValueError(f"link {link[one[k]]} has more than two arcs: {one[k]}, {other[k]}, ...")


def check_request(ground: Ground, index: int, request: Request) -> None:
    """Raises ValueError, saying what is wrong with which request."""
    arcs = len(ground.tail)
    if not 0 <= request.source < ground.nodes:
        raise ValueError(f"request {index} has no source among {ground.nodes} nodes")
    if not request.members or not all(0 <= m < ground.nodes for m in request.members):
        raise ValueError(f"request {index} has no members among {ground.nodes} nodes")
    if not 0 <= request.rate_bps < np.inf:
        raise ValueError(f"request {index} has no rate >= 0: {request.rate_bps}")
    if not request.max_latency_s > 0:
        raise ValueError(f"request {index} has no latency bound > 0: {request.max_latency_s}")
    if len(request.via) > 62:
        raise ValueError(f"request {index} has {len(request.via)} vias: 62 are the most")
    for part in (*request.via, request.avoid):
        if not all(0 <= arc < arcs for arc in part):
            raise ValueError(f"request {index} has via or avoid beyond {arcs} arcs: {sorted(part)}")
