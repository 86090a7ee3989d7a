"""OpenFlow extensible match: (class, field, mask?, length) value [mask], and whole matches."""

from __future__ import annotations

from struct import Struct

from controller.openflow.codes import ErrorCode
from controller.openflow.model import Field, Match, MatchField
from controller.openflow.prerequisites import may_follow
from controller.openflow.wire import DecodeError

OPENFLOW_BASIC = 0x8000
_PACKET_TYPE = 44
_HAS_MASK = 1 << 8
_MATCH_OXM = 1

_HEADER = Struct("!I")
_MATCH = Struct("!HH")

# (header without mask, bytes, all ones): thousands of matches are encoded at once, and properties
# of an enumeration member are slow.
_LAYOUT = {f: (f.order[0] << 16 | f.order[1] << 9 | f.bytes, f.bytes, f.all_ones) for f in Field}
_FIELDS = {f.order[0] << 7 | f.order[1]: f for f in Field}
_MATCHABLE = {f for f in Field if f.order[0] == OPENFLOW_BASIC}
_RANK = {f: f.order for f in Field}

# Nicira's older names (class, number) of fields that it numbered before OpenFlow did.
_NICIRA_NAMES = {
    Field.ETH_DST: (0, 1),
    Field.ETH_SRC: (0, 2),
    Field.ETH_TYPE: (0, 3),
    Field.IP_PROTO: (0, 6),
    Field.IPV4_SRC: (0, 7),
    Field.IPV4_DST: (0, 8),
    Field.TCP_SRC: (0, 9),
    Field.TCP_DST: (0, 10),
    Field.UDP_SRC: (0, 11),
    Field.UDP_DST: (0, 12),
    Field.ICMPV4_TYPE: (0, 13),
    Field.ICMPV4_CODE: (0, 14),
    Field.ARP_OP: (0, 15),
    Field.ARP_SPA: (0, 16),
    Field.ARP_TPA: (0, 17),
    Field.TUNNEL_ID: (1, 16),
    Field.ARP_SHA: (1, 17),
    Field.ARP_THA: (1, 18),
    Field.IPV6_SRC: (1, 19),
    Field.IPV6_DST: (1, 20),
    Field.ICMPV6_TYPE: (1, 21),
    Field.ICMPV6_CODE: (1, 22),
    Field.IPV6_ND_TARGET: (1, 23),
    Field.IPV6_ND_SLL: (1, 24),
    Field.IPV6_ND_TLL: (1, 25),
    Field.IPV6_FLABEL: (1, 27),
    Field.IP_ECN: (1, 28),
    Field.TCP_FLAGS: (1, 34),
}
_NICIRA_HEADERS = {f: c << 16 | n << 9 | f.bytes for f, (c, n) in _NICIRA_NAMES.items()}
_FIELDS_BY_HEADER = {head: f for f, (head, _, _) in _LAYOUT.items()} | {
    head: f for f, head in _NICIRA_HEADERS.items()
}


class InexpressibleError(DecodeError):
    """Well-formed, but the model has no words for it."""


def padded(length: int) -> int:
    return length + 7 & ~7


def header_of_field(field: Field) -> int:
    """The 32 bits that name a whole field, as in a copy-field action."""
    return _LAYOUT[field][0]


def nicira_header_of_field(field: Field) -> int:
    """The name that Open vSwitch uses in reg_load: Nicira's own wherever it has one."""
    return _NICIRA_HEADERS.get(field, _LAYOUT[field][0])


def field_of_header(header: int, where: str = "") -> Field:
    """Of either name of a field. Raises InexpressibleError."""
    field = _FIELDS_BY_HEADER.get(header)
    if field is None:
        raise InexpressibleError(
            f"unknown field {header:#010x}{where}",
            ErrorCode.BAD_ACTION_BAD_SET_TYPE,
        )
    return field


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


def decode_field(
    buffer: bytes, at: int, end: int, *, strict: bool = False
) -> tuple[MatchField | None, int]:
    """(field, offset after it); None for one that says nothing.

    Raises InexpressibleError for an unknown field, DecodeError for one that overflows ``end``.
    ``strict``: refuse bits outside the mask, as a switch must.
    """
    if end - at < _HEADER.size:
        raise DecodeError(f"field header cut off at offset {at}", ErrorCode.BAD_MATCH_BAD_LEN)
    (word,) = _HEADER.unpack_from(buffer, at)
    field, has_mask, length = _FIELDS.get(word >> 9), word & _HAS_MASK, word & 0xFF
    value_at = at + _HEADER.size
    after = value_at + length
    if after > end:
        raise DecodeError(
            f"field of {length} bytes overflows what holds it at offset {at}",
            ErrorCode.BAD_MATCH_BAD_LEN,
        )
    if field is None:
        # A switch spells out "is an Ethernet frame" where no Ethernet field implies it.
        if buffer[at:after] == _ETHERNET:
            return None, after
        raise InexpressibleError(
            f"unknown field {buffer[at : at + 4].hex()} at offset {at}",
            ErrorCode.BAD_MATCH_BAD_FIELD,
        )
    _, size, full = _LAYOUT[field]
    if length != (2 * size if has_mask else size):
        raise DecodeError(
            # Open vSwitch's answer: to it the length is part of a field's name.
            f"{field.name} with length {length} at offset {at}",
            ErrorCode.BAD_MATCH_BAD_FIELD,
        )
    value = int.from_bytes(buffer[value_at : value_at + size], "big")
    if not has_mask:
        if value > full:
            raise _too_large(field, value, at, ErrorCode.BAD_MATCH_BAD_VALUE)
        return MatchField(field, value), after
    mask = int.from_bytes(buffer[value_at + size : after], "big")
    if mask > full:
        raise _too_large(field, mask, at, ErrorCode.BAD_MATCH_BAD_MASK)
    if strict and value & ~mask:
        raise DecodeError(
            f"{field.name}={value:#x} has bits outside its mask {mask:#x} at offset {at}",
            ErrorCode.BAD_MATCH_BAD_WILDCARDS,
        )
    if not mask:
        return None, after
    return MatchField(field, value & mask, None if mask == full else mask), after


def _too_large(field: Field, number: int, at: int, code: ErrorCode) -> InexpressibleError:
    return InexpressibleError(
        f"{field.name}: {number:#x} does not fit {field.bits} bits at offset {at}", code
    )


_ETHERNET = _HEADER.pack(OPENFLOW_BASIC << 16 | _PACKET_TYPE << 9 | 4) + bytes(4)


def match_extent(buffer: bytes, at: int, end: int) -> tuple[int, int]:
    """(end of the fields, end of the padding) of the match at ``at``."""
    if end - at < _MATCH.size:
        raise DecodeError(f"match cut off at offset {at}", ErrorCode.BAD_MATCH_BAD_LEN)
    kind, length = _MATCH.unpack_from(buffer, at)
    if kind != _MATCH_OXM:
        raise DecodeError(
            f"match type {kind} instead of {_MATCH_OXM} at offset {at}",
            ErrorCode.BAD_MATCH_BAD_TYPE,
        )
    if length < _MATCH.size or at + padded(length) > end:
        raise DecodeError(f"match length {length} at offset {at}", ErrorCode.BAD_MATCH_BAD_LEN)
    return at + length, at + padded(length)


def decode_match(buffer: bytes, at: int, end: int, *, strict: bool = False) -> tuple[Match, int]:
    """(match, offset after its padding). Raises InexpressibleError or DecodeError.

    ``strict``: refuse bits outside a mask, and a field that does not follow the ones that make it
    exist, as a switch must.
    """
    fields_end, after = match_extent(buffer, at, end)
    found: dict[Field, MatchField] = {}
    at += _MATCH.size
    while at < fields_end:
        entry, following = decode_field(buffer, at, fields_end, strict=strict)
        if entry is not None:
            field = entry.field
            if field in found:
                raise InexpressibleError(
                    f"{field.name} twice at offset {at}", ErrorCode.BAD_MATCH_DUP_FIELD
                )
            if field not in _MATCHABLE:
                raise InexpressibleError(
                    f"{field.name} cannot be matched at offset {at}", ErrorCode.BAD_MATCH_BAD_FIELD
                )
            if strict and not may_follow(field, found):
                raise DecodeError(
                    f"{field.name} without what makes it exist at offset {at}",
                    ErrorCode.BAD_MATCH_BAD_PREREQ,
                )
            found[field] = entry
        at = following
    if buffer[fields_end:after].strip(b"\0"):
        raise DecodeError(f"match with padding that is not 0 at offset {fields_end}")
    fields = tuple(found.values())
    order = list(map(_order, fields))
    if order != sorted(order):
        fields = tuple(sorted(fields, key=_order))
    return Match(fields), after


def _order(entry: MatchField) -> tuple[int, int]:
    return _RANK[entry.field]
