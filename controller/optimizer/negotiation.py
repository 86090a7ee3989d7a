"""Placement of any flows over any paths, by negotiated congestion.

A level of utilisation is aimed at. Flows on arcs above it move where they add least to the sum of
price x excess, and the prices of arcs that stay above rise, so that flows with alternatives give
way in the end: PathFinder (McMurchie & Ebeling, FPGA '95) over given paths. By work counted, not by
time, so that equal inputs give equal placements.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import flows
from controller.optimizer.kernels import negotiation as kernels
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Floats, Indices, Network

GROWTHS = (2.0, 1.3, 1.05)
"""By which prices rise in each sweep; each try uses the next."""


class Negotiation:
    """Flows of one problem: ``size[G]`` of those that have paths, in units of the largest."""

    def __init__(self, network: Network, demand: Demand, paths: Paths) -> None:
        rate = demand.rate_bps[paths.demand[paths.starts]]
        self.unit = float(rate.max(initial=0.0)) or 1.0
        self.size = rate / self.unit
        self.capacity = network.capacity_bps / self.unit
        self.paths, self.bounds = paths, paths.bounds

    def load(self, path: Indices) -> Floats:
        """Of each arc, in units of the largest flow, ``[A]``."""
        carried = np.zeros(len(self.paths))
        carried[path] = self.size
        return flows.load(self.paths.first, self.paths.arcs, carried, len(self.capacity))

    def mlu(self, path: Indices) -> float:
        load = self.load(path)
        loaded = load > 0
        return float((load[loaded] / self.capacity[loaded]).max(initial=0.0))

    def reach(self, level: float, start: Indices, sweeps: int, seed: int) -> Indices | None:
        """A placement with no utilisation above ``level``, found from ``start[G]`` in that many
        sweeps for each of ``GROWTHS``; None where none was found."""
        limit = self.limit(level)
        for attempt, growth in enumerate(GROWTHS):
            path = start.copy()
            left = kernels.negotiate(
                self.bounds,
                self.paths.first,
                self.paths.arcs,
                self.size,
                limit,
                np.ones(len(limit)),
                path,
                self.load(path),
                growth,
                sweeps,
                seed + attempt,
            )
            if left >= 0:
                return path
        return None

    def limit(self, level: float) -> Floats:
        """The load of each arc at this utilisation, and the rounding of its sum."""
        return self.capacity * level + 1e-9 * np.minimum(1.0, self.capacity)
