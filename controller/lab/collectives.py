"""Who sends how much to whom, step by step, when a job exchanges data among its ranks.

Algorithms as in Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations
in MPICH" (2005); what ``bus`` means is from NVIDIA's nccl-tests (doc/PERFORMANCE.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transfer:
    """Ranks count from 0."""

    source: int
    destination: int
    size_bytes: int


Step = tuple[Transfer, ...]
"""What is sent at the same time. A rank begins its part once it has its part of the step before."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """``steps(ranks, size_bytes)``; ``bus_share(ranks)`` of the size is what each rank's wire must
    carry at least, so ``bus_share * size / time`` is comparable with the rate of a NIC whatever the
    number of ranks."""

    what: str
    steps: Callable[[int, int], Sequence[Step]]
    bus_share: Callable[[int], float]


def _ring_pass(ranks: int, size_bytes: int) -> list[Step]:
    """Once around: in each step every rank hands one of its shares to the next."""
    return [
        tuple(
            Transfer(rank, (rank + 1) % ranks, _share(size_bytes, ranks, (rank - step) % ranks))
            for rank in range(ranks)
        )
        for step in range(ranks - 1)
    ]


def _ring(ranks: int, size_bytes: int) -> list[Step]:
    """Reduce-scatter, then all-gather."""
    return 2 * _ring_pass(ranks, size_bytes)


def _halving_doubling(ranks: int, size_bytes: int) -> list[Step]:
    """Halves with a partner half the ranks away, quarters with one a quarter away, and so on until
    each rank has its share; then the same backwards. Raises ValueError unless ranks are 2^n."""
    if ranks & (ranks - 1):
        raise ValueError(f"halving-doubling needs 2, 4, 8, 16, ... ranks, and here are {ranks}")
    halving = []
    distance = ranks // 2
    while distance:
        sent = max(1, size_bytes * distance // ranks)
        halving.append(tuple(Transfer(r, r ^ distance, sent) for r in range(ranks)))
        distance //= 2
    return halving + halving[::-1]


def _all_to_all(ranks: int, size_bytes: int) -> list[Step]:
    """Every rank to every other at once, as NCCL sends grouped messages."""
    return [
        tuple(
            Transfer(r, (r + away) % ranks, _share(size_bytes, ranks, (r + away) % ranks))
            for away in range(1, ranks)
            for r in range(ranks)
        )
    ]


def _share(size_bytes: int, ranks: int, index: int) -> int:
    """Sizes of shares differ by a byte at most, and none is empty."""
    return max(1, size_bytes * (index + 1) // ranks - size_bytes * index // ranks)


def _once(ranks: int) -> float:
    return (ranks - 1) / ranks


def _twice(ranks: int) -> float:
    return 2 * _once(ranks)


ALGORITHMS: Mapping[str, Algorithm] = {
    "ring": Algorithm("all-reduce around a ring", _ring, _twice),
    "halving-doubling": Algorithm("all-reduce by halves and doubles", _halving_doubling, _twice),
    "reduce-scatter": Algorithm("reduce-scatter around a ring", _ring_pass, _once),
    "all-gather": Algorithm("all-gather around a ring", _ring_pass, _once),
    "all-to-all": Algorithm("all-to-all, all at once", _all_to_all, _once),
}


def side_by_side(groups: Sequence[Sequence[Step]], ranks: int) -> list[Step]:
    """Equal groups at the same time: rank r of group g becomes rank ``g * ranks + r``."""
    return [
        tuple(
            Transfer(t.source + g * ranks, t.destination + g * ranks, t.size_bytes)
            for g, step in enumerate(steps)
            for t in step
        )
        for steps in zip(*groups, strict=True)
    ]
