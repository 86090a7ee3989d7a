"""Wire structures as tables: one definition serves both directions and every version.

A :class:`Record` lists the members of a structure in the order of the wire. :meth:`Structure.at`
compiles it for a version; a member may be limited to some versions by :func:`since` and
:func:`until`. Decoding moves forward through the buffer, looks at no byte beyond ``end`` and keeps
no more than values of what it has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any, Protocol, TypeAlias, cast

from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Duration
from controller.openflow.wire import DecodeError

VERSIONS = (4, 5, 6)
"""OpenFlow 1.3, 1.4 and 1.5 on the wire."""


class Codec(Protocol):
    """Of one structure in one version."""

    def encode(self, value: Any) -> bytes:
        """ValueError where the version has no words for the value."""

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        """(value, offset after it); nothing at or after ``end`` is read. Raises DecodeError."""


class Structure(Protocol):
    def at(self, version: int) -> Codec: ...


class Fixed:
    """Base of a codec that is the same in every version."""

    def at(self, version: int) -> Any:
        return self


# ---- Members ----


@dataclass(frozen=True, slots=True)
class Slot:
    """Members of fixed size. ``load`` makes an attribute of the raw values (ValueError: refused
    with ``code``), ``dump`` is its inverse; without ``name`` the raw values must be ``constant``.
    """

    form: str
    name: str = ""
    load: Callable[..., Any] | None = None
    dump: Callable[[Any], tuple[Any, ...]] | None = None
    constant: Any = None
    code: ErrorCode | None = None
    versions: tuple[int, ...] = VERSIONS


@dataclass(frozen=True, slots=True)
class Size:
    """16 bits: the bytes of the whole record, or of its part of that ``name``."""

    name: str = ""
    versions: tuple[int, ...] = VERSIONS


@dataclass(frozen=True, slots=True)
class Part:
    """A member of variable size. ``names`` are the attributes it is made of: alone, as a value;
    several (or with ``spread``), as a mapping. ``chosen_by`` names an earlier attribute that picks
    another structure from ``choices``."""

    names: tuple[str, ...]
    structure: Structure
    spread: bool = False
    chosen_by: str = ""
    choices: Mapping[int, Structure] | None = None
    versions: tuple[int, ...] = VERSIONS


Member: TypeAlias = Slot | Size | Part


def since(version: int, *members: Member) -> tuple[Member, ...]:
    return tuple(replace(m, versions=tuple(v for v in m.versions if v >= version)) for m in members)


def until(version: int, *members: Member) -> tuple[Member, ...]:
    return tuple(replace(m, versions=tuple(v for v in m.versions if v <= version)) for m in members)


def u8(name: str) -> Slot:
    return Slot("B", name)


def u16(name: str) -> Slot:
    return Slot("H", name)


def u32(name: str) -> Slot:
    return Slot("I", name)


def u64(name: str) -> Slot:
    return Slot("Q", name)


def pad(size: int) -> Slot:
    return Slot(f"{size}s", constant=bytes(size))


def constant(form: str, value: int, code: ErrorCode | None = None) -> Slot:
    return Slot(form, constant=value, code=code)


def mac(name: str) -> Slot:
    return Slot(
        "6s", name, lambda raw: int.from_bytes(raw, "big"), lambda v: (v.to_bytes(6, "big"),)
    )


def duration(name: str) -> Slot:
    return Slot("II", name, Duration, lambda v: v)


def optional_u32(name: str, nothing: int) -> Slot:
    """None for ``nothing``."""
    return Slot(
        "I",
        name,
        lambda raw: None if raw == nothing else raw,
        lambda v: (nothing if v is None else v,),
    )


def several(name: str, form: str, make: Callable[..., Any], attributes: Iterable[str]) -> Slot:
    """One attribute, an object of numbers, that stands in the record without a length."""
    names = tuple(attributes)
    return Slot(form, name, make, lambda v: tuple(getattr(v, n) for n in names))


def text(name: str, size: int) -> Slot:
    """Ends with a zero byte, and is filled up with them."""

    def load(raw: bytes) -> str:
        characters, _, rest = raw.partition(b"\0")
        if len(characters) == size or rest.strip(b"\0"):
            raise ValueError("text that zero bytes do not end and fill up")
        return characters.decode("utf-8", "surrogateescape")

    def dump(value: str) -> tuple[bytes]:
        raw = value.encode("utf-8", "surrogateescape")
        if len(raw) >= size or 0 in raw:
            raise ValueError(f"{value!r} does not fit {size - 1} bytes without zeros")
        return (raw,)

    return Slot(f"{size}s", name, load, dump)


def part(name: str, structure: Structure) -> Part:
    return Part((name,), structure)


class _Rest(Fixed):
    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[bytes, int]:
        return bytes(buffer[at:end]), end


def rest(name: str) -> Part:
    """All bytes that are left."""
    return Part((name,), _Rest())


# ---- Structures of structures ----


class Sequence:
    """As many as fill the space, as a tuple."""

    def __init__(self, element: Structure) -> None:
        self._element = element

    def at(self, version: int) -> Codec:
        return _SequenceCodec(self._element.at(version))


class _SequenceCodec:
    def __init__(self, element: Codec) -> None:
        self._element = element

        # What a record can do faster than one by one.
        self._encode_all = getattr(element, "encode_all", None)

    def encode(self, value: Any) -> bytes:
        if self._encode_all is not None:
            return cast("bytes", self._encode_all(value))
        encode = self._element.encode
        return b"".join([encode(v) for v in value])

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        out = []
        decode = self._element.decode
        while at < end:
            value, after = decode(buffer, at, end)
            if after <= at:
                raise DecodeError(f"an entry of no bytes at offset {at}")
            out.append(value)
            at = after
        return tuple(out), at


class Remembered:
    """A structure that fills its space. Thousands of flows and groups share a handful of values:
    what was read from a short one is remembered, not too many. Values must not be changed."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure

    def at(self, version: int) -> Codec:
        return _RememberingCodec(self._structure.at(version))


_MOST_REMEMBERED = 1 << 14
_LONGEST_REMEMBERED = 256


class _RememberingCodec:
    def __init__(self, codec: Codec) -> None:
        self.encode = codec.encode
        self._decode = codec.decode
        self._decoded: dict[bytes, Any] = {}

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        if end - at > _LONGEST_REMEMBERED:
            return self._decode(buffer, at, end)
        raw = bytes(buffer[at:end])
        value = self._decoded.get(raw)
        if value is None:
            value, after = self._decode(buffer, at, end)
            if after != end:
                return value, after
            if len(self._decoded) >= _MOST_REMEMBERED:
                self._decoded.clear()
            self._decoded[raw] = value
        return value, end


class Single(Fixed):
    """A number alone, with padding before and after it."""

    def __init__(
        self,
        form: str,
        after: int = 0,
        before: int = 0,
        load: Callable[[int], Any] | None = None,
        code: ErrorCode | None = ErrorCode.BAD_PROPERTY_BAD_LEN,
    ) -> None:
        self._struct = Struct(f"!{before}s{form}{after}s")
        self._before, self._after = bytes(before), bytes(after)
        self._load = load
        self._code = code

    def encode(self, value: Any) -> bytes:
        return self._struct.pack(self._before, value, self._after)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        if end - at < self._struct.size:
            raise DecodeError(f"a number cut off at offset {at}", self._code)
        before, value, after = self._struct.unpack_from(buffer, at)
        if before != self._before or after != self._after:
            raise DecodeError(f"padding that is not 0 at offset {at}")
        return (self._load(value) if self._load else value), at + self._struct.size
