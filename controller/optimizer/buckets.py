"""Integer bucket weights of SELECT groups from the shares of a solution.

How many units a demand gets goes by its size, so that a unit weighs about the same everywhere. They
are rounded down, those that are left are handed out where they hurt least, heaviest demand first,
and then single units move as in ``descent``, by the smoothed maximum of all loads together.
Rounding to the nearest would send all ties to the same spine (measured: up to +290 % on the worst
link).
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import rounding
from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Ints, Network

LEAST, MOST = 4, 256
"""Units of a demand, powers of two; Open vSwitch has no more slots."""
MEAN_BUCKETS, MOST_BUCKETS = 8, 32
FEW_BUCKETS = 2048
"""Of a whole plan: so many need no saving."""
FEW_WAYS = 6
"""On so few, 16 units are nearer to equal shares than many units with one light bucket are."""
FINE = 1e-3
"""No unit need be lighter than this, as a share of what the worst link carries."""
BEARABLE = 1.01
"""Of the worst link: beyond that other units are tried."""
SLOTS = 16
"""Open vSwitch spreads a group over at least these, or over the power of two that gives the
lightest bucket one: weights that sum to more are exact if the lightest divides all others and is a
power of two."""

FIRST, SHARPER, SHARPEST = 4.0, 2.0, 1e-4
"""Sharpness in units of log(arcs): at first, its growth in a round, and one over it at last."""
ROUNDS, SWEEPS, TRIES = 3, 4, 8


def quantise(paths: Paths, share: Floats, demand: Demand, network: Network) -> Ints:
    """Units of each path, ``[P]``; those of a demand sum to a power of two, 4 to 256, and are on 32
    paths at most, on 8 on average. Open vSwitch realises them exactly."""
    units = np.zeros(len(paths), np.int32)
    if not len(paths):
        return units
    used = share > 1e-9
    sizes = np.diff(paths.bounds)
    order = np.lexsort((-share, paths.demand))
    place = np.empty(len(paths), np.int64)
    place[order] = np.arange(len(paths)) - np.repeat(paths.starts, sizes)
    # And one that is to spare, for a bucket of one unit.
    spare = place == np.repeat(np.add.reduceat(used.astype(np.int64), paths.starts), sizes)
    kept = (used | spare) & (place < MOST_BUCKETS)
    share = np.where(used, share, 0.0)[kept]
    units[kept] = _Rounding(paths.only(kept), share, demand, network).units()
    return units


class _Rounding:
    def __init__(self, paths: Paths, share: Floats, demand: Demand, network: Network) -> None:
        self.paths, self.network = paths, network
        self.bounds = bounds = paths.bounds
        self.sizes = np.diff(bounds)
        self.share = share / np.repeat(np.add.reduceat(share, bounds[:-1]), self.sizes)
        self.rate = demand.rate_bps[paths.demand]
        capacity = network.capacity_bps
        self.inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
        self.top = self._level(self.share * self.rate).max(initial=0.0)
        if self.top > 0:
            self.inverse /= self.top
        self.budget = max(FEW_BUCKETS, MEAN_BUCKETS * len(self.sizes))
        self.logarithm = float(np.log(max(2, int(np.count_nonzero(capacity)))))

    def units(self) -> Indices:
        """The best of some rounds, each with more units for what crosses links that are worst."""
        totals = self._totals()
        ways = self._ways()
        best, worst = np.zeros(0, np.int64), np.inf
        for _ in range(ROUNDS):
            units = self._rounded(totals.copy())
            whole = np.repeat(np.add.reduceat(units, self.bounds[:-1]), self.sizes)
            level = self._level(self.rate / whole * units)
            if not len(best) or level.max() < worst:
                best, worst = units, float(level.max())
            finer = np.where(self._crossing(units, level > 1 + FINE / 2), MOST, totals)
            too_many = np.minimum(finer, ways).sum() > self.budget
            if level.max() <= 1 + FINE or too_many or (finer == totals).all():
                break
            totals = finer
        # Where shares are very unequal, what many units must divide by costs more than it gives.
        coarse = np.full(len(totals), SLOTS)
        if worst > BEARABLE and np.minimum(coarse, ways).sum() <= self.budget:
            units = self._rounded(coarse)
            if self._level(self.rate / SLOTS * units).max() < worst:
                best = units
        return self._lowest_terms(best)

    def _lowest_terms(self, units: Indices) -> Indices:
        """Halved while that is the same, down to as many as there are slots at least."""
        begin = self.bounds[:-1]
        while True:
            even = np.logical_and.reduceat(units % 2 == 0, begin)
            even &= np.add.reduceat(units, begin) > SLOTS
            if not even.any():
                return units
            units = np.where(np.repeat(even, self.sizes), units // 2, units)

    def _rounded(self, totals: Indices) -> Indices:
        everyone = np.ones(len(totals), bool)
        units, frozen = self._placed(everyone, totals, np.zeros(len(self.share), np.int64))
        few = self._inexact(totals, units) & (self._ways() <= FEW_WAYS)
        if few.any():
            totals[few] = SLOTS
            units, frozen = self._placed(few, totals, units)
        if (inexact := self._inexact(totals, units)).any():
            most = np.zeros(len(units), np.int64)
            self._lighten(np.flatnonzero(inexact), units, most, frozen)
            exact = self.share * np.repeat(totals, self.sizes)
            self._place(inexact, totals, units, exact, most, frozen)
        return units

    def _placed(self, who: Bools, totals: Indices, units: Indices) -> tuple[Indices, Bools]:
        exact = self.share * np.repeat(totals, self.sizes)
        least = np.floor(exact + 1e-6).astype(np.int64)
        most = np.ceil(exact - 1e-6).astype(np.int64)
        units = np.where(np.repeat(who, self.sizes), least, units)
        # What comes out even stays, so that equal shares are kept as they are.
        frozen = least == most
        self._place(who, totals, units, exact, most, frozen)
        return units, frozen

    def _ways(self) -> Indices:
        """Paths of each demand that have a share."""
        return np.asarray(np.add.reduceat((self.share > 0).astype(np.int64), self.bounds[:-1]))

    def _crossing(self, units: Indices, links: Bools) -> Bools:
        """The demands that have units on any of the arcs ``links[A]``."""
        paths = self.paths
        crossing = np.zeros(len(paths), bool)
        crossing[np.repeat(np.arange(len(paths)), paths.hops)[links[paths.arcs]]] = True
        return np.asarray(np.logical_or.reduceat(crossing & (units > 0), self.bounds[:-1]))

    def _totals(self) -> Indices:
        """Units of each demand: one for every so much of utilisation, as little as makes sense, or
        as the mean of the buckets allows."""
        size = np.maximum.reduceat(self.rate / self.paths.bottleneck_bps, self.bounds[:-1])
        if not size.max() > 0:
            return np.full(len(size), 2 * LEAST)
        octave = np.log2(np.maximum(size, size.max() * 1e-9) / (FINE * self.top))
        ways = self._ways()
        low, high = 0.0, max(1.0, float(octave.max()))
        coarser = 0.0
        for _ in range(20):
            buckets = np.minimum(self._by_size(octave - coarser), ways)
            if buckets.sum() > self.budget:
                low = coarser
            elif coarser == 0:
                return self._by_size(octave)
            else:
                high = coarser
            coarser = (low + high) / 2
        return self._by_size(octave - high)

    @staticmethod
    def _by_size(octaves: Floats) -> Indices:
        power = np.clip(np.ceil(octaves), np.log2(LEAST), np.log2(MOST))
        return np.asarray(1 << power.astype(np.int64))

    def _lighten(self, who: Indices, units: Indices, most: Indices, frozen: Bools) -> None:
        """Give the lightest path of each demand ``who`` one unit; the others may have more."""
        for g in who.tolist():
            begin, end = int(self.bounds[g]), int(self.bounds[g + 1])
            lightest = begin + int(units[begin:end].argmin())
            if not units[lightest]:
                units[begin + int(units[begin:end].argmax())] -= 1
            most[begin:end], frozen[begin:end] = MOST, False
            units[lightest] = most[lightest] = 1
            frozen[lightest] = True

    def _place(
        self,
        who: Bools,
        totals: Indices,
        units: Indices,
        exact: Floats,
        most: Indices,
        frozen: Bools,
    ) -> None:
        """Hand out what the demands ``who[G]`` lack, while all others keep their units."""
        quantum = self.rate / np.repeat(totals, self.sizes)
        level = self._level(quantum * units)
        heaviest = np.argsort(-self.rate[self.bounds[:-1]], kind="stable")
        order = heaviest[who[heaviest]]
        route = (self.bounds, self.paths.first, self.paths.arcs, quantum, self.inverse)
        rounding.hand_out(order, *route, totals, exact, most, units, level)
        if not self.top > 0:
            return
        best, worst = units.copy(), level.max()
        sharpness = FIRST * self.logarithm
        while sharpness < self.logarithm / SHARPEST:
            for _ in range(SWEEPS):
                if not rounding.settle(order, *route, frozen, units, level, sharpness, TRIES):
                    break
            if level.max() < worst:
                best[:], worst = units, level.max()
            sharpness *= SHARPER
        units[:] = best

    def _inexact(self, totals: Indices, units: Indices) -> Bools:
        begin = self.bounds[:-1]
        lightest = np.minimum.reduceat(np.where(units > 0, units, MOST), begin)
        odd = units % np.repeat(lightest, self.sizes) > 0
        power = (lightest & (lightest - 1)) == 0
        return np.asarray((totals > SLOTS) & ~(power & ~np.logical_or.reduceat(odd, begin)))

    def _level(self, carried: Floats) -> Floats:
        return load(self.paths, carried, len(self.inverse)) * self.inverse


def evaluate(paths: Paths, units: Ints, demand: Demand, network: Network) -> tuple[Floats, float]:
    """Load of each arc and MLU when buckets carry exactly their weight ``units[P]``.

    Weight on a tree that does not work from its source has no path, so its load goes to the other
    buckets.
    """
    weight = units.astype(np.float64)
    total = np.bincount(paths.demand, weight, minlength=len(demand.source))[paths.demand]
    share = np.divide(weight, total, out=np.zeros(len(weight)), where=total > 0)
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    return carried, float(utilisation(carried, network).max(initial=0.0))
