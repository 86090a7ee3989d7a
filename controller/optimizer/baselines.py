"""Published and common ways to split traffic, to measure against.

Each gives the share of each path, ``[P]``; none proves a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from controller.optimizer.kernels import search
from controller.optimizer.linear import Exact
from controller.optimizer.paths import Paths, load, spread
from controller.optimizer.problem import Demand, Floats, Network
from controller.optimizer.scaled import Scaled

POP_PARTS = 16
STALLED_SWEEPS = 20


def ecmp(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Equal shares of the shortest paths, as hashing many flows gives them."""
    return spread(paths, by_capacity=False)


def wcmp(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Shares of the shortest paths by their bottlenecks (Zhou et al., "WCMP", EuroSys '14)."""
    return spread(paths, by_capacity=True)


def pop(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Demands in ``POP_PARTS`` random parts, each solved by GLOP on that part of every capacity
    (Narayanan et al., SOSP '21). PDLP where GLOP takes too long."""
    part = np.random.default_rng(0).integers(0, POP_PARTS, len(demand.source))[paths.demand]
    share = np.zeros(len(paths))
    for i in range(POP_PARTS):
        if (own := part == i).any():
            scaled = Scaled(network, demand, paths.only(own))
            share[own] = Exact(scaled).optimise(refine=False).share
    return share


def ssdo(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Each demand in turn gets the shares that minimise the worst utilisation of its own paths,
    the others' held, until that stalls. After the search of Zhu et al., "SSDO", NSDI '26."""
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


BASELINES: Mapping[str, Callable[[Network, Demand, Paths], Floats]] = {
    "ecmp": ecmp,
    "wcmp": wcmp,
    "pop": pop,
    "ssdo": ssdo,
}
