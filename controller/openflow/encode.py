"""Messages to a switch: complete, with transaction id 0 (see :func:`with_xid`).

What a switch would refuse, or give back in another form than it was sent in, is a ValueError here:
otherwise desired and installed state would differ for ever. Open vSwitch's own conditions, beyond
those of OpenFlow:

- a FAST_FAILOVER bucket needs a watch; a SELECT bucket without one is used while its port is down;
- a field may be set only where the match, or an earlier field of it, makes it exist: set an
  ``ICMPV6_TYPE`` with ``ETH_TYPE`` and ``IP_PROTO`` matched;
- a group or flow that another one refers to must exist before it;
- a packet never leaves by its ingress port: output to ``Port.IN_PORT``, or, where an output may
  happen to be the ingress port, forget that first with ``SetField(Field.NXM_IN_PORT, 0xFFFF)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from controller.openflow.actions import encode_actions, encode_instructions
from controller.openflow.messages import Role
from controller.openflow.model import (
    ALL_GROUPS,
    ALL_TABLES,
    ANY_GROUP,
    NO_BUFFER,
    Bucket,
    Field,
    Flow,
    FlowKey,
    Group,
    GroupType,
    Match,
    Meter,
    OpaqueFlow,
    Output,
    Port,
)
from controller.openflow.ownership import COOKIE_PREFIX_MASK
from controller.openflow.oxm import encode_match
from controller.openflow.wire import (
    VERSION,
    MessageType,
    MultipartType,
    compose,
    compose_multipart,
    with_xid,
)

__all__ = [
    "barrier_request",
    "echo_reply",
    "echo_request",
    "features_request",
    "flow_add",
    "flow_delete",
    "flow_desc_request",
    "flow_key",
    "group_add",
    "group_delete",
    "group_desc_request",
    "group_modify",
    "group_of",
    "group_stats_request",
    "hello",
    "match_key",
    "meter_add",
    "meter_delete",
    "meter_desc_request",
    "meter_modify",
    "packet_out",
    "port_desc_request",
    "port_stats_request",
    "queue_stats_request",
    "role_request",
    "with_xid",
]

_ADD, _MODIFY, _DELETE, _DELETE_STRICT = 0, 1, 2, 4
_ALL_BUCKETS = 0xFFFFFFFF
_ALL_METERS = 0xFFFFFFFF
_ALL_QUEUES = 0xFFFFFFFF
METER_FLAGS = 1 << 1 | 1 << 2
METER_DROP = 1

_FLOW_MOD = Struct("!QQBBHHHIIIHH")
_FLOW_DESC_REQUEST = Struct("!B3xII4xQQ")
_GROUP_MOD = Struct("!HBxIH2xI")
_BUCKET = Struct("!HHI")
_BUCKET_WEIGHT = Struct("!HHH2x")
_BUCKET_WATCH = Struct("!HHI")
_METER_MOD = Struct("!HHI")
_METER_BAND = Struct("!HHII4x")
_PACKET_OUT = Struct("!IH2x")
_WORD_PADDED = Struct("!I4x")
_TWO_WORDS = Struct("!II")
_HELLO_ELEMENT = Struct("!HHI")
_ROLE = Struct("!IH2xQ")

WEIGHT, WATCH_PORT, WATCH_GROUP = 0, 1, 2

DP_HASH = Struct("!HHII4x16sQ").pack(0xFFFF, 40, 0x154D, 1, b"dp_hash", 0)
"""Netronome's selection-method property: Open vSwitch hashes the 5-tuple in the datapath."""


def hello() -> bytes:
    """Offers version 6 and no other."""
    return compose(MessageType.HELLO, _HELLO_ELEMENT.pack(1, 8, 1 << VERSION))


def echo_request(data: bytes = b"") -> bytes:
    return compose(MessageType.ECHO_REQUEST, data)


def echo_reply(xid: int, data: bytes) -> bytes:
    return compose(MessageType.ECHO_REPLY, data, xid)


def features_request() -> bytes:
    return compose(MessageType.FEATURES_REQUEST)


def role_request(role: Role, generation: int) -> bytes:
    return compose(MessageType.ROLE_REQUEST, _ROLE.pack(role, 0, generation))


def barrier_request() -> bytes:
    return compose(MessageType.BARRIER_REQUEST)


def match_key(match: Match) -> bytes:
    """The encoded match: equal for equal matches."""
    return encode_match(match)


def flow_key(flow: Flow) -> FlowKey:
    return FlowKey(flow.table, flow.priority, encode_match(flow.match))


def flow_add(flow: Flow) -> bytes:
    """Adds the entry, or replaces the one of the same key and starts its counters at 0."""
    return compose(
        MessageType.FLOW_MOD,
        _FLOW_MOD.pack(
            flow.cookie,
            0,
            flow.table,
            _ADD,
            0,
            0,
            flow.priority,
            NO_BUFFER,
            Port.ANY,
            ANY_GROUP,
            0,
            0,
        )
        + encode_match(flow.match)
        + encode_instructions(flow.instructions),
    )


def flow_delete(flow: Flow | OpaqueFlow) -> bytes:
    """Deletes the entry of the same key, if it still has the same owner (cookie prefix)."""
    match = encode_match(flow.match) if isinstance(flow, Flow) else flow.match_key
    return compose(
        MessageType.FLOW_MOD,
        _FLOW_MOD.pack(
            flow.cookie & COOKIE_PREFIX_MASK,
            COOKIE_PREFIX_MASK,
            flow.table,
            _DELETE_STRICT,
            0,
            0,
            flow.priority,
            NO_BUFFER,
            Port.ANY,
            ANY_GROUP,
            0,
            0,
        )
        + match,
    )


def flow_desc_request() -> bytes:
    """Asks for the flows of all tables, whoever owns them."""
    return compose_multipart(
        MultipartType.FLOW_DESC,
        _FLOW_DESC_REQUEST.pack(ALL_TABLES, Port.ANY, ANY_GROUP, 0, 0) + encode_match(Match()),
    )


def group_add(group: Group) -> bytes:
    return _group_mod(_ADD, group)


def group_modify(group: Group) -> bytes:
    """Replaces type and buckets of an existing group; flows that use it keep running."""
    return _group_mod(_MODIFY, group)


def group_delete(group_id: int) -> bytes:
    """Deletes the group, and with it every flow that refers to it."""
    return compose(MessageType.GROUP_MOD, _GROUP_MOD.pack(_DELETE, 0, group_id, 0, _ALL_BUCKETS))


def group_of(group_id: int, kind: GroupType, encoded: Sequence[bytes]) -> bytes:
    """What :func:`group_add` says of a group whose buckets :func:`encode_bucket` has made."""
    return _group_of(_ADD, group_id, kind, encoded)


def _group_mod(command: int, group: Group) -> bytes:
    encoded = [encode_bucket(bucket, group) for bucket in group.buckets]
    return _group_of(command, group.id, group.type, encoded)


def _group_of(command: int, group_id: int, kind: GroupType, encoded: Sequence[bytes]) -> bytes:
    buckets = b"".join(encoded)
    if len(buckets) > 0xFFFF:
        raise ValueError(f"group {group_id:#x}: {len(encoded)} buckets do not fit a message")
    properties = DP_HASH if kind is GroupType.SELECT else b""
    return compose(
        MessageType.GROUP_MOD,
        _GROUP_MOD.pack(command, kind, group_id, len(buckets), _ALL_BUCKETS) + buckets + properties,
    )


def encode_bucket(bucket: Bucket, group: Group) -> bytes:
    if bucket.watch_port is not None and bucket.watch_group is not None:
        raise ValueError(f"bucket {bucket.id} of group {group.id:#x} watches a port and a group")
    actions = encode_actions(bucket.actions)
    properties = b""
    if group.type is GroupType.SELECT:
        properties = _BUCKET_WEIGHT.pack(WEIGHT, _BUCKET_WEIGHT.size, bucket.weight)
    elif bucket.weight:
        raise ValueError(f"bucket {bucket.id} of group {group.id:#x} has a weight: not a SELECT")
    if bucket.watch_port is not None:
        properties += _BUCKET_WATCH.pack(WATCH_PORT, _BUCKET_WATCH.size, bucket.watch_port)
    if bucket.watch_group is not None:
        properties += _BUCKET_WATCH.pack(WATCH_GROUP, _BUCKET_WATCH.size, bucket.watch_group)
    length = _BUCKET.size + len(actions) + len(properties)
    return _BUCKET.pack(length, len(actions), bucket.id) + actions + properties


def group_desc_request() -> bytes:
    return compose_multipart(MultipartType.GROUP_DESC, _WORD_PADDED.pack(ALL_GROUPS))


def meter_add(meter: Meter) -> bytes:
    return _meter_mod(_ADD, meter)


def meter_modify(meter: Meter) -> bytes:
    return _meter_mod(_MODIFY, meter)


def meter_delete(meter_id: int) -> bytes:
    """Deletes the meter, and with it every flow that refers to it."""
    return compose(MessageType.METER_MOD, _METER_MOD.pack(_DELETE, 0, meter_id))


def _meter_mod(command: int, meter: Meter) -> bytes:
    return compose(
        MessageType.METER_MOD,
        _METER_MOD.pack(command, METER_FLAGS, meter.id)
        + _METER_BAND.pack(METER_DROP, _METER_BAND.size, meter.rate_pps, meter.burst_packets),
    )


def meter_desc_request() -> bytes:
    return compose_multipart(MultipartType.METER_DESC, _WORD_PADDED.pack(_ALL_METERS))


def desc_request() -> bytes:
    return compose_multipart(MultipartType.DESC)


def port_desc_request() -> bytes:
    return compose_multipart(MultipartType.PORT_DESC, _WORD_PADDED.pack(Port.ANY))


def port_stats_request() -> bytes:
    return compose_multipart(MultipartType.PORT_STATS, _WORD_PADDED.pack(Port.ANY))


def group_stats_request() -> bytes:
    return compose_multipart(MultipartType.GROUP_STATS, _WORD_PADDED.pack(ALL_GROUPS))


def queue_stats_request() -> bytes:
    return compose_multipart(MultipartType.QUEUE_STATS, _TWO_WORDS.pack(Port.ANY, _ALL_QUEUES))


def packet_out(in_port: int, port: int, data: bytes) -> bytes:
    """Sends ``data`` out of ``port`` as if it came in by ``in_port`` (often Port.CONTROLLER)."""
    actions = encode_actions((Output(port),))
    return compose(
        MessageType.PACKET_OUT,
        _PACKET_OUT.pack(NO_BUFFER, len(actions))
        + encode_match(Match.of({Field.IN_PORT: in_port}))
        + actions
        + data,
    )
