"""Which of several mistakes in a match Open vSwitch names.

The codec refuses a match at the first thing wrong that it sees; a switch looks in another order.
This reads the match of a refused request again, field by field, in Open vSwitch's (`nx-match.c`):
length, known field, bits outside the mask, mask, value, prerequisites, field given before.
"""

from __future__ import annotations

from struct import Struct

from controller.emulator import headers as h
from controller.emulator.validation import port_exists
from controller.openflow.codes import ErrorCode
from controller.openflow.model import Field
from controller.openflow.wire import DecodeError, MessageType

_MATCH_OFFSET = 48
_MATCH = Struct("!HH")
_OXM = Struct("!HBB")
_EXPERIMENTER_CLASS = 0xFFFF
_KNOWN = {f.value[:2]: f for f in h.PLACES}
_FLOW_REQUESTS = (1, 2, 17)


def match_error(message: bytes) -> ErrorCode | None:
    """What is wrong with the match of a flow modification or of a question about flows; None if
    nothing is, or for another message."""
    kind = message[1]
    asks = kind == MessageType.MULTIPART_REQUEST and message[8:10] in _QUESTIONS
    if (kind != MessageType.FLOW_MOD and not asks) or len(message) < _MATCH_OFFSET:
        return None
    if len(message) < _MATCH_OFFSET + _MATCH.size:
        return ErrorCode.BAD_MATCH_BAD_LEN
    form, length = _MATCH.unpack_from(message, _MATCH_OFFSET)
    if length < _MATCH.size:
        return ErrorCode.BAD_MATCH_BAD_LEN
    if form != 1:
        return ErrorCode.BAD_MATCH_BAD_TYPE
    if _MATCH_OFFSET + (length + 7 & ~7) > len(message):
        return ErrorCode.BAD_MATCH_BAD_LEN
    return _fields_error(message[_MATCH_OFFSET + _MATCH.size : _MATCH_OFFSET + length])


_QUESTIONS = [number.to_bytes(2, "big") for number in _FLOW_REQUESTS]


def _fields_error(fields: bytes) -> ErrorCode | None:
    at = 0
    headers = 0
    seen: set[Field] = set()
    while at < len(fields):
        if len(fields) - at < _OXM.size:
            return ErrorCode.BAD_MATCH_BAD_LEN
        kind, number, length = _OXM.unpack_from(fields, at)
        at += _OXM.size
        payload = fields[at : at + length]
        if len(payload) < length or (kind == _EXPERIMENTER_CLASS and length < 4):
            return ErrorCode.BAD_MATCH_BAD_LEN
        at += length
        size = length // 2 if number & 1 else length
        value = int.from_bytes(payload[:size], "big")
        mask = int.from_bytes(payload[size:], "big") if number & 1 else (1 << 8 * size) - 1
        if value & ~mask:
            return ErrorCode.BAD_MATCH_BAD_WILDCARDS
        field = _KNOWN.get((kind, number >> 1))
        if field is None or size != field.bytes:
            return ErrorCode.BAD_MATCH_BAD_FIELD
        error = _value_error(field, value, mask)
        if error is not None:
            return error
        if not h.exists(field, headers):
            return ErrorCode.BAD_MATCH_BAD_PREREQ
        if field in seen:
            return ErrorCode.BAD_MATCH_DUP_FIELD
        if mask:
            seen.add(field)
        headers |= (value & field.all_ones) << h.PLACES[field].shift
    return None


def _value_error(field: Field, value: int, mask: int) -> ErrorCode | None:
    if field in h.UNMASKED and mask not in (0, (1 << 8 * field.bytes) - 1):
        return ErrorCode.BAD_MATCH_BAD_MASK
    wrong = value > field.all_ones
    wrong = wrong or (field is Field.ARP_OP and value > 0xFF)
    wrong = wrong or (field is Field.IN_PORT and not port_exists(value))
    return ErrorCode.BAD_MATCH_BAD_VALUE if wrong else None


def _of_a_match(code: ErrorCode | None) -> bool:
    return code is None or code.name.startswith("BAD_MATCH")


def what_is_wrong(message: bytes, error: DecodeError) -> ErrorCode:
    """What Open vSwitch calls the error of a message that cannot be decoded."""
    found = match_error(message) if _of_a_match(error.code) else None
    return found or error.code or ErrorCode.BAD_REQUEST_BAD_LEN
