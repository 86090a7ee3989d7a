"""Partitioned linear programs: Narayanan et al., "Solving large-scale granular resource allocation
problems efficiently with POP", SOSP '21."""

from __future__ import annotations

from functools import partial

import numpy as np

from controller.optimizer.linear import Exact
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Floats, Indices, Network
from controller.optimizer.scaled import Scaled

PARTS = 16
SPLIT = 1.0
"""So many more demands than there are may come of splitting the largest."""


def pop(network: Network, demand: Demand, paths: Paths, parts: int = PARTS) -> Floats:
    """Demands in ``parts`` random parts (a power of two), each solved by GLOP on that part of every
    capacity, by PDLP where GLOP takes too long. First the largest are halved again and again, as
    the paper has it, so that no part gets more than it can spread."""
    share = np.zeros(len(paths))
    if not len(paths):
        return share
    routed = paths.demand[paths.starts]
    copies = np.ones(len(demand.source), np.int64)
    copies[routed] = copies_of(demand.rate_bps[routed], parts)
    rng = np.random.default_rng(0)
    first, step = rng.integers(0, parts, len(copies)), 2 * rng.integers(0, parts, len(copies)) + 1
    who = np.repeat(np.arange(len(copies)), copies)
    turn = np.arange(len(who)) - np.repeat(np.cumsum(copies) - copies, copies)
    part = (first[who] + turn * step[who]) % parts
    each = Demand(demand.source, demand.egress, demand.rate_bps / copies)
    for i in range(parts):
        inside = np.zeros(len(copies), np.bool_)
        inside[who[part == i]] = True
        own = inside[paths.demand]
        if own.any():
            exact = Exact(Scaled(network, each, paths.only(own)))
            share[own] += exact.optimise(refine=False).share / copies[paths.demand[own]]
    return share


def copies_of(rate: Floats, parts: int) -> Indices:
    """Into how many each demand is split: powers of two, none more than there are parts."""
    largest = float(rate.max(initial=0.0))
    if not largest > 0:
        return np.ones(len(rate), np.int64)
    # In halvings of the largest demand; a demand that is lost in those is one copy.
    size = np.log2(np.maximum(rate / largest, 1e-18))

    def split(least: float) -> Indices:
        halvings = np.clip(np.ceil(size - least), 0, np.log2(parts))
        return np.asarray(2 ** halvings.astype(np.int64))

    low, high = -60.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        if split(middle).sum() <= (1 + SPLIT) * len(rate):
            high = middle
        else:
            low = middle
    return split(high)


SETTINGS = {f"pop-{parts}": partial(pop, parts=parts) for parts in (64, 16, 4)}
"""From the fastest to the most exact."""
