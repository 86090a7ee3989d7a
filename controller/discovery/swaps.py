"""Which cables were probably plugged into each other's ports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from controller.fabric.model import PortRef


@dataclass(frozen=True, slots=True, order=True)
class Cable:
    """What joins two ports; ``a`` is the lesser."""

    a: PortRef
    b: PortRef

    @classmethod
    def between(cls, one: PortRef, other: PortRef) -> Cable:
        return cls(min(one, other), max(one, other))

    def __str__(self) -> str:
        return f"{self.a}-{self.b}"


@dataclass(frozen=True, slots=True, order=True)
class Swap:
    """The cables of these two ports look exchanged. Where it may as well be those at the far ends,
    ``far`` has them."""

    a: PortRef
    b: PortRef
    far: tuple[PortRef, PortRef] | None = None

    def __str__(self) -> str:
        ends = f"{self.a} and {self.b}"
        if self.far is not None:
            ends += f", or {self.far[0]} and {self.far[1]},"
        return f"{ends} look swapped"


def suspected_swaps(
    cables: Collection[Cable],
    peer: Mapping[PortRef, PortRef],
    is_live: Callable[[PortRef], bool],
) -> list[Swap]:
    """From the cables that are there but not declared, and the declared far end of each port.

    Two declared links whose ends are joined crosswise have been exchanged at one side or the other.
    Ports of one switch are likelier, since they are next to each other. A cable that should be in
    one port of a switch and is in another that has no link at all was exchanged with what is in the
    first one now, if anything is.
    """
    seen, found = set(cables), set[Swap]()
    for cable in seen:
        for one, other in ((cable.a, cable.b), (cable.b, cable.a)):
            if one not in peer:
                continue
            missed = peer[one]
            if other not in peer:
                if other.switch == missed.switch and is_live(missed):
                    found.add(Swap(min(missed, other), max(missed, other)))
                continue
            orphan = peer[other]
            four = {one, other, missed, orphan}
            if len(four) == 4 and Cable.between(missed, orphan) in seen:
                found.add(_swap((missed, other), (one, orphan)))
    return sorted(found, key=lambda swap: (swap.a, swap.b))


def _swap(one: tuple[PortRef, PortRef], other: tuple[PortRef, PortRef]) -> Swap:
    pairs = sorted((tuple(sorted(one)), tuple(sorted(other))))
    near = [pair for pair in pairs if pair[0].switch == pair[1].switch]
    likely = near if len(near) == 1 else pairs
    far = (likely[1][0], likely[1][1]) if len(likely) > 1 else None
    return Swap(likely[0][0], likely[0][1], far)
