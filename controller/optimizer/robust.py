"""Shares whose worst utilisation after any single failure is least.

After a failure demands turn to their other paths in proportion to what these carry, before anybody
acts (see ``audit``). Which failures matter is found as in cutting planes: the audit names the worst
ones, the shares are moved for all that have been named, and so on. The move is mirror descent on
the smoothed maximum over all arcs after all those failures (Beck and Teboulle, "Mirror descent and
nonlinear projected subgradient methods", 2003), with the exact derivative of the turn.

The bound asks less than the shares give: for each failure that was named, no shares of the paths
that survive it, however chosen once it is known, have a lower MLU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controller.optimizer import portfolio, stopwatch
from controller.optimizer.audit import audit, survivors
from controller.optimizer.certificate import Solution, dual_bound, gap
from controller.optimizer.paths import Paths, length, load, normalised, spread
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Network

ROUNDS = 24
NAMED, HELD = 6, 24
"""Failures that each audit names, and that are moved for at a time."""
STEPS = 24
BLUNT, SHARP = 24.0, 400.0
"""Sharpness of the smoothed maximum, in the first round and the last."""
TARGET_GAP = 1e-2
LIMIT_S = 20.0
EVEN = 0.05
"""Of the plain spread in what the descent begins from: what has no share at all never gets one."""


@dataclass(frozen=True, slots=True, eq=False)
class Robust:
    """``solution`` is of the network without a failure; ``mlu`` the worst after any single one, and
    ``bound`` a lower one for that."""

    solution: Solution
    mlu: float
    bound: float


def protect(
    network: Network,
    demand: Demand,
    paths: Paths,
    failures: Sequence[Sequence[int] | Indices],
    start: Floats | None = None,
    limit_s: float = LIMIT_S,
) -> Robust:
    """Each of ``failures`` is the arcs that die together. Never worse after the worst failure than
    the shares of least MLU. Stops at a gap of ``TARGET_GAP``, after ``ROUNDS``, or after the round
    in which ``limit_s`` have passed."""
    began = stopwatch.now()
    plain = portfolio.solve(network, demand, paths, start)
    run = _Run(network, demand, paths, failures, plain)
    for n in range(ROUNDS if len(paths) and failures else 0):
        if gap(run.worst, run.bound) <= TARGET_GAP or stopwatch.now() - began > limit_s:
            break
        run.round(BLUNT * (SHARP / BLUNT) ** (n / (ROUNDS - 1)))
    carried = load(paths, run.best * demand.rate_bps[paths.demand], len(network.tail))
    mlu = float((carried * run.inverse).max(initial=0.0))
    solution = replace(
        plain,
        share=run.best,
        load_bps=carried,
        mlu=mlu,
        gap=gap(mlu, plain.bound),
        solver=f"{plain.solver}, mirror descent",
        seconds=stopwatch.now() - began,
    )
    return Robust(solution, run.worst, min(run.bound, run.worst))


class _Run:
    def __init__(
        self,
        network: Network,
        demand: Demand,
        paths: Paths,
        failures: Sequence[Sequence[int] | Indices],
        plain: Solution,
    ) -> None:
        self.network, self.demand, self.paths = network, demand, paths
        self.failures = failures
        self.rate = demand.rate_bps[paths.demand]
        capacity = network.capacity_bps
        self.inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
        self.best = plain.share
        self.even = spread(paths, by_capacity=True)
        self.share = normalised(paths, (1 - EVEN) * plain.share + EVEN * self.even, self.even)
        self.worst, self.bound = np.inf, plain.bound
        self.named: dict[int, Bools] = {-1: np.ones(len(paths), bool)}
        self.bounded: set[int] = set()
        self.eta = 1.0
        if len(paths) and failures:
            self.judge(plain.share)
        else:
            self.worst = plain.mlu

    def judge(self, share: Floats) -> None:
        """Take the shares for the best if they are; name the failures that are worst for them, and
        bound what the very worst allows."""
        found = audit(self.network, self.demand, self.paths, share, self.failures).mlu
        carried = load(self.paths, share * self.rate, len(self.inverse))
        worst = max(float(found.max()), float((carried * self.inverse).max()))
        if worst < self.worst:
            self.worst, self.best = worst, share.copy()
        order = np.argsort(-found, kind="stable")[:NAMED].tolist()
        for f in order:
            self.named[f] = self.named.pop(f) if f in self.named else self._alive(f)
        while len(self.named) > HELD:
            del self.named[next(f for f in self.named if f >= 0)]
        if order[0] not in self.bounded and found[order[0]] > self.bound:
            self._bound(order[0], share)

    def _alive(self, failure: int) -> Bools:
        down = np.zeros(len(self.inverse), bool)
        down[np.asarray(self.failures[failure])] = True
        alive = np.ones(len(self.paths), bool)
        alive[np.repeat(np.arange(len(self.paths)), self.paths.hops)[down[self.paths.arcs]]] = False
        return alive

    def _bound(self, failure: int, share: Floats) -> None:
        self.bounded.add(failure)
        dead = [int(arc) for arc in self.failures[failure]]
        rest, turned = survivors(self.paths, share, dead)
        if len(rest):
            found = portfolio.optimum(self.network, self.demand, rest, turned)
            self.bound = max(self.bound, dual_bound(self.network, self.demand, rest, found.price))

    def round(self, sharpness: float) -> None:
        value, slope = self._slope(self.share, sharpness)
        for _ in range(STEPS):
            top = np.abs(slope).max(initial=0.0)
            if not top > 0:
                break
            tried = self.share * np.exp(-self.eta * slope / top)
            tried = normalised(self.paths, np.maximum(tried, 1e-9), self.even)
            then, next_slope = self._slope(tried, sharpness)
            if then < value:
                self.share, value, slope = tried, then, next_slope
                self.eta = min(8.0, 1.5 * self.eta)
            else:
                self.eta /= 2
                if self.eta < 1e-4:
                    self.eta = 1.0
                    break
        self.judge(self.share)

    def _slope(self, share: Floats, sharpness: float) -> tuple[float, Floats]:
        """The smoothed maximum over what has been named, and its derivative by share, per rate."""
        paths, who = self.paths, self.paths.demand
        count = len(self.demand.source)
        turned, totals, levels = [], [], []
        for alive in self.named.values():
            living = np.where(alive, share, 0.0)
            total = np.bincount(who, living, minlength=count)[who]
            part = np.divide(living, total, out=np.zeros(len(living)), where=total > 0)
            turned.append(part)
            totals.append(total)
            levels.append(load(paths, part * self.rate, len(self.inverse)) * self.inverse)
        top = max(float(level.max()) for level in levels)
        if not top > 0:
            return 0.0, np.zeros(len(paths))
        weights = [np.exp(sharpness * (level / top - 1)) for level in levels]
        whole = sum(float(weight.sum()) for weight in weights)
        slope = np.zeros(len(paths))
        for alive, part, total, weight in zip(
            self.named.values(), turned, totals, weights, strict=True
        ):
            cost = length(paths, weight / whole * self.inverse)
            mean = np.bincount(who, part * cost, minlength=count)[who]
            by = np.divide(cost - mean, total, out=np.zeros(len(paths)), where=alive & (total > 0))
            slope += by
        return top * (1 + float(np.log(whole)) / sharpness), slope
