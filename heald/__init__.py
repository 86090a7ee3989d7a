"""Heald's generated API stubs, its client library, and the one name that is surely ours."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heald.client import (
        Client,
        HealdError,
        IntentFailedError,
        UnreachableError,
        Violation,
        connect,
        connectivity,
        intent_name,
    )

__all__ = [
    "Client",
    "HealdError",
    "IntentFailedError",
    "UnreachableError",
    "Violation",
    "connect",
    "connectivity",
    "intent_name",
]


def __getattr__(name: str) -> object:
    # gRPC takes a quarter of a second to import, which the start-up check must not wait for.
    if name in __all__:
        from heald import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
