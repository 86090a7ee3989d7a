"""Why nothing is better: the arcs that bind, and the demands that have no way around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.optimizer.certificate import dual_bound
from controller.optimizer.paths import Paths, length
from controller.optimizer.problem import Demand, Floats, Indices, Network

NAMED = 0.95
"""Part of the price of all arcs that those which are named have, and of the bound that those
demands make which are named."""


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """No shares over the paths have an MLU below ``bound``, for demands must pay for their ways
    what link prices ask, and these are paid by capacity (weak duality, see ``dual_bound``).

    ``arcs`` make up ``NAMED`` of the price of all, dearest first: ``arc_part`` of each. ``demands``
    make up as much of the bound, ``demand_part`` each. More capacity elsewhere, or less of other
    demands, proves nothing better.
    """

    bound: float
    arcs: Indices
    arc_part: Floats
    demands: Indices
    demand_part: Floats


def reasons(network: Network, demand: Demand, paths: Paths, price: Floats) -> Reasons:
    """What the prices ``price[A]`` say; the better their bound, the more they tell."""
    usable = network.capacity_bps > 0
    price = np.where(usable & np.isfinite(price), np.maximum(price, 0.0), 0.0)
    bound = dual_bound(network, demand, paths, price)
    none = np.zeros(0, np.int64)
    if not bound > 0:
        return Reasons(0.0, none, np.zeros(0), none, np.zeros(0))
    price /= price.max()
    cost = np.divide(price, network.capacity_bps, out=np.zeros(len(price)), where=usable)
    cheapest = np.minimum.reduceat(length(paths, cost), paths.starts)
    who = paths.demand[paths.starts]
    arcs, arc_part = _most(price)
    first, demand_part = _most(demand.rate_bps[who] * cheapest)
    return Reasons(bound, arcs, arc_part, who[first], demand_part)


def _most(value: Floats) -> tuple[Indices, Floats]:
    """Indices of the largest that make up ``NAMED`` of the sum, and the part of each."""
    part = value / value.max()
    part /= part.sum()
    order = np.argsort(-part, kind="stable")
    count = int(np.searchsorted(np.cumsum(part[order]), NAMED)) + 1
    return order[:count], part[order[:count]]
