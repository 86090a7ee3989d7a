"""When each port is probed: one after the other, in a stream as steady as the clock.

A port that is there from one turn to the next is probed at least once in ROUND_S, whatever comes
and goes meanwhile: whoever is before it in the ring is either probed, and stays in the ring behind
it, or costs nothing. So the ring is never shorter than what is still before the port, and the rate
follows the length of the ring.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

ROUND_S = 8.0
"""A round of a large fabric: within the 10 s that are promised, with room for what is under way."""
QUICK_ROUND_S = 1.0
STEADY_PPS = 512
"""A fabric of so few ports has its round in QUICK_ROUND_S; larger ones keep to this rate until that
makes the round too long."""
LATE_S = 0.1
"""Who asks later than that gets no more than is due in this time: what was missed makes no burst,
the round takes longer."""


def round_s(ports: int) -> float:
    """How long it takes to probe so many ports."""
    return min(max(ports / STEADY_PPS, QUICK_ROUND_S), ROUND_S)


class Pacer(Generic[T]):
    """A ring of ports; ``due`` wants to be asked several times a second."""

    def __init__(self) -> None:
        # In the order of their turns. A port that has gone keeps its place until its turn comes:
        # with it the rate falls no faster than the ring is worked off.
        self._ring: OrderedDict[T, bool] = OrderedDict()
        self._present = 0
        self._credit = 0.0
        self._asked_s: float | None = None

    def __len__(self) -> int:
        """How many ports take turns."""
        return self._present

    def __iter__(self) -> Iterator[T]:
        """Those that take turns, the next one first."""
        return (port for port, is_present in self._ring.items() if is_present)

    def add(self, port: T) -> None:
        """Its first turn comes within a round."""
        if not self._ring.get(port, False):
            self._ring[port] = True
            self._present += 1

    def remove(self, port: T) -> None:
        if self._ring.get(port, False):
            self._ring[port] = False
            self._present -= 1

    def due(self, now: float) -> list[T]:
        """The ports whose turn has come."""
        elapsed_s = min(now - self._asked_s, LATE_S) if self._asked_s is not None else 0.0
        self._asked_s = now
        if not self._present:
            self._ring.clear()
            self._credit = 0.0
            return []
        size = len(self._ring)
        self._credit += elapsed_s * size / round_s(size)
        out: list[T] = []
        while self._credit >= 1.0:
            port, is_present = self._ring.popitem(last=False)
            if is_present:
                self._ring[port] = True
                self._credit -= 1.0
                out.append(port)
        return out
