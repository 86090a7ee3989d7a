"""Heald's generated API stubs, its client library, and the one name that is surely ours."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heald.builders import connectivity, intent_name, point_to_point
    from heald.client import Client, connect
    from heald.errors import HealdError, IntentFailedError, UnreachableError, Violation

__all__ = [
    "Client",
    "HealdError",
    "IntentFailedError",
    "UnreachableError",
    "Violation",
    "connect",
    "connectivity",
    "intent_name",
    "point_to_point",
]


def __getattr__(name: str) -> object:
    # gRPC takes a quarter of a second to import, which the start-up check must not wait for.
    if name in __all__:
        from heald import builders, client, errors

        home = next(module for module in (builders, client, errors) if hasattr(module, name))
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
