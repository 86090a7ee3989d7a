"""Strategy ``ecmp``: equal shares over the shortest paths, as hashing switches spread them."""

from __future__ import annotations

from controller.optimizer.certificate import finish
from controller.optimizer.linear import optimum
from controller.optimizer.paths import spread, trace
from controller.optimizer.problem import Demand, Forest, Network, Solution


def solve(network: Network, forest: Forest, demand: Demand) -> Solution:
    """Equal shares over the distinct shortest working paths of each demand.

    The bound is that of the linear program over the same forest, so the gap says what hashing
    loses.
    """
    paths = trace(network, forest, demand)
    found = optimum(network, demand, paths)
    share = spread(paths, by_capacity=False)
    return finish(network, forest, demand, paths, share, found, "ecmp")
