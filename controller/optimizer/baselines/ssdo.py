"""Search demand by demand, after Mao et al., "A fast solver-free algorithm for traffic
engineering in large-scale data center network", NSDI '26 (SSDO)."""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import search
from controller.optimizer.paths import Paths, load, spread
from controller.optimizer.problem import Demand, Floats, Network

STALLED_SWEEPS = 20


def ssdo(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Each demand in turn gets the shares that minimise the worst utilisation of its own paths,
    the others' held, until that stalls."""
    share = spread(paths, by_capacity=False)
    capacity = network.capacity_bps
    inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    bounds = paths.bounds
    rate = demand.rate_bps[paths.demand[bounds[:-1]]]
    order = np.argsort(-rate, kind="stable")
    best, best_mlu, stalled = share, np.inf, 0
    while stalled < STALLED_SWEEPS:
        level = load(paths, share * demand.rate_bps[paths.demand], len(capacity)) * inverse
        mlu = float(level.max(initial=0.0))
        stalled = 0 if mlu < best_mlu * (1 - 1e-4) else stalled + 1
        if mlu < best_mlu:
            best, best_mlu = share.copy(), mlu
        if not mlu > 0:
            break
        search.sweep(
            order, bounds, paths.first, paths.arcs, rate, inverse, share, level, 0.98 * mlu
        )
    return best
