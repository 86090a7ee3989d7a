"""Matches, the pipeline fields of a packet, lists of field names, and counters."""

from __future__ import annotations

from struct import Struct
from typing import Any

from controller.openflow import oxm
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Counters, Duration
from controller.openflow.model import Field, Match
from controller.openflow.oxm import InexpressibleError, padded
from controller.openflow.structures.layout import Codec, Fixed
from controller.openflow.wire import DecodeError

_SINCE = {Field.PBB_UCA: 5, Field.TCP_FLAGS: 6, Field.ACTSET_OUTPUT: 6}


class _Match:
    def __init__(self, strict: bool) -> None:
        self._strict = strict

    def at(self, version: int) -> Codec:
        return _MatchCodec(self._strict, frozenset(f for f, v in _SINCE.items() if v > version))


class _MatchCodec:
    def __init__(self, strict: bool, later: frozenset[Field]) -> None:
        self._strict = strict
        self._later = later

    def encode(self, value: Match) -> bytes:
        later = self._of_later_versions(value)
        if later:
            raise ValueError(f"{', '.join(later)}: a field of a later version of OpenFlow")
        return oxm.encode_match(value)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Match, int]:
        match, after = oxm.decode_match(buffer, at, end, strict=self._strict)
        later = self._of_later_versions(match)
        if later:
            raise InexpressibleError(
                f"{', '.join(later)} at offset {at}: a field of a later version of OpenFlow",
                ErrorCode.BAD_MATCH_BAD_FIELD,
            )
        return match, after

    def _of_later_versions(self, match: Match) -> list[str]:
        return [f.field.name for f in match.fields if f.field in self._later]


MATCH = _Match(strict=False)
"""What a switch tells. A field that is wholly masked out is no field."""
REQUESTED_MATCH = _Match(strict=True)
"""What a switch is told."""


class _FieldMasks(Fixed):
    """Fields up to the end, each with the bits of it that count, as a value."""

    def encode(self, value: tuple[tuple[Field, int], ...]) -> bytes:
        return b"".join([oxm.encode_field(field, mask, None) for field, mask in value])

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        found: dict[Field, int] = {}
        while at < end:
            entry, after = oxm.decode_field(buffer, at, end, strict=True)
            if entry is None or entry.mask is not None or entry.field in found:
                raise DecodeError(
                    f"a field under a mask, or twice, at offset {at}",
                    ErrorCode.BAD_PROPERTY_BAD_VALUE,
                )
            found[entry.field] = entry.value
            at = after
        return tuple(found.items()), at


FIELD_MASKS = _FieldMasks()

_HEAD = Struct("!HH")
_FIELD = Struct("!HBB")
_CLASS = 0x8002
_PAIR, _WORD, _LONG = Struct("!II"), Struct("!I"), Struct("!Q")
_STATISTICS = {
    0: ("duration", _PAIR),
    1: ("idle", _PAIR),
    3: ("flows", _WORD),
    4: ("packets", _LONG),
    5: ("bytes", _LONG),
}


class _Counters(Fixed):
    """OpenFlow 1.5's extensible statistics."""

    def encode(self, value: Counters) -> bytes:
        body = b""
        for number, (name, form) in _STATISTICS.items():
            said = getattr(value, name)
            if said is not None:
                body += _FIELD.pack(_CLASS, number << 1, form.size)
                body += form.pack(*said) if form is _PAIR else form.pack(said)
        length = _HEAD.size + len(body)
        return _HEAD.pack(0, length) + body + bytes(padded(length) - length)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Counters, int]:
        if end - at < _HEAD.size:
            raise DecodeError(f"statistics cut off at offset {at}")
        reserved, length = _HEAD.unpack_from(buffer, at)
        stop, after = at + length, at + padded(length)
        if reserved or length < _HEAD.size or after > end or buffer[stop:after].strip(b"\0"):
            raise DecodeError(f"statistics length {length} at offset {at}")
        found: dict[str, Any] = {}
        at += _HEAD.size
        while at < stop:
            if stop - at < _FIELD.size:
                raise DecodeError(f"statistics field cut off at offset {at}")
            kind, number, size = _FIELD.unpack_from(buffer, at)
            name, form = _STATISTICS.get(number >> 1, ("", _LONG))
            if kind != _CLASS or number & 1 or not name:
                raise InexpressibleError(f"unknown statistics {kind:#x}/{number} at offset {at}")
            at += _FIELD.size
            if name in found or size != form.size or size > stop - at:
                raise DecodeError(f"{name} twice, or of {size} bytes, at offset {at}")
            raw = form.unpack_from(buffer, at)
            found[name] = Duration(*raw) if form is _PAIR else raw[0]
            at += size
        return Counters(**found), after


COUNTERS = _Counters()
