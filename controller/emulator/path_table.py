"""Routes of all demands as arrays: a row for each path, a column for each lane in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from controller.emulator.counting import Counters, Kind
from controller.emulator.network import Network
from controller.emulator.ports import PortEntry
from controller.emulator.routes import Fate, LaneKey, Route
from controller.emulator.sharing import Bools, Floats, Ints, Lanes
from controller.emulator.wires import End
from controller.fabric.model import PortRef

FATES = tuple(Fate)


@dataclass(frozen=True, slots=True, eq=False)
class PathTable:
    """``lane[S, H]`` and ``way[S, H]`` are -1 where there is none; ``way[s, h]`` is met behind
    ``lane[s, h]``. ``fate[S]`` are places in FATES. ``dead_row`` and ``dead_counter``: paths that
    end at a port without carrier, and what counts them."""

    demand: Ints
    share: Floats
    lane: Ints
    way: Ints
    fate: Ints
    copied: Bools
    dead_row: Ints
    dead_counter: Ints


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
        self._sent: list[tuple[int, int]] = []
        self._dropped: list[tuple[int, int]] = []
        self._received: list[tuple[int, int]] = []

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

    def lanes(self) -> Lanes:
        return Lanes(
            np.array(self._port, np.intp),
            np.array(self._capacity),
            np.array(self._least),
            np.array(self._most),
        )

    def counters(self) -> tuple[Ints, Ints, Ints]:
        """(lane, counter) rows ``[R, 2]`` of what is sent, dropped and received at the end."""
        found = (self._sent, self._dropped, self._received)
        sent, dropped, received = (
            np.array(each, np.intp) if each else np.zeros((0, 2), np.intp) for each in found
        )
        return sent, dropped, received

    def loss(self) -> Floats:
        wire_at = self._network.wire_at
        return np.array([wire_at[tail][1].loss for tail in self._tails], np.float64)

    def delay_s(self) -> Floats:
        wire_at = self._network.wire_at
        return np.array([wire_at[tail][0].delay_s for tail in self._tails], np.float64)


def _entry(network: Network, end: End) -> PortEntry | None:
    if not isinstance(end, PortRef):
        return None
    switch = network.nodes[end.switch].switch
    return None if switch is None else switch.state.ports.get(end.port)


def path_table(
    network: Network, routes: Sequence[Route], lanes: LaneTable, counters: Counters
) -> PathTable:
    paths = [path for route in routes for path in route.paths]
    per_demand = [len(route.paths) for route in routes]
    number, way = lanes.number, counters.way
    dead_row, dead_counter = [], []
    for row, path in enumerate(paths):
        port = None if path.dead is None else _entry(network, path.dead)
        if port is not None and isinstance(path.dead, PortRef):
            dead_row.append(row)
            dead_counter.append(counters.counter(path.dead.switch, port, Kind.DROPPED))
    lane_counts = np.array([len(path.lanes) for path in paths], np.intp)
    way_counts = np.array([len(path.ways) for path in paths], np.intp)
    width = int(max(lane_counts.max(initial=1), way_counts.max(initial=1)))
    fate_numbers = {fate: i for i, fate in enumerate(FATES)}
    return PathTable(
        np.repeat(np.arange(len(routes)), per_demand),
        np.array([path.share for path in paths]),
        _padded([number(key) for path in paths for key in path.lanes], lane_counts, width),
        _padded([way(*each) for each in chain(*[p.ways for p in paths])], way_counts, width),
        np.array([fate_numbers[path.fate] for path in paths], np.intp),
        np.array([path.copied for path in paths], bool),
        np.array(dead_row, np.intp),
        np.array(dead_counter, np.intp),
    )


def _padded(values: Sequence[int], counts: Ints, width: int) -> Ints:
    table = np.full((len(counts), width), -1, np.intp)
    table[np.arange(width) < counts[:, None]] = values
    return table
