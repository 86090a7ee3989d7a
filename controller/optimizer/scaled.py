"""The MLU problem over given paths in numbers near 1."""

from __future__ import annotations

import numpy as np

from controller.optimizer.paths import Paths, length, load, normalised, spread, utilisation
from controller.optimizer.problem import Demand, Floats, Network


class Scaled:
    """What every method that minimises the MLU starts from.

    Utilisations are in units of the MLU of the ``plain`` spread, so that numbers stay near 1 from
    bits to terabits. Demands too small to matter at that scale keep their plain spread, and paths
    that could carry less than a millionth of their demand carry nothing: ``columns`` are the
    paths that are left.
    """

    def __init__(self, network: Network, demand: Demand, paths: Paths) -> None:
        self.network, self.paths = network, paths
        self.arc_count = len(network.tail)
        self.rate = demand.rate_bps[paths.demand]
        self.plain = spread(paths, by_capacity=True)
        self.unit = self.mlu(self.plain)
        self.columns = np.zeros(0, np.int64)
        if not self.unit > 0:
            return
        weight = self.rate / (paths.bottleneck_bps * self.unit)
        sizes = np.diff(paths.bounds)
        heaviest = np.repeat(np.maximum.reduceat(weight, paths.starts), sizes)
        self.matters = (heaviest > 1e-7 / len(sizes)) & (np.isfinite(paths.bottleneck_bps))
        usable = self.matters & ((weight < 1e6) | (self.plain > 1e-6))
        self.columns = np.flatnonzero(usable)
        self._left_out = np.flatnonzero(self.matters & ~usable)

    def mlu(self, share: Floats) -> float:
        carried = load(self.paths, share * self.rate, self.arc_count)
        return float(utilisation(carried, self.network).max(initial=0.0))

    def inverse(self) -> Floats:
        """1 / capacity, 0 for dead arcs, ``[A]``."""
        capacity = self.network.capacity_bps
        return np.divide(1.0, capacity, out=np.zeros(self.arc_count), where=capacity > 0)

    def share(self, x: Floats) -> Floats:
        """Shares of all paths from those of the columns: positive, summing to 1 for a demand."""
        share = np.where(self.matters, 0.0, self.plain)
        share[self.columns] = np.where(np.isfinite(x) & (x > 1e-9), x, 0.0)
        return normalised(self.paths, share, self.plain)

    def price_left_out(self, price: Floats) -> None:
        """Make the thin paths that are no columns no cheaper than those that are.

        Their arcs are so thin that this costs the bound a millionth; without a price they would
        make it 0.
        """
        out = self._left_out
        if not len(out):
            return
        paths, columns = self.paths, self.columns
        way = length(paths, price * self.inverse())
        cheapest = np.full(int(paths.demand.max()) + 1, np.inf)
        np.minimum.at(cheapest, paths.demand[columns], way[columns])
        for p in out.tolist():
            arcs = paths.arcs[paths.first[p] : paths.first[p + 1]]
            thin = arcs[self.network.capacity_bps[arcs].argmin()]
            least = cheapest[paths.demand[p]] * self.network.capacity_bps[thin]
            price[thin] = max(price[thin], least)
