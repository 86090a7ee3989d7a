"""OpenFlow extensible match: (class, field, mask?, length) value [mask], and whole matches."""

from __future__ import annotations

from struct import Struct

from controller.openflow.model import Field, Match, MatchField
from controller.openflow.wire import DecodeError

OPENFLOW_BASIC = 0x8000
_PACKET_TYPE = 44
_HAS_MASK = 1 << 8
_MATCH_OXM = 1

_HEADER = Struct("!I")
_MATCH = Struct("!HH")

# (header without mask, bytes, all ones): thousands of matches are encoded at once, and properties
# of an enumeration member are slow.
_LAYOUT = {f: (f.value[0] << 16 | f.value[1] << 9 | f.bytes, f.bytes, f.all_ones) for f in Field}
_FIELDS = {f.value[0] << 7 | f.value[1]: f for f in Field}
_MATCHABLE = {f for f in Field if f.value[0] == OPENFLOW_BASIC}
_RANK = {f: f.value[:2] for f in Field}


class InexpressibleError(Exception):
    """Well-formed, but the model has no words for it (never leaves this package)."""


def padded(length: int) -> int:
    return length + 7 & ~7


def encode_header(field: Field) -> bytes:
    """The four bytes that name a whole field, as in a copy-field action."""
    return _HEADER.pack(_LAYOUT[field][0])


def encode_field(field: Field, value: int, mask: int | None) -> bytes:
    """One type-length-value; ValueError for what a switch would not give back as it was sent."""
    head, size, full = _LAYOUT[field]
    if not 0 <= value <= full:
        raise ValueError(f"{field.name}={value:#x} does not fit {field.bits} bits")
    if mask is None:
        return _HEADER.pack(head) + value.to_bytes(size, "big")
    if not 0 < mask < full:
        raise ValueError(f"{field.name} mask {mask:#x}: full is None, empty is no field at all")
    if value & ~mask:
        raise ValueError(f"{field.name}={value:#x} has bits outside its mask {mask:#x}")
    return (
        _HEADER.pack(head + size | _HAS_MASK)
        + value.to_bytes(size, "big")
        + mask.to_bytes(size, "big")
    )


def encode_match(match: Match) -> bytes:
    """The padded ``ofp_match``, the same bytes for equal matches.

    Only OpenFlow's own fields can be matched: Open vSwitch gives registers back under other names
    and its other extensions not at all (ValueError; metadata serves instead of a register).
    """
    tlvs = []
    for f in match.fields:
        if f.field not in _MATCHABLE:
            raise ValueError(f"{f.field.name} can be set and copied, but not matched")
        tlvs.append(encode_field(f.field, f.value, f.mask))
    body = b"".join(tlvs)
    length = _MATCH.size + len(body)
    return _MATCH.pack(_MATCH_OXM, length) + body + bytes(padded(length) - length)


def decode_header(buffer: bytes, at: int, end: int) -> tuple[Field | None, bool, int]:
    """(field or None when unknown, has mask, value length with mask) of the header at ``at``."""
    if end - at < _HEADER.size:
        raise DecodeError(f"field header cut off at offset {at}")
    (word,) = _HEADER.unpack_from(buffer, at)
    field = _FIELDS.get(word >> 9)
    return field, bool(word & _HAS_MASK), word & 0xFF


def decode_field(buffer: bytes, at: int, end: int) -> tuple[MatchField | None, int]:
    """(field, offset after it); None for one that says nothing.

    Raises InexpressibleError for an unknown field, DecodeError for one that overflows ``end``.
    """
    field, has_mask, length = decode_header(buffer, at, end)
    value_at = at + _HEADER.size
    after = value_at + length
    if after > end:
        raise DecodeError(f"field of {length} bytes overflows what holds it at offset {at}")
    if field is None:
        # A switch spells out "is an Ethernet frame" where no Ethernet field implies it.
        if buffer[at:after] == _ETHERNET:
            return None, after
        raise InexpressibleError
    _, size, full = _LAYOUT[field]
    if length != (2 * size if has_mask else size):
        raise DecodeError(f"{field.name} with length {length} at offset {at}")
    value = int.from_bytes(buffer[value_at : value_at + size], "big")
    mask = int.from_bytes(buffer[value_at + size : after], "big") if has_mask else full
    if value > full or mask > full:
        raise InexpressibleError
    if not mask:
        return None, after
    return MatchField(field, value & mask, None if mask == full else mask), after


_ETHERNET = _HEADER.pack(OPENFLOW_BASIC << 16 | _PACKET_TYPE << 9 | 4) + bytes(4)


def match_extent(buffer: bytes, at: int, end: int) -> tuple[int, int]:
    """(end of the fields, end of the padding) of the match at ``at``."""
    if end - at < _MATCH.size:
        raise DecodeError(f"match cut off at offset {at}")
    kind, length = _MATCH.unpack_from(buffer, at)
    if kind != _MATCH_OXM:
        raise DecodeError(f"match type {kind} instead of {_MATCH_OXM} at offset {at}")
    if length < _MATCH.size or at + padded(length) > end:
        raise DecodeError(f"match length {length} at offset {at}")
    return at + length, at + padded(length)


def decode_match(buffer: bytes, at: int, end: int) -> tuple[Match, int]:
    """(match, offset after its padding). Raises InexpressibleError or DecodeError."""
    fields_end, after = match_extent(buffer, at, end)
    found: dict[Field, MatchField] = {}
    at += _MATCH.size
    while at < fields_end:
        entry, at = decode_field(buffer, at, fields_end)
        if entry is not None:
            if entry.field in found or entry.field not in _MATCHABLE:
                raise InexpressibleError
            found[entry.field] = entry
    return Match(tuple(sorted(found.values(), key=_order))), after


def _order(entry: MatchField) -> tuple[int, int]:
    return _RANK[entry.field]
