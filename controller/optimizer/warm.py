"""Compiling every kernel before the first problem waits for it."""

from __future__ import annotations

from functools import cache

import numpy as np

from controller.optimizer import buckets, fairness, kernels, pinning, portfolio
from controller.optimizer.audit import audit, links_of
from controller.optimizer.baselines.ssdo import ssdo
from controller.optimizer.descent import descend
from controller.optimizer.forest import grow
from controller.optimizer.paths import trace
from controller.optimizer.problem import Demand, Network
from controller.optimizer.reservation import Protection, Request, Terrain
from controller.optimizer.reserve import reserve
from controller.optimizer.scaled import Scaled


@cache
def warm_up() -> None:
    """Plan a ring with a chord, by every way that uses kernels."""
    links = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    network = Network(
        4,
        np.array([end for a, b in links for end in (a, b)], np.int32),
        np.array([end for a, b in links for end in (b, a)], np.int32),
        np.ones(10),
    )
    members = [[n] for n in range(4)]
    forest = grow(network, members, 4)
    grow(network, members, 4, forest)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    demand = Demand(
        np.array([a for a, _ in pairs], np.int32),
        np.array([b for _, b in pairs], np.int32),
        np.arange(1.0, 13.0),
    )
    paths = trace(network, forest, demand)
    found = descend(Scaled(network, demand, paths), None, 1e-2)
    solution = portfolio.solve(network, demand, paths, found.share)
    audit(network, demand, paths, found.share, links_of(network))
    ssdo(network, demand, paths)
    buckets.quantise(paths, solution.share, demand, network)
    pinning.place(network, demand, members, paths)
    fairness.fair_rates(network, demand, paths)
    _place_on_clos()
    link = np.repeat(np.arange(5, dtype=np.int32), 2)
    terrain = Terrain(network, np.zeros(10), link, [frozenset()] * 5)
    reserve(terrain, [Request(1, frozenset({3}), 0.5, Protection.NODE)], [None])
    kernels.completed()


def _place_on_clos() -> None:
    """Equal flows on two leaves and two spines, one too many for what has failed."""
    tail = np.array([0, 2, 1, 2, 1, 3], np.int32)
    head = np.array([2, 0, 2, 1, 3, 1], np.int32)
    flows = Demand(np.array([0, 0, 1], np.int32), np.array([1, 1, 0], np.int32), np.ones(3))
    pinning.place(Network(4, tail, head, np.ones(6)), flows, [[0], [1]])
