"""Multipart requests and replies as values, whatever the version.

A reply may come in several messages: ``more`` says that another one follows. A request with the
default of its attribute asks for everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from controller.openflow.messages import (
    Band,
    Counters,
    Duration,
    PortDescription,
    Selection,
    TableDescription,
)
from controller.openflow.model import (
    ALL_GROUPS,
    ALL_METERS,
    ALL_QUEUES,
    ALL_TABLES,
    ANY_GROUP,
    Bucket,
    Instruction,
    Match,
    Port,
)

EVERYTHING = Match()


@dataclass(frozen=True, slots=True)
class DescRequest:
    pass


@dataclass(frozen=True, slots=True)
class DescReply:
    manufacturer: str
    hardware: str
    software: str
    serial: str
    datapath: str
    more: bool = False


# ---- Flows and tables ----


@dataclass(frozen=True, slots=True)
class Selecting:
    """Which flows a request is about."""

    table: int = ALL_TABLES
    out_port: int = Port.ANY
    out_group: int = ANY_GROUP
    cookie: int = 0
    cookie_mask: int = 0
    match: Match = EVERYTHING


@dataclass(frozen=True, slots=True)
class FlowDescRequest(Selecting):
    """OpenFlow 1.3 and 1.4 call it flow statistics."""


@dataclass(frozen=True, slots=True)
class FlowDesc:
    table: int
    priority: int
    match: Match
    instructions: tuple[Instruction, ...]
    cookie: int
    counters: Counters
    idle_timeout: int = 0
    hard_timeout: int = 0
    flags: int = 0
    importance: int = 0


@dataclass(frozen=True, slots=True)
class FlowDescReply:
    flows: tuple[FlowDesc, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class FlowStatsRequest(Selecting):
    """The short form of OpenFlow 1.5."""


@dataclass(frozen=True, slots=True)
class FlowStats:
    """``reason``: 0 asked for, 1 of a trigger."""

    table: int
    priority: int
    match: Match
    counters: Counters
    reason: int = 0


@dataclass(frozen=True, slots=True)
class FlowStatsReply:
    flows: tuple[FlowStats, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class AggregateRequest(Selecting):
    pass


@dataclass(frozen=True, slots=True)
class AggregateReply:
    counters: Counters
    more: bool = False


@dataclass(frozen=True, slots=True)
class TableStatsRequest:
    pass


@dataclass(frozen=True, slots=True)
class TableStats:
    table: int
    active: int
    lookups: int
    matched: int


@dataclass(frozen=True, slots=True)
class TableStatsReply:
    tables: tuple[TableStats, ...]
    more: bool = False


class TableProperty(IntEnum):
    """The odd one of a pair is for the table-miss entry."""

    INSTRUCTIONS = 0
    INSTRUCTIONS_MISS = 1
    NEXT_TABLES = 2
    NEXT_TABLES_MISS = 3
    WRITE_ACTIONS = 4
    WRITE_ACTIONS_MISS = 5
    APPLY_ACTIONS = 6
    APPLY_ACTIONS_MISS = 7
    MATCH = 8
    WILDCARDS = 10
    WRITE_SET_FIELD = 12
    WRITE_SET_FIELD_MISS = 13
    APPLY_SET_FIELD = 14
    APPLY_SET_FIELD_MISS = 15
    TABLE_SYNC_FROM = 16
    WRITE_COPY_FIELD = 18
    WRITE_COPY_FIELD_MISS = 19
    APPLY_COPY_FIELD = 20
    APPLY_COPY_FIELD_MISS = 21


@dataclass(frozen=True, slots=True)
class TableFeature:
    """``ids``: instruction or action types, table ids, or field headers (32 bits; 64 bits for those
    of an experimenter), as ``property`` has it."""

    property: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableFeatures:
    """``config``: OpenFlow 1.4 and later call it capabilities. ``command`` and ``features`` are of
    OpenFlow 1.5."""

    table: int
    name: str
    metadata_match: int
    metadata_write: int
    config: int
    max_entries: int
    properties: tuple[TableFeature, ...] = ()
    command: int = 0
    features: int = 0


@dataclass(frozen=True, slots=True)
class TableFeaturesRequest:
    """With tables: replaces the pipeline."""

    tables: tuple[TableFeatures, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class TableFeaturesReply:
    tables: tuple[TableFeatures, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class TableDescRequest:
    """From OpenFlow 1.4."""


@dataclass(frozen=True, slots=True)
class TableDescReply:
    tables: tuple[TableDescription, ...]
    more: bool = False


# ---- Ports and queues ----


@dataclass(frozen=True, slots=True)
class PortDescRequest:
    """``port``: OpenFlow 1.3 and 1.4 tell of all."""

    port: int = Port.ANY


@dataclass(frozen=True, slots=True)
class PortDescReply:
    ports: tuple[PortDescription, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class PortStatsRequest:
    port: int = Port.ANY


@dataclass(frozen=True, slots=True)
class EthernetErrors:
    """All ones where a port does not count."""

    frame: int = 0
    overrun: int = 0
    crc: int = 0
    collisions: int = 0


@dataclass(frozen=True, slots=True)
class ExperimenterProperty:
    experimenter: int
    exp_type: int
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class PortStats:
    """Counters are all ones where a port does not count. ``ethernet`` is None only where OpenFlow
    1.4 or later leaves it out, which is also where ``experimenters`` are from."""

    port: int
    duration: Duration
    rx_packets: int = 0
    tx_packets: int = 0
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_dropped: int = 0
    tx_dropped: int = 0
    rx_errors: int = 0
    tx_errors: int = 0
    ethernet: EthernetErrors | None = EthernetErrors()
    experimenters: tuple[ExperimenterProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class PortStatsReply:
    ports: tuple[PortStats, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class QueueStatsRequest:
    port: int = Port.ANY
    queue: int = ALL_QUEUES


@dataclass(frozen=True, slots=True)
class QueueStats:
    """``tx_errors`` are drops of the queue."""

    port: int
    queue: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    duration: Duration
    experimenters: tuple[ExperimenterProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueStatsReply:
    queues: tuple[QueueStats, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class QueueDesc:
    """Rates in tenths of a percent of the port; None is not said, above 1000 is none."""

    port: int
    queue: int
    min_rate: int | None = None
    max_rate: int | None = None


@dataclass(frozen=True, slots=True)
class QueueDescRequest:
    """From OpenFlow 1.4."""

    port: int = Port.ANY
    queue: int = ALL_QUEUES


@dataclass(frozen=True, slots=True)
class QueueDescReply:
    queues: tuple[QueueDesc, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class QueueConfigRequest:
    """OpenFlow 1.3 alone."""

    port: int = Port.ANY


@dataclass(frozen=True, slots=True)
class QueueConfigReply:
    """OpenFlow 1.3 alone; a message of its own, not a multipart one. ``port`` is the one asked
    for."""

    port: int
    queues: tuple[QueueDesc, ...]


# ---- Groups and meters ----


@dataclass(frozen=True, slots=True)
class GroupStatsRequest:
    group_id: int = ALL_GROUPS


@dataclass(frozen=True, slots=True)
class BucketCounters:
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GroupStats:
    """``references``: by flows and groups."""

    group_id: int
    references: int
    packets: int
    bytes: int
    duration: Duration
    buckets: tuple[BucketCounters, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupStatsReply:
    groups: tuple[GroupStats, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class GroupDescRequest:
    """``group_id``: OpenFlow 1.3 and 1.4 tell of all."""

    group_id: int = ALL_GROUPS


@dataclass(frozen=True, slots=True)
class GroupDesc:
    group_id: int
    type: int
    buckets: tuple[Bucket, ...] = ()
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class GroupDescReply:
    groups: tuple[GroupDesc, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class GroupFeaturesRequest:
    pass


@dataclass(frozen=True, slots=True)
class GroupFeaturesReply:
    """``types``, ``actions``: bitmaps. ``max_groups``, ``actions``: for ALL, SELECT, INDIRECT and
    FAST_FAILOVER."""

    types: int
    capabilities: int
    max_groups: tuple[int, int, int, int]
    actions: tuple[int, int, int, int]
    more: bool = False


@dataclass(frozen=True, slots=True)
class MeterStatsRequest:
    meter_id: int = ALL_METERS


@dataclass(frozen=True, slots=True)
class BandCounters:
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class MeterStats:
    """``references``: by flows."""

    meter_id: int
    references: int
    packets: int
    bytes: int
    duration: Duration
    bands: tuple[BandCounters, ...] = ()


@dataclass(frozen=True, slots=True)
class MeterStatsReply:
    meters: tuple[MeterStats, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class MeterDescRequest:
    """OpenFlow 1.3 and 1.4 call it meter configuration."""

    meter_id: int = ALL_METERS


@dataclass(frozen=True, slots=True)
class MeterDesc:
    meter_id: int
    flags: int
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class MeterDescReply:
    meters: tuple[MeterDesc, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class MeterFeaturesRequest:
    pass


@dataclass(frozen=True, slots=True)
class MeterFeaturesReply:
    """``features`` is of OpenFlow 1.5; None where a switch leaves it out, as Open vSwitch does."""

    max_meters: int
    band_types: int
    capabilities: int
    max_bands: int
    max_color: int
    features: int | None = None
    more: bool = False
