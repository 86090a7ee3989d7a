"""OpenFlow as values, whatever the version: matches, actions, instructions, table entries.

All are immutable, hashable and canonical, so that what was sent and what a switch reads back
compare with ``==``. Integers are in host order; a match or set-field value is an unsigned integer
as wide as its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TypeAlias


class Port(IntEnum):
    """Reserved port numbers."""

    MAX = 0xFFFFFF00
    UNSET = 0xFFFFFFF7
    IN_PORT = 0xFFFFFFF8
    TABLE = 0xFFFFFFF9
    NORMAL = 0xFFFFFFFA
    FLOOD = 0xFFFFFFFB
    ALL = 0xFFFFFFFC
    CONTROLLER = 0xFFFFFFFD
    LOCAL = 0xFFFFFFFE
    ANY = 0xFFFFFFFF


ANY_GROUP = 0xFFFFFFFF
ALL_GROUPS = 0xFFFFFFFC
ALL_TABLES = 0xFF
ALL_METERS = 0xFFFFFFFF
ALL_QUEUES = 0xFFFFFFFF
ALL_BUCKETS = 0xFFFFFFFF
FIRST_BUCKET = 0xFFFFFFFD
LAST_BUCKET = 0xFFFFFFFE
NO_BUFFER = 0xFFFFFFFF


class Field(Enum):
    """Match and set fields: (OXM class, field number, width in bits, experimenter id or None)."""

    IN_PORT = (0x8000, 0, 32, None)
    IN_PHY_PORT = (0x8000, 1, 32, None)
    METADATA = (0x8000, 2, 64, None)
    ETH_DST = (0x8000, 3, 48, None)
    ETH_SRC = (0x8000, 4, 48, None)
    ETH_TYPE = (0x8000, 5, 16, None)
    VLAN_VID = (0x8000, 6, 13, None)
    VLAN_PCP = (0x8000, 7, 3, None)
    IP_DSCP = (0x8000, 8, 6, None)
    IP_ECN = (0x8000, 9, 2, None)
    IP_PROTO = (0x8000, 10, 8, None)
    IPV4_SRC = (0x8000, 11, 32, None)
    IPV4_DST = (0x8000, 12, 32, None)
    TCP_SRC = (0x8000, 13, 16, None)
    TCP_DST = (0x8000, 14, 16, None)
    UDP_SRC = (0x8000, 15, 16, None)
    UDP_DST = (0x8000, 16, 16, None)
    SCTP_SRC = (0x8000, 17, 16, None)
    SCTP_DST = (0x8000, 18, 16, None)
    ICMPV4_TYPE = (0x8000, 19, 8, None)
    ICMPV4_CODE = (0x8000, 20, 8, None)
    ARP_OP = (0x8000, 21, 16, None)
    ARP_SPA = (0x8000, 22, 32, None)
    ARP_TPA = (0x8000, 23, 32, None)
    ARP_SHA = (0x8000, 24, 48, None)
    ARP_THA = (0x8000, 25, 48, None)
    IPV6_SRC = (0x8000, 26, 128, None)
    IPV6_DST = (0x8000, 27, 128, None)
    IPV6_FLABEL = (0x8000, 28, 20, None)
    ICMPV6_TYPE = (0x8000, 29, 8, None)
    ICMPV6_CODE = (0x8000, 30, 8, None)
    IPV6_ND_TARGET = (0x8000, 31, 128, None)
    IPV6_ND_SLL = (0x8000, 32, 48, None)
    IPV6_ND_TLL = (0x8000, 33, 48, None)
    MPLS_LABEL = (0x8000, 34, 20, None)
    MPLS_TC = (0x8000, 35, 3, None)
    MPLS_BOS = (0x8000, 36, 1, None)
    PBB_ISID = (0x8000, 37, 24, None)
    TUNNEL_ID = (0x8000, 38, 64, None)
    IPV6_EXTHDR = (0x8000, 39, 9, None)
    PBB_UCA = (0x8000, 41, 1, None)
    TCP_FLAGS = (0x8000, 42, 12, None)
    ACTSET_OUTPUT = (0x8000, 43, 32, None)
    # Open vSwitch extensions, used by the neighbour-discovery responder and by bounces: they can be
    # set and copied, not matched.
    REG0 = (0x0001, 0, 32, None)
    NXM_IN_PORT = (0x0000, 0, 16, None)
    ND_RESERVED = (0x1000, 1, 32, None)
    ND_OPTIONS_TYPE = (0x1000, 2, 8, None)
    XXREG0 = (0x0001, 111, 128, None)

    # An enumeration hashes its name, in Python; thousands of matches are hashed at once.
    __hash__ = object.__hash__

    # Plain attributes: a property of an enumeration member is slow to read.
    order: tuple[int, int]
    bits: int
    bytes: int
    """Size of a value on the wire; labels of 20 bits travel as 32-bit numbers."""
    all_ones: int

    def __init__(self, oxm_class: int, number: int, bits: int, _: int | None) -> None:
        self.order = oxm_class, number
        self.bits = bits
        self.bytes = 4 if bits == 20 else (bits + 7) // 8
        self.all_ones = (1 << bits) - 1


@dataclass(frozen=True, slots=True)
class MatchField:
    """``value`` is 0 wherever ``mask`` is; ``mask`` is None for an exact match, never all ones."""

    field: Field
    value: int
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A conjunction of fields, sorted by (OXM class, field number)."""

    fields: tuple[MatchField, ...] = ()

    @staticmethod
    def of(fields: Mapping[Field, int | tuple[int, int]] | None = None) -> Match:
        """Build from ``{field: value}`` or ``{field: (value, mask)}``; a full mask becomes exact,
        an empty mask drops the field, bits outside the mask must be 0 (ValueError)."""
        out = []
        for field, given in (fields or {}).items():
            full = field.all_ones
            value, mask = given if isinstance(given, tuple) else (given, full)
            if not 0 <= value <= full or not 0 <= mask <= full:
                raise ValueError(
                    f"{field.name}={value:#x}/{mask:#x} does not fit {field.bits} bits"
                )
            if value & ~mask:
                raise ValueError(f"{field.name}={value:#x} has bits outside its mask {mask:#x}")
            if mask:
                out.append(MatchField(field, value, None if mask == full else mask))
        out.sort(key=_order)
        return Match(tuple(out))


def _order(entry: MatchField) -> tuple[int, int]:
    return entry.field.order


@dataclass(frozen=True, slots=True)
class Output:
    port: int
    max_len: int = 0


@dataclass(frozen=True, slots=True)
class ToGroup:
    group_id: int


@dataclass(frozen=True, slots=True)
class SetField:
    """Set the bits of ``field`` that ``mask`` selects (all when None)."""

    field: Field
    value: int
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class CopyField:
    """Copy ``bits`` bits; the same as Open vSwitch's ``move``."""

    source: Field
    target: Field
    bits: int
    source_offset: int = 0
    target_offset: int = 0


@dataclass(frozen=True, slots=True)
class SetQueue:
    queue: int


@dataclass(frozen=True, slots=True)
class Metered:
    """Pass through a meter; must come first. OpenFlow 1.3 says it as an instruction of its own."""

    meter_id: int


@dataclass(frozen=True, slots=True)
class DecTtl:
    """Of IPv4 or IPv6; at 1 the packet goes to the controller instead."""


@dataclass(frozen=True, slots=True)
class SetTtl:
    ttl: int


@dataclass(frozen=True, slots=True)
class PushVlan:
    """0x8100 or 0x88A8; the new tag has the VLAN id and priority of the outermost old one, or 0."""

    ethertype: int


@dataclass(frozen=True, slots=True)
class PopVlan:
    pass


Action: TypeAlias = (
    Output
    | ToGroup
    | SetField
    | CopyField
    | SetQueue
    | Metered
    | DecTtl
    | SetTtl
    | PushVlan
    | PopVlan
)


@dataclass(frozen=True, slots=True)
class ApplyActions:
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class ClearActions:
    """Empties the action set."""


@dataclass(frozen=True, slots=True)
class WriteActions:
    """Merges actions into the action set, which is executed where no table follows."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    value: int
    mask: int = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class GotoTable:
    table: int


Instruction: TypeAlias = ApplyActions | ClearActions | WriteActions | WriteMetadata | GotoTable
"""In the order of execution, which is also that of the tuples that hold them."""


@dataclass(frozen=True, slots=True, order=True)
class FlowKey:
    """What identifies a flow within a switch. ``match_key`` is the encoded match."""

    table: int
    priority: int
    match_key: bytes


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow entry. No instructions means drop. Timeouts and flags are always 0: Heald's are
    permanent."""

    table: int
    priority: int
    match: Match
    instructions: tuple[Instruction, ...]
    cookie: int


@dataclass(frozen=True, slots=True)
class OpaqueFlow:
    """A flow entry on a switch that is not Heald's, or that :class:`Flow` cannot say (timeouts,
    flags, actions or fields which Heald never uses).

    ``match_key`` is as in :class:`FlowKey`; of a match that :class:`Match` cannot say it is the
    match as the switch sent it. ``raw`` is the whole description.
    """

    table: int
    priority: int
    match_key: bytes
    cookie: int
    raw: bytes


class GroupType(IntEnum):
    ALL = 0
    SELECT = 1
    INDIRECT = 2
    FAST_FAILOVER = 3


@dataclass(frozen=True, slots=True)
class Bucket:
    """``weight`` is 0 outside SELECT groups; at most one of the watches is set."""

    id: int
    actions: tuple[Action, ...]
    weight: int = 0
    watch_port: int | None = None
    watch_group: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """SELECT groups hash the 5-tuple: Open vSwitch's ``dp_hash`` selection method, parameter 0."""

    id: int
    type: GroupType
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class OpaqueGroup:
    """A group on a switch that is not Heald's, or that :class:`Group` cannot say."""

    id: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Meter:
    """Drops what exceeds ``rate_pps`` packets a second."""

    id: int
    rate_pps: int
    burst_packets: int


@dataclass(frozen=True, slots=True)
class OpaqueMeter:
    """A meter on a switch that is not Heald's, or that :class:`Meter` cannot say."""

    id: int
    raw: bytes
