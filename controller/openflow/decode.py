"""Messages from a switch. Everything raises DecodeError and nothing else, takes time linear in the
message, and allocates at most a constant times its length."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from controller.openflow.descriptions import flow_descs, group_descs, meter_descs
from controller.openflow.errors import error_name
from controller.openflow.oxm import match_extent
from controller.openflow.statistics import group_stats, port_stats, queue_stats
from controller.openflow.wire import (
    HEADER_BYTES,
    MULTIPART_BODY,
    DecodeError,
    Header,
    MessageType,
    MultipartType,
    expect,
    expect_multipart,
    header,
    multipart,
    split,
)

__all__ = [
    "DecodeError",
    "Description",
    "ErrorMessage",
    "FeaturesReply",
    "Header",
    "MessageType",
    "MultipartType",
    "PacketIn",
    "PortDesc",
    "PortStatus",
    "description",
    "error",
    "features_reply",
    "flow_descs",
    "group_descs",
    "group_stats",
    "header",
    "hello_versions",
    "meter_descs",
    "multipart",
    "packet_in",
    "port_descs",
    "port_stats",
    "port_status",
    "queue_stats",
    "split",
]

_HELLO_ELEMENT = Struct("!HH")
_FEATURES = Struct("!QIBB2xII")
_ERROR = Struct("!HH")
_EXPERIMENTER = Struct("!I")
_PACKET_IN = Struct("!IHBBQ")
_IN_PORT = b"\x80\x00\x00\x04"
"""Class, field, no mask, length."""
_PORT = Struct("!IH2x6s2x16sII")
_PORT_STATUS = Struct("!B7x")
_PROPERTY = Struct("!HH")
_DESCRIPTION = Struct("!256s256s256s32s256s")
_ETHERNET = Struct("!4xIIIIII")

_VERSION_BITMAP = 1
_EXPERIMENTER_ERROR = 0xFFFF
_PORT_DOWN = 1 << 0
_LINK_DOWN = 1 << 0
_LIVE = 1 << 2
_DELETED = 1


@dataclass(frozen=True, slots=True)
class FeaturesReply:
    dpid: int
    tables: int
    auxiliary_id: int
    capabilities: int


@dataclass(frozen=True, slots=True)
class Description:
    """What a switch says that it is: printable, empty where it says nothing."""

    manufacturer: str
    hardware: str
    software: str
    serial: str
    datapath: str


@dataclass(frozen=True, slots=True)
class PortDesc:
    """``config`` and ``state`` are OpenFlow's bits, ``speed_bps`` is 0 where unknown."""

    port: int
    mac: int
    name: str
    config: int
    state: int
    speed_bps: int

    @property
    def live(self) -> bool:
        """Usable by a group that watches it: up on both ends, as far as the switch can tell."""
        return not self.config & _PORT_DOWN and self.state & (_LINK_DOWN | _LIVE) == _LIVE


@dataclass(frozen=True, slots=True)
class PortStatus:
    port: PortDesc
    deleted: bool


@dataclass(frozen=True, slots=True)
class PacketIn:
    """``in_port`` is None where the switch does not say it; ``data`` may be cut to ``length``."""

    in_port: int | None
    table: int
    reason: int
    cookie: int
    length: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """``xid`` is that of the request that failed, ``data`` its beginning (64 bytes at least)."""

    type: int
    code: int
    name: str
    data: bytes
    xid: int


def hello_versions(message: bytes) -> frozenset[int]:
    """The versions that the sender offers; a hello may be of any version."""
    head = header(message)
    if head.type != MessageType.HELLO:
        raise DecodeError(f"message type {head.type} instead of HELLO at offset 1")
    if head.length != len(message):
        raise DecodeError(f"message length {head.length}, but {len(message)} bytes, at offset 2")
    at = HEADER_BYTES
    while at < len(message):
        kind, length = _tlv(message, at, len(message), "hello element")
        if kind == _VERSION_BITMAP:
            words = range(at + 4, min(at + length - 3, at + 4 + 32), 4)  # a version is one byte
            return frozenset(
                32 * index + bit
                for index, word in enumerate(words)
                for bit in range(32)
                if int.from_bytes(message[word : word + 4], "big") >> bit & 1
            )
        at += length + 7 & ~7
    return frozenset(range(1, head.version + 1))


def features_reply(message: bytes) -> FeaturesReply:
    expect(message, MessageType.FEATURES_REPLY, HEADER_BYTES + _FEATURES.size)
    dpid, _, tables, auxiliary, capabilities, _ = _FEATURES.unpack_from(message, HEADER_BYTES)
    return FeaturesReply(dpid, tables, auxiliary, capabilities)


def port_descs(message: bytes) -> list[PortDesc]:
    """The ports in one part of a PORT_DESC reply."""
    expect_multipart(message, MultipartType.PORT_DESC)
    ports = []
    at = MULTIPART_BODY
    while at < len(message):
        port, at = _port(message, at)
        ports.append(port)
    return ports


def port_status(message: bytes) -> PortStatus:
    at = HEADER_BYTES + _PORT_STATUS.size
    expect(message, MessageType.PORT_STATUS, at + _PORT.size)
    (reason,) = _PORT_STATUS.unpack_from(message, HEADER_BYTES)
    port, after = _port(message, at)
    if after != len(message):
        raise DecodeError(f"{len(message) - after} bytes after the port at offset {after}")
    return PortStatus(port, deleted=reason == _DELETED)


def _port(message: bytes, at: int) -> tuple[PortDesc, int]:
    end = len(message)
    if end - at < _PORT.size:
        raise DecodeError(f"port cut off at offset {at}")
    number, length, mac, name, config, state = _PORT.unpack_from(message, at)
    if length < _PORT.size or length > end - at:
        raise DecodeError(f"port length {length} at offset {at}")
    after = at + length
    at += _PORT.size
    speed_bps = 0
    while at < after:
        kind, size = _tlv(message, at, after, "port property")
        if kind == 0 and size >= _PROPERTY.size + _ETHERNET.size:
            current_kbps = _ETHERNET.unpack_from(message, at + _PROPERTY.size)[4]
            speed_bps = current_kbps * 1000
        at += size + 7 & ~7
    text = name.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
    return PortDesc(number, int.from_bytes(mac, "big"), text, config, state, speed_bps), after


def description(message: bytes) -> Description:
    """A DESC reply. What follows the end of a text in its field is not looked at."""
    expect_multipart(message, MultipartType.DESC)
    if len(message) != MULTIPART_BODY + _DESCRIPTION.size:
        raise DecodeError(
            f"description of {len(message) - MULTIPART_BODY} bytes instead of "
            f"{_DESCRIPTION.size} at offset {MULTIPART_BODY}"
        )
    return Description(*map(_printable, _DESCRIPTION.unpack_from(message, MULTIPART_BODY)))


def _printable(raw: bytes) -> str:
    # It ends up on terminals, which obey control characters.
    text = raw.split(b"\0", 1)[0].decode("utf-8", "backslashreplace").strip()
    return "".join(c if c.isprintable() else "?" for c in text)


def packet_in(message: bytes) -> PacketIn:
    fixed = HEADER_BYTES + _PACKET_IN.size
    expect(message, MessageType.PACKET_IN, fixed + 8 + 2)
    _, length, reason, table, cookie = _PACKET_IN.unpack_from(message, HEADER_BYTES)
    fields_end, after = match_extent(message, fixed, len(message))
    if after + 2 > len(message):
        raise DecodeError(f"packet cut off at offset {after}")
    in_port = None
    at = fixed + 4
    while at < fields_end:
        if fields_end - at < 4 or at + 4 + message[at + 3] > fields_end:
            raise DecodeError(f"match field cut off at offset {at}")
        # Only this one is read: a match may have thousands, which would take a switch's turn
        # many times over.
        if message.startswith(_IN_PORT, at):
            in_port = int.from_bytes(message[at + 4 : at + 8], "big")
        at += 4 + message[at + 3]
    return PacketIn(in_port, table, reason, cookie, length, message[after + 2 :])


def error(message: bytes) -> ErrorMessage:
    at = HEADER_BYTES + _ERROR.size
    expect(message, MessageType.ERROR, at)
    kind, code = _ERROR.unpack_from(message, HEADER_BYTES)
    experimenter = None
    if kind == _EXPERIMENTER_ERROR:
        if len(message) < at + _EXPERIMENTER.size:
            raise DecodeError(f"experimenter of an error cut off at offset {at}")
        (experimenter,) = _EXPERIMENTER.unpack_from(message, at)
        at += _EXPERIMENTER.size
    data = message[at:]
    xid = header(data if len(data) >= HEADER_BYTES else message).xid
    return ErrorMessage(kind, code, error_name(kind, code, experimenter), data, xid)


def _tlv(message: bytes, at: int, end: int, what: str) -> tuple[int, int]:
    """(type, length) of the property at ``at``, whose padding also ends by ``end``."""
    if end - at < _PROPERTY.size:
        raise DecodeError(f"{what} cut off at offset {at}")
    kind, length = _PROPERTY.unpack_from(message, at)
    if length < _PROPERTY.size or length > end - at:
        raise DecodeError(f"{what} length {length} at offset {at}")
    return kind, length
