"""What joins switches and hosts."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from controller.fabric.model import PortRef


@dataclass(frozen=True, slots=True, order=True)
class NicRef:
    """One attachment of a NIC, by its place among ``Nic.attachments``."""

    nic: str
    attachment: int = 0

    def __str__(self) -> str:
        return f"{self.nic}#{self.attachment}" if self.attachment else self.nic


End: TypeAlias = PortRef | NicRef


@dataclass(slots=True, eq=False)
class Direction:
    """One way of a wire. ``loss`` is the share of frames that get lost on it unseen."""

    tail: End
    head: End
    random: Random
    loss: float = 0.0
    lost_frames: int = 0


@dataclass(slots=True, eq=False)
class Wire:
    """``cuts`` are the reasons for which it is down: it is up when there is none. ``extra_s`` adds
    to the latency of its cable."""

    name: str
    directions: tuple[Direction, Direction]
    capacity_bps: float
    latency_s: float
    extra_s: float = 0.0
    cuts: set[str] = field(default_factory=set)

    @property
    def up(self) -> bool:
        return not self.cuts

    @property
    def delay_s(self) -> float:
        return self.latency_s + self.extra_s
