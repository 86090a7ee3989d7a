"""Paths in turn."""

from __future__ import annotations

import numpy as np

from controller.optimizer.paths import Paths, spread
from controller.optimizer.problem import Demand, Indices, Network


def round_robin(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """The flows of a source take their shortest paths in turn, whatever their sizes (as DRB does
    with packets: Cao et al., CoNEXT '13)."""
    share = spread(paths, by_capacity=False)
    starts = paths.starts
    group = np.repeat(np.arange(len(starts)), np.diff(paths.bounds))
    short = np.flatnonzero(share > 0)
    begin = np.searchsorted(group[short], np.arange(len(starts)))
    count = np.bincount(group[short], minlength=len(starts))
    source = demand.source[paths.demand[starts]]
    order = np.argsort(source, kind="stable")
    turn = np.empty(len(starts), np.int64)
    turn[order] = np.arange(len(starts)) - np.searchsorted(source[order], source[order])
    return np.asarray(short[begin + turn % np.maximum(count, 1)])
