"""What each part of the way from one spread to another buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from controller.optimizer.paths import Paths, length, load
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Ints, Network

PRICE = 0.05
"""Of the worst utilisation: what it must fall by for all slots to be moved, else fewer are."""
STEPS = 24
SHARPNESS = 64.0


class Bought(NamedTuple):
    """``mlu`` once ``moved`` of all hash slots have been: each demand has as many slots."""

    moved: float
    mlu: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """``points`` begin with the current spread and end with the wanted one. By point i, the demands
    whose ``step[D]`` is at most i have gone over (0: have nothing to change)."""

    points: tuple[Bought, ...]
    step: Indices

    @property
    def best(self) -> int:
        """Whose gain beats its churn by the most, at ``PRICE``: the first if none does."""
        price = PRICE * self.points[0].mlu
        return min(
            range(len(self.points)), key=lambda i: self.points[i].mlu + price * self.points[i].moved
        )

    def gone_over(self, point: int) -> Bools:
        """Demands that have moved by then, ``[D]``."""
        return (self.step > 0) & (self.step <= point)


def curve(network: Network, demand: Demand, paths: Paths, current: Ints, wanted: Ints) -> Curve:
    """From the units ``current[P]`` to ``wanted[P]``, whole demands at a time.

    Each step takes those first that, for each slot moved, relieve the links most that are worst by
    then. Source: the derivative of the smoothed maximum, as in ``descent``; no more than ``STEPS``
    looks at all paths, so that the price is no dearer than the plan.
    """
    count = len(demand.source)
    steps = np.zeros(count, np.int64)
    before, after = (_shares(paths, units, count) for units in (current, wanted))
    change = after - before
    slots = np.bincount(paths.demand, np.abs(change), minlength=count) / 2
    placed = len(np.unique(paths.demand))
    left = slots > 1e-9
    rate = demand.rate_bps[paths.demand]
    capacity = network.capacity_bps
    inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    level = load(paths, before * rate, len(capacity)) * inverse
    points = [Bought(0.0, float(level.max(initial=0.0)))]
    moved, quota = 0.0, slots.sum() / STEPS
    while left.any():
        top = max(float(level.max(initial=0.0)), 1e-300)
        cost = np.exp(SHARPNESS * (level / top - 1)) * inverse
        priced = length(paths, cost)
        relief = -np.bincount(paths.demand, priced * change * rate, minlength=count)
        waiting = np.flatnonzero(left)
        order = waiting[np.argsort(-(relief / np.maximum(slots, 1e-12))[waiting], kind="stable")]
        last = int(np.searchsorted(np.cumsum(slots[order]), quota)) + 1
        going = order[:last]
        left[going] = False
        steps[going] = len(points)
        over = np.zeros(count, bool)
        over[going] = True
        now = np.where(over[paths.demand], change, 0.0) * rate
        level = level + load(paths, now, len(capacity)) * inverse
        moved += float(slots[going].sum())
        points.append(Bought(moved / placed, float(level.max(initial=0.0))))
    return Curve(tuple(points), steps)


def _shares(paths: Paths, units: Ints, count: int) -> Floats:
    weight = units.astype(np.float64)
    total = np.bincount(paths.demand, weight, minlength=count)[paths.demand]
    return np.divide(weight, total, out=np.zeros(len(weight)), where=total > 0)
