"""All strategies by name: arrays in, a certified solution out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from controller.optimizer import linear, portfolio, stopwatch
from controller.optimizer.baselines import BASELINES, shares
from controller.optimizer.certificate import Found, Solution, finish
from controller.optimizer.paths import Paths, check_paths
from controller.optimizer.problem import Demand, Floats, Network, check_demand, check_network

Strategy = Callable[[Network, Demand, Paths, Floats | None], Solution]


def baseline(name: str, network: Network, demand: Demand, paths: Paths, best: Found) -> Solution:
    """One of ``BASELINES`` under the bound of the ``best`` shares over the same paths, so that the
    gap says what it loses. The seconds are its own."""
    began = stopwatch.now()
    share = shares(name, network, demand, paths)
    found = replace(best, seconds=stopwatch.now() - began)
    return finish(network, demand, paths, share, found, f"{name} (bound: {best.solver})")


def _baseline(
    name: str, network: Network, demand: Demand, paths: Paths, start: Floats | None = None
) -> Solution:
    """``start`` does not matter."""
    return baseline(name, network, demand, paths, portfolio.optimum(network, demand, paths))


STRATEGIES: Mapping[str, Strategy] = {
    "auto": portfolio.solve,
    "exact": linear.solve,
    **{name: partial(_baseline, name) for name in BASELINES},
}


def solve(
    name: str, network: Network, demand: Demand, paths: Paths, start: Floats | None = None
) -> Solution:
    """Shares by the strategy of that name; equal arrays give equal shares. ``start[P]`` are shares
    to begin from, such as those in force.

    Raises ValueError for a name that is none, and for arrays that make no sense.
    """
    if name not in STRATEGIES:
        raise ValueError(f"unknown strategy {name!r}: use one of {', '.join(STRATEGIES)}")
    check_network(network)
    check_demand(network, demand)
    check_paths(network, demand, paths)
    if start is not None and not (len(start) == len(paths) and (np.isfinite(start)).all()):
        raise ValueError(
            f"{len(start)} shares to begin from, some of them no numbers, for "
            f"{len(paths)} paths: give a finite one for each"
        )
    return STRATEGIES[name](network, demand, paths, start)
