"""What can go wrong. A fault has consequences, which is all that a controller sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias


class FaultError(ValueError):
    """A script does not say what it must, or names what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyFault:
    """From ``at_s`` to ``until_s``, or for good where that is None."""

    kind: ClassVar[str]
    at_s: float
    until_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault(AnyFault):
    wire: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFault(AnyFault):
    switch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown(WireFault):
    """Both ends lose their carrier."""

    kind: ClassVar[str] = "link-down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flapping(WireFault):
    """Down for ``down_share`` of each period, from its beginning."""

    kind: ClassVar[str] = "flapping"
    period_s: float
    down_share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentLoss(WireFault):
    """The share ``rate`` of what is sent does not arrive, and nobody counts it. ``towards`` is the
    switch or host that loses; None for both."""

    kind: ClassVar[str] = "silent-loss"
    rate: float
    towards: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(WireFault):
    """What is sent arrives ``extra_s`` later."""

    kind: ClassVar[str] = "latency"
    extra_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLoss(SwitchFault):
    """Connections end, neighbours lose their carriers; what comes back has empty tables."""

    kind: ClassVar[str] = "power-loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class StalledReader(SwitchFault):
    """The switch reads nothing of what controllers send, and then all of it."""

    kind: ClassVar[str] = "stalled-reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedReplies(SwitchFault):
    """Each message to a controller takes a random time: in order on one connection, out of order
    with those of other switches."""

    kind: ClassVar[str] = "delayed-replies"
    least_s: float = 0.0
    most_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LostReplies(SwitchFault):
    """The share ``rate`` of messages to controllers is never sent; hellos and questions are."""

    kind: ClassVar[str] = "lost-replies"
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFull(SwitchFault):
    """There is room for ``room`` more flow entries than there are."""

    kind: ClassVar[str] = "table-full"
    room: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCounters(SwitchFault):
    """Of each packet and byte of traffic ``factor`` are counted; 0 makes counters stand still. With
    ``reset`` all of them start again at 0 first."""

    kind: ClassVar[str] = "wrong-counters"
    factor: float = 1.0
    reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkew(SwitchFault):
    """The switch's clock jumps by ``offset_s`` and gains ``drift`` seconds a second; in the end it
    is set right."""

    kind: ClassVar[str] = "clock-skew"
    offset_s: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect(SwitchFault):
    """A connection ends after so many more bytes in one direction, wherever in a message that is;
    what follows is lost. ``by`` is the sender that is cut off: "switch" or "controller"."""

    kind: ClassVar[str] = "disconnect"
    after_bytes: int
    by: str = "switch"


Fault: TypeAlias = (
    LinkDown
    | Flapping
    | SilentLoss
    | Latency
    | PowerLoss
    | StalledReader
    | DelayedReplies
    | LostReplies
    | TableFull
    | WrongCounters
    | ClockSkew
    | Disconnect
)

KINDS: dict[str, type[Any]] = {
    each.kind: each
    for each in (
        LinkDown,
        Flapping,
        SilentLoss,
        Latency,
        PowerLoss,
        StalledReader,
        DelayedReplies,
        LostReplies,
        TableFull,
        WrongCounters,
        ClockSkew,
        Disconnect,
    )
}
