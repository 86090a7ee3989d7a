"""Actions: OpenFlow's own, and Open vSwitch's where version 1.3 or 1.4 has none.

A set-field with a mask is OpenFlow 1.5. Before, it is Nicira's reg_load, which sets neighbouring
bits, 64 at most, or else reg_load2. Copy-field is the ONF's extension 320 in OpenFlow 1.3, and
Nicira's reg_move in 1.4, as Open vSwitch has them; both read both. A reg_load of all bits is read
as the set-field that it equals.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from controller.openflow import oxm
from controller.openflow.codes import ErrorCode
from controller.openflow.model import (
    Action,
    CopyField,
    DecTtl,
    Field,
    Metered,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    SetQueue,
    SetTtl,
    ToGroup,
)
from controller.openflow.oxm import InexpressibleError
from controller.openflow.structures.layout import (
    Codec,
    Fixed,
    Remembered,
    Sequence,
    Slot,
    Structure,
    pad,
    u8,
    u16,
    u32,
    until,
)
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import EXPERIMENTER, decode_body, tlv, tlv_extent
from controller.openflow.wire import DecodeError

_BAD_LEN = ErrorCode.BAD_ACTION_BAD_LEN
_BAD_ARGUMENT = ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT
_SET_FIELD = 25
_NICIRA, _ONF = 0x2320, 0x4F4E4600
_REG_MOVE = (_NICIRA, 6)
_REG_LOAD = (_NICIRA, 7)
_REG_LOAD2 = (_NICIRA, 33)
_ONF_COPY_FIELD = (_ONF, 3200)


def _field_name(name: str, header: Callable[[Field], int] = oxm.header_of_field) -> Slot:
    return Slot("I", name, oxm.field_of_header, lambda field: (header(field),))


def _check_copy(action: CopyField) -> None:
    for field, offset in (
        (action.source, action.source_offset),
        (action.target, action.target_offset),
    ):
        if action.bits < 1 or offset < 0 or offset + action.bits > field.bits:
            raise ValueError(
                f"copying {action.bits} bits at {offset} does not fit {field.name}, "
                f"which has {field.bits}"
            )


_BITS = (u16("bits"), u16("source_offset"), u16("target_offset"))
_COPY_FIELD = Record(
    CopyField,
    *until(5, pad(2)),
    *_BITS,
    pad(2),
    _field_name("source"),
    _field_name("target"),
    length=_BAD_LEN,
    check=_check_copy,
    refusal=_BAD_ARGUMENT,
)
_MOVE = Record(
    CopyField,
    *_BITS,
    _field_name("source", oxm.nicira_header_of_field),
    _field_name("target", oxm.nicira_header_of_field),
    length=_BAD_LEN,
    check=_check_copy,
    refusal=_BAD_ARGUMENT,
)

_OWN: dict[int, Record] = {
    0: Record(Output, u32("port"), u16("max_len"), pad(6), length=_BAD_LEN),
    17: Record(PushVlan, u16("ethertype"), pad(2), length=_BAD_LEN),
    18: Record(PopVlan, pad(4), length=_BAD_LEN),
    21: Record(SetQueue, u32("queue"), length=_BAD_LEN),
    22: Record(ToGroup, u32("group_id"), length=_BAD_LEN),
    23: Record(SetTtl, u8("ttl"), pad(3), length=_BAD_LEN),
    24: Record(DecTtl, pad(4), length=_BAD_LEN),
}
_OF_1_5: dict[int, Record] = {
    28: _COPY_FIELD,
    29: Record(Metered, u32("meter_id"), length=_BAD_LEN),
}


class _SetFieldBody(Fixed):
    """A field with its value; under a mask only where ``masked``."""

    def __init__(self, masked: bool) -> None:
        self._masked = masked

    def encode(self, value: SetField) -> bytes:
        return oxm.encode_field(value.field, value.value, value.mask)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[SetField, int]:
        entry, after = oxm.decode_field(buffer, at, end, strict=True)
        if entry is None:
            raise DecodeError(f"set-field that sets nothing at offset {at}", _BAD_ARGUMENT)
        if entry.mask is not None and not self._masked:
            raise DecodeError(
                f"set-field under a mask at offset {at}", ErrorCode.BAD_ACTION_BAD_SET_MASK
            )
        return SetField(entry.field, entry.value, entry.mask), after


class _RegLoad(Fixed):
    """Nicira's: sets ``count`` bits from ``offset`` on."""

    _struct = Struct("!HIQ")

    def encode(self, value: SetField) -> bytes:
        offset, count = _run(value.mask or value.field.all_ones)
        header = oxm.nicira_header_of_field(value.field)
        return self._struct.pack(offset << 6 | count - 1, header, value.value >> offset)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[SetField, int]:
        if end - at < self._struct.size:
            raise DecodeError(f"reg_load cut off at offset {at}", _BAD_LEN)
        where, header, value = self._struct.unpack_from(buffer, at)
        offset, count = where >> 6, (where & 0x3F) + 1
        field = oxm.field_of_header(header, f" at offset {at}")
        if offset + count > field.bits or value >> count:
            raise DecodeError(
                f"reg_load of {value:#x} to {count} bits from {offset} of {field.name}, "
                f"which has {field.bits}, at offset {at}",
                _BAD_ARGUMENT,
            )
        mask = ((1 << count) - 1) << offset
        exact = mask == field.all_ones
        return SetField(field, value << offset, None if exact else mask), at + self._struct.size


def _run(mask: int) -> tuple[int, int]:
    """(offset, count) of the ones from the lowest to the highest."""
    offset = (mask & -mask).bit_length() - 1
    return offset, mask.bit_length() - offset


class _RegLoad2(_SetFieldBody):
    def encode(self, value: SetField) -> bytes:
        return bytes(6) + super().encode(value)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[SetField, int]:
        if end - at < 6 or buffer[at : at + 6] != bytes(6):
            raise DecodeError(f"reg_load2 with padding that is not 0 at offset {at}")
        return super().decode(buffer, at + 6, end)


class _Action:
    """One action."""

    def at(self, version: int) -> Codec:
        return _ActionCodec(version)


class _ActionCodec:
    def __init__(self, version: int) -> None:
        self._masked = version >= 6
        structures: dict[int, Structure] = {**_OWN, _SET_FIELD: _SetFieldBody(self._masked)}
        if self._masked:
            structures |= _OF_1_5
        self._by_kind = {kind: s.at(version) for kind, s in structures.items()}
        self._by_class = {
            r.make: (kind, self._by_kind[kind])
            for kind, r in (_OWN | _OF_1_5).items()
            if kind in self._by_kind
        }
        self._by_class[SetField] = (_SET_FIELD, self._by_kind[_SET_FIELD])
        self._extensions: dict[tuple[int, int], Codec] = {}
        if not self._masked:
            self._extensions = {
                _REG_LOAD: _RegLoad(),
                _REG_LOAD2: _RegLoad2(True),
                _REG_MOVE: _MOVE.at(version),
                _ONF_COPY_FIELD: _COPY_FIELD.at(version),
            }
        self._copy = _ONF_COPY_FIELD if version == 4 else _REG_MOVE

    def encode(self, value: Action) -> bytes:
        if self._extensions and isinstance(value, CopyField):
            return self._encode_extension(self._copy, value)
        if self._extensions and isinstance(value, SetField) and value.mask is not None:
            # Checks the value; what it encodes to is not used by reg_load.
            oxm.encode_field(value.field, value.value, value.mask)
            offset, count = _run(value.mask)
            neighbours = count <= 64 and value.mask == ((1 << count) - 1) << offset
            return self._encode_extension(_REG_LOAD if neighbours else _REG_LOAD2, value)
        found = self._by_class.get(type(value))
        if found is None:
            raise ValueError(f"{value}: no action of its own before OpenFlow 1.5")
        return tlv(found[0], found[1].encode(value))

    def _encode_extension(self, which: tuple[int, int], action: Action) -> bytes:
        return tlv(EXPERIMENTER, _SUBTYPE.pack(*which) + self._extensions[which].encode(action))

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        kind, after = tlv_extent(buffer, at, end, "action", _BAD_LEN)
        codec = self._by_kind.get(kind)
        start = at + 4
        if kind == EXPERIMENTER and self._extensions and after - start >= _SUBTYPE.size:
            which = _SUBTYPE.unpack_from(buffer, start)
            codec = self._extensions.get(which)
            start += _SUBTYPE.size
        if codec is None:
            code = ErrorCode.BAD_ACTION_BAD_TYPE
            if kind == EXPERIMENTER:
                code = ErrorCode.BAD_ACTION_BAD_EXPERIMENTER
            raise InexpressibleError(f"action of unknown type {kind} at offset {at}", code)
        return decode_body(codec, buffer, start, after, "action", _BAD_LEN), after


_SUBTYPE = Struct("!IH")

ACTIONS = Remembered(Sequence(_Action()))
