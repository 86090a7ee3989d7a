"""What one half of the hosts can send to the other.

The least over all halves is NP-hard to find, so the least over many is given: all of them where
there are few, else halves in the order of names, along each of the slowest modes of the network
(the spectral method of Fiedler, 1973), and some drawn by lot. For each, what can flow is exact.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, gcd

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from controller.fabric.model import AttachmentSet, Fabric

EXHAUSTIVE = 500
"""Halves that are all tried if they are no more."""
MODES = 4
DRAWN = 16
_MAX = 2**31 - 1

Unit = dict[AttachmentSet, float]
"""Hosts alike: the rate of their NICs on each set of switches."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """``bps`` in one direction, of ``half_bps`` that the NICs of a half can send; the least of
    ``tried`` halves, which is exact if those are ``all``."""

    bps: float
    half_bps: float
    tried: int
    all: bool


def bisection(fabric: Fabric) -> Bisection:
    units = list(_units(fabric))
    weight = [sum(unit.values()) for unit in units]
    half = sum(weight) / 2
    if half == 0:
        return Bisection(0.0, 0.0, 0, True)
    even = len(units) % 2 == 0 and len(set(weight)) == 1
    every = even and comb(len(units), len(units) // 2) // 2 <= EXHAUSTIVE
    orders = _every_half(len(units)) if every else _orders(fabric, units)
    flow = _Flow(fabric, units)
    found = [flow.between(*_split(order, weight, half)) for order in orders]
    return Bisection(min(found), half, len(found), every)


def _units(fabric: Fabric) -> Iterator[Unit]:
    alike: dict[tuple[AttachmentSet, ...], Unit] = {}
    for host in fabric.hosts:
        key = tuple(sorted(nic.attachment_set for nic in host.nics))
        unit = alike.setdefault(key, defaultdict(float))
        for nic in host.nics:
            unit[nic.attachment_set] += nic.capacity_bps
    yield from alike.values()


def _every_half(count: int) -> Iterator[Sequence[int]]:
    """Every half once: the one that has the first."""
    for rest in combinations(range(1, count), count // 2 - 1):
        yield [0, *rest, *sorted({*range(1, count)} - {*rest})]


def _orders(fabric: Fabric, units: Sequence[Unit]) -> Iterator[Sequence[int]]:
    """Orders of the units; a half is the first of them."""
    count = len(units)
    yield range(count)
    yield [*range(0, count, 2), *range(1, count, 2)]
    laplacian = np.zeros((len(fabric.switches),) * 2)
    for arc in fabric.arcs:
        tail, head = (fabric.switch_index[p.switch] for p in (arc.tail, arc.head))
        laplacian[tail, tail] += arc.capacity_bps
        laplacian[tail, head] -= arc.capacity_bps
    modes = np.linalg.eigh(laplacian / max(1.0, laplacian.max()))[1][:, : MODES + 1]
    for mode in modes.T:
        place = [
            float(np.mean([mode[fabric.switch_index[s]] for on in unit for s in on]))
            for unit in units
        ]
        yield sorted(range(count), key=lambda i: (round(place[i], 9), i))
    lot = random.Random(0)
    for _ in range(DRAWN):
        yield lot.sample(range(count), count)


def _split(
    order: Sequence[int], weight: Sequence[float], half: float
) -> tuple[dict[int, float], dict[int, float]]:
    """Shares of the units in either half; one may be in both."""
    first: dict[int, float] = {}
    second: dict[int, float] = {}
    room = half
    for i in order:
        taken = min(1.0, max(0.0, room / weight[i])) if weight[i] else 0.0
        room -= taken * weight[i]
        if taken > 0:
            first[i] = taken
        if taken < 1:
            second[i] = 1 - taken
    return first, second


class _Flow:
    """Nodes: switches, then a source and a sink, then each attachment set on either side."""

    def __init__(self, fabric: Fabric, units: Sequence[Unit]) -> None:
        self._units = units
        self._switches = len(fabric.switches)
        self._index = fabric.switch_index
        self._tail = [self._index[arc.tail.switch] for arc in fabric.arcs]
        self._head = [self._index[arc.head.switch] for arc in fabric.arcs]
        self._bps = [arc.capacity_bps for arc in fabric.arcs]
        rates = [*self._bps, *(bps for unit in units for bps in unit.values())]
        # Whole numbers of 31 bits, as coarse as they must be.
        finest = gcd(*(max(1, round(bps / 2)) for bps in rates))
        self._unit = max(float(finest), 4 * sum(rates) / _MAX)

    def between(self, first: dict[int, float], second: dict[int, float]) -> float:
        """What can flow from one half to the other, bits per second."""
        tail, head, bps = list(self._tail), list(self._head), list(self._bps)
        source, sink = self._switches, self._switches + 1
        nodes = sink + 1
        for part, outward in ((first, True), (second, False)):
            total: Unit = defaultdict(float)
            for i, share in part.items():
                for on, rate in self._units[i].items():
                    total[on] += share * rate
            for on, rate in total.items():
                ends = [(source, nodes)] + [(nodes, self._index[s]) for s in on]
                for a, b in ends:
                    tail.append(a if outward else (b if a != source else nodes))
                    head.append(b if outward else (a if a != source else sink))
                    bps.append(rate)
                nodes += 1
        sizes = np.floor(np.array(bps) / self._unit + 1e-9).astype(np.int32)
        graph: csr_array = coo_array((sizes, (tail, head)), shape=(nodes, nodes)).tocsr()
        graph.sum_duplicates()
        return float(maximum_flow(graph, source, sink).flow_value) * self._unit
