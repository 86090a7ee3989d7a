"""What goes wrong with calls, in words that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.rpc import (  # type: ignore[import-untyped]
    error_details_pb2,
    status_pb2,
)

SERVER_VARIABLE = "HEALD_SERVER"


@dataclass(frozen=True)
class Violation:
    """What is wrong with one field: ``intents[0].spec.connectivity.endpoints.hosts[2]``."""

    field: str
    description: str


class HealdError(Exception):
    """A call failed. ``code`` is gRPC's (``INVALID_ARGUMENT``); ``violations`` name fields."""

    def __init__(self, code: str, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.violations = tuple(violations)


class UnreachableError(HealdError):
    """No controller answers at this address, or it went away."""


class IntentFailedError(HealdError):
    """An intent that was waited for cannot become active, or did not in time."""


def translate(error: Any, server: str) -> HealdError:
    """Of a grpc.RpcError, which is a grpc.Call, too, but in no type."""
    code, text = error.code().name, error.details() or ""
    status = _status_details(error)
    if status is not None:
        violations = []
        for detail in status.details:
            bad = error_details_pb2.BadRequest()
            if detail.Unpack(bad):
                violations += [Violation(v.field, v.description) for v in bad.field_violations]
        kind = UnreachableError if code == "UNAVAILABLE" else HealdError
        return kind(code, text, violations)
    if code == "UNAVAILABLE":
        return UnreachableError(
            code,
            f"no controller answers at {server}; start one (heald run FILE), "
            f"or name another with --server or ${SERVER_VARIABLE}",
        )
    if code == "DEADLINE_EXCEEDED":
        return HealdError(code, f"{server} did not answer in time; is it stopped or overloaded?")
    if code == "UNIMPLEMENTED":
        return HealdError(code, f"{server} does not know this call; upgrade the controller")
    return HealdError(code, text)


def _status_details(error: Any) -> Any | None:
    """The google.rpc.Status that a controller sends with its errors, and gRPC itself does not."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value)
    return None
