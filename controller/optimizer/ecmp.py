"""Strategy ``ecmp``: equal shares over the shortest paths, as hashing switches spread them."""

from __future__ import annotations

from controller.optimizer import portfolio
from controller.optimizer.certificate import Solution, finish
from controller.optimizer.paths import Paths, spread
from controller.optimizer.problem import Demand, Floats, Network


def solve(network: Network, demand: Demand, paths: Paths, start: Floats | None = None) -> Solution:
    """Equal shares over the distinct shortest paths of each demand; ``start`` does not matter.

    The bound is that of the best shares over the same paths, so the gap says what hashing loses.
    """
    found = portfolio.optimum(network, demand, paths)
    share = spread(paths, by_capacity=False)
    return finish(network, demand, paths, share, found, f"ecmp (bound: {found.solver})")
