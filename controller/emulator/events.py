"""What happens to a switch, and what it does."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.emulator.ports import PortEntry

# ---- Events ----


@dataclass(frozen=True, slots=True)
class Connected:
    """A controller's connection is there; ``connection`` names it from now on."""

    connection: Hashable


@dataclass(frozen=True, slots=True)
class Disconnected:
    connection: Hashable


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """An Ethernet frame, without its checksum, comes in by a port."""

    port: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The carrier of a port."""

    port: int
    up: bool


@dataclass(frozen=True, slots=True)
class LivenessChanged:
    """Whether the port's liveness protocol (BFD, say) hears the other end."""

    port: int
    alive: bool


@dataclass(frozen=True, slots=True)
class PortAdded:
    port: PortEntry


@dataclass(frozen=True, slots=True)
class PortRemoved:
    port: int


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Timeouts are looked at before every event; this one has nothing else."""


Event: TypeAlias = (
    Connected
    | Disconnected
    | FrameReceived
    | LinkChanged
    | LivenessChanged
    | PortAdded
    | PortRemoved
    | TimePassed
)


# ---- Effects ----


@dataclass(frozen=True, slots=True)
class Emitted:
    """A frame that leaves by a port; ``queue`` is None for the default one."""

    port: int
    data: bytes
    headers: int
    queue: int | None


@dataclass(slots=True)
class Effects:
    """``messages``: bytes for each connection. ``closed``: connections that the switch ends, once
    their bytes are sent."""

    messages: dict[Hashable, bytes] = field(default_factory=dict)
    frames: list[Emitted] = field(default_factory=list)
    closed: list[Hashable] = field(default_factory=list)
