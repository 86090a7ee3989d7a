"""Places of switches in a network, their connections, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from controller.emulator.personas import Persona
from controller.emulator.switch import Switch
from controller.emulator.wires import NicRef
from controller.openflow.wire import MessageType


@dataclass(slots=True)
class Connection:
    """``unread``: sent by the controller, not yet read by the switch. ``free_s``: when the last
    message under way to the controller arrives, which no later one overtakes."""

    unread: list[bytes] = field(default_factory=list)
    free_s: float = float("-inf")
    received_bytes: int = 0
    sent_bytes: int = 0


@dataclass(slots=True, eq=False)
class Node:
    """A place with a switch in it, and what is wrong with it.

    ``clock`` turns the time into the switch's own. ``epoch`` counts the switches that have been
    here. ``stalled``: it reads nothing. ``delay`` is asked for the seconds that each message takes
    to the controller, ``loses`` whether an answer of this type gets lost. ``cuts_after`` is how
    many more bytes, to the switch and from it, its connections live. ``count_factor`` is what it
    counts for each packet and byte.
    """

    name: str
    switch: Switch | None
    persona: Persona
    epoch: int = 0
    clock: Callable[[float], float] | None = None
    connections: dict[Hashable, Connection] = field(default_factory=dict)
    stalled: bool = False
    delay: Callable[[], float] | None = None
    loses: Callable[[int], bool] | None = None
    cuts_after: list[int | None] = field(default_factory=lambda: [None, None])
    count_factor: float = 1.0
    wakes_s: float = float("inf")

    @property
    def troubled(self) -> bool:
        """Whether anything is wrong with its connections."""
        faults = self.delay, self.loses, *self.cuts_after
        return self.stalled or any(each is not None for each in faults)

    def local(self, now: float) -> float:
        return now if self.clock is None else self.clock(now)


@dataclass(frozen=True, slots=True)
class HostFrame:
    """A frame that a host receives."""

    nic: NicRef
    data: bytes
    time_s: float


@dataclass(slots=True)
class Output:
    """``messages``: (switch, connection, bytes) for controllers; ``closed``: connections that their
    switch has ended, after the bytes."""

    messages: list[tuple[str, Hashable, bytes]] = field(default_factory=list)
    closed: list[tuple[str, Hashable]] = field(default_factory=list)
    frames: list[HostFrame] = field(default_factory=list)


NEVER_LOST = frozenset({MessageType.HELLO, MessageType.ECHO_REQUEST})
