"""Framing of OpenFlow messages, and what they are numbered with.

What is composed and expected here is OpenFlow 1.5 (wire version 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from controller.openflow.codes import ErrorCode

VERSION = 6
HEADER_BYTES = 8
MAX_MESSAGE_BYTES = 0xFFFF

_HEADER = Struct("!BBHI")
_XID = Struct("!I")
_MULTIPART = Struct("!HH4x")
MULTIPART_BODY = HEADER_BYTES + _MULTIPART.size
"""Offset of the body of a multipart message."""


class DecodeError(ValueError):
    """Bytes that are no canonical OpenFlow; the text says what is wrong, at which offset.

    ``code`` is what a switch answers to a request like this; None where OpenFlow has no word for it
    (padding that is not 0, say).
    """

    def __init__(self, text: str = "", code: ErrorCode | None = None) -> None:
        super().__init__(text)
        self.code = code


class MessageType(IntEnum):
    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    GET_CONFIG_REQUEST = 7
    GET_CONFIG_REPLY = 8
    SET_CONFIG = 9
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14
    GROUP_MOD = 15
    PORT_MOD = 16
    TABLE_MOD = 17
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REQUEST = 20
    BARRIER_REPLY = 21
    QUEUE_GET_CONFIG_REQUEST = 22
    QUEUE_GET_CONFIG_REPLY = 23
    ROLE_REQUEST = 24
    ROLE_REPLY = 25
    GET_ASYNC_REQUEST = 26
    GET_ASYNC_REPLY = 27
    SET_ASYNC = 28
    METER_MOD = 29
    ROLE_STATUS = 30
    TABLE_STATUS = 31
    BUNDLE_CONTROL = 33
    BUNDLE_ADD_MESSAGE = 34


class MultipartType(IntEnum):
    DESC = 0
    FLOW_DESC = 1
    PORT_STATS = 4
    QUEUE_STATS = 5
    GROUP_STATS = 6
    GROUP_DESC = 7
    METER_DESC = 10
    PORT_DESC = 13


@dataclass(frozen=True, slots=True)
class Header:
    """``type`` is a plain integer: a switch may send messages that have no name here."""

    version: int
    type: int
    length: int
    xid: int


def header(buffer: bytes) -> Header:
    """The first eight bytes, of any OpenFlow version."""
    if len(buffer) < HEADER_BYTES:
        raise DecodeError(f"a header has {HEADER_BYTES} bytes, not {len(buffer)}, at offset 0")
    return Header(*_HEADER.unpack_from(buffer))


def split(buffer: bytes) -> tuple[list[bytes], bytes]:
    """Cut a byte stream into its complete messages and the rest, which is shorter than one message.

    Messages of other versions are cut as well: the caller answers them. Raises DecodeError where a
    length is shorter than a header; the stream cannot be followed beyond such a place.
    """
    messages = []
    at, end = 0, len(buffer)
    while end - at >= HEADER_BYTES:
        length = buffer[at + 2] << 8 | buffer[at + 3]
        if length < HEADER_BYTES:
            raise DecodeError(f"message length {length} is shorter than a header at offset {at}")
        if length > end - at:
            break
        messages.append(bytes(buffer[at : at + length]))
        at += length
    return messages, bytes(buffer[at:])


def with_xid(message: bytes, xid: int) -> bytes:
    """The same message under another transaction id."""
    return message[:4] + _XID.pack(xid) + message[8:]


def compose(kind: MessageType, body: bytes = b"", xid: int = 0) -> bytes:
    """A complete message; ValueError where it would be longer than OpenFlow can say."""
    length = HEADER_BYTES + len(body)
    if length > MAX_MESSAGE_BYTES:
        raise ValueError(
            f"{kind.name} of {length} bytes: a message holds at most {MAX_MESSAGE_BYTES}"
        )
    return _HEADER.pack(VERSION, kind, length, xid) + body


def compose_multipart(kind: MultipartType, body: bytes = b"") -> bytes:
    return compose(MessageType.MULTIPART_REQUEST, _MULTIPART.pack(kind, 0) + body)


def expect(message: bytes, kind: MessageType, minimum: int) -> None:
    """Raise DecodeError unless this is one whole message of ``kind``, of ``minimum`` bytes."""
    head = header(message)
    if head.version != VERSION:
        raise DecodeError(f"version {head.version} instead of {VERSION} at offset 0")
    if head.type != kind:
        raise DecodeError(f"message type {head.type} instead of {kind.name} at offset 1")
    if head.length != len(message):
        raise DecodeError(f"message length {head.length}, but {len(message)} bytes, at offset 2")
    if head.length < minimum:
        raise DecodeError(f"{kind.name} of {head.length} bytes instead of {minimum} at offset 2")


def multipart(message: bytes) -> tuple[int, bool]:
    """(multipart type, whether more parts of the same reply follow) of a multipart reply."""
    expect(message, MessageType.MULTIPART_REPLY, MULTIPART_BODY)
    kind, flags = _MULTIPART.unpack_from(message, HEADER_BYTES)
    return kind, bool(flags & 1)


def expect_multipart(message: bytes, kind: MultipartType) -> None:
    got, _ = multipart(message)
    if got != kind:
        raise DecodeError(f"multipart type {got} instead of {kind.name} at offset {HEADER_BYTES}")
