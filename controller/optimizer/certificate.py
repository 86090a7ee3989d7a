"""Solutions with a certificate that holds whatever the solver said.

The shares are evaluated here, and the lower bound is recomputed from link prices by weak duality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.optimizer.kernels import flows
from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Bools, Demand, Floats, Network


@dataclass(slots=True)
class Found:
    """Share of each path and price of each arc; ``seconds`` in ``solver``."""

    share: Floats
    price: Floats
    solver: str
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Share of each path, with a certificate.

    ``share[P]`` of its demand goes on path p of ``paths``; the shares of a demand sum to 1.
    ``unroutable[D]`` are the demands without a path. ``load_bps[A]``. Utilisations are load /
    capacity: ``mlu`` of this solution (upper bound), ``bound`` of any over these paths (lower),
    ``gap = mlu / bound - 1`` (0 when both are 0). ``seconds`` spent by ``solver``.
    """

    paths: Paths
    share: Floats
    unroutable: Bools
    load_bps: Floats
    mlu: float
    bound: float
    gap: float
    solver: str
    seconds: float


def dual_bound(network: Network, demand: Demand, paths: Paths, price: Floats) -> float:
    """No shares over these paths have an MLU below this, whatever ``price[A]`` is (weak duality).

    With link prices y >= 0 that sum to 1, MLU >= sum of y x utilisation >= sum over demands of
    rate x min over its paths of the sum of y / capacity.
    """
    usable = network.capacity_bps > 0
    price = np.where(usable & np.isfinite(price), np.maximum(price, 0.0), 0.0)
    total = price.sum()
    if not total > 0 or not len(paths):
        return 0.0
    cost = np.divide(price / total, network.capacity_bps, out=np.zeros(len(price)), where=usable)
    rate = demand.rate_bps[paths.demand[paths.starts]]
    # One part in 10^12 pays for the rounding of these sums.
    return flows.cheapest(paths.bounds, paths.first, paths.arcs, cost, rate) * (1 - 1e-12)


def finish(
    network: Network, demand: Demand, paths: Paths, share: Floats, found: Found, solver: str
) -> Solution:
    """Certify path shares; the bound comes from ``found.price``."""
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    mlu = float(utilisation(carried, network).max(initial=0.0))
    bound = dual_bound(network, demand, paths, found.price)
    unroutable = np.ones(len(demand.source), bool)
    unroutable[paths.demand] = False
    return Solution(
        paths, share, unroutable, carried, mlu, bound, gap(mlu, bound), solver, found.seconds
    )


def gap(mlu: float, bound: float) -> float:
    """``mlu / bound - 1``: 0 when both are 0, infinite when only the bound is."""
    if mlu <= 0:
        return 0.0
    return max(0.0, mlu / bound - 1) if bound > 0 else float("inf")
