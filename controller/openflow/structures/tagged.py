"""Type-length-value: bodies that say their type and length, and properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any

from controller.openflow.codes import ErrorCode
from controller.openflow.oxm import InexpressibleError, padded
from controller.openflow.structures.layout import VERSIONS, Codec, Part, Remembered, Structure
from controller.openflow.structures.record import Record
from controller.openflow.wire import DecodeError

_HEAD = Struct("!HH")


def tlv(kind: int, body: bytes) -> bytes:
    """With its padding as part of its length."""
    length = padded(_HEAD.size + len(body))
    if length > 0xFFFF:
        raise ValueError(f"{len(body)} bytes do not fit one element of type {kind}")
    return _HEAD.pack(kind, length) + body + bytes(length - _HEAD.size - len(body))


def tlv_extent(
    buffer: bytes, at: int, end: int, what: str, code: ErrorCode | None
) -> tuple[int, int]:
    """(type, offset after it) of an element whose length is a multiple of eight."""
    if end - at < 8:
        raise DecodeError(f"{what} cut off at offset {at}", code)
    kind, length = _HEAD.unpack_from(buffer, at)
    if length < 8 or length % 8 or length > end - at:
        raise DecodeError(f"{what} length {length} at offset {at}", code)
    return kind, at + length


def decode_body(
    codec: Codec, buffer: bytes, at: int, end: int, what: str, code: ErrorCode | None
) -> Any:
    """What an element holds, with fewer than eight bytes of padding after it."""
    value, after = codec.decode(buffer, at, end)
    if end - after >= 8:
        raise DecodeError(f"{what} with {end - after} bytes more at offset {after}", code)
    if buffer[after:end].strip(b"\0"):
        raise DecodeError(f"{what} with padding that is not 0 at offset {after}")
    return value


class Tagged:
    """One of several records, by type; padding counts as part of its length."""

    def __init__(
        self, what: str, records: Mapping[int, Record], length: ErrorCode, unknown: ErrorCode
    ) -> None:
        self.what = what
        self.records = records
        self.length = length
        self.unknown = unknown

    def at(self, version: int) -> Codec:
        return _TaggedCodec(self, version)


class _TaggedCodec:
    def __init__(self, tagged: Tagged, version: int) -> None:
        self._tagged = tagged
        self._by_kind = {kind: r.at(version) for kind, r in tagged.records.items()}
        self._by_class = {r.make: (kind, r.at(version)) for kind, r in tagged.records.items()}

    def encode(self, value: Any) -> bytes:
        kind, codec = self._by_class[type(value)]
        return tlv(kind, codec.encode(value))

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        what, length = self._tagged.what, self._tagged.length
        kind, after = tlv_extent(buffer, at, end, what, length)
        codec = self._by_kind.get(kind)
        if codec is None:
            raise InexpressibleError(
                f"{what} of unknown type {kind} at offset {at}", self._tagged.unknown
            )
        return decode_body(codec, buffer, at + _HEAD.size, after, what, length), after


@dataclass(frozen=True, slots=True)
class Property:
    """An attribute as a property: left out where it is ``default``, unless ``always``."""

    kind: int
    name: str
    structure: Structure
    default: Any = None
    always: bool = False


EXPERIMENTER = 0xFFFF


class Properties:
    """Properties up to the end; each at most once, written by their type. ``others`` names the
    attribute that collects those of experimenters, as a tuple."""

    def __init__(self, *known: Property, others: Property | None = None) -> None:
        self.known = known
        self.others = others

    def at(self, version: int) -> Codec:
        return _PropertiesCodec(self, version)


def properties(
    *known: Property, others: Property | None = None, versions: tuple[int, ...] = VERSIONS
) -> Part:
    """As the last part of a record. Read ones are not to be changed."""
    names = [p.name for p in known] + ([others.name] if others else [])
    # A record has one part under a name, so that without any it needs one to be found by.
    structure = Remembered(Properties(*known, others=others))
    return Part(tuple(names) or ("",), structure, spread=True, versions=versions)


class _PropertiesCodec:
    def __init__(self, owner: Properties, version: int) -> None:
        self._known = {p.kind: (p, p.structure.at(version)) for p in owner.known}
        self._defaults = {p.name: p.default for p in owner.known}
        self._others = owner.others and (owner.others.name, owner.others.structure.at(version))

    def encode(self, value: Any) -> bytes:
        out = []
        for kind, (p, codec) in self._known.items():
            attribute = getattr(value, p.name)
            if p.always or attribute != p.default:
                out.append(_property(kind, codec.encode(attribute)))
        if self._others:
            name, codec = self._others
            out += [_property(EXPERIMENTER, codec.encode(x)) for x in getattr(value, name)]
        return b"".join(out)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        others = []
        while at < end:
            if end - at < _HEAD.size:
                raise DecodeError(f"property cut off at offset {at}", _BAD_LEN)
            kind, length = _HEAD.unpack_from(buffer, at)
            after = at + padded(length)
            if length < _HEAD.size or after > end:
                raise DecodeError(f"property length {length} at offset {at}", _BAD_LEN)
            stop = at + length
            if buffer[stop:after].strip(b"\0"):
                raise DecodeError(f"property with padding that is not 0 at offset {stop}")
            if kind in self._known:
                p, codec = self._known[kind]
                if p.name in found:
                    raise DecodeError(
                        f"property of type {kind} twice at offset {at}",
                        ErrorCode.BAD_PROPERTY_DUP_TYPE,
                    )
                found[p.name] = _exactly(codec, buffer, at + _HEAD.size, stop)
            elif kind == EXPERIMENTER and self._others:
                others.append(_exactly(self._others[1], buffer, at + _HEAD.size, stop))
            else:
                code = ErrorCode.BAD_PROPERTY_BAD_TYPE
                if kind == EXPERIMENTER:
                    code = ErrorCode.BAD_PROPERTY_BAD_EXPERIMENTER
                raise InexpressibleError(f"property of unknown type {kind} at offset {at}", code)
            at = after
        found = self._defaults | found
        if self._others:
            found[self._others[0]] = tuple(others)
        return found, at


_BAD_LEN = ErrorCode.BAD_PROPERTY_BAD_LEN


def _property(kind: int, body: bytes) -> bytes:
    length = _HEAD.size + len(body)
    if length > 0xFFFF:
        raise ValueError(f"{len(body)} bytes do not fit one property of type {kind}")
    return _HEAD.pack(kind, length) + body + bytes(padded(length) - length)


def _exactly(codec: Codec, buffer: bytes, at: int, end: int) -> Any:
    value, after = codec.decode(buffer, at, end)
    if after != end:
        raise DecodeError(f"property with {end - after} bytes more at offset {after}", _BAD_LEN)
    return value
