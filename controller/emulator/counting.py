"""Counters of switches that advance at a rate.

Rates stand until they are set anew; what has passed since is added up in arrays, and written into
the switches' own counters, which are whole numbers, only when somebody is about to read those.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import BucketState, GroupEntry
from controller.emulator.ports import PortEntry, QueueState
from controller.emulator.sharing import Floats, summed
from controller.emulator.ways import Way


class Kind(IntEnum):
    """What of an object is counted."""

    FLOW = 0
    GROUP = 1
    MATCHED = 2
    MISSED = 3
    RECEIVED = 4
    SENT = 5
    DROPPED = 6
    QUEUE_SENT = 7
    QUEUE_DROPPED = 8


class Counters:
    """All counters that traffic has met. ``way_count`` ways and the counters of each are numbered
    from 0 as they come."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._kinds: list[Kind] = []
        self._index: tuple[dict[int, int], ...] = tuple({} for _ in Kind)
        self._of_switch: dict[str, list[int]] = {}
        self._kept: list[Way] = []
        self._way_of_row = array("q")
        self._counter_of_row = array("q")
        self._octets = np.zeros(0)
        self._packets = np.zeros(0)
        self._seen: list[Floats] = [np.zeros(0), np.zeros(0)]
        self._owed: list[Floats] = [np.zeros(0), np.zeros(0)]
        self._octet_rate = np.zeros(0)
        self._packet_rate = np.zeros(0)
        self._pending_s = 0.0

    @property
    def way_count(self) -> int:
        return len(self._kept)

    @property
    def count(self) -> int:
        return len(self._objects)

    def counter(self, switch: str, counted: object, kind: Kind) -> int:
        """The number of a counter, the same whenever it is asked for."""
        of_kind = self._index[kind]
        known = of_kind.get(id(counted))
        if known is None:
            known = of_kind[id(counted)] = len(self._objects)
            self._objects.append(counted)
            self._kinds.append(kind)
            self._of_switch.setdefault(switch, []).append(known)
        return known

    def way(self, switch: str, way: Way) -> int:
        """The number of a way; its counters are numbered with it."""
        if way.number < 0:
            way.number = len(self._kept)
            self._kept.append(way)
            counted: list[int] = []
            for entry in way.visited:
                counted.append(self.counter(switch, entry, Kind.FLOW))
            for table in way.matched:
                counted.append(self.counter(switch, table, Kind.MATCHED))
            for table in way.misses:
                counted.append(self.counter(switch, table, Kind.MISSED))
            for group, buckets in way.buckets:
                counted.append(self.counter(switch, group, Kind.GROUP))
                for bucket in buckets:
                    counted.append(self.counter(switch, bucket, Kind.GROUP))
            self._counter_of_row.extend(counted)
            self._way_of_row.extend([way.number] * len(counted))
        return way.number

    def set_rates(self, octets: tuple[Floats, Floats], packets: tuple[Floats, Floats]) -> None:
        """(of each way, of each counter beside) a second."""
        self.flush()
        count = len(self._objects)
        missing = count - len(self._octets)
        if missing:
            self._octets = np.pad(self._octets, (0, missing))
            self._packets = np.pad(self._packets, (0, missing))
            self._seen = [np.pad(each, (0, missing)) for each in self._seen]
            self._owed = [np.pad(each, (0, missing)) for each in self._owed]
        ways = np.frombuffer(self._way_of_row, np.int64) if self._way_of_row else np.zeros(0, int)
        rows = np.frombuffer(self._counter_of_row, np.int64) if len(ways) else np.zeros(0, int)
        self._octet_rate, self._packet_rate = (
            summed(rows, of_way[ways], count) + of_counter
            for of_way, of_counter in (octets, packets)
        )

    def pass_time(self, seconds: float) -> None:
        self._pending_s += seconds

    def flush(self) -> None:
        if self._pending_s and len(self._octet_rate):
            self._octets += self._octet_rate * self._pending_s
            self._packets += self._packet_rate * self._pending_s
        self._pending_s = 0.0

    def settle(self, switch: str, local_s: float, factor: float) -> None:
        """Write what has passed into the switch's counters, each unit as ``factor``; fractions are
        kept for later. ``local_s`` is when flows were used, by the switch's clock."""
        self.flush()
        numbers = np.array(self._of_switch.get(switch, ()), np.intp)
        numbers = numbers[numbers < len(self._octets)]
        new = []
        for total, seen, owed in zip(
            (self._packets, self._octets), self._seen, self._owed, strict=True
        ):
            owed[numbers] += (total[numbers] - seen[numbers]) * factor
            seen[numbers] = total[numbers]
            # A count that is whole but for rounding is whole.
            whole = np.floor(owed[numbers] + 1e-6)
            owed[numbers] -= whole
            new.append(whole.astype(np.int64))
        some = np.flatnonzero(new[0] | new[1])
        for number, packets, octets in zip(
            numbers[some].tolist(), new[0][some].tolist(), new[1][some].tolist(), strict=True
        ):
            _CREDIT[self._kinds[number]](self._objects[number], packets, octets, local_s)


def _flow(entry: Entry, packets: int, octets: int, now: float) -> None:
    entry.count(packets, octets, now)


def _group(counted: GroupEntry | BucketState, packets: int, octets: int, _: float) -> None:
    counted.packets += packets
    counted.bytes += octets


def _matched(table: FlowTable, packets: int, _: int, __: float) -> None:
    table.lookups += packets
    table.matched += packets


def _missed(table: FlowTable, packets: int, _: int, __: float) -> None:
    table.lookups += packets


def _received(port: PortEntry, packets: int, octets: int, _: float) -> None:
    port.rx_packets += packets
    port.rx_bytes += octets


def _sent(port: PortEntry, packets: int, octets: int, _: float) -> None:
    port.tx_packets += packets
    port.tx_bytes += octets


def _dropped(port: PortEntry, packets: int, _: int, __: float) -> None:
    port.tx_dropped += packets


def _queue_sent(queue: QueueState, packets: int, octets: int, _: float) -> None:
    queue.tx_packets += packets
    queue.tx_bytes += octets


def _queue_dropped(queue: QueueState, packets: int, _: int, __: float) -> None:
    queue.tx_dropped += packets


_CREDIT: dict[Kind, Callable[[Any, int, int, float], None]] = {
    Kind.FLOW: _flow,
    Kind.GROUP: _group,
    Kind.MATCHED: _matched,
    Kind.MISSED: _missed,
    Kind.RECEIVED: _received,
    Kind.SENT: _sent,
    Kind.DROPPED: _dropped,
    Kind.QUEUE_SENT: _queue_sent,
    Kind.QUEUE_DROPPED: _queue_dropped,
}
