"""Instructions, in the order of execution. To pass a meter is an action of OpenFlow 1.5; before, it
is an instruction, which is read and written as the first action of ApplyActions."""

from __future__ import annotations

from typing import Any

from controller.openflow.codes import ErrorCode
from controller.openflow.model import (
    ApplyActions,
    ClearActions,
    GotoTable,
    Instruction,
    Metered,
    WriteActions,
    WriteMetadata,
)
from controller.openflow.structures.actions import ACTIONS
from controller.openflow.structures.layout import Codec, Remembered, pad, part, u8, u32, u64
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import Tagged
from controller.openflow.wire import DecodeError

_BAD_LEN = ErrorCode.BAD_INSTRUCTION_BAD_LEN


def _check_metadata(instruction: WriteMetadata) -> None:
    value, mask = instruction.value, instruction.mask
    if not mask or value & ~mask:
        raise ValueError(f"metadata {value:#x}/{mask:#x}: no mask, or bits outside it")


_ONE = {
    1: Record(GotoTable, u8("table"), pad(3), length=_BAD_LEN),
    2: Record(
        WriteMetadata,
        pad(4),
        u64("value"),
        u64("mask"),
        length=_BAD_LEN,
        check=_check_metadata,
        refusal=ErrorCode.BAD_MATCH_BAD_WILDCARDS,
    ),
    3: Record(WriteActions, pad(4), part("actions", ACTIONS), length=_BAD_LEN),
    4: Record(ApplyActions, pad(4), part("actions", ACTIONS), length=_BAD_LEN),
    5: Record(ClearActions, pad(4), length=_BAD_LEN),
}
_METER = {6: Record(Metered, u32("meter_id"), length=_BAD_LEN)}

_UNKNOWN = ErrorCode.BAD_INSTRUCTION_UNKNOWN_INST
_OF_1_5 = Tagged("instruction", _ONE, _BAD_LEN, _UNKNOWN)
_OF_1_3 = Tagged("instruction", _ONE | _METER, _BAD_LEN, _UNKNOWN)

_RANK = {
    Metered: 0,
    ApplyActions: 1,
    ClearActions: 2,
    WriteActions: 3,
    WriteMetadata: 4,
    GotoTable: 5,
}


class _Instructions:
    """All that fill the space; each kind at most once, in any order on the wire."""

    def at(self, version: int) -> Codec:
        return _InstructionsCodec(version)


# Here too the short ones are remembered.
_MOST_REMEMBERED = 2048
_LONGEST_REMEMBERED = 256


class _InstructionsCodec:
    def __init__(self, version: int) -> None:
        self._metered = version < 6
        self._one = (_OF_1_3 if self._metered else _OF_1_5).at(version)
        self._encoded: dict[tuple[Instruction, ...], bytes] = {}

    def encode(self, value: tuple[Instruction, ...]) -> bytes:
        raw = self._encoded.get(value)
        if raw is None:
            raw = self._encode(value)
            if len(raw) <= _LONGEST_REMEMBERED:
                if len(self._encoded) >= _MOST_REMEMBERED:
                    self._encoded.clear()
                self._encoded[value] = raw
        return raw

    def _encode(self, value: tuple[Instruction, ...]) -> bytes:
        """ValueError unless they stand in the order of execution, each at most once and none empty:
        a switch gives back no other form."""
        out = []
        before = -1
        for instruction in value:
            rank = _RANK[type(instruction)]
            if rank <= before:
                raise ValueError(
                    f"{type(instruction).__name__} out of order: at most one each of ApplyActions, "
                    "ClearActions, WriteActions, WriteMetadata, GotoTable, in this order"
                )
            before = rank
            if isinstance(instruction, ApplyActions | WriteActions) and not instruction.actions:
                name = type(instruction).__name__
                raise ValueError(f"{name} without actions: leave the instruction out")
            out.append(self._encode_one(instruction))
        return b"".join(out)

    def _encode_one(self, instruction: Instruction) -> bytes:
        if self._metered and isinstance(instruction, ApplyActions):
            first, *others = instruction.actions
            if isinstance(first, Metered):
                rest = ApplyActions(tuple(others))
                return self._one.encode(first) + (self._one.encode(rest) if others else b"")
        return self._one.encode(instruction)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        found: dict[type, Any] = {}
        while at < end:
            instruction, after = self._one.decode(buffer, at, end)
            if type(instruction) in found:
                raise DecodeError(
                    f"a second {type(instruction).__name__} at offset {at}",
                    ErrorCode.BAD_INSTRUCTION_DUP_INST,
                )
            found[type(instruction)] = instruction
            at = after
        meter = found.pop(Metered, None)
        if meter is not None:
            rest = found.get(ApplyActions, ApplyActions(())).actions
            found[ApplyActions] = ApplyActions((meter, *rest))
        for kind in (ApplyActions, WriteActions):
            if kind in found and not found[kind].actions:
                del found[kind]
        return tuple(sorted(found.values(), key=lambda i: _RANK[type(i)])), end


INSTRUCTIONS = Remembered(_Instructions())
