"""Actions and instructions of OpenFlow 1.5 on the wire."""

from __future__ import annotations

from typing import cast

from controller.openflow.model import Action, Instruction
from controller.openflow.structures.actions import ACTIONS
from controller.openflow.structures.instructions import INSTRUCTIONS
from controller.openflow.wire import VERSION

_ACTIONS = ACTIONS.at(VERSION)
_INSTRUCTIONS = INSTRUCTIONS.at(VERSION)


def encode_actions(actions: tuple[Action, ...]) -> bytes:
    return _ACTIONS.encode(actions)


def encode_instructions(instructions: tuple[Instruction, ...]) -> bytes:
    """ValueError unless they stand in the order of execution, each at most once and none empty: a
    switch gives back no other form."""
    return _INSTRUCTIONS.encode(instructions)


def decode_actions(buffer: bytes, at: int, end: int) -> tuple[Action, ...]:
    """The actions that fill ``at`` to ``end``. Raises InexpressibleError or DecodeError."""
    return cast("tuple[Action, ...]", _ACTIONS.decode(buffer, at, end)[0])


def decode_instructions(buffer: bytes, at: int, end: int) -> tuple[Instruction, ...]:
    """The instructions that fill ``at`` to ``end``, sorted.

    Raises InexpressibleError or DecodeError.
    """
    return cast("tuple[Instruction, ...]", _INSTRUCTIONS.decode(buffer, at, end)[0])
