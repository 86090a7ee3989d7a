"""Actions and instructions on the wire."""

from __future__ import annotations

from struct import Struct

from controller.openflow import oxm
from controller.openflow.model import (
    Action,
    ApplyActions,
    CopyField,
    GotoTable,
    Instruction,
    Metered,
    Output,
    SetField,
    SetQueue,
    ToGroup,
    WriteMetadata,
)
from controller.openflow.oxm import InexpressibleError, padded
from controller.openflow.wire import DecodeError

_OUTPUT, _SET_QUEUE, _GROUP, _SET_FIELD, _COPY_FIELD, _METER = 0, 21, 22, 25, 28, 29
_GOTO_TABLE, _WRITE_METADATA, _APPLY_ACTIONS = 1, 2, 4

_TLV = Struct("!HH")
_ONE_WORD = Struct("!HHI")
_OUTPUT_ACTION = Struct("!HHIH6x")
_COPY_ACTION = Struct("!HHHHH2x")
_GOTO = Struct("!HHB3x")
_METADATA = Struct("!HH4xQQ")


def encode_actions(actions: tuple[Action, ...]) -> bytes:
    return b"".join([_encode_action(action) for action in actions])


def _encode_action(action: Action) -> bytes:
    if isinstance(action, Output):
        return _OUTPUT_ACTION.pack(_OUTPUT, _OUTPUT_ACTION.size, action.port, action.max_len)
    if isinstance(action, ToGroup):
        return _ONE_WORD.pack(_GROUP, _ONE_WORD.size, action.group_id)
    if isinstance(action, SetQueue):
        return _ONE_WORD.pack(_SET_QUEUE, _ONE_WORD.size, action.queue)
    if isinstance(action, Metered):
        return _ONE_WORD.pack(_METER, _ONE_WORD.size, action.meter_id)
    if isinstance(action, SetField):
        body = oxm.encode_field(action.field, action.value, action.mask)
        head = _TLV.pack(_SET_FIELD, padded(_TLV.size + len(body)))
    else:
        _check_copy(action)
        body = oxm.encode_header(action.source) + oxm.encode_header(action.target)
        head = _COPY_ACTION.pack(
            _COPY_FIELD,
            padded(_COPY_ACTION.size + len(body)),
            action.bits,
            action.source_offset,
            action.target_offset,
        )
    length = len(head) + len(body)
    return head + body + bytes(padded(length) - length)


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


_RANK = {ApplyActions: 0, WriteMetadata: 1, GotoTable: 2}


def encode_instructions(instructions: tuple[Instruction, ...]) -> bytes:
    """ValueError unless they stand in the order of execution (apply, metadata, goto), each at most
    once and none empty: a switch gives back no other form."""
    out = []
    before = -1
    for instruction in instructions:
        rank = _RANK[type(instruction)]
        if rank <= before:
            raise ValueError(
                f"{type(instruction).__name__} out of order: "
                "at most one each of ApplyActions, WriteMetadata, GotoTable, in this order"
            )
        before = rank
        out.append(_encode_instruction(instruction))
    return b"".join(out)


def _encode_instruction(instruction: Instruction) -> bytes:
    if isinstance(instruction, ApplyActions):
        if not instruction.actions:
            raise ValueError("ApplyActions without actions: leave the instruction out")
        body = encode_actions(instruction.actions)
        return _ONE_WORD.pack(_APPLY_ACTIONS, _ONE_WORD.size + len(body), 0) + body
    if isinstance(instruction, WriteMetadata):
        value, mask = instruction.value, instruction.mask
        if not mask or value & ~mask:
            raise ValueError(f"metadata {value:#x}/{mask:#x}: no mask, or bits outside it")
        return _METADATA.pack(_WRITE_METADATA, _METADATA.size, value, mask)
    return _GOTO.pack(_GOTO_TABLE, _GOTO.size, instruction.table)


def decode_actions(buffer: bytes, at: int, end: int) -> tuple[Action, ...]:
    """The actions that fill ``at`` to ``end``. Raises InexpressibleError or DecodeError."""
    actions = []
    while at < end:
        kind, after = _extent(buffer, at, end, "action")
        actions.append(_decode_action(buffer, at, after, kind))
        at = after
    return tuple(actions)


def _decode_action(buffer: bytes, at: int, after: int, kind: int) -> Action:
    length = after - at
    if kind == _OUTPUT:
        _exactly(length, _OUTPUT_ACTION.size, "output", at)
        _, _, port, max_len = _OUTPUT_ACTION.unpack_from(buffer, at)
        return Output(port, max_len)
    if kind in (_GROUP, _SET_QUEUE, _METER):
        _exactly(length, _ONE_WORD.size, "action", at)
        (_, _, number) = _ONE_WORD.unpack_from(buffer, at)
        if kind == _GROUP:
            return ToGroup(number)
        return SetQueue(number) if kind == _SET_QUEUE else Metered(number)
    if kind == _SET_FIELD:
        entry, _ = oxm.decode_field(buffer, at + _TLV.size, after)
        if entry is None:
            raise InexpressibleError
        return SetField(entry.field, entry.value, entry.mask)
    if kind == _COPY_FIELD:
        return _decode_copy(buffer, at, after)
    raise InexpressibleError


def _decode_copy(buffer: bytes, at: int, after: int) -> CopyField:
    if after - at < _COPY_ACTION.size + 8:
        raise DecodeError(f"copy-field action of {after - at} bytes at offset {at}")
    _, _, bits, source_offset, target_offset = _COPY_ACTION.unpack_from(buffer, at)
    source, _, _ = oxm.decode_header(buffer, at + _COPY_ACTION.size, after)
    target, _, _ = oxm.decode_header(buffer, at + _COPY_ACTION.size + 4, after)
    if source is None or target is None:
        raise InexpressibleError
    return CopyField(source, target, bits, source_offset, target_offset)


def decode_instructions(buffer: bytes, at: int, end: int) -> tuple[Instruction, ...]:
    """The instructions that fill ``at`` to ``end``, sorted.

    Raises InexpressibleError or DecodeError.
    """
    found: dict[int, Instruction] = {}
    while at < end:
        kind, after = _extent(buffer, at, end, "instruction")
        if kind in found:
            raise DecodeError(f"a second instruction of type {kind} at offset {at}")
        length = after - at
        if kind == _APPLY_ACTIONS:
            actions = decode_actions(buffer, at + _ONE_WORD.size, after)
            if actions:
                found[kind] = ApplyActions(actions)
        elif kind == _WRITE_METADATA:
            _exactly(length, _METADATA.size, "write-metadata", at)
            _, _, value, mask = _METADATA.unpack_from(buffer, at)
            found[kind] = WriteMetadata(value & mask, mask)
        elif kind == _GOTO_TABLE:
            _exactly(length, _GOTO.size, "goto-table", at)
            found[kind] = GotoTable(buffer[at + _TLV.size])
        else:
            raise InexpressibleError
        at = after
    return tuple(sorted(found.values(), key=lambda i: _RANK[type(i)]))


def _extent(buffer: bytes, at: int, end: int, what: str) -> tuple[int, int]:
    """(type, offset after it) of the action or instruction at ``at``."""
    if end - at < _ONE_WORD.size:
        raise DecodeError(f"{what} cut off at offset {at}")
    kind, length = _TLV.unpack_from(buffer, at)
    if length < _ONE_WORD.size or length % 8 or length > end - at:
        raise DecodeError(f"{what} length {length} at offset {at}")
    return kind, at + length


def _exactly(length: int, expected: int, what: str, at: int) -> None:
    if length != expected:
        raise DecodeError(f"{what} of {length} bytes instead of {expected} at offset {at}")
