"""Max-min fair rates when demands exceed what the network carries.

Adaptive water-filling (Namyar et al., "Soroush", NSDI '24): paths fill in proportion to weights;
then each demand's weights become what its paths got, and so on, so that demands lean on the paths
that have room.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import filling
from controller.optimizer.paths import Paths, check_paths, load
from controller.optimizer.problem import Demand, Floats, Network, check_demand, check_network

ROUNDS = 16
LEAST = 1e-6
"""Part of a demand that a path keeps as weight, so that it can come back."""


def fair_rates(network: Network, demand: Demand, paths: Paths, rounds: int = ROUNDS) -> Floats:
    """What each path carries, ``[P]`` in bps: no arc above its capacity, no demand above its rate,
    and rates near those of which none can grow but at the cost of a smaller one.

    Paths without arcs carry all of their demand. Raises ValueError for arrays that make no sense.
    """
    check_network(network)
    check_demand(network, demand)
    check_paths(network, demand, paths)
    if not len(paths):
        return np.zeros(0)
    bounds, sizes = paths.bounds, np.diff(paths.bounds)
    rate = demand.rate_bps[paths.demand[paths.starts]]
    unit = float(rate.max())
    if not unit > 0:
        return np.zeros(len(paths))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    on = np.repeat(np.arange(len(paths)), paths.hops)
    order = np.argsort(paths.arcs, kind="stable")
    arc_first = np.searchsorted(paths.arcs[order], np.arange(len(network.tail) + 1))
    weight = np.repeat(1.0 / sizes, sizes)
    best, least = np.zeros(len(paths)), -1.0
    for _ in range(rounds):
        carried = filling.fill(
            bounds,
            owner,
            paths.first,
            paths.arcs,
            arc_first.astype(np.int64),
            on[order],
            network.capacity_bps / unit,
            rate / unit,
            weight,
        )
        total = np.add.reduceat(carried, bounds[:-1])
        # Of the rounds, the one whose rates are fairest: by the sum of their logarithms.
        asked = rate > 0
        got = np.maximum(total[asked] * unit / rate[asked], 1e-9)
        score = float(np.log(got).mean())
        if score > least or least == -1.0:
            best, least = carried, score
        weight = carried / np.repeat(np.maximum(total, 1e-300), sizes)
        weight = np.maximum(weight, LEAST)
        weight /= np.repeat(np.add.reduceat(weight, bounds[:-1]), sizes)
    return _within(network, paths, best * unit)


def _within(network: Network, paths: Paths, carried: Floats) -> Floats:
    """Scaled down where the rounding of sums has put an arc above its capacity."""
    total = load(paths, carried, len(network.tail))
    over = np.divide(
        network.capacity_bps, total, out=np.ones(len(total)), where=total > network.capacity_bps
    )
    if (over >= 1).all():
        return carried
    hops = paths.hops
    least = np.ones(len(paths))
    np.minimum.at(least, np.repeat(np.arange(len(paths)), hops), over[paths.arcs])
    return np.asarray(carried * least)
