"""Traffic as a fluid: demands flow through the tables that are installed, and nobody makes packets.

Between two changes of anything all rates are constant, so time passes in one step however long it
is. Routes are walked again only where a switch on them has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from controller.emulator.counting import Counters
from controller.emulator.network import Network
from controller.emulator.path_table import FATES, LaneTable, PathTable, path_table
from controller.emulator.routes import Demand, Fate, Route, Router
from controller.emulator.sharing import Bools, Floats, Flows, levels, summed
from controller.emulator.wires import End

BUFFER_BYTES = 1_000_000
"""In front of each wire: what a frame waits for where that is full."""
_DELIVERED = FATES.index(Fate.DELIVERED)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Flowing:
    """All rates, until something changes. ``served`` and ``arrived`` are behind and in front of
    each lane of each path, ``[S, H]``; ``past[S, H]`` is behind its wire, ``end[S]`` behind the
    last."""

    arrived: Floats
    served: Floats
    past: Floats
    end: Floats
    by_lane: Floats
    full: Bools


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
        self._versions: dict[str, tuple[object, ...]] = {}
        self._wires_version = -1
        self._stale = False
        self._begin_anew()
        network.before_change = self.advance
        network.before_reading = self.settle

    def _begin_anew(self) -> None:
        self._counters = Counters()
        self._lanes = LaneTable(self._network, self._counters)
        self._router = Router(self._network)
        self._routes: list[Route | None] = [None] * len(self._demands)
        self._paths: PathTable | None = None
        self._flowing: _Flowing | None = None
        self._ways_in_use = 0
        self._versions = {name: self._version(name) for name in self._network.nodes}
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
        self._paths = None
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
        count = len(self._demands)

        def total(rate: Floats) -> Floats:
            return summed(paths.demand, rate, count)

        delivered = paths.fate == _DELIVERED
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

    def _current(self) -> tuple[PathTable, _Flowing]:
        self._refresh()
        assert self._paths is not None and self._flowing is not None
        return self._paths, self._flowing

    def _version(self, switch: str) -> tuple[object, ...]:
        node = self._network.nodes[switch]
        if node.switch is None:
            return (node.epoch, None)
        state = node.switch.state
        ports = tuple((p.number, p.config, p.link, p.forwarding) for p in state.ports.all())
        dropping = state.forwarding.drop_fragments
        return (node.epoch, state.changes, state.groups.changes, dropping, ports)

    def _refresh(self) -> None:
        """Take in what has changed, if anything has."""
        if self._touched:
            self._forget_changed()
        if self._wires_version != self._network.wires_version:
            self._wires_version = self._network.wires_version
            self._stale = True
        if self._paths is None:
            for number, route in enumerate(self._routes):
                if route is None:
                    self._routes[number] = self._router.route(self._demands[number])
            routes = [route for route in self._routes if route is not None]
            self._paths = path_table(self._network, routes, self._lanes, self._counters)
            self._stale = True
        if self._stale:
            self._flow()
            self._stale = False

    def _forget_changed(self) -> None:
        changed = set()
        other_switch = False
        for name in self._touched:
            version = self._version(name)
            if version != self._versions[name]:
                changed.add(name)
                other_switch |= version[0] != self._versions[name][0]
                self._versions[name] = version
        self._touched.clear()
        if not changed:
            return
        in_use = max(self._ways_in_use, 1000)
        if other_switch or self._counters.way_count > _STALE_WAYS * in_use:
            for name in self._network.nodes:
                self.settle(name)
            self._begin_anew()
            return
        for name in changed:
            self._router.forget(name)
        for number, route in enumerate(self._routes):
            if route is not None and not changed.isdisjoint(route.switches):
                self._routes[number] = None
                self._paths = None

    def _flow(self) -> None:
        paths = self._paths
        assert paths is not None
        lanes = self._lanes.lanes()
        loss = np.append(self._lanes.loss(), 0.0)
        passes = np.cumprod(1.0 - loss[paths.lane], axis=1)
        part = np.ones(paths.lane.shape)
        part[:, 1:] = passes[:, :-1]
        adapts = self._adapts[paths.demand]
        weight = self._weight[paths.demand] * paths.share
        offered = self._rate[paths.demand] * paths.share
        # Nothing comes back from where these end, so a sender that adapts stops.
        offered = np.where(adapts & (paths.fate != _DELIVERED), 0.0, offered)
        flows = Flows(paths.lane, weight, offered, part, adapts)
        level, full = levels(lanes, flows)
        first = np.where(adapts, level[:, -1], offered / weight)
        before = np.concatenate([first[:, None], level[:, :-1]], axis=1)
        real = paths.lane >= 0
        scale = weight[:, None] * part
        arrived = np.where(real, scale * before, 0.0)
        served = np.where(real, scale * level, 0.0)
        past = served * (1.0 - loss[paths.lane])
        end = weight * passes[:, -1] * level[:, -1]
        by_lane = summed(paths.lane[real], served[real], len(self._lanes))
        self._flowing = _Flowing(arrived, served, past, end, by_lane, np.isfinite(full))
        self._count(paths, self._flowing)

    def _count(self, paths: PathTable, flowing: _Flowing) -> None:
        frame_bits = self._frame_bits[paths.demand]
        sent, dropped, received = self._lanes.counters()
        real = paths.lane >= 0
        lane = paths.lane[real]
        met = paths.way >= 0
        way = paths.way[met]
        counters = np.concatenate([sent[:, 1], dropped[:, 1], received[:, 1], paths.dead_counter])
        way_rates = []
        other_rates = []
        for unit in (np.full(len(frame_bits), 8.0), frame_bits):
            into = flowing.arrived / unit[:, None]
            served = flowing.served / unit[:, None]
            past = flowing.past / unit[:, None]
            way_rates.append(summed(way, past[met], self._counters.way_count))
            count = len(self._lanes)
            of_lane = summed(lane, served[real], count)
            missing = summed(lane, into[real], count) - of_lane
            over = summed(lane, past[real], count)
            dead = (flowing.end / unit)[paths.dead_row]
            other_rates.append(
                np.concatenate(
                    [
                        of_lane[sent[:, 0]],
                        np.maximum(missing, 0.0)[dropped[:, 0]],
                        over[received[:, 0]],
                        dead,
                    ]
                )
            )
        self._ways_in_use = self._ways_in_use or len(np.unique(way))
        self._counters.set_rates(
            (way_rates[0], way_rates[1]), counters, (other_rates[0], other_rates[1])
        )


def _without_rate(demand: Demand) -> Demand:
    return replace(demand, rate_bps=0.0)
