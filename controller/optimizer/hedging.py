"""Spreading what does not bind, against demands that were measured wrong.

The idea of variable hedging in Poutievski et al., "Jupiter evolving", SIGCOMM 2022.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.paths import load, normalised
from controller.optimizer.problem import Floats
from controller.optimizer.scaled import Scaled

STEPS = 100


def toward_plain(scaled: Scaled, share: Floats, limit: float) -> Floats:
    """Move all demands together towards their plain spread while no arc exceeds ``limit``.

    Demands that would load a full arc further stop, the others go on.
    """
    paths, rate = scaled.paths, scaled.rate
    ceiling = limit * scaled.network.capacity_bps
    step = scaled.plain - share
    share, done = share.copy(), 0.0
    hops = paths.hops
    for _ in range(STEPS):
        change = load(paths, step * rate, scaled.arc_count)
        room = np.maximum(0.0, ceiling - load(paths, share * rate, scaled.arc_count))
        grows = change > 1e-9 * ceiling
        reach = np.divide(room, change, out=np.full(scaled.arc_count, np.inf), where=grows)
        part = min(1.0 - done, float(reach.min(initial=np.inf)))
        share += part * step
        done += part
        full = grows & (reach <= part)
        if done >= 1 or not full.any():
            break
        crossing = np.zeros(len(paths), bool)
        crossing[np.repeat(np.arange(len(paths)), hops)[full[paths.arcs]]] = True
        stopped = np.zeros(int(paths.demand.max()) + 1, bool)
        stopped[paths.demand[crossing & (step > 0)]] = True
        step = np.where(stopped[paths.demand], 0.0, step)
    return normalised(paths, np.maximum(share, 0.0), scaled.plain)
