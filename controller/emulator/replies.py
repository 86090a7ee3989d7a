"""What a switch answers to questions about itself: the bodies of multipart replies, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from controller.emulator.flow_mods import select
from controller.emulator.flow_table import Entry, Filter
from controller.emulator.groups import GroupEntry
from controller.emulator.meters import MeterEntry
from controller.emulator.ports import PortEntry, QueueState
from controller.emulator.refusal import RefusedError
from controller.emulator.state import State
from controller.emulator.table_config import describe
from controller.emulator.validation import match_headers, port_exists
from controller.openflow import bodies
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Capability, Counters, DropBand, Duration
from controller.openflow.model import (
    ALL_GROUPS,
    ALL_METERS,
    ALL_QUEUES,
    ALL_TABLES,
    ANY_GROUP,
    GroupType,
    Port,
)

T = TypeVar("T")

_UNKNOWN = 0xFFFFFFFFFFFFFFFF
_VERSION_1_3, _VERSION_1_5 = 4, 6


def duration(seconds: float) -> Duration:
    seconds = max(0.0, seconds)
    whole = int(seconds)
    return Duration(whole & 0xFFFFFFFF, int((seconds - whole) * 1e9))


class Answers:
    """Answers one request after another; RefusedError for one that asks for what is not there."""

    def __init__(self, state: State, version: int, datapath: str, now: float) -> None:
        self._state = state
        self._version = version
        self._datapath = datapath
        self._now = now

    def answer(self, request: Any) -> Iterator[Any]:
        """The parts of the reply; None where there is no such question."""
        for kind, method in _METHODS.items():
            if isinstance(request, kind):
                return method(self, request)
        raise RefusedError(ErrorCode.BAD_REQUEST_BAD_MULTIPART)

    # ---- Flows and tables ----

    def _desc(self, _: bodies.DescRequest) -> Iterator[Any]:
        persona = self._state.persona
        yield bodies.DescReply(
            persona.manufacturer,
            persona.hardware,
            persona.software,
            persona.serial,
            self._datapath,
        )

    def _entries(
        self,
        request: bodies.FlowDescRequest | bodies.FlowStatsRequest | bodies.AggregateRequest,
    ) -> list[Entry]:
        state = self._state
        value, mask = match_headers(request.match, state.persona)
        if not port_exists(request.out_port):
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_PORT)
        if request.table != ALL_TABLES and request.table >= state.persona.tables:
            raise RefusedError(ErrorCode.BAD_REQUEST_BAD_TABLE_ID)
        wanted = Filter(
            value,
            mask,
            None,
            request.cookie,
            request.cookie_mask,
            None if request.out_port == Port.ANY else request.out_port,
            None if request.out_group == ANY_GROUP else request.out_group,
        )
        return select(state, request.table, wanted)

    def _flow_desc(self, request: bodies.FlowDescRequest) -> Iterator[Any]:
        return _parts(
            self._entries(request),
            self._flow,
            lambda flows, more: bodies.FlowDescReply(flows, more),
            entries_per_part=150,
        )

    def _flow(self, entry: Entry) -> bodies.FlowDesc:
        modern = self._version > _VERSION_1_3
        return bodies.FlowDesc(
            entry.table,
            entry.priority,
            entry.match,
            entry.instructions,  # type: ignore[arg-type]
            entry.cookie,
            self._counters(entry),
            entry.idle_timeout,
            entry.hard_timeout,
            entry.flags,
            entry.importance if modern else 0,
        )

    def _counters(self, entry: Entry) -> Counters:
        age = duration(self._now - entry.created)
        idle = duration(self._now - entry.used) if self._version >= _VERSION_1_5 else None
        return Counters(age, idle, None, entry.packets, entry.bytes)

    def _flow_stats(self, request: bodies.FlowStatsRequest) -> Iterator[Any]:
        raise RefusedError(ErrorCode.BAD_REQUEST_BAD_MULTIPART)

    def _aggregate(self, request: bodies.AggregateRequest) -> Iterator[Any]:
        entries = self._entries(request)
        yield bodies.AggregateReply(
            Counters(
                None,
                None,
                len(entries),
                sum(e.packets for e in entries),
                sum(e.bytes for e in entries),
            )
        )

    def _table_stats(self, _: bodies.TableStatsRequest) -> Iterator[Any]:
        tables = list(enumerate(self._state.tables))
        return _parts(
            tables,
            lambda t: bodies.TableStats(t[0], len(t[1]), t[1].lookups, t[1].matched),
            lambda found, more: bodies.TableStatsReply(found, more),
            entries_per_part=500,
        )

    def _table_desc(self, _: bodies.TableDescRequest) -> Iterator[Any]:
        return _parts(
            range(len(self._state.settings)),
            lambda number: describe(self._state, number),
            lambda found, more: bodies.TableDescReply(found, more),
            entries_per_part=500,
        )

    def _table_features(self, request: bodies.TableFeaturesRequest) -> Iterator[Any]:
        if request.tables:
            # The pipeline is what it is.
            raise RefusedError(ErrorCode.TABLE_FEATURES_FAILED_EPERM)
        persona = self._state.persona
        return _parts(
            range(persona.tables),
            lambda number: bodies.TableFeatures(
                number, f"table{number}", (1 << 64) - 1, (1 << 64) - 1, 0, persona.max_flows
            ),
            lambda found, more: bodies.TableFeaturesReply(found, more),
            entries_per_part=400,
        )

    # ---- Ports and queues ----

    def _ports(self, number: int) -> list[PortEntry]:
        if number == Port.ANY:
            return self._state.ports.all()
        if not port_exists(number):
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_PORT)
        port = self._state.ports.get(number)
        return [] if port is None else [port]

    def _port_desc(self, request: bodies.PortDescRequest) -> Iterator[Any]:
        return _parts(
            self._ports(request.port),
            PortEntry.description,
            lambda found, more: bodies.PortDescReply(found, more),
            entries_per_part=300,
        )

    def _port_stats(self, request: bodies.PortStatsRequest) -> Iterator[Any]:
        return _parts(
            self._ports(request.port),
            lambda p: bodies.PortStats(
                p.number,
                duration(self._now - p.created),
                p.rx_packets,
                p.tx_packets,
                p.rx_bytes,
                p.tx_bytes,
                p.rx_dropped,
                p.tx_dropped,
                p.rx_errors,
                p.tx_errors,
            ),
            lambda found, more: bodies.PortStatsReply(found, more),
            entries_per_part=200,
        )

    def _queues(self, port: int, queue: int) -> list[tuple[PortEntry, int, QueueState]]:
        if port != Port.ANY and port not in self._state.ports:
            raise RefusedError(ErrorCode.QUEUE_OP_FAILED_BAD_PORT)
        found = [
            (entry, number, state)
            for entry in self._ports(port)
            for number, state in sorted(entry.queues.items())
            if queue in (ALL_QUEUES, number)
        ]
        if not found and queue != ALL_QUEUES:
            raise RefusedError(ErrorCode.QUEUE_OP_FAILED_BAD_QUEUE)
        return found

    def _queue_stats(self, request: bodies.QueueStatsRequest) -> Iterator[Any]:
        return _parts(
            self._queues(request.port, request.queue),
            lambda q: bodies.QueueStats(
                q[0].number,
                q[1],
                q[2].tx_bytes,
                q[2].tx_packets,
                q[2].tx_dropped,
                duration(self._now - q[0].created),
            ),
            lambda found, more: bodies.QueueStatsReply(found, more),
            entries_per_part=500,
        )

    def _queue_desc(self, request: bodies.QueueDescRequest) -> Iterator[Any]:
        return _parts(
            self._queues(request.port, request.queue),
            _queue,
            lambda found, more: bodies.QueueDescReply(found, more),
            entries_per_part=500,
        )

    def queue_config(self, request: bodies.QueueConfigRequest) -> bodies.QueueConfigReply:
        queues = self._queues(request.port, ALL_QUEUES)
        return bodies.QueueConfigReply(request.port, tuple(_queue(q) for q in queues))

    # ---- Groups and meters ----

    def _groups(self, group_id: int) -> list[GroupEntry]:
        if group_id == ALL_GROUPS:
            return sorted(self._state.groups.all(), key=lambda g: g.id)
        group = self._state.groups.get(group_id)
        return [] if group is None else [group]

    def _group_desc(self, request: bodies.GroupDescRequest) -> Iterator[Any]:
        return _parts(
            self._groups(request.group_id),
            lambda g: bodies.GroupDesc(
                g.id,
                g.type,
                g.definition,
                g.selection if self._version >= _VERSION_1_5 else None,
            ),
            lambda found, more: bodies.GroupDescReply(found, more),
            entries_per_part=100,
        )

    def _group_stats(self, request: bodies.GroupStatsRequest) -> Iterator[Any]:
        return _parts(
            self._groups(request.group_id),
            lambda g: bodies.GroupStats(
                g.id,
                len(self._state.users_of_group(g.id)),
                g.packets,
                g.bytes,
                duration(self._now - g.created),
                # A bucket's state is its counters, and more.
                cast("tuple[bodies.BucketCounters, ...]", tuple(g.buckets)),
            ),
            lambda found, more: bodies.GroupStatsReply(found, more),
            entries_per_part=100,
        )

    def _group_features(self, _: bodies.GroupFeaturesRequest) -> Iterator[Any]:
        limit = min(self._state.persona.max_groups, 0xFFFFFFFF)
        kinds = 0
        for kind in GroupType:
            kinds |= 1 << kind
        chaining = 1 << 2 if self._state.persona.chaining else 0
        select_weight, select_liveness = 1 << 0, 1 << 1
        yield bodies.GroupFeaturesReply(
            kinds,
            select_weight | select_liveness | chaining,
            (limit,) * 4,
            (_group_actions(self._version),) * 4,
        )

    def _meters(self, meter_id: int) -> list[MeterEntry]:
        if meter_id == ALL_METERS:
            return [self._state.meters[n] for n in sorted(self._state.meters)]
        meter = self._state.meters.get(meter_id)
        if meter is None:
            raise RefusedError(ErrorCode.METER_MOD_FAILED_UNKNOWN_METER)
        return [meter]

    def _meter_desc(self, request: bodies.MeterDescRequest) -> Iterator[Any]:
        return _parts(
            self._meters(request.meter_id),
            lambda m: bodies.MeterDesc(
                m.id,
                m.flags,
                # A burst that was not said is what the switch takes it to be.
                tuple(DropBand(s.band.rate, s.band.burst or s.band.rate) for s in m.bands),
            ),
            lambda found, more: bodies.MeterDescReply(found, more),
            entries_per_part=200,
        )

    def _meter_stats(self, request: bodies.MeterStatsRequest) -> Iterator[Any]:
        return _parts(
            self._meters(request.meter_id),
            lambda m: bodies.MeterStats(
                m.id,
                len(self._state.users_of_meter(m.id)),
                m.packets,
                m.bytes,
                duration(self._now - m.created),
                tuple(bodies.BandCounters(s.packets, s.bytes) for s in m.bands),
            ),
            lambda found, more: bodies.MeterStatsReply(found, more),
            entries_per_part=200,
        )

    def _meter_features(self, _: bodies.MeterFeaturesRequest) -> Iterator[Any]:
        persona = self._state.persona
        drop = 1 << 1
        yield bodies.MeterFeaturesReply(persona.max_meters, drop, 0xF, persona.max_bands, 0)


def _parts(
    items: Sequence[T],
    convert: Callable[[T], Any],
    reply: Callable[[tuple[Any, ...], bool], Any],
    *,
    entries_per_part: int,
) -> Iterator[Any]:
    for at in range(0, max(1, len(items)), entries_per_part):
        chunk = items[at : at + entries_per_part]
        yield reply(tuple([convert(item) for item in chunk]), at + len(chunk) < len(items))


def _queue(found: tuple[PortEntry, int, QueueState]) -> bodies.QueueDesc:
    port, number, state = found
    return bodies.QueueDesc(port.number, number, state.min_rate, state.max_rate)


def _group_actions(version: int) -> int:
    """Output, VLAN tags, queue, group, TTL, fields; from 1.5 on also copies."""
    numbers = {0, 17, 18, 21, 22, 23, 24, 25}
    if version >= _VERSION_1_5:
        numbers.add(28)
    return sum(1 << n for n in numbers)


_METHODS: dict[type, Callable[[Answers, Any], Iterator[Any]]] = {
    bodies.DescRequest: Answers._desc,
    bodies.FlowDescRequest: Answers._flow_desc,
    bodies.FlowStatsRequest: Answers._flow_stats,
    bodies.AggregateRequest: Answers._aggregate,
    bodies.TableStatsRequest: Answers._table_stats,
    bodies.TableDescRequest: Answers._table_desc,
    bodies.TableFeaturesRequest: Answers._table_features,
    bodies.PortDescRequest: Answers._port_desc,
    bodies.PortStatsRequest: Answers._port_stats,
    bodies.QueueStatsRequest: Answers._queue_stats,
    bodies.QueueDescRequest: Answers._queue_desc,
    bodies.GroupDescRequest: Answers._group_desc,
    bodies.GroupStatsRequest: Answers._group_stats,
    bodies.GroupFeaturesRequest: Answers._group_features,
    bodies.MeterDescRequest: Answers._meter_desc,
    bodies.MeterStatsRequest: Answers._meter_stats,
    bodies.MeterFeaturesRequest: Answers._meter_features,
}

DEFAULT_CAPABILITIES = (
    Capability.FLOW_STATS
    | Capability.TABLE_STATS
    | Capability.PORT_STATS
    | Capability.GROUP_STATS
    | Capability.QUEUE_STATS
)
