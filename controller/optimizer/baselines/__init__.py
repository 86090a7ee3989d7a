"""Published and common ways to use the paths, to compare with: none of them proves a bound.

``SPLIT`` ones give the share of each path, ``[P]``. ``WHOLE`` ones place each demand on one path,
the row of which they give for each demand that has one: ``[G]`` for ``paths.demand[paths.starts]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from controller.optimizer.baselines.hashing import ecmp_hash
from controller.optimizer.baselines.least_loaded import least_loaded
from controller.optimizer.baselines.pop import pop
from controller.optimizer.baselines.round_robin import round_robin
from controller.optimizer.baselines.spreading import ecmp, equal_split, wcmp
from controller.optimizer.baselines.ssdo import ssdo
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Floats, Indices, Network

SPLIT: Mapping[str, Callable[[Network, Demand, Paths], Floats]] = {
    "ecmp": ecmp,
    "equal-split": equal_split,
    "wcmp": wcmp,
    "pop": pop,
    "ssdo": ssdo,
}
WHOLE: Mapping[str, Callable[[Network, Demand, Paths, int], Indices]] = {
    "ecmp-hash": ecmp_hash,
    "round-robin": round_robin,
    "least-loaded": least_loaded,
}
BASELINES = (*SPLIT, *WHOLE)


def shares(name: str, network: Network, demand: Demand, paths: Paths) -> Floats:
    """Share of each path by one of ``BASELINES``, ``[P]``; all on one path for ``WHOLE``."""
    if name in SPLIT:
        return SPLIT[name](network, demand, paths)
    share = np.zeros(len(paths))
    share[WHOLE[name](network, demand, paths, 0)] = 1.0
    return share
