"""Who tried to connect as a switch and was turned away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LIMIT = 100
KEPT_S = 150.0
"""Session processes tell the same refusal once a minute: whoever still tries is in the list."""


class _Case(NamedTuple):
    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """``time_s`` is the clock of ``Refusals.add``; ``dpid`` 0 is unknown."""

    peer: str
    dpid: int
    reason: str
    time_s: float


class Refusals:
    def __init__(self) -> None:
        self._cases: dict[_Case, Refusal] = {}

    def add(self, refusal: Refusal) -> None:
        case = _Case(refusal.peer.rpartition(":")[0], refusal.reason)
        self._cases.pop(case, None)
        self._cases[case] = refusal
        if len(self._cases) > LIMIT:
            del self._cases[next(iter(self._cases))]

    def recent(self, now_s: float) -> list[Refusal]:
        """The newest of each host and reason, oldest first."""
        return [r for r in self._cases.values() if now_s - r.time_s < KEPT_S]
