"""Routes of all demands as arrays: a row for each path, a column for each lane in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from controller.emulator.counting import Counters, Kind
from controller.emulator.network import Network
from controller.emulator.ports import PortEntry
from controller.emulator.routes import Fate, LaneKey, Route
from controller.emulator.sharing import Bools, Floats, Ints, Lanes
from controller.emulator.wires import Direction, End, Wire
from controller.fabric.model import PortRef

FATES = tuple(Fate)


@dataclass(frozen=True, slots=True, eq=False)
class PathTable:
    """``lane[S, H]``, ``first[S, H]`` and ``way[S, H]`` are -1 where there is none; behind
    ``lane[s, h]`` the entry counted by ``first[s, h]`` is met, and then ``way[s, h]``. ``fate[S]``
    are places in FATES. ``dead[S]``: what counts the drops of a port without carrier where a path
    ends, -1 where none. Columns are contiguous, as work goes column by column."""

    demand: Ints
    share: Floats
    lane: Ints
    first: Ints
    way: Ints
    fate: Ints
    copied: Bools
    dead: Ints

    def without(self, demands: Bools) -> PathTable:
        """Only the paths of other demands, ``[D]``."""
        kept = np.flatnonzero(~demands[self.demand])
        return PathTable(
            self.demand[kept],
            self.share[kept],
            self.lane.T.take(kept, axis=1).T,
            self.first.T.take(kept, axis=1).T,
            self.way.T.take(kept, axis=1).T,
            self.fate[kept],
            self.copied[kept],
            self.dead[kept],
        )

    def joined(self, other: PathTable) -> PathTable:
        width = max(self.lane.shape[1], other.lane.shape[1])

        def wide(table: Ints) -> Ints:
            return np.pad(table.T, ((0, width - table.shape[1]), (0, 0)), constant_values=-1)

        return PathTable(
            np.concatenate([self.demand, other.demand]),
            np.concatenate([self.share, other.share]),
            np.concatenate([wide(self.lane), wide(other.lane)], axis=1).T,
            np.concatenate([wide(self.first), wide(other.first)], axis=1).T,
            np.concatenate([wide(self.way), wide(other.way)], axis=1).T,
            np.concatenate([self.fate, other.fate]),
            np.concatenate([self.copied, other.copied]),
            np.concatenate([self.dead, other.dead]),
        )


class LaneTable:
    """Lanes in the order in which they were first met."""

    def __init__(self, network: Network, counters: Counters) -> None:
        self._network = network
        self._counters = counters
        self._index: dict[LaneKey, int] = {}
        self._ports: dict[End, int] = {}
        self._tails: list[End] = []
        self._port: list[int] = []
        self._least: list[float] = []
        self._most: list[float] = []
        self._capacity: list[float] = []
        self._directions: list[Direction] = []
        self._wires: list[Wire] = []
        self._at: dict[End, list[int]] = {}
        self._sent: list[tuple[int, int]] = []
        self._dropped: list[tuple[int, int]] = []
        self._received: list[tuple[int, int]] = []
        self._arrays: tuple[int, Lanes, tuple[Ints, Ints, Ints]] | None = None

    def __len__(self) -> int:
        return len(self._port)

    @property
    def tails(self) -> Sequence[End]:
        return self._tails

    def number(self, key: LaneKey) -> int:
        known = self._index.get(key)
        return self._add(key) if known is None else known

    def _add(self, key: LaneKey) -> int:
        tail, queue_number = key
        number = self._index[key] = len(self._port)
        wire, direction = self._network.wire_at[tail]
        if tail not in self._ports:
            self._ports[tail] = len(self._capacity)
            self._capacity.append(wire.capacity_bps)
        self._tails.append(tail)
        self._wires.append(wire)
        self._directions.append(direction)
        for end in (tail, direction.head):
            self._at.setdefault(end, []).append(number)
        self._port.append(self._ports[tail])
        least, most = 0.0, float("inf")
        port = _entry(self._network, tail)
        if port is not None and isinstance(tail, PortRef):
            count = self._counters.counter
            self._sent.append((number, count(tail.switch, port, Kind.SENT)))
            self._dropped.append((number, count(tail.switch, port, Kind.DROPPED)))
            queue = port.queues.get(queue_number)
            if queue is not None:
                self._sent.append((number, count(tail.switch, queue, Kind.QUEUE_SENT)))
                self._dropped.append((number, count(tail.switch, queue, Kind.QUEUE_DROPPED)))
                if queue.min_rate is not None and queue.min_rate <= 1000:
                    least = queue.min_rate / 1000 * wire.capacity_bps
                if queue.max_rate is not None and queue.max_rate <= 1000:
                    most = queue.max_rate / 1000 * wire.capacity_bps
        self._least.append(least)
        self._most.append(most)
        head = direction.head
        other = _entry(self._network, head)
        if other is not None and isinstance(head, PortRef):
            counter = self._counters.counter(head.switch, other, Kind.RECEIVED)
            self._received.append((number, counter))
        return number

    def at(self, ends: Iterable[End]) -> list[int]:
        """The lanes that begin or end there."""
        return [number for end in ends for number in self._at.get(end, ())]

    def lanes(self) -> Lanes:
        return self._as_arrays()[1]

    def counters(self) -> tuple[Ints, Ints, Ints]:
        """(lane, counter) columns ``[2, R]`` of what is sent, dropped and received at the end."""
        return self._as_arrays()[2]

    def _as_arrays(self) -> tuple[int, Lanes, tuple[Ints, Ints, Ints]]:
        if self._arrays is None or self._arrays[0] != len(self):
            lanes = Lanes(
                np.array(self._port, np.intp),
                np.array(self._capacity),
                np.array(self._least),
                np.array(self._most),
            )
            sent, dropped, received = (
                np.array(each, np.intp).reshape(-1, 2).T.copy()
                for each in (self._sent, self._dropped, self._received)
            )
            self._arrays = len(self), lanes, (sent, dropped, received)
        return self._arrays

    def loss(self) -> Floats:
        return np.array([direction.loss for direction in self._directions], np.float64)

    def delay_s(self) -> Floats:
        return np.array([wire.delay_s for wire in self._wires], np.float64)


def _entry(network: Network, end: End) -> PortEntry | None:
    if not isinstance(end, PortRef):
        return None
    switch = network.nodes[end.switch].switch
    return None if switch is None else switch.state.ports.get(end.port)


def path_table(
    network: Network, routes: Mapping[int, Route], lanes: LaneTable, counters: Counters
) -> PathTable:
    """Of the demands with these numbers."""
    paths = [path for route in routes.values() for path in route.paths]
    per_demand = [len(route.paths) for route in routes.values()]
    lane_counts = np.array([len(path.lanes) for path in paths], np.intp)
    hop_counts = np.array([len(path.hops) for path in paths], np.intp)
    width = int(max(lane_counts.max(initial=1), hop_counts.max(initial=1)))
    number, way, counter = lanes.number, counters.way, counters.counter
    hops = list(chain.from_iterable([path.hops for path in paths]))
    firsts = [-1 if e is None else counter(switch, e, Kind.FLOW) for switch, e, _ in hops]
    ways = [w.number if w.number >= 0 else way(switch, w) for switch, _, w in hops]
    dead = np.full(len(paths), -1, np.intp)
    for row, path in enumerate(paths):
        if isinstance(path.dead, PortRef):
            port = _entry(network, path.dead)
            if port is not None:
                dead[row] = counter(path.dead.switch, port, Kind.DROPPED)
    fate_numbers = {fate: i for i, fate in enumerate(FATES)}
    return PathTable(
        np.repeat(np.fromiter(routes, np.intp, len(routes)), per_demand),
        np.array([path.share for path in paths], np.float64),
        _padded([number(key) for path in paths for key in path.lanes], lane_counts, width),
        _padded(firsts, hop_counts, width),
        _padded(ways, hop_counts, width),
        np.array([fate_numbers[path.fate] for path in paths], np.intp),
        np.array([path.copied for path in paths], bool),
        dead,
    )


def _padded(values: Sequence[int], counts: Ints, width: int) -> Ints:
    table = np.full((len(counts), width), -1, np.intp)
    table[np.arange(width) < counts[:, None]] = values
    return table.T.copy().T
