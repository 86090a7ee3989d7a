"""Integer bucket weights of SELECT groups from the shares of a solution.

Rounding down, then handing out the units that are left where they hurt least, heaviest demand
first, then moving single units off the worst link. Rounding to the nearest would send all ties to
the same spine (measured: up to +290 % on the worst link, where this loses a few per cent at
most).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from controller.optimizer.paths import Paths, load, trace, utilisation
from controller.optimizer.problem import Demand, Floats, Forest, Ints, Network

MAX_TOTAL = 64
MAX_MOVES = 256


def quantise(
    share: Floats, demand: Demand, network: Network, forest: Forest, total: int = 16
) -> Ints:
    """``weights[D, T]``; the row of a demand with shares sums to ``total``, a power of two.

    A demand that needs more than ``total / 2`` buckets gets 32 or 64 units, so that they can
    differ.
    """
    paths = trace(network, forest, demand)
    wanted = share[paths.demand, paths.tree]
    paths = _only(paths, wanted > 1e-9)
    wanted = share[paths.demand, paths.tree]
    weights = np.zeros(share.shape, np.int32)
    if not len(paths):
        return weights
    rounding = _Rounding(paths, wanted, demand, network, total)
    rounding.hand_out()
    rounding.improve()
    weights[paths.demand, paths.tree] = rounding.units
    return weights


def evaluate(
    weights: Ints, demand: Demand, network: Network, forest: Forest
) -> tuple[Floats, float]:
    """Load of each arc and MLU when buckets carry exactly their weight.

    Weight on a tree that does not work from its source is load that goes to the other buckets.
    """
    paths = trace(network, forest, demand)
    units = weights[paths.demand, paths.tree].astype(np.float64)
    total = np.bincount(paths.demand, units, minlength=len(demand.source))[paths.demand]
    share = np.divide(units, total, out=np.zeros(len(units)), where=total > 0)
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    return carried, float(utilisation(carried, network).max(initial=0.0))


def _only(paths: Paths, keep: npt.NDArray[np.bool_]) -> Paths:
    return Paths(
        paths.demand[keep],
        paths.tree[keep],
        paths.arcs[keep],
        paths.hops[keep],
        paths.bottleneck_bps[keep],
        paths.twins[keep],
    )


class _Rounding:
    """Units of each path and the utilisation that they make."""

    def __init__(
        self, paths: Paths, wanted: Floats, demand: Demand, network: Network, total: int
    ) -> None:
        self.paths = paths
        self.starts = paths.starts
        self.ends = np.append(self.starts, len(paths))[1:]
        sizes = self.ends - self.starts
        self.total = np.full(len(sizes), total)
        while (small := (2 * sizes > self.total) & (self.total < MAX_TOTAL)).any():
            self.total[small] *= 2
        if (sizes > self.total).any():
            raise ValueError(f"a demand uses {sizes.max()} trees, more than {MAX_TOTAL} buckets")
        whole = np.repeat(self.total, sizes)
        sums = np.repeat(np.add.reduceat(wanted, self.starts), sizes)
        self.exact = wanted / sums * whole
        self.least = np.floor(self.exact + 1e-6).astype(np.int64)
        self.most = np.ceil(self.exact - 1e-6).astype(np.int64)
        self.units = self.least.copy()
        self.inverse = np.append(
            np.divide(
                1.0,
                network.capacity_bps,
                out=np.zeros(len(network.tail)),
                where=network.capacity_bps > 0,
            ),
            0.0,
        )
        self.rate = demand.rate_bps[paths.demand]
        self.quantum = self.rate / whole
        carried = load(paths, self.quantum * self.units, len(network.tail))
        self.level = np.append(utilisation(carried, network), 0.0)

    def _put(self, path: int, units: int) -> None:
        arcs = self.paths.arcs[path]
        self.units[path] += units
        self.level[arcs] += units * self.quantum[path] * self.inverse[arcs]

    def _peak(self, path: int) -> float:
        """Worst utilisation on a path if it had one unit more."""
        arcs = self.paths.arcs[path]
        return float((self.level[arcs] + self.quantum[path] * self.inverse[arcs]).max(initial=0))

    def hand_out(self) -> None:
        for k in np.argsort(-self.rate[self.starts], kind="stable").tolist():
            first, end = int(self.starts[k]), int(self.ends[k])
            size = end - first
            for _ in range(int(self.total[k] - self.units[first:end].sum())):
                # Ties rotate from demand to demand, or idle ones would all prefer the same spine.
                path = min(
                    range(first, end),
                    key=lambda p: (
                        self.units[p] >= self.most[p],
                        round(self._peak(p), 9),
                        round(self.units[p] - self.exact[p], 6),
                        (p - first - k) % size,
                    ),
                )
                self._put(path, 1)

    def improve(self) -> None:
        """Move single units off the worst link while that helps and they stay a rounding."""
        owner = np.repeat(np.arange(len(self.starts)), self.ends - self.starts)
        for _ in range(MAX_MOVES):
            worst = int(self.level.argmax())
            crossing = (
                (self.paths.arcs == worst).any(1) & (self.units > self.least) & (self.quantum > 0)
            )
            best: tuple[float, int, int] | None = None
            for path in np.flatnonzero(crossing).tolist():
                k = owner[path]
                self._put(path, -1)
                for other in range(int(self.starts[k]), int(self.ends[k])):
                    if self.units[other] >= self.most[other] or other == path:
                        continue
                    peak = self._peak(other)
                    if best is None or peak < best[0]:
                        best = (peak, path, other)
                self._put(path, 1)
            if best is None or not best[0] < self.level[worst] * (1 - 1e-9):
                return
            self._put(best[1], -1)
            self._put(best[2], 1)
