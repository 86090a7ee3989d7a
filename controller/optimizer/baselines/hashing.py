"""ECMP for few flows."""

from __future__ import annotations

import numpy as np

from controller.optimizer.paths import Paths, spread
from controller.optimizer.problem import Demand, Indices, Network


def ecmp_hash(network: Network, demand: Demand, paths: Paths, seed: int = 0) -> Indices:
    """A shortest path at random, as the hash of a flow's header picks one (Hopps, RFC 2992)."""
    cumulative = np.cumsum(spread(paths, by_capacity=False))
    starts = paths.starts
    before = np.append(0.0, cumulative)[starts]
    drawn = before + np.random.default_rng(seed).random(len(starts)) * (1 - 1e-9)
    picked = np.searchsorted(cumulative, drawn, side="right")
    return np.asarray(np.clip(picked, starts, paths.bounds[1:] - 1))
