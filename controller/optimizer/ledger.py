"""What is reserved where, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from controller.optimizer.ground import TIES, Ground
from controller.optimizer.problem import Floats, Indices

SLACK = 1e-9
"""Of a capacity: sums of floats."""


class Held(NamedTuple):
    """Paths that reserve ``rate_bps`` on each of their arcs."""

    primary: tuple[int, ...]
    backup: tuple[int, ...] | None
    rate_bps: float

    @property
    def arcs(self) -> tuple[int, ...]:
        return self.primary + (self.backup or ())


class Ledger:
    """``room[A]`` is what is left (-1 on dead arcs), ``cost[A]`` grows with what is taken.

    ``junior[A]`` is what could be had by displacing: reserved for priorities below that in turn;
    ``peer[A]`` is reserved for that in turn itself.
    """

    def __init__(self, ground: Ground, priorities: Sequence[int]) -> None:
        self.ground, self.priorities = ground, priorities
        self.held: dict[int, Held] = {}
        self.on: list[set[int]] = [set() for _ in ground.tail]
        self.level = max(priorities, default=0) + 1
        self.reserved = np.zeros(len(ground.tail))
        self.junior = np.zeros(len(ground.tail))
        self.peer = np.zeros(len(ground.tail))
        self.room: Floats = np.where(ground.dead, -1.0, ground.capacity * (1 + SLACK))
        self.cost: Indices = ground.base.copy()

    def take(self, index: int, held: Held) -> None:
        assert index not in self.held
        self.held[index] = held
        for arc in held.arcs:
            self.on[arc].add(index)
        self._move(index, held, held.rate_bps)

    def release(self, index: int) -> Held | None:
        held = self.held.pop(index, None)
        if held is not None:
            for arc in held.arcs:
                self.on[arc].discard(index)
            self._move(index, held, -held.rate_bps)
        return held

    def fits(self, paths: Iterable[Sequence[int] | None], rate_bps: float) -> bool:
        """Whether each of the paths, which share no arc, has room for the rate."""
        if not rate_bps:
            return True
        return all((self.room[list(path)] >= rate_bps).all() for path in paths if path)

    def descend(self, level: int) -> None:
        """The priority in turn, lower than the last."""
        self.level = level
        self.junior[:] = self.peer[:] = 0.0
        for index, held in self.held.items():
            self._of_rank(index, held, held.rate_bps)

    def rivals(self, arcs: Iterable[int]) -> set[int]:
        """Those who hold capacity on the arcs."""
        return {i for arc in arcs for i in self.on[arc] if self.held[i].rate_bps > 0}

    def displacing(self, rate_bps: float) -> tuple[Floats, Indices]:
        """Room and cost when juniors give way: rather a detour than that."""
        room: Floats = self.room + self.junior
        taken = (self.room < rate_bps) & (room >= rate_bps)
        return room, np.where(taken, self.cost + 64 * self.ground.unit, self.cost)

    def _move(self, index: int, held: Held, rate_bps: float) -> None:
        arcs = np.array(held.arcs, np.int32)
        if not len(arcs):
            return
        self.reserved[arcs] += rate_bps
        self.room[arcs] -= rate_bps
        self._of_rank(index, held, rate_bps)
        for arc in arcs.tolist():
            full = min(1.0, max(0.0, self.reserved[arc] / (self.ground.capacity[arc] or 1.0)))
            crowd = min(len(self.on[arc]), TIES // 2 - 1)
            tie = int(full * (1 + full) * (TIES // 4)) + crowd
            self.cost[arc] = self.ground.base[arc] + tie

    def _of_rank(self, index: int, held: Held, rate_bps: float) -> None:
        if self.priorities[index] <= self.level:
            rank = self.peer if self.priorities[index] == self.level else self.junior
            rank[list(held.arcs)] += rate_bps
