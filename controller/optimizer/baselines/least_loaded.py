"""Greedy placement."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import greedy
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Indices, Network


def least_loaded(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """Largest first, each to the path whose worst link it leaves least loaded: Graham's
    longest-first list scheduling (SIAM J. Appl. Math. 17, 1969) on paths instead of machines."""
    starts = paths.starts
    size = demand.rate_bps[paths.demand[starts]]
    order = np.argsort(-size, kind="stable")
    capacity = network.capacity_bps
    inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    return greedy.least_loaded(order, paths.bounds, paths.first, paths.arcs, size, inverse)
