"""Messages about the connection itself."""

from __future__ import annotations

from struct import Struct
from typing import Any

from controller.openflow.codes import ErrorCode
from controller.openflow.messages import (
    AsyncEvent,
    AsyncMask,
    EchoReply,
    EchoRequest,
    Error,
    Experimenter,
    FeaturesReply,
    GetAsyncReply,
    GetConfigReply,
    Hello,
    RoleReply,
    RoleRequest,
    RoleStatus,
    SetAsync,
    SetConfig,
)
from controller.openflow.oxm import padded
from controller.openflow.structures.layout import (
    Codec,
    Fixed,
    Part,
    Slot,
    constant,
    pad,
    part,
    rest,
    since,
    u8,
    u16,
    u32,
    u64,
    until,
)
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import EXPERIMENTER, properties
from controller.openflow.wire import DecodeError

_HEAD = Struct("!HH")
_WORD = Struct("!I")


class _VersionBitmap(Fixed):
    """Hello elements; unknown ones say nothing, as OpenFlow wants it."""

    def encode(self, value: tuple[int, ...] | None) -> bytes:
        if value is None:
            return b""
        if list(value) != sorted({v for v in value if 0 <= v < 32}):
            raise ValueError(f"versions {value}: not ascending, or none below 32")
        return _HEAD.pack(1, 8) + _WORD.pack(sum(1 << v for v in value))

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        versions = None
        while at < end:
            if end - at < _HEAD.size:
                raise DecodeError(f"hello element cut off at offset {at}")
            kind, length = _HEAD.unpack_from(buffer, at)
            if length < _HEAD.size or at + length > end:
                raise DecodeError(f"hello element length {length} at offset {at}")
            if kind == 1 and length >= 8 and versions is None:
                (bits,) = _WORD.unpack_from(buffer, at + _HEAD.size)
                versions = tuple(v for v in range(32) if bits >> v & 1)
            at += padded(length)
        return versions, end


class _ErrorBody(Fixed):
    def encode(self, value: Error) -> bytes:
        if (value.type == EXPERIMENTER) != (value.experimenter is not None):
            raise ValueError(f"{value}: type 0xffff, or no experimenter")
        who = b"" if value.experimenter is None else _WORD.pack(value.experimenter)
        return _HEAD.pack(value.type, value.code) + who + value.data

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[dict[str, Any], int]:
        if end - at < _HEAD.size:
            raise DecodeError(f"error cut off at offset {at}")
        kind, code = _HEAD.unpack_from(buffer, at)
        at += _HEAD.size
        experimenter = None
        if kind == EXPERIMENTER:
            if end - at < _WORD.size:
                raise DecodeError(f"error of an experimenter cut off at offset {at}")
            (experimenter,) = _WORD.unpack_from(buffer, at)
            at += _WORD.size
        data = bytes(buffer[at:end])
        return {"type": kind, "code": code, "data": data, "experimenter": experimenter}, end


HELLO = Record(Hello, part("versions", _VersionBitmap()))
ERROR = Record(Error, Part(("type", "code", "data", "experimenter"), _ErrorBody(), spread=True))
ECHO_REQUEST = Record(EchoRequest, rest("data"))
ECHO_REPLY = Record(EchoReply, rest("data"))
EXPERIMENTER_MESSAGE = Record(Experimenter, u32("experimenter"), u32("exp_type"), rest("data"))
FEATURES_REPLY = Record(
    FeaturesReply,
    u64("dpid"),
    u32("buffers"),
    u8("tables"),
    u8("auxiliary_id"),
    pad(2),
    u32("capabilities"),
    u32("reserved"),
)


def _config(make: type[Any]) -> Record:
    return Record(make, u16("flags"), u16("miss_send_len"))


GET_CONFIG_REPLY = _config(GetConfigReply)
SET_CONFIG = _config(SetConfig)


def _role(make: type[Any]) -> Record:
    return Record(
        make,
        u32("role"),
        *until(5, pad(4)),
        *since(6, u16("short_id"), pad(2)),
        u64("generation_id"),
    )


ROLE_REQUEST = _role(RoleRequest)
ROLE_REPLY = _role(RoleReply)
ROLE_STATUS = Record(
    RoleStatus, u32("role"), u8("reason"), pad(3), u64("generation_id"), properties()
)

# OpenFlow 1.3: two masks for each of three events, for primary and equal controllers first.
_FIRST_SIX = tuple(AsyncEvent(e ^ 1) for e in range(6))


def _load_masks(*raw: int) -> tuple[AsyncMask, ...]:
    return tuple(AsyncMask(e, raw[e ^ 1]) for e in range(6))


def _dump_masks(masks: tuple[AsyncMask, ...]) -> tuple[int, ...]:
    found = {m.event: m.mask for m in masks}
    if len(masks) != 6 or set(found) != set(_FIRST_SIX):
        raise ValueError(f"{masks}: OpenFlow 1.3 says the masks of the first six events, no other")
    return tuple(found[e] for e in _FIRST_SIX)


_ONE_MASK = Record(
    AsyncMask,
    u16("event"),
    constant("H", 8, ErrorCode.BAD_PROPERTY_BAD_LEN),
    u32("mask"),
    length=ErrorCode.BAD_PROPERTY_BAD_LEN,
)


class _Masks:
    """Sorted by event, each at most once."""

    def at(self, version: int) -> Codec:
        return _MasksCodec(version)


class _MasksCodec:
    def __init__(self, version: int) -> None:
        self._one = _ONE_MASK.at(version)

    def encode(self, value: tuple[AsyncMask, ...]) -> bytes:
        events = [m.event for m in value]
        if events != sorted(set(events)):
            raise ValueError(f"masks of events {events}: not sorted, or one twice")
        return b"".join([self._one.encode(m) for m in value])

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        found: dict[int, AsyncMask] = {}
        while at < end:
            mask, after = self._one.decode(buffer, at, end)
            if mask.event in found:
                raise DecodeError(
                    f"a second mask of event {mask.event} at offset {at}",
                    ErrorCode.BAD_PROPERTY_DUP_TYPE,
                )
            found[mask.event] = mask
            at = after
        return tuple(found[e] for e in sorted(found)), at


def _async(make: type[Any]) -> Record:
    return Record(
        make,
        *until(4, Slot("6I", "masks", _load_masks, _dump_masks)),
        *since(5, part("masks", _Masks())),
    )


GET_ASYNC_REPLY = _async(GetAsyncReply)
SET_ASYNC = _async(SetAsync)
