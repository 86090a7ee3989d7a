"""The head of multipart messages, as the first members of their records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.openflow.codes import ErrorCode
from controller.openflow.structures.layout import Member, Slot, constant, pad
from controller.openflow.structures.record import Record


def _load_more(flags: int) -> bool:
    if flags > 1:
        raise ValueError(f"flags {flags:#x}")
    return bool(flags)


_MORE = Slot(
    "H", "more", _load_more, lambda more: (int(more),), code=ErrorCode.BAD_REQUEST_BAD_MULTIPART
)


def request(make: type[Any], kind: int, *members: Member) -> Record:
    """One that fits a message."""
    overflow = ErrorCode.BAD_REQUEST_MULTIPART_BUFFER_OVERFLOW
    return Record(make, constant("H", kind), constant("H", 0, overflow), pad(4), *members)


def reply(
    make: type[Any], kind: int, *members: Member, nested: Mapping[str, type[Any]] | None = None
) -> Record:
    """One in parts, with attribute ``more``; a request can be one, too."""
    return Record(make, constant("H", kind), _MORE, pad(4), *members, nested=nested)
