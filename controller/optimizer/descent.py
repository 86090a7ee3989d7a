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

TRIES = 4
SWEEPS_A_ROUND = 4
FIRST, AHEAD, SHARPER, DRIFT = 4.0, 1.5, 2.0, 1.05
"""Sharpness in units of log(arcs): at first, and at most this over the gap; its growth in a round
where the gap asks for more, and where not."""

STALLED, STALLED_ROUNDS, BLUNTER, AGAIN = 0.75, 3, 8.0, 4
"""Stalled is when three rounds leave more than 3/4 of the gap: then eight times blunter, in rounds
twice as long, at most four times."""

SEED = 1


def descend(
    scaled: Scaled,
    start: Floats | None,
    target_gap: float,
    accepted_gap: float = 0.0,
    most_sweeps: int = 400,
    price: Floats | None = None,
) -> Found:
    """Shares and prices with a gap of at most ``target_gap``; or, where progress has stalled, of
    ``accepted_gap``; or else the best after ``most_sweeps``.

    Begins from the shares ``start[P]``, by default the plain spread, and from the bound that
    ``price[A]`` proves, such as the prices found before a failure.
    """
    began = stopwatch.now()
    if not len(scaled.columns):
        return Found(scaled.plain, np.zeros(scaled.arc_count), "none", 0.0)
    run = _Run(scaled, start)
    run.judge()
    if price is not None:
        run.trust(price)
    gaps = [run.gap]
    while run.gap > target_gap and run.sweeps < most_sweeps:
        run.round(target_gap)
        gaps.append(run.gap)
        if len(gaps) > STALLED_ROUNDS and run.gap > STALLED * gaps[-1 - STALLED_ROUNDS]:
            if run.gap <= accepted_gap or run.restarts == AGAIN:
                break
            run.restart()
            gaps = [run.gap]
    scaled.price_left_out(run.price)
    share = scaled.share(run.best)
    return Found(share, run.price, "descent", stopwatch.now() - began)


class _Run:
    def __init__(self, scaled: Scaled, start: Floats | None) -> None:
        keep = np.zeros(len(scaled.paths), bool)
        keep[scaled.columns] = True
        self.paths = scaled.paths if keep.all() else scaled.paths.only(keep)
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
        self.logarithm = float(np.log(max(2, int(np.count_nonzero(self.inverse)))))
        self.sharpness = self.averaged_at = FIRST * self.logarithm
        self.average = np.zeros(scaled.arc_count)
        self.sweeps = self.restarts = 0
        self.sweeps_a_round = SWEEPS_A_ROUND
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
        self._bound(np.exp(64 * self.logarithm * (self.level / self.level.max() - 1)))

    def _bound(self, price: Floats) -> None:
        cost = price / price.sum() * self.inverse
        lower = flows.cheapest(self.bounds, self.paths.first, self.paths.arcs, cost, self.rate)
        if lower > self.lower:
            self.lower, self.price = lower, price.copy()

    def trust(self, price: Floats) -> None:
        """Take what the prices prove, and begin as sharp as the gap then asks for."""
        if price.sum() > 0:
            self._bound(price)
        self.sharpness = max(self.sharpness, AHEAD * self.logarithm / max(self.gap, 1e-6))
        self._forget()

    def restart(self) -> None:
        """Loosen shares that are stuck, for they were moved by too few arcs too soon."""
        self.sharpness /= BLUNTER
        self.sweeps_a_round *= 2
        self.restarts += 1
        self._forget()

    def _forget(self) -> None:
        self.average[:] = 0.0
        self.averaged_at = self.sharpness

    def round(self, target_gap: float) -> None:
        top = self.level.max()
        level, inverse = self.level / top, self.inverse / top
        cost = inverse * np.exp(self.sharpness * (level - 1))
        for i in range(self.sweeps_a_round):
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
            if i == self.sweeps_a_round // 2 - 1:
                self._bound(price)
                if level.max() * top <= self.lower * (1 + target_gap):
                    break
        self._bound(price)
        self._bound(self.average)
        self.level = self._level()
        self.judge()
        # The smoothed maximum is off by at most log(arcs) / sharpness; sharper than the gap asks
        # for only makes moves short before they have led anywhere.
        fitting = AHEAD * self.logarithm / max(self.gap, target_gap)
        least = DRIFT * self.sharpness
        self.sharpness = min(SHARPER * self.sharpness, max(least, fitting))
        if self.sharpness >= 1.2 * self.averaged_at:
            self._forget()
