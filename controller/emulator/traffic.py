"""Traffic as a fluid: demands flow through the tables that are installed, and nobody makes packets.

Between two changes of anything all rates are constant, so time passes in one step however long it
is. Routes are walked again only where a switch on them has changed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from controller.emulator.counting import Counters
from controller.emulator.flowing import DELIVERED, Flowing, count, flow
from controller.emulator.network import Network
from controller.emulator.path_table import FATES, LaneTable, PathTable, path_table
from controller.emulator.routes import Demand, Fate, Route, Router
from controller.emulator.seen import Seen
from controller.emulator.sharing import Floats, summed
from controller.emulator.ways import Ways
from controller.emulator.wires import End, NicRef
from controller.fabric.model import PortRef

BUFFER_BYTES = 1_000_000
"""In front of each wire: what a frame waits for where that is full."""
_NO_CARRIER = FATES.index(Fate.NO_CARRIER)
_MANY = 1000
_STALE_WAYS = 4
"""So many times the ways in use may be remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Of each demand, ``[D]``, in bits per second: what it ``sent`` and what of that was
    ``delivered``, ``dropped`` by full lanes, ``lost`` on wires, or went ``astray`` (every other
    fate). ``copied`` is what switches made beside. So ``sent + copied`` is the sum of the others.

    ``latency_s`` is the mean of what was delivered, not a number where nothing was.
    """

    sent_bps: Floats
    copied_bps: Floats
    delivered_bps: Floats
    dropped_bps: Floats
    lost_bps: Floats
    astray_bps: Floats
    latency_s: Floats


class Traffic:
    def __init__(self, network: Network, *, buffer_bytes: float = BUFFER_BYTES) -> None:
        """Takes the hooks of the network, so its switches' counters are right whenever they are
        asked. Who changes a switch or wire past the network says so (:meth:`touch`)."""
        self._network = network
        self._buffer_bits = 8 * buffer_bytes
        self._demands: tuple[Demand, ...] = ()
        self._rate = np.zeros(0)
        self._weight = np.zeros(0)
        self._adapts = np.zeros(0, bool)
        self._frame_bits = np.zeros(0)
        self._now = network.now
        self._touched: set[str] = set()
        self._from_nic: dict[str, list[int]] = {}
        self._wires_version = -1
        self._cabling_version = network.cabling_version
        self._stale = False
        self._begin_anew()
        network.before_change = self.advance
        network.before_reading = self.settle

    def _begin_anew(self) -> None:
        self._counters = Counters()
        self._lanes = LaneTable(self._network, self._counters)
        self._router = Router(self._network)
        self._routes: list[Route | None] = [None] * len(self._demands)
        self._unrouted = set(range(len(self._demands)))
        self._paths: PathTable | None = None
        self._flowing: Flowing | None = None
        self._ways_in_use = 0
        self._seen = {name: Seen.of(node) for name, node in self._network.nodes.items()}
        self._touched.clear()
        self._stale = True

    # ---- In ----

    def offer(self, demands: Sequence[Demand]) -> None:
        """From now on these, and no others. Those that were there keep their routes."""
        known: Mapping[Demand, Route | None]
        known = dict(zip(map(_without_rate, self._demands), self._routes, strict=True))
        self._demands = tuple(demands)
        self._routes = [known.get(_without_rate(demand)) for demand in self._demands]
        self._rate = np.array([d.rate_bps for d in self._demands], np.float64)
        self._weight = np.array([d.weight for d in self._demands], np.float64)
        self._adapts = np.array([d.adapts for d in self._demands], bool)
        self._frame_bits = np.array([8.0 * d.frame_bytes for d in self._demands])
        self._from_nic = {}
        for number, demand in enumerate(self._demands):
            self._from_nic.setdefault(demand.source, []).append(number)
        routed = {i: route for i, route in enumerate(self._routes) if route is not None}
        self._unrouted = {i for i, route in enumerate(self._routes) if route is None}
        self._paths = path_table(self._network, routed, self._lanes, self._counters)
        self._stale = True

    def set_rates(self, rate_bps: Floats) -> None:
        """Other rates of the same demands, ``[D]``."""
        if rate_bps.shape != self._rate.shape:
            raise ValueError(f"{len(self._rate)} demands need as many rates")
        self._rate = rate_bps.astype(np.float64)
        self._stale = True

    def touch(self, switch: str | None = None) -> None:
        """The switch (or any of them) may have changed."""
        self._touched.update([switch] if switch is not None else self._network.nodes)

    def advance(self, now: float) -> None:
        """Let time pass with all as it is."""
        if now > self._now:
            self._refresh()
            self._counters.pass_time(now - self._now)
            self._now = now

    def settle(self, switch: str) -> None:
        """Make the counters of a switch right, which may be about to change."""
        self._touched.add(switch)
        node = self._network.nodes[switch]
        self._counters.settle(switch, node.local(self._now), node.count_factor)

    # ---- Out ----

    @property
    def demands(self) -> tuple[Demand, ...]:
        return self._demands

    def report(self) -> Report:
        """How things are flowing now."""
        paths, flowing = self._current()
        demands = len(self._demands)

        def total(rate: Floats) -> Floats:
            return summed(paths.demand, rate, demands)

        delivered = paths.fate == DELIVERED
        begin = flowing.arrived[:, 0]
        # A path without any lane ends where it begins.
        begin = np.where(paths.lane[:, 0] >= 0, begin, flowing.end)
        arrives = total(np.where(delivered, flowing.end, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            latency = total(np.where(delivered, flowing.end * self._latency(), 0.0)) / arrives
        return Report(
            total(np.where(paths.copied, 0.0, begin)),
            total(np.where(paths.copied, begin, 0.0)),
            arrives,
            total((flowing.arrived - flowing.served).sum(axis=1)),
            total((flowing.served - flowing.past).sum(axis=1)),
            total(np.where(delivered, 0.0, flowing.end)),
            latency,
        )

    def fates(self, demand: int) -> dict[Fate, float]:
        """The shares of a demand's flows by what becomes of them; copies are not among them."""
        paths, _ = self._current()
        mine = (paths.demand == demand) & ~paths.copied
        shares = summed(paths.fate[mine], paths.share[mine], len(FATES))
        return {fate: float(share) for fate, share in zip(FATES, shares, strict=True) if share}

    def route(self, demand: int) -> Route:
        self._current()
        found = self._routes[demand]
        assert found is not None
        return found

    def loads(self) -> dict[End, float]:
        """What each port that carries anything sends, in bits per second."""
        _, flowing = self._current()
        out: dict[End, float] = {}
        for tail, load in zip(self._lanes.tails, flowing.by_lane.tolist(), strict=True):
            out[tail] = out.get(tail, 0.0) + load
        return out

    def _latency(self) -> Floats:
        """Of each path, in seconds."""
        paths, flowing = self._current()
        waits = np.where(flowing.full, self._buffer_bits / np.maximum(flowing.by_lane, 1e-9), 0.0)
        of_lane = np.append(self._lanes.delay_s() + waits, 0.0)
        seconds: Floats = of_lane[paths.lane].sum(axis=1)
        return seconds

    # ---- Rates ----

    def _current(self) -> tuple[PathTable, Flowing]:
        self._refresh()
        assert self._paths is not None and self._flowing is not None
        return self._paths, self._flowing

    def _refresh(self) -> None:
        """Take in what has changed, if anything has."""
        if self._cabling_version != self._network.cabling_version:
            self._cabling_version = self._network.cabling_version
            self._settle_all()
            self._begin_anew()
        if self._touched:
            self._forget_changed()
        if self._wires_version != self._network.wires_version:
            self._wires_version = self._network.wires_version
            self._stale = True
        if self._unrouted:
            self._route()
            self._stale = True
        if self._stale:
            self._flow()
            self._stale = False

    def _route(self) -> None:
        fresh = {}
        with _without_collector() if len(self._unrouted) > _MANY else nullcontext():
            for number in sorted(self._unrouted):
                fresh[number] = self._routes[number] = self._router.route(self._demands[number])
        table = path_table(self._network, fresh, self._lanes, self._counters)
        self._paths = table if self._paths is None else self._paths.joined(table)
        self._unrouted.clear()

    def _forget_changed(self) -> None:
        dropped: list[Ways] = []
        ports: set[PortRef] = set()
        for name in sorted(self._touched):
            before, now = self._seen[name], Seen.of(self._network.nodes[name])
            if before == now:
                continue
            self._seen[name] = now
            if not now.continues(before):
                self._settle_all()
                self._begin_anew()
                return
            changed = now.changed_ports(before)
            ports.update(PortRef(name, port) for port in changed)
            dropped += self._router.forget(name, changed if now.same_tables(before) else None)
        self._touched.clear()
        if dropped or ports:
            self._unroute(dropped, ports)
            if self._counters.way_count > _STALE_WAYS * max(self._ways_in_use, 1000):
                self._settle_all()
                self._begin_anew()

    def _unroute(self, dropped: Sequence[Ways], ports: Set[PortRef]) -> None:
        """Walk again what takes one of these ways or uses one of these ports."""
        if self._paths is None:
            return
        paths = self._paths
        ends: set[End] = set(ports)
        for port in ports:
            if port in self._network.wire_at:
                ends.add(self._network.wire_at[port][1].head)
        affected = np.zeros(len(self._demands), bool)
        way = np.zeros(self._counters.way_count + 1, bool)
        way[[each.number for ways in dropped for each in ways.ways]] = True
        way[-1] = False
        lane = np.zeros(len(self._lanes) + 1, bool)
        lane[self._lanes.at(ends)] = True
        rows = way[paths.way].any(axis=1) | lane[paths.lane].any(axis=1)
        affected[paths.demand[rows]] = True
        for number in np.unique(paths.demand[paths.fate == _NO_CARRIER]).tolist():
            route = self._routes[number]
            if route is not None and any(path.dead in ends for path in route.paths):
                affected[number] = True
        for end in ends:
            if isinstance(end, NicRef):
                affected[self._from_nic.get(end.nic, [])] = True
        self._paths = paths.without(affected)
        self._unrouted.update(np.flatnonzero(affected).tolist())

    def _settle_all(self) -> None:
        for name in self._network.nodes:
            self.settle(name)

    def _flow(self) -> None:
        if self._paths is None:
            self._paths = path_table(self._network, {}, self._lanes, self._counters)
        paths = self._paths
        self._flowing = flow(paths, self._lanes, self._weight, self._rate, self._adapts)
        count(paths, self._lanes, self._counters, self._flowing, self._frame_bits)
        if not self._ways_in_use:
            self._ways_in_use = self._counters.way_count


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing of many routes is garbage, and looking for it takes as long as to make them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _without_rate(demand: Demand) -> Demand:
    return replace(demand, rate_bps=0.0)
