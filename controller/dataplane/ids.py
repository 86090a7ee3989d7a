"""Numbers of Heald's entries on a switch, and what they say.

Cookie: ``0x4845`` (16) | owner (8) | kind (8) | object (32). It names what an entry is for and
never a plan, so that a new plan over the same forest changes no flow.

Group: ``0x48`` (8) | shape (1) | 23 bits. Shape 0 is an ingress group: kind (2) | class index (7) |
egress (14). It stays the same while its buckets follow the plan, and telemetry reads the traffic of
a demand from it. Kind 3 of it is the group of a pin: 21 bits of a digest of its content. Shape 1 is
a transit group, whose 23 bits are a digest of its content. What is named by its content never
changes, so a new plan adds groups beside the ones in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b

from controller.dataplane.labels import EGRESSES
from controller.fabric.model import TrafficClass
from controller.openflow.model import Bucket, GroupType
from controller.openflow.ownership import COOKIE_PREFIX, GROUPS, METERS

OWNER = 1
"""The fabric's own forwarding; other owners are free for what is built beside it."""

_TRANSIT = 1 << 23
_TRANSIT_IDS = 1 << 23
_CLASS_SHIFT, _KIND_SHIFT = 14, 21
_CLASSES = 1 << (_KIND_SHIFT - _CLASS_SHIFT)
_PIN_KIND = 3
_PIN_IDS = 1 << _KIND_SHIFT

METER_LLDP = METERS.start + 1
METER_NEIGHBOURS = METERS.start + 2
METER_STRAY_LLDP = METERS.start + 3


class Kind(IntEnum):
    """What a flow is for. The object of its cookie is the class index of CLASSIFY and QUEUE,
    ``egress << 10 | tree`` of TRANSIT, the port of all others (that of the sending NIC for PIN), or
    0 for the whole switch."""

    GUARD = 1
    NEIGHBOUR = 2
    PUNT = 3
    CLASSIFY = 4
    QUEUE = 5
    TRANSIT = 6
    DELIVER = 7
    FABRIC_PORT = 8
    PIN = 9


class IngressKind(IntEnum):
    """FAILOVER holds the other two: the planned spread while any of it lives, else the fallback."""

    FAILOVER = 0
    PLANNED = 1
    FALLBACK = 2


@dataclass(frozen=True, slots=True)
class IngressGroup:
    """What an ingress group's id says. A fallback is shared by all classes and has class index
    0."""

    egress: int
    class_index: int
    kind: IngressKind


def cookie(kind: Kind, subject: int = 0) -> int:
    return COOKIE_PREFIX << 48 | OWNER << 40 | kind << 32 | subject & 0xFFFFFFFF


def class_index(traffic_class: TrafficClass) -> int:
    """0 for the class of everything else, DSCP + 1 otherwise: independent of the order in a
    file."""
    return 0 if traffic_class.dscp is None else traffic_class.dscp + 1


def ingress_group_id(egress: int, class_index: int, kind: IngressKind) -> int:
    if not 0 <= egress < EGRESSES or not 0 <= class_index < _CLASSES:
        raise ValueError(f"no group id for egress {egress}, class index {class_index}")
    return GROUPS.start | kind << _KIND_SHIFT | class_index << _CLASS_SHIFT | egress


def ingress_group(group_id: int) -> IngressGroup | None:
    """The inverse of :func:`ingress_group_id`; None for any other group."""
    kind = (group_id >> _KIND_SHIFT) & 3
    if group_id not in GROUPS or group_id & _TRANSIT or kind > max(IngressKind):
        return None
    return IngressGroup(
        group_id & (EGRESSES - 1),
        (group_id >> _CLASS_SHIFT) & (_CLASSES - 1),
        IngressKind(kind),
    )


def is_transit_group(group_id: int) -> bool:
    return group_id in GROUPS and bool(group_id & _TRANSIT)


def is_pin_group(group_id: int) -> bool:
    return group_id in GROUPS and group_id >> _KIND_SHIFT & 7 == _PIN_KIND


def transit_group_id(kind: GroupType, buckets: tuple[Bucket, ...], attempt: int = 0) -> int:
    """A number from the content; ``attempt`` counts the ids found taken by other content."""
    return transit_group_number(group_content(kind, [repr(b) for b in buckets]), attempt)


def group_content(kind: GroupType, buckets: Sequence[str]) -> str:
    """In words; ``buckets`` are each bucket's ``repr``."""
    return f"({int(kind)}, ({', '.join(buckets)}{',' if len(buckets) == 1 else ''}))"


def transit_group_number(content: str, attempt: int) -> int:
    """See :func:`transit_group_id`."""
    return GROUPS.start | _TRANSIT | (_digest(content) + attempt) % _TRANSIT_IDS


def pin_group_number(content: str, attempt: int) -> int:
    """Like :func:`transit_group_number`, for groups that lead pinned packets."""
    return GROUPS.start | _PIN_KIND << _KIND_SHIFT | (_digest(content) + attempt) % _PIN_IDS


def _digest(content: str) -> int:
    return int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "big")
