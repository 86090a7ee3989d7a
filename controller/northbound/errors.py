"""How a service says no; each transport maps it to its own form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """Names and meanings are those of google.rpc.Code."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """``field`` is the path in the request: ``intents[0].spec.connectivity.endpoints.hosts[2]``."""

    field: str
    description: str


class ServiceError(Exception):
    """``message`` is for people; ``violations`` are all that is wrong with the request, at once."""

    def __init__(self, code: Code, message: str, violations: Sequence[FieldViolation] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.violations = tuple(violations)


def refuse(code: Code, violations: Sequence[FieldViolation]) -> None:
    """Raises ServiceError if there is any violation."""
    if violations:
        text = "; ".join(f"{v.field}: {v.description}" for v in violations[:3])
        rest = f"; and {len(violations) - 3} more" if len(violations) > 3 else ""
        raise ServiceError(code, text + rest, violations)
