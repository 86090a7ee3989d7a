"""How flows share links: weighted max-min fairness, by progressive filling.

Every flow has a level, its rate divided by its weight. All levels rise together; what reaches its
own rate or a full lane stops (Bertsekas and Gallager, "Data networks", 6.5.2). The level at which a
lane is full depends on lanes that are full at lower levels alone, so all lanes that are the
tightest for all of their flows can be settled at once, and few rounds are needed.

Flows are of two kinds. One that *adapts* (TCP, RoCE with congestion control) sends no more than it
gets through its whole path. One that does not sends its rate, and each full lane passes on its fair
level of it and drops the rest, so it fills the lanes before that one with what is lost later.

A port has one lane for each queue. Its lanes share it as their flows do, but a queue passes no more
than its maximum, and no less than its minimum as long as it has so much to send.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

_EPSILON = 1e-9
_GUARANTEE_ROUNDS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """``port[L]`` numbers the port of each lane, ``capacity[P]`` is the ports'; ``least[L]`` and
    ``most[L]`` are the lanes' own bounds (0 and infinity where there is none). Bits per second."""

    port: Ints
    capacity: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """``lane[S, H]`` are the lanes of each flow's path in order, -1 behind its end. ``weight[S]``
    is above 0, ``rate[S]`` what it would send. ``part[S, H]`` is how much of what was sent is still
    there on arrival at a lane, had no lane dropped anything: losses on wires make it less than
    1."""

    lane: Ints
    weight: Floats
    rate: Floats
    part: Floats
    adapts: Bools


def levels(lanes: Lanes, flows: Flows) -> tuple[Floats, Floats]:
    """(``level[S, H]``, ``full[L]``): flow s leaves its lane h at ``weight * part * level`` bits
    per second; ``full`` is the level at which a lane is full, infinite where it is not."""
    count = len(lanes.port)
    shape = flows.lane.shape
    if not flows.lane.size:
        return np.zeros(shape), np.full(count, np.inf)
    offered = _loads(flows, (flows.rate / flows.weight)[:, None], count)
    most = np.minimum(lanes.most, lanes.capacity[lanes.port])
    least = np.minimum(np.minimum(lanes.least, most), offered)
    for _ in range(_GUARANTEE_ROUNDS):
        full = _Filling(lanes, flows, least, most, offered).run()
        level = _levels(flows, full)
        if not least.any():
            break
        # What a queue does not use of its minimum is not kept from the others.
        load = _loads(flows, level, count)
        if np.all(least <= load * (1 + _EPSILON) + _EPSILON):
            break
        least = np.minimum(least, load)
    return level, full


def summed(index: npt.NDArray[Any], values: Floats, count: int) -> Floats:
    """``out[i]`` is the sum of the values whose index is i."""
    out: Floats = np.bincount(index, weights=values, minlength=count).astype(np.float64, copy=False)
    return out


def _loads(flows: Flows, level: Floats, lanes: int) -> Floats:
    at = flows.lane >= 0
    rate = flows.weight[:, None] * flows.part * level
    rate = np.broadcast_to(rate, at.shape)
    return summed(flows.lane[at], rate[at], lanes)


def _levels(flows: Flows, full: Floats) -> Floats:
    """The level of each flow behind each of its lanes."""
    extended = np.append(full, np.inf)
    level = np.minimum.accumulate(extended[flows.lane], axis=1)
    level = np.minimum(level, (flows.rate / flows.weight)[:, None])
    level[flows.adapts] = level[flows.adapts, -1:]
    return level


class _Filling:
    """Here a column is a flow, its lanes that can be full first; flows that adapt come first. The
    place behind all lanes stands for none, and for those that a flow has done with.

    ``full`` of a lane is infinite until it is settled. The estimate of the others is never above
    what it will be, and rises from round to round. ``known`` is how far each flow gets on its way
    to each lane by its own rate and the lanes that are settled.
    """

    def __init__(
        self, lanes: Lanes, flows: Flows, least: Floats, most: Floats, offered: Floats
    ) -> None:
        self._port = lanes.port
        self._capacity = lanes.capacity
        self._least = least
        self._most = most
        lane_count, port_count = len(lanes.port), len(lanes.capacity)
        self._full = np.full(lane_count, np.inf)
        of_port = summed(lanes.port, offered, port_count)
        slack = 1 + _EPSILON
        self._crowded = of_port > lanes.capacity * slack
        # A lane that cannot be full needs no more thought: of its port, no lane can.
        self._open = self._crowded[lanes.port] | (offered > most * slack)
        bounded = np.zeros(port_count, bool)
        bounded[lanes.port[(least > 0) | (most < lanes.capacity[lanes.port])]] = True
        several = np.bincount(lanes.port, minlength=port_count) > 1
        by_table = np.flatnonzero((bounded & several & self._crowded)[lanes.port])
        self._siblings = _by_port(lanes.port[by_table], by_table)
        self._fixed = np.zeros(lane_count)
        self._load_columns(flows)
        self._sum_up()

    def _load_columns(self, flows: Flows) -> None:
        count = len(self._port)
        relevant = np.append(self._open, False)[flows.lane]
        columns = relevant.sum(axis=1)
        chosen = np.flatnonzero(columns > 0)
        adapts = flows.adapts[chosen]
        chosen = np.concatenate([chosen[adapts], chosen[~adapts]])
        self._adapting = int(adapts.sum())
        relevant = relevant[chosen]
        order = np.argsort(~relevant, axis=1, kind="stable")[:, : columns.max(initial=0)]
        lane = np.where(relevant, flows.lane[chosen], count)
        weight = np.where(relevant, flows.weight[chosen, None] * flows.part[chosen], 0.0)
        self._lane = np.take_along_axis(lane, order, axis=1).T.copy()
        self._weight = np.take_along_axis(weight, order, axis=1).T.copy()
        cap = flows.rate[chosen] / flows.weight[chosen]
        self._known = np.repeat(cap[None, :], len(self._lane), axis=0)

    def _sum_up(self) -> None:
        """``members`` and ``rising``: how many flows of each lane still rise, and their weights."""
        count = len(self._port)
        lanes = self._lane.ravel()
        self._members = np.bincount(lanes, minlength=count + 1)
        self._rising = summed(lanes, self._weight.ravel(), count + 1)[:-1]

    def run(self) -> Floats:
        count = len(self._port)
        while self._members[:-1].any():
            self._rising[self._members[:-1] == 0] = 0.0
            estimate = np.append(self._estimate(), np.inf)
            here = estimate.take(self._lane)
            ahead = self._tightest(here)
            settled = self._settled(estimate[:-1], here, ahead)
            self._full[settled] = estimate[:-1][settled]
            self._open &= ~settled
            self._know(settled)
            done = self._known <= ahead * (1 + _EPSILON)
            done &= self._lane < count
            self._finish(np.flatnonzero(done))
        return self._full

    def _finish(self, done: Ints) -> None:
        """These places (of the flattened arrays) rise no more."""
        count = len(self._port)
        lane, weight = self._lane.ravel(), self._weight.ravel()
        lanes, weights = lane[done], weight[done]
        self._fixed += summed(lanes, weights * self._known.ravel()[done], count + 1)[:-1]
        lane[done] = count
        weight[done] = 0.0
        self._members -= np.bincount(lanes, minlength=count + 1)
        self._members[-1] = 0
        self._rising -= summed(lanes, weights, count + 1)[:-1]
        left: Bools = np.logical_or.reduce(self._lane < count, axis=0)
        if left.sum() < 0.9 * len(left):
            self._adapting = int(left[: self._adapting].sum())
            kept = np.flatnonzero(left)
            self._lane = self._lane.take(kept, axis=1)
            self._weight = self._weight.take(kept, axis=1)
            self._known = self._known.take(kept, axis=1)
            self._sum_up()

    def _know(self, settled: Bools) -> None:
        """Flows get no further than the lanes that have been settled let them."""
        touched = np.append(settled, False).take(self._lane)
        columns = np.flatnonzero(np.logical_or.reduce(touched, axis=0))
        if not len(columns):
            return
        new = np.append(np.where(settled, self._full, np.inf), np.inf)
        level = new.take(self._lane.take(columns, axis=1))
        adapting = int(np.searchsorted(columns, self._adapting))
        known = np.minimum(self._known.take(columns, axis=1), _tightest(level, adapting))
        self._known[:, columns] = known

    def _tightest(self, here: Floats) -> Floats:
        return _tightest(here.copy(), self._adapting)

    def _settled(self, estimate: Floats, here: Floats, ahead: Floats) -> Bools:
        """The lanes whose estimate is right: none of their flows stops below it elsewhere."""
        count = len(self._port)
        held = np.minimum(ahead, self._known)
        held *= 1 + _EPSILON
        at_last = np.flatnonzero(held >= here)
        whole = np.bincount(self._lane.ravel()[at_last], minlength=count + 1)[:-1]
        members = self._members[:-1]
        lane_bad = whole < members
        port_bad = np.zeros(len(self._capacity), bool)
        # What a queue leaves of its minimum is taken care of in the next filling.
        port_bad[self._port[lane_bad & ~self._promised]] = True
        by_itself = (estimate >= self._own) & ~lane_bad
        waiting = self._open & (self._rising > 0) & np.isfinite(estimate)
        settled: Bools = waiting & (~port_bad[self._port] | by_itself)
        if not settled.any() and not ((self._known <= ahead) & (self._lane < count)).any():
            # Rounding alone gets here: the lowest lane waits for no other.
            settled[np.argmin(np.where(waiting, estimate, np.inf))] = True
        return settled

    def _estimate(self) -> Floats:
        """The level at which each lane is full if none of its flows stops before."""
        weight, ports = self._rising, len(self._capacity)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.maximum(self._most - self._fixed, 0.0)
            self._own = np.where(weight > 0, room / weight, np.inf)
            left = np.maximum(self._capacity - summed(self._port, self._fixed, ports), 0.0)
            of_port = left / summed(self._port, weight, ports)
            of_port[~self._crowded] = np.inf
            level = np.where(weight > 0, of_port[self._port], np.inf)
            if len(self._siblings):
                self._share_ports(level, weight)
            promised = np.where(weight > 0, (self._least - self._fixed) / weight, 0.0)
        self._promised = promised > level
        level = np.minimum(np.maximum(level, promised), self._own)
        level[~self._open] = np.inf
        return level

    def _share_ports(self, level: Floats, weight: Floats) -> None:
        """Where lanes share a port: the level at which what they pass adds up to its capacity.

        What a lane passes is piecewise linear in the level: its minimum, then its load, then its
        maximum. The sum is evaluated where any lane changes, and interpolated between.
        """
        table = self._siblings
        real = table >= 0
        fixed = np.where(real, self._fixed[table], 0.0)
        slope = np.where(real, weight[table], 0.0)
        active = slope > 0
        least = np.where(active, self._least[table], fixed)
        most = np.where(active, np.maximum(self._most[table], fixed), fixed)
        safe = np.where(active, slope, 1.0)
        breaks = np.concatenate([(least - fixed) / safe, (most - fixed) / safe], axis=1)
        breaks = np.sort(np.maximum(breaks, 0.0), axis=1)
        breaks = np.concatenate([np.zeros((len(breaks), 1)), breaks], axis=1)
        passed = fixed[:, None, :] + slope[:, None, :] * breaks[:, :, None]
        low, high = least[:, None, :], np.maximum(most, least)[:, None, :]
        total = np.clip(passed, low, high).sum(axis=2)
        capacity = self._capacity[self._port[table[:, 0]]]
        after = np.minimum((total < capacity[:, None]).sum(axis=1), total.shape[1] - 1)
        rows = np.arange(len(table))
        before = np.maximum(after - 1, 0)
        rise = total[rows, after] - total[rows, before]
        run = breaks[rows, after] - breaks[rows, before]
        missing = capacity - total[rows, before]
        share = np.where(rise > 0, missing / np.where(rise > 0, rise, 1), 1)
        found = breaks[rows, before] + run * np.clip(share, 0.0, 1.0)
        found = np.where(total[:, -1] <= capacity, np.inf, found)
        found = np.where(self._crowded[self._port[table[:, 0]]], found, np.inf)
        level[table[real]] = np.broadcast_to(found[:, None], table.shape)[real]


def _tightest(level: Floats, adapting: int) -> Floats:
    """The lowest level on the way up to each lane; of the first flows, which adapt, on the whole
    way. In place."""
    for before, here in pairwise(level):
        np.minimum(before, here, out=here)
    level[:-1, :adapting] = level[-1, :adapting]
    return level


def _by_port(ports: Ints, lanes: Ints) -> Ints:
    """Lanes of each port in a row, -1 where a port has fewer than others."""
    if not len(ports):
        return np.zeros((0, 0), np.intp)
    order = np.argsort(ports, kind="stable")
    ports, lanes = ports[order], lanes[order]
    _, first, counts = np.unique(ports, return_index=True, return_counts=True)
    table = np.full((len(counts), counts.max()), -1, np.intp)
    column = np.arange(len(ports)) - np.repeat(first, counts)
    table[np.repeat(np.arange(len(counts)), counts), column] = lanes
    return table
