"""OpenFlow messages as values, whatever the version; multipart bodies are in
:mod:`controller.openflow.bodies`.

Integers are in host order and as wide as their field. An attribute that a version has no place for
must have its default when a message is encoded for that version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import NamedTuple, TypeAlias

from controller.openflow.model import (
    ALL_BUCKETS,
    ANY_GROUP,
    NO_BUFFER,
    Action,
    Bucket,
    Field,
    Instruction,
    Match,
    Port,
)


class Duration(NamedTuple):
    """As a switch says it; all ones where it does not know."""

    seconds: int
    nanoseconds: int


# ---- Session ----


@dataclass(frozen=True, slots=True)
class Hello:
    """``versions``: wire versions of the version bitmap, ascending, below 32; None without one
    (then the sender speaks every version up to that of the message's header)."""

    versions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """``data`` is the beginning of the request. ``experimenter`` is set for the errors of type
    0xFFFF, of which ``code`` is the experimenter's own."""

    type: int
    code: int
    data: bytes = b""
    experimenter: int | None = None


@dataclass(frozen=True, slots=True)
class EchoRequest:
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class EchoReply:
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Experimenter:
    """A message of an extension that has no class of its own here."""

    experimenter: int
    exp_type: int
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class FeaturesRequest:
    pass


class Capability(IntFlag):
    FLOW_STATS = 1 << 0
    TABLE_STATS = 1 << 1
    PORT_STATS = 1 << 2
    GROUP_STATS = 1 << 3
    IP_REASSEMBLY = 1 << 5
    QUEUE_STATS = 1 << 6
    PORT_BLOCKED = 1 << 8
    BUNDLES = 1 << 9
    FLOW_MONITORING = 1 << 10


@dataclass(frozen=True, slots=True)
class FeaturesReply:
    dpid: int
    buffers: int
    tables: int
    auxiliary_id: int
    capabilities: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class GetConfigRequest:
    pass


@dataclass(frozen=True, slots=True)
class GetConfigReply:
    """``flags``: how fragments are treated. ``miss_send_len``: bytes of a packet-in of a miss."""

    flags: int
    miss_send_len: int


@dataclass(frozen=True, slots=True)
class SetConfig:
    flags: int
    miss_send_len: int


@dataclass(frozen=True, slots=True)
class BarrierRequest:
    pass


@dataclass(frozen=True, slots=True)
class BarrierReply:
    pass


class Role(IntEnum):
    NOCHANGE = 0
    EQUAL = 1
    PRIMARY = 2
    SECONDARY = 3


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """``role`` is plain: it may be one that does not exist. ``short_id`` is of OpenFlow 1.5."""

    role: int
    generation_id: int = 0
    short_id: int = 0


@dataclass(frozen=True, slots=True)
class RoleReply:
    role: int
    generation_id: int = 0
    short_id: int = 0


class RoleStatusReason(IntEnum):
    PRIMARY_REQUEST = 0
    CONFIG = 1
    EXPERIMENTER = 2


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """Tells a controller that its role was changed (from OpenFlow 1.4)."""

    role: int
    reason: int
    generation_id: int


class AsyncEvent(IntEnum):
    """What an asynchronous mask is for; the odd ones count for primary and equal controllers."""

    PACKET_IN_SECONDARY = 0
    PACKET_IN_PRIMARY = 1
    PORT_STATUS_SECONDARY = 2
    PORT_STATUS_PRIMARY = 3
    FLOW_REMOVED_SECONDARY = 4
    FLOW_REMOVED_PRIMARY = 5
    ROLE_STATUS_SECONDARY = 6
    ROLE_STATUS_PRIMARY = 7
    TABLE_STATUS_SECONDARY = 8
    TABLE_STATUS_PRIMARY = 9
    REQUEST_FORWARD_SECONDARY = 10
    REQUEST_FORWARD_PRIMARY = 11
    FLOW_STATS_SECONDARY = 12
    FLOW_STATS_PRIMARY = 13
    CONTROLLER_STATUS_SECONDARY = 14
    CONTROLLER_STATUS_PRIMARY = 15


@dataclass(frozen=True, slots=True)
class AsyncMask:
    """``mask`` has a bit for each reason that is sent."""

    event: int
    mask: int


@dataclass(frozen=True, slots=True)
class GetAsyncRequest:
    pass


@dataclass(frozen=True, slots=True)
class GetAsyncReply:
    """Sorted by event, each at most once; OpenFlow 1.3 says exactly the first six."""

    masks: tuple[AsyncMask, ...]


@dataclass(frozen=True, slots=True)
class SetAsync:
    """As :class:`GetAsyncReply`; what is left out stays as it is."""

    masks: tuple[AsyncMask, ...]


# ---- Packets ----


class PacketInReason(IntEnum):
    TABLE_MISS = 0  # in OpenFlow 1.3 the miss entry's too
    APPLY_ACTION = 1  # OpenFlow 1.3: any action
    INVALID_TTL = 2
    ACTION_SET = 3
    GROUP = 4
    PACKET_OUT = 5


@dataclass(frozen=True, slots=True)
class PacketIn:
    """``total_len`` is the length of the packet, of which ``data`` may be the beginning."""

    total_len: int
    reason: int
    table: int
    cookie: int
    match: Match
    data: bytes = b""
    buffer_id: int = NO_BUFFER


@dataclass(frozen=True, slots=True)
class PacketOut:
    """``match`` has the pipeline fields; OpenFlow 1.3 allows IN_PORT, which it needs, alone."""

    match: Match
    actions: tuple[Action, ...]
    data: bytes = b""
    buffer_id: int = NO_BUFFER


# ---- Flows ----


class FlowCommand(IntEnum):
    ADD = 0
    MODIFY = 1
    MODIFY_STRICT = 2
    DELETE = 3
    DELETE_STRICT = 4


class FlowFlag(IntFlag):
    SEND_FLOW_REM = 1 << 0
    CHECK_OVERLAP = 1 << 1
    RESET_COUNTS = 1 << 2
    NO_PKT_COUNTS = 1 << 3
    NO_BYT_COUNTS = 1 << 4


@dataclass(frozen=True, slots=True)
class FlowMod:
    """``command`` is plain: it may be one that does not exist. Timeouts are in seconds, 0 is never.
    ``importance`` is of OpenFlow 1.4."""

    command: int
    table: int
    priority: int
    match: Match
    instructions: tuple[Instruction, ...] = ()
    cookie: int = 0
    cookie_mask: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    flags: int = 0
    importance: int = 0
    out_port: int = Port.ANY
    out_group: int = ANY_GROUP
    buffer_id: int = NO_BUFFER


@dataclass(frozen=True, slots=True)
class Counters:
    """Of a flow, or of all that a request selects. None is not said; OpenFlow 1.3 says exactly
    duration, packets and bytes of a flow, and exactly flows, packets and bytes of an aggregate."""

    duration: Duration | None = None
    idle: Duration | None = None
    flows: int | None = None
    packets: int | None = None
    bytes: int | None = None


class RemovedReason(IntEnum):
    IDLE_TIMEOUT = 0
    HARD_TIMEOUT = 1
    DELETE = 2
    GROUP_DELETE = 3
    METER_DELETE = 4
    EVICTION = 5


@dataclass(frozen=True, slots=True)
class FlowRemoved:
    table: int
    priority: int
    match: Match
    cookie: int
    reason: int
    counters: Counters
    idle_timeout: int = 0
    hard_timeout: int = 0


# ---- Groups and meters ----


class GroupCommand(IntEnum):
    ADD = 0
    MODIFY = 1
    DELETE = 2
    INSERT_BUCKET = 3
    REMOVE_BUCKET = 5


@dataclass(frozen=True, slots=True)
class Selection:
    """How a SELECT group chooses (Netronome's property): ``method`` such as "hash" or "dp_hash",
    and the fields that "hash" uses, with the bits of each that count."""

    method: str
    parameter: int = 0
    fields: tuple[tuple[Field, int], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupMod:
    """``command`` and ``type`` are plain: they may be ones that do not exist.

    Buckets: the weight of a SELECT bucket that does not say it is 1. OpenFlow 1.3 has no bucket ids
    (they are read as 0, 1, … and not written), no bucket commands and no selection.
    """

    command: int
    type: int
    group_id: int
    buckets: tuple[Bucket, ...] = ()
    command_bucket_id: int = ALL_BUCKETS
    selection: Selection | None = None


class MeterCommand(IntEnum):
    ADD = 0
    MODIFY = 1
    DELETE = 2


class MeterFlag(IntFlag):
    KBPS = 1 << 0
    PKTPS = 1 << 1
    BURST = 1 << 2
    STATS = 1 << 3


@dataclass(frozen=True, slots=True)
class DropBand:
    """``rate`` and ``burst`` are kilobits (a second), or packets with MeterFlag.PKTPS."""

    rate: int
    burst: int = 0


@dataclass(frozen=True, slots=True)
class RemarkBand:
    """Raises the drop precedence of DSCP by ``precedence`` levels."""

    rate: int
    burst: int
    precedence: int


Band: TypeAlias = DropBand | RemarkBand


@dataclass(frozen=True, slots=True)
class MeterMod:
    command: int
    flags: int
    meter_id: int
    bands: tuple[Band, ...] = ()


# ---- Ports and tables ----


class PortConfig(IntFlag):
    PORT_DOWN = 1 << 0
    NO_RECV = 1 << 2
    NO_FWD = 1 << 5
    NO_PACKET_IN = 1 << 6


class PortState(IntFlag):
    LINK_DOWN = 1 << 0
    BLOCKED = 1 << 1
    LIVE = 1 << 2


@dataclass(frozen=True, slots=True)
class Ethernet:
    """Features as OpenFlow's bits, speeds in kilobits a second (0 where unknown)."""

    current: int = 0
    advertised: int = 0
    supported: int = 0
    peer: int = 0
    current_speed_kbps: int = 0
    max_speed_kbps: int = 0


@dataclass(frozen=True, slots=True)
class PortDescription:
    """``name`` has at most 15 bytes. ``ethernet`` is None only where OpenFlow 1.4 or later leaves
    it out."""

    port: int
    mac: int
    name: str
    config: int = 0
    state: int = 0
    ethernet: Ethernet | None = field(default_factory=Ethernet)


class PortReason(IntEnum):
    ADD = 0
    DELETE = 1
    MODIFY = 2


@dataclass(frozen=True, slots=True)
class PortStatus:
    reason: int
    port: PortDescription


@dataclass(frozen=True, slots=True)
class PortMod:
    """``mask`` has the bits of ``config`` to change; ``advertise`` 0 leaves that as it is."""

    port: int
    mac: int
    config: int
    mask: int
    advertise: int = 0


@dataclass(frozen=True, slots=True)
class Vacancy:
    """Percent of a table that is free: where an event is sent, and now."""

    down: int
    up: int
    now: int = 0


class TableConfig(IntFlag):
    EVICTION = 1 << 2
    VACANCY_EVENTS = 1 << 3


@dataclass(frozen=True, slots=True)
class TableMod:
    """``eviction`` (flags) and ``vacancy`` are of OpenFlow 1.4."""

    table: int
    config: int
    eviction: int | None = None
    vacancy: Vacancy | None = None


@dataclass(frozen=True, slots=True)
class TableDescription:
    table: int
    config: int = 0
    eviction: int | None = None
    vacancy: Vacancy | None = None


class TableReason(IntEnum):
    VACANCY_DOWN = 3
    VACANCY_UP = 4


@dataclass(frozen=True, slots=True)
class TableStatus:
    """From OpenFlow 1.4."""

    reason: int
    table: TableDescription


# ---- Bundles ----


class BundleCommand(IntEnum):
    OPEN_REQUEST = 0
    OPEN_REPLY = 1
    CLOSE_REQUEST = 2
    CLOSE_REPLY = 3
    COMMIT_REQUEST = 4
    COMMIT_REPLY = 5
    DISCARD_REQUEST = 6
    DISCARD_REPLY = 7


class BundleFlag(IntFlag):
    ATOMIC = 1 << 0
    ORDERED = 1 << 1


@dataclass(frozen=True, slots=True)
class BundleControl:
    """In OpenFlow 1.3 the ONF's extension 230, as Open vSwitch has it."""

    bundle_id: int
    command: int
    flags: int = 0


@dataclass(frozen=True, slots=True)
class BundleAdd:
    """``request`` is a whole message, header and all, and not looked into: the errors that it
    deserves are its own."""

    bundle_id: int
    request: bytes
    flags: int = 0
