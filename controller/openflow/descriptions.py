"""Read-back of a switch: flow, group and meter descriptions.

An entry that is Heald's and that the model can say comes back as it was sent; every other one as an
opaque entry, unread beyond its own length and match. So a foreign controller's entries can neither
break a read-back nor pass for Heald's.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from controller.openflow.actions import decode_actions, decode_instructions
from controller.openflow.encode import (
    DP_HASH,
    METER_DROP,
    METER_FLAGS,
    WATCH_GROUP,
    WATCH_PORT,
    WEIGHT,
)
from controller.openflow.model import (
    ANY_GROUP,
    Bucket,
    Flow,
    Group,
    GroupType,
    Instruction,
    Meter,
    OpaqueFlow,
    OpaqueGroup,
    OpaqueMeter,
    Port,
)
from controller.openflow.ownership import owns_flow, owns_group, owns_meter
from controller.openflow.oxm import (
    InexpressibleError,
    decode_match,
    encode_match,
    match_extent,
    padded,
)
from controller.openflow.wire import (
    MULTIPART_BODY,
    DecodeError,
    MultipartType,
    expect_multipart,
)

# All switches share a few thousand buckets, and tell of them again and again.
_seen: dict[tuple[bytes, GroupType], Bucket] = {}
_MOST_SEEN = 1 << 14

_LENGTH = Struct("!H")
_FLOW = Struct("!H2xBxHHHHHQ")
_STATS = Struct("!2xH")
_GROUP = Struct("!HBxIH6x")
_BUCKET = Struct("!HHI")
_PROPERTY = Struct("!HH")
_SHORT = Struct("!H")
_WORD = Struct("!I")
_METER = Struct("!HHI")
_BAND = Struct("!HHII4x")


def entries(message: bytes, minimum: int, what: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each entry of a multipart reply; entries begin with their 16-bit length."""
    at, end = MULTIPART_BODY, len(message)
    while at < end:
        if end - at < minimum:
            raise DecodeError(f"{what} cut off at offset {at}")
        (length,) = _LENGTH.unpack_from(message, at)
        if length < minimum or length > end - at:
            raise DecodeError(f"{what} length {length} at offset {at}")
        yield at, at + length
        at += length


def flow_descs(message: bytes) -> list[Flow | OpaqueFlow]:
    """The flows in one part of a FLOW_DESC reply; read and idle counters are left out."""
    expect_multipart(message, MultipartType.FLOW_DESC)
    # Thousands of flows share a handful of instructions.
    seen: dict[bytes, tuple[Instruction, ...]] = {}
    return [
        _flow(message, at, end, seen) for at, end in entries(message, _FLOW.size + 8, "flow entry")
    ]


def _flow(
    message: bytes, at: int, end: int, seen: dict[bytes, tuple[Instruction, ...]]
) -> Flow | OpaqueFlow:
    _, table, priority, idle, hard, flags, importance, cookie = _FLOW.unpack_from(message, at)
    match_at = at + _FLOW.size
    _, stats_at = match_extent(message, match_at, end)
    if end - stats_at < _STATS.size:
        raise DecodeError(f"flow statistics cut off at offset {stats_at}")
    (length,) = _STATS.unpack_from(message, stats_at)
    instructions_at = stats_at + padded(length)
    if length < _STATS.size or instructions_at > end:
        raise DecodeError(f"flow statistics length {length} at offset {stats_at}")
    match = None
    try:
        match, _ = decode_match(message, match_at, end)
        if owns_flow(cookie) and not (idle or hard or flags or importance):
            code = message[instructions_at:end]
            instructions = seen.get(code)
            if instructions is None:
                instructions = decode_instructions(message, instructions_at, end)
                seen[code] = instructions
            return Flow(table, priority, match, instructions, cookie)
    except InexpressibleError:
        pass
    key = message[match_at:stats_at] if match is None else encode_match(match)
    return OpaqueFlow(table, priority, key, cookie, message[at:end])


def group_descs(message: bytes) -> list[Group | OpaqueGroup]:
    """The groups in one part of a GROUP_DESC reply, buckets in the switch's order."""
    expect_multipart(message, MultipartType.GROUP_DESC)
    return [_group(message, at, end) for at, end in entries(message, _GROUP.size, "group entry")]


def _group(message: bytes, at: int, end: int) -> Group | OpaqueGroup:
    _, kind, group_id, bucket_bytes = _GROUP.unpack_from(message, at)
    buckets_at = at + _GROUP.size
    properties_at = buckets_at + bucket_bytes
    if properties_at > end:
        raise DecodeError(f"buckets of {bucket_bytes} bytes overflow their group at offset {at}")
    if owns_group(group_id):
        try:
            return _own_group(message, kind, group_id, buckets_at, properties_at, end)
        except InexpressibleError:
            pass
    return OpaqueGroup(group_id, message[at:end])


def _own_group(
    message: bytes, kind: int, group_id: int, buckets_at: int, properties_at: int, end: int
) -> Group:
    if kind > GroupType.FAST_FAILOVER:
        raise InexpressibleError
    group_type = GroupType(kind)
    buckets = []
    at = buckets_at
    while at < properties_at:
        after = at + int.from_bytes(message[at : at + 2], "big")
        key = message[at:after], group_type
        known = _seen.get(key) if after <= properties_at else None
        if known is None:
            known, after = _bucket(message, at, properties_at, group_type)
            if len(_seen) >= _MOST_SEEN:
                _seen.clear()
            _seen[key] = known
        at = after
        buckets.append(known)
    for _ in _properties(message, properties_at, end):
        pass
    if message[properties_at:end] != (DP_HASH if group_type is GroupType.SELECT else b""):
        raise InexpressibleError
    return Group(group_id, group_type, tuple(buckets))


def _bucket(message: bytes, at: int, end: int, group_type: GroupType) -> tuple[Bucket, int]:
    if end - at < _BUCKET.size:
        raise DecodeError(f"bucket cut off at offset {at}")
    length, action_bytes, bucket_id = _BUCKET.unpack_from(message, at)
    if length < _BUCKET.size or length > end - at:
        raise DecodeError(f"bucket length {length} at offset {at}")
    if action_bytes > length - _BUCKET.size:
        raise DecodeError(f"actions of {action_bytes} bytes overflow their bucket at offset {at}")
    actions_at = at + _BUCKET.size
    properties_at = actions_at + action_bytes
    after = at + length
    values: dict[int, int] = {}
    for kind, value_at, value_end in _properties(message, properties_at, after):
        field = {WEIGHT: _SHORT, WATCH_PORT: _WORD, WATCH_GROUP: _WORD}.get(kind)
        if field is None or kind in values:
            raise InexpressibleError
        if value_end - value_at < field.size:
            raise DecodeError(f"bucket property cut off at offset {value_at}")
        (values[kind],) = field.unpack_from(message, value_at)
    watch_port = values.get(WATCH_PORT, int(Port.ANY))
    watch_group = values.get(WATCH_GROUP, ANY_GROUP)
    bucket = Bucket(
        bucket_id,
        decode_actions(message, actions_at, properties_at),
        # OpenFlow's default for SELECT.
        values.get(WEIGHT, 1 if group_type is GroupType.SELECT else 0),
        None if watch_port == Port.ANY else watch_port,
        None if watch_group == ANY_GROUP else watch_group,
    )
    return bucket, after


def _properties(message: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(type, start of value, end of value) of each property that fills ``at`` to ``end``."""
    while at < end:
        if end - at < _PROPERTY.size:
            raise DecodeError(f"property cut off at offset {at}")
        kind, length = _PROPERTY.unpack_from(message, at)
        if length < _PROPERTY.size or padded(length) > end - at:
            raise DecodeError(f"property length {length} at offset {at}")
        yield kind, at + _PROPERTY.size, at + length
        at += padded(length)


def meter_descs(message: bytes) -> list[Meter | OpaqueMeter]:
    """The meters in one part of a METER_DESC reply."""
    expect_multipart(message, MultipartType.METER_DESC)
    return [_meter(message, at, end) for at, end in entries(message, _METER.size, "meter entry")]


def _meter(message: bytes, at: int, end: int) -> Meter | OpaqueMeter:
    _, flags, meter_id = _METER.unpack_from(message, at)
    band_at = at + _METER.size
    if owns_meter(meter_id) and flags == METER_FLAGS and end - band_at == _BAND.size:
        kind, length, rate, burst = _BAND.unpack_from(message, band_at)
        if length != _BAND.size:
            raise DecodeError(f"meter band length {length} at offset {band_at}")
        if kind == METER_DROP:
            return Meter(meter_id, rate, burst)
    return OpaqueMeter(meter_id, message[at:end])
