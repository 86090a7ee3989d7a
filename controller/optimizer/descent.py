"""Near-optimal shares for large problems, with a proof of how near, in a few sweeps.

Descent on the smoothed maximum, the sum over arcs of exp(sharpness x utilisation): each demand in
turn moves traffic from its costliest path to its cheapest, where the cost of an arc is the
derivative. The same derivatives are link prices, so each sweep also yields a lower bound by weak
duality. Sharpness rises until the two meet: low, all arcs matter and moves are long; high, only
the worst do.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer import stopwatch
from controller.optimizer.certificate import Found
from controller.optimizer.kernels import descent as kernels
from controller.optimizer.kernels import flows
from controller.optimizer.paths import load
from controller.optimizer.problem import Floats
from controller.optimizer.scaled import Scaled

SWEEPS_A_ROUND = 8
CHECKED = (2, 5)
TRIES = 2
SHARPER = 1.5
SEED = 1


def descend(
    scaled: Scaled, start: Floats | None, target_gap: float, most_sweeps: int = 400
) -> Found:
    """Shares and prices with a gap of at most ``target_gap``, or the best after ``most_sweeps``.

    Begins from the shares ``start[P]``, by default the plain spread.
    """
    began = stopwatch.now()
    if not len(scaled.columns):
        return Found(scaled.plain, np.zeros(scaled.arc_count), "none", 0.0)
    run = _Run(scaled, start)
    run.judge()
    while run.gap > target_gap and run.sweeps < most_sweeps:
        run.round(target_gap)
    price = run.price
    scaled.price_left_out(price)
    share = scaled.share(run.best)
    return Found(share, price, "descent", stopwatch.now() - began)


class _Run:
    def __init__(self, scaled: Scaled, start: Floats | None) -> None:
        keep = np.zeros(len(scaled.paths), bool)
        keep[scaled.columns] = True
        self.paths = scaled.paths.only(keep)
        self.bounds = self.paths.bounds
        self.rate = scaled.rate[scaled.columns][self.bounds[:-1]]
        self.inverse = scaled.inverse() / scaled.unit
        fixed = np.where(scaled.matters, 0.0, scaled.plain) * scaled.rate
        self.fixed = load(scaled.paths, fixed, scaled.arc_count) * self.inverse
        self.share = (scaled.plain if start is None else scaled.share(start[scaled.columns]))[keep]
        self.each = np.repeat(self.rate, np.diff(self.bounds))
        self.level = self._level()
        self.best, self.upper = self.share.copy(), np.inf
        self.price, self.lower = np.zeros(scaled.arc_count), 0.0
        self.sharpness = self.least = 4 * np.log(max(2, int(np.count_nonzero(self.inverse))))
        self.average = np.zeros(scaled.arc_count)
        self.sweeps = self.averaged = 0
        self.random = np.random.default_rng(SEED)

    @property
    def gap(self) -> float:
        return self.upper / self.lower - 1 if self.lower > 0 else np.inf

    def _level(self) -> Floats:
        carried = self.share * self.each
        return self.fixed + load(self.paths, carried, len(self.fixed)) * self.inverse

    def judge(self) -> None:
        """Take the shares for the best if they are, and the bound that they prove."""
        if self.level.max() < self.upper:
            self.best, self.upper = self.share.copy(), float(self.level.max())
        self._bound(np.exp(16 * self.least * (self.level / self.level.max() - 1)))

    def _bound(self, price: Floats) -> None:
        cost = price / price.sum() * self.inverse
        lower = flows.cheapest(self.bounds, self.paths.first, self.paths.arcs, cost, self.rate)
        if lower > self.lower:
            self.lower, self.price = lower, price.copy()

    def round(self, target_gap: float) -> None:
        top = self.level.max()
        level, inverse = self.level / top, self.inverse / top
        cost = inverse * np.exp(self.sharpness * (level - 1))
        for i in range(SWEEPS_A_ROUND):
            kernels.sweep(
                self.random.permutation(len(self.rate)),
                self.bounds,
                self.paths.first,
                self.paths.arcs,
                self.rate,
                inverse,
                self.share,
                level,
                cost,
                self.sharpness,
                TRIES,
            )
            self.sweeps += 1
            price = np.exp(self.sharpness * (level - level.max()))
            self.average += price / price.sum()
            self.averaged += 1
            if i in CHECKED:
                self._bound(price)
                if level.max() * top / self.lower - 1 <= target_gap:
                    break
        self._bound(price)
        self._bound(self.average)
        self.level = self._level()
        self.judge()
        patient = self.averaged < 30
        if self.sharpness >= 2 * self.least / 4 / max(self.gap, target_gap) and patient:
            return
        most = self.least / target_gap
        if self.sharpness < most:
            self.sharpness = min(most, SHARPER * self.sharpness)
            self.average[:] = 0.0
            self.averaged = 0
