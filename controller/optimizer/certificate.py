"""Solutions with a certificate that holds whatever the solver said.

The shares are evaluated here, and the lower bound is recomputed from link prices by weak duality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Demand, Floats, Forest, Network, Solution


@dataclass(slots=True)
class Found:
    """Share of each path and price of each arc; ``seconds`` in ``solver``."""

    share: Floats
    price: Floats
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
    length = np.append(cost, 0.0)[paths.arcs].sum(1)
    starts = paths.starts
    cheapest = np.minimum.reduceat(length, starts)
    rate = demand.rate_bps[paths.demand[starts]]
    # One part in 10^12 pays for the rounding of these sums.
    return float((rate * cheapest).sum() * (1 - 1e-12))


def finish(
    network: Network,
    forest: Forest,
    demand: Demand,
    paths: Paths,
    share: Floats,
    found: Found,
    strategy: str,
) -> Solution:
    """Turn path shares into a Solution; the bound comes from ``found.price``."""
    table = np.zeros((len(demand.source), len(forest.egress)))
    table[paths.demand, paths.tree] = share
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    mlu = float(utilisation(carried, network).max(initial=0.0))
    bound = dual_bound(network, demand, paths, found.price)
    unroutable = np.ones(len(demand.source), bool)
    unroutable[paths.demand] = False
    solver = found.solver if strategy == "lp" else f"{strategy} (bound: {found.solver})"
    return Solution(table, unroutable, carried, mlu, bound, gap(mlu, bound), solver, found.seconds)


def gap(mlu: float, bound: float) -> float:
    """``mlu / bound - 1``: 0 when both are 0, infinite when only the bound is."""
    if mlu <= 0:
        return 0.0
    return max(0.0, mlu / bound - 1) if bound > 0 else float("inf")
