"""Integer bucket weights of SELECT groups from the shares of a solution.

Rounding down, then handing out the units that are left where they hurt least, heaviest demand
first, then moving single units off the worst link. Rounding to the nearest would send all ties to
the same spine (measured: up to +290 % on the worst link, where this loses a few per cent at
most).
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.kernels import rounding
from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Demand, Floats, Indices, Ints, Network

MAX_TOTAL = 64
MAX_MOVES = 256


def quantise(
    paths: Paths, share: Floats, demand: Demand, network: Network, total: int = 16
) -> Ints:
    """Units of each path, ``[P]``; those of a demand sum to ``total``, a power of two.

    A demand that needs more than ``total / 2`` buckets gets 32 or 64 units, so that they can
    differ.
    """
    units = np.zeros(len(paths), np.int32)
    used = share > 1e-9
    if used.any():
        units[used] = _round(paths.only(used), share[used], demand, network, total)
    return units


def _round(paths: Paths, share: Floats, demand: Demand, network: Network, total: int) -> Indices:
    bounds = paths.bounds
    sizes = np.diff(bounds)
    totals = np.full(len(sizes), total)
    while (small := (2 * sizes > totals) & (totals < MAX_TOTAL)).any():
        totals[small] *= 2
    if (sizes > totals).any():
        raise ValueError(f"a demand uses {sizes.max()} trees, more than {MAX_TOTAL} buckets")
    whole = np.repeat(totals, sizes)
    exact = share / np.repeat(np.add.reduceat(share, bounds[:-1]), sizes) * whole
    least = np.floor(exact + 1e-6).astype(np.int64)
    most = np.ceil(exact - 1e-6).astype(np.int64)
    units: Indices = least.copy()

    rate = demand.rate_bps[paths.demand]
    quantum = rate / whole
    capacity = network.capacity_bps
    inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    level = utilisation(load(paths, quantum * units, len(capacity)), network)
    if (top := level.max(initial=0.0)) > 0:
        level, inverse = level / top, inverse / top
    heaviest = np.argsort(-rate[bounds[:-1]], kind="stable")
    route = (bounds, paths.first, paths.arcs, quantum, inverse)
    rounding.hand_out(heaviest, *route, totals, exact, most, units, level)
    crossed = np.argsort(paths.arcs, kind="stable")
    crossing = np.repeat(np.arange(len(paths)), paths.hops)[crossed]
    crossing_first = np.searchsorted(paths.arcs[crossed], np.arange(len(capacity) + 1))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rounding.improve(MAX_MOVES, *route, least, most, crossing_first, crossing, owner, units, level)
    return units


def evaluate(paths: Paths, units: Ints, demand: Demand, network: Network) -> tuple[Floats, float]:
    """Load of each arc and MLU when buckets carry exactly their weight ``units[P]``.

    Weight on a tree that does not work from its source has no path, so its load goes to the other
    buckets.
    """
    weight = units.astype(np.float64)
    total = np.bincount(paths.demand, weight, minlength=len(demand.source))[paths.demand]
    share = np.divide(weight, total, out=np.zeros(len(weight)), where=total > 0)
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    return carried, float(utilisation(carried, network).max(initial=0.0))
