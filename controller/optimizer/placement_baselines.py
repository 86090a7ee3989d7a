"""Common ways to place flows, to measure against: none looks back, none proves a bound.

Each gives the row of the path of each flow that has one: ``[G]`` for the flows
``paths.demand[paths.starts]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from controller.optimizer.kernels import greedy
from controller.optimizer.paths import Paths, spread
from controller.optimizer.problem import Demand, Floats, Indices, Network


def ecmp_hash(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """A shortest path at random, as the hash of a flow's header picks one."""
    cumulative = np.cumsum(spread(paths, by_capacity=False))
    starts = paths.starts
    before = np.append(0.0, cumulative)[starts]
    drawn = before + np.random.default_rng(seed).random(len(starts)) * (1 - 1e-9)
    picked = np.searchsorted(cumulative, drawn, side="right")
    return np.asarray(np.clip(picked, starts, paths.bounds[1:] - 1))


def round_robin(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """The flows of a source take their shortest paths in turn."""
    share = spread(paths, by_capacity=False)
    starts = paths.starts
    group = np.repeat(np.arange(len(starts)), np.diff(paths.bounds))
    short = np.flatnonzero(share > 0)
    begin = np.searchsorted(group[short], np.arange(len(starts)))
    count = np.bincount(group[short], minlength=len(starts))
    source = demand.source[paths.demand[starts]]
    order = np.argsort(source, kind="stable")
    turn = np.empty(len(starts), np.int64)
    turn[order] = np.arange(len(starts)) - np.searchsorted(source[order], source[order])
    return np.asarray(short[begin + turn % np.maximum(count, 1)])


def least_loaded(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """Largest first, each to the path whose worst link it leaves least loaded."""
    starts = paths.starts
    size = demand.rate_bps[paths.demand[starts]]
    order = np.argsort(-size, kind="stable")
    return greedy.least_loaded(order, paths.bounds, paths.first, paths.arcs, size, inverse(network))


def inverse(network: Network) -> Floats:
    """1 / capacity, 0 for dead arcs, ``[A]``."""
    capacity = network.capacity_bps
    return np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)


BASELINES: Mapping[str, Callable[[Network, Demand, Paths, int], Indices]] = {
    "ecmp-hash": ecmp_hash,
    "round-robin": round_robin,
    "least-loaded": least_loaded,
}
