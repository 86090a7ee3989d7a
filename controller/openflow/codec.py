"""Every message, both ways: OpenFlow 1.3, 1.4 and 1.5 (wire versions 4, 5 and 6).

Decoding takes time and memory proportional to the message. What it accepts is canonical but for
what has no meaning: the order of match fields, instructions and properties, a mask of all ones or
none, a property that says its default. So ``encode`` gives the one canonical form of each value.
"""

from __future__ import annotations

from collections.abc import Hashable
from struct import Struct
from typing import Any, NamedTuple

from controller.openflow.codes import ErrorCode
from controller.openflow.messages import (
    BarrierReply,
    BarrierRequest,
    FeaturesRequest,
    GetAsyncRequest,
    GetConfigRequest,
    Hello,
)
from controller.openflow.structures import bundles, flows, groups, meters, ports, session, tables
from controller.openflow.structures.layout import VERSIONS
from controller.openflow.structures.record import Record, RecordCodec
from controller.openflow.wire import (
    HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    DecodeError,
    MessageType,
    header,
)

__all__ = ["Decoded", "decode", "encode"]


class Decoded(NamedTuple):
    """``message`` is one of the classes of ``messages`` or ``bodies``."""

    xid: int
    version: int
    message: Any


_HEADER = Struct("!BBHI")
_KIND = Struct("!H")
_EXPERIMENTER = Struct("!II")

_T = MessageType
_OPENFLOW_1_3, _FROM_1_4, _FROM_1_5 = (4,), (5, 6), (6,)
_MESSAGES: list[tuple[MessageType, Record, tuple[int, ...]]] = [
    (_T.ERROR, session.ERROR, VERSIONS),
    (_T.ECHO_REQUEST, session.ECHO_REQUEST, VERSIONS),
    (_T.ECHO_REPLY, session.ECHO_REPLY, VERSIONS),
    (_T.FEATURES_REQUEST, Record(FeaturesRequest), VERSIONS),
    (_T.FEATURES_REPLY, session.FEATURES_REPLY, VERSIONS),
    (_T.GET_CONFIG_REQUEST, Record(GetConfigRequest), VERSIONS),
    (_T.GET_CONFIG_REPLY, session.GET_CONFIG_REPLY, VERSIONS),
    (_T.SET_CONFIG, session.SET_CONFIG, VERSIONS),
    (_T.PACKET_IN, flows.PACKET_IN, VERSIONS),
    (_T.FLOW_REMOVED, flows.FLOW_REMOVED, VERSIONS),
    (_T.PORT_STATUS, ports.PORT_STATUS, VERSIONS),
    (_T.PACKET_OUT, flows.PACKET_OUT, VERSIONS),
    (_T.FLOW_MOD, flows.FLOW_MOD, VERSIONS),
    (_T.GROUP_MOD, groups.GROUP_MOD, VERSIONS),
    (_T.PORT_MOD, ports.PORT_MOD, VERSIONS),
    (_T.TABLE_MOD, tables.TABLE_MOD, VERSIONS),
    (_T.BARRIER_REQUEST, Record(BarrierRequest), VERSIONS),
    (_T.BARRIER_REPLY, Record(BarrierReply), VERSIONS),
    (_T.QUEUE_GET_CONFIG_REQUEST, ports.QUEUE_CONFIG_REQUEST, _OPENFLOW_1_3),
    (_T.QUEUE_GET_CONFIG_REPLY, ports.QUEUE_CONFIG_REPLY, _OPENFLOW_1_3),
    (_T.ROLE_REQUEST, session.ROLE_REQUEST, VERSIONS),
    (_T.ROLE_REPLY, session.ROLE_REPLY, VERSIONS),
    (_T.GET_ASYNC_REQUEST, Record(GetAsyncRequest), VERSIONS),
    (_T.GET_ASYNC_REPLY, session.GET_ASYNC_REPLY, VERSIONS),
    (_T.SET_ASYNC, session.SET_ASYNC, VERSIONS),
    (_T.METER_MOD, meters.METER_MOD, VERSIONS),
    (_T.ROLE_STATUS, session.ROLE_STATUS, _FROM_1_4),
    (_T.TABLE_STATUS, tables.TABLE_STATUS, _FROM_1_4),
    (_T.BUNDLE_CONTROL, bundles.BUNDLE_CONTROL, _FROM_1_4),
    (_T.BUNDLE_ADD_MESSAGE, bundles.BUNDLE_ADD, _FROM_1_4),
]
_MULTIPART: list[tuple[int, Record, Record, tuple[int, ...]]] = [
    (0, tables.DESC_REQUEST, tables.DESC_REPLY, VERSIONS),
    (1, flows.FLOW_DESC_REQUEST, flows.FLOW_DESC_REPLY, VERSIONS),
    (2, flows.AGGREGATE_REQUEST, flows.AGGREGATE_REPLY, VERSIONS),
    (3, tables.TABLE_STATS_REQUEST, tables.TABLE_STATS_REPLY, VERSIONS),
    (4, ports.PORT_STATS_REQUEST, ports.PORT_STATS_REPLY, VERSIONS),
    (5, ports.QUEUE_STATS_REQUEST, ports.QUEUE_STATS_REPLY, VERSIONS),
    (6, groups.GROUP_STATS_REQUEST, groups.GROUP_STATS_REPLY, VERSIONS),
    (7, groups.GROUP_DESC_REQUEST, groups.GROUP_DESC_REPLY, VERSIONS),
    (8, groups.GROUP_FEATURES_REQUEST, groups.GROUP_FEATURES_REPLY, VERSIONS),
    (9, meters.METER_STATS_REQUEST, meters.METER_STATS_REPLY, VERSIONS),
    (10, meters.METER_DESC_REQUEST, meters.METER_DESC_REPLY, VERSIONS),
    (11, meters.METER_FEATURES_REQUEST, meters.METER_FEATURES_REPLY, VERSIONS),
    (12, tables.TABLE_FEATURES_REQUEST, tables.TABLE_FEATURES_REPLY, VERSIONS),
    (13, ports.PORT_DESC_REQUEST, ports.PORT_DESC_REPLY, VERSIONS),
    (14, tables.TABLE_DESC_REQUEST, tables.TABLE_DESC_REPLY, _FROM_1_4),
    (15, ports.QUEUE_DESC_REQUEST, ports.QUEUE_DESC_REPLY, _FROM_1_4),
    (17, flows.FLOW_STATS_REQUEST, flows.FLOW_STATS_REPLY, _FROM_1_5),
]
_EXTENSIONS: list[tuple[int, int, Record, tuple[int, ...]]] = [
    (bundles.ONF, bundles.CONTROL_TYPE, bundles.BUNDLE_CONTROL, _OPENFLOW_1_3),
    (bundles.ONF, bundles.ADD_TYPE, bundles.BUNDLE_ADD, _OPENFLOW_1_3),
]
_HELLO = session.HELLO.at(VERSIONS[0])


class _Version:
    """All that one version has: codecs by what the wire says, and by class."""

    def __init__(self, version: int) -> None:
        self.by_wire: dict[Hashable, RecordCodec] = {}
        self.by_class: dict[type[Any], tuple[int, RecordCodec]] = {}
        for kind, record, versions in _MESSAGES:
            self._add(version, kind, kind, record, versions)
        for number, request, reply, versions in _MULTIPART:
            for kind, record in (
                (_T.MULTIPART_REQUEST, request),
                (_T.MULTIPART_REPLY, reply),
            ):
                self._add(version, kind, (int(kind), number), record, versions)
        for experimenter, number, record, versions in _EXTENSIONS:
            key = (int(_T.EXPERIMENTER), experimenter, number)
            self._add(version, _T.EXPERIMENTER, key, record, versions)
        self._add(version, _T.EXPERIMENTER, _T.EXPERIMENTER, session.EXPERIMENTER_MESSAGE, VERSIONS)

    def _add(
        self,
        version: int,
        kind: MessageType,
        key: Hashable,
        record: Record,
        versions: tuple[int, ...],
    ) -> None:
        if version in versions:
            codec = record.at(version)
            self.by_wire[key] = codec
            self.by_class[record.make] = (int(kind), codec)


_VERSIONS = {version: _Version(version) for version in VERSIONS}


def decode(buffer: bytes) -> Decoded:
    """One whole message. Raises DecodeError, whose ``code`` is what a switch answers."""
    head = header(buffer)
    if head.length != len(buffer):
        raise DecodeError(
            f"message length {head.length}, but {len(buffer)} bytes, at offset 2",
            ErrorCode.BAD_REQUEST_BAD_LEN,
        )
    if head.type == _T.HELLO:
        message, after = _HELLO.decode(buffer, HEADER_BYTES, len(buffer))
        return Decoded(head.xid, head.version, message)
    version = _VERSIONS.get(head.version)
    if version is None:
        raise DecodeError(
            f"version {head.version} at offset 0: none of {VERSIONS}",
            ErrorCode.BAD_REQUEST_BAD_VERSION,
        )
    codec = _find(version, buffer, head.type)
    message, after = codec.decode(buffer, HEADER_BYTES, len(buffer))
    if after != len(buffer):
        raise DecodeError(
            f"{len(buffer) - after} bytes after the message at offset {after}",
            ErrorCode.BAD_REQUEST_BAD_LEN,
        )
    return Decoded(head.xid, head.version, message)


def _find(version: _Version, buffer: bytes, kind: int) -> RecordCodec:
    code = ErrorCode.BAD_REQUEST_BAD_TYPE
    what = f"message type {kind}"
    codec = version.by_wire.get(kind)
    room = len(buffer) - HEADER_BYTES
    if kind in (_T.MULTIPART_REQUEST, _T.MULTIPART_REPLY) and room >= _KIND.size:
        (number,) = _KIND.unpack_from(buffer, HEADER_BYTES)
        codec = version.by_wire.get((kind, number))
        what, code = f"multipart type {number}", ErrorCode.BAD_REQUEST_BAD_MULTIPART
    elif kind == _T.EXPERIMENTER and room >= _EXPERIMENTER.size:
        codec = version.by_wire.get((kind, *_EXPERIMENTER.unpack_from(buffer, HEADER_BYTES)), codec)
    if codec is None:
        raise DecodeError(f"unknown {what} at offset {HEADER_BYTES}", code)
    return codec


def encode(message: Any, version: int, xid: int = 0) -> bytes:
    """A whole message. ValueError where the version has no words for it; a hello is of any."""
    if isinstance(message, Hello):
        kind, codec = int(_T.HELLO), _HELLO
    else:
        found = _VERSIONS[version].by_class.get(type(message))
        if found is None:
            raise ValueError(
                f"{type(message).__name__}: no message of OpenFlow 1.{version - 1} on the wire"
            )
        kind, codec = found
    body = codec.encode(message)
    length = HEADER_BYTES + len(body)
    if length > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"{type(message).__name__} of {length} bytes: a message holds at most "
            f"{MAX_MESSAGE_BYTES}"
        )
    return _HEADER.pack(version, kind, length, xid) + body
