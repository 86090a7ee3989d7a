"""Shares that do not depend on the traffic."""

from __future__ import annotations

import numpy as np

from controller.optimizer.paths import Paths, spread
from controller.optimizer.problem import Demand, Floats, Network


def ecmp(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Equal shares of the shortest paths, as hashing very many small flows gives them (Hopps,
    RFC 2992)."""
    return spread(paths, by_capacity=False)


def equal_split(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Equal shares of all distinct paths, however long: load balanced over two phases where paths
    meet anywhere (Valiant and Brebner, STOC '81, for random ones)."""
    if not len(paths):
        return np.zeros(0)
    weight = 1.0 / paths.twins
    total = np.add.reduceat(weight, paths.starts)
    return np.asarray(weight / np.repeat(total, np.diff(paths.bounds)))


def wcmp(network: Network, demand: Demand, paths: Paths) -> Floats:
    """Shares of the shortest paths by their bottlenecks (Zhou et al., "WCMP", EuroSys '14)."""
    return spread(paths, by_capacity=True)
