"""What no placement can be better than.

Flows of one size fill an arc in steps, so utilisations come in ``levels``; and what must cross a
cut of the network needs so many steps on its arcs.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.problem import Demand, Floats, Indices, Ints, Network

MOST_LEVELS = 1_000_000


def room(network: Network, size: float, level: float) -> Ints:
    """How many flows of ``size`` each arc carries at this utilisation, ``[A]``."""
    steps = np.floor(network.capacity_bps * (level / size) * (1 + 1e-9))
    return np.minimum(steps, np.iinfo(np.int32).max).astype(np.int32)


def levels(network: Network, size: float, low: float, high: float) -> Floats:
    """The utilisations from low to high that some arc can have with flows of ``size``, rising; none
    if there are too many to tell apart."""
    capacity = np.unique(network.capacity_bps[network.capacity_bps > 0])
    begin, end = np.ceil(low * capacity / size * (1 - 1e-9)), np.floor(high * capacity / size)
    if (end - begin + 1).sum() > MOST_LEVELS:
        return np.zeros(0)
    steps = [np.arange(b, e + 1) * (size / c) for b, e, c in zip(begin, end, capacity, strict=True)]
    return np.unique(np.concatenate(steps)) if steps else np.zeros(0)


def rounded(network: Network, size: float, bound: float) -> float:
    """The lowest level that is not below the bound."""
    above = levels(network, size, bound, bound + 1.000001 * size / _widest(network))
    return float(above[0]) if len(above) else bound


def equal_cuts(network: Network, size: float, group: Ints, crossing: Indices) -> float:
    """The lowest level at which each cut has room for what must cross it.

    Arc a belongs to cut ``group[a]`` (-1: none), which ``crossing[cut]`` flows have to cross.
    """
    within = np.flatnonzero((group >= 0) & (network.capacity_bps > 0))
    count = len(crossing)
    capacity = np.bincount(group[within], network.capacity_bps[within], count)
    open_ = capacity > 0
    low = float((crossing[open_] * size / capacity[open_]).max(initial=0.0))
    if not low > 0:
        return 0.0
    narrowest = network.capacity_bps[within].min()
    steps = levels(network, size, low, low + 1.000001 * size / narrowest)
    first, last = 0, len(steps) - 1
    while first < last:
        middle = (first + last) // 2
        space = np.bincount(group[within], room(network, size, float(steps[middle]))[within], count)
        if (space >= crossing)[open_].all():
            last = middle
        else:
            first = middle + 1
    return float(steps[first]) if len(steps) else low


def cuts(network: Network, ends: Ints, demand: Demand) -> float:
    """For flows of any sizes: what begins or ends at a node, on arcs no wider than its widest.

    ``ends[F]`` is the node where a flow ends, -1 if that is not settled. Of the k m + 1 largest
    flows, k + 1 share one of m arcs: at least the k + 1 smallest of them.
    """
    best = 0.0
    moves = demand.source != ends
    for node, at in ((demand.source, network.tail), (ends, network.head)):
        arcs = np.flatnonzero(network.capacity_bps > 0)
        total = np.bincount(at[arcs], network.capacity_bps[arcs], network.nodes)
        count = np.bincount(at[arcs], minlength=network.nodes)
        widest = np.zeros(network.nodes)
        np.maximum.at(widest, at[arcs], network.capacity_bps[arcs])
        flows = np.flatnonzero(moves & (node >= 0))
        order = flows[np.lexsort((-demand.rate_bps[flows], node[flows]))]
        sizes = demand.rate_bps[order]
        nodes, first = np.unique(node[order], return_index=True)
        for v, size in zip(nodes.tolist(), np.split(sizes, first)[1:], strict=True):
            m = int(count[v])
            if not m:
                continue
            best = max(best, float(size.sum() / total[v]))
            largest = np.append(0.0, np.cumsum(size))
            k = np.arange((len(size) - 1) // m + 1)
            shared = largest[k * m + 1] - largest[np.maximum(0, k * m - k)]
            best = max(best, float(shared.max() / widest[v]))
    return best


def volume(network: Network, demand: Demand, hops: Indices, flows: Indices) -> float:
    """Each of ``flows[G]`` takes at least ``hops[G]`` arcs: the mean utilisation then."""
    total = float(network.capacity_bps.sum())
    return float((demand.rate_bps[flows] * hops).sum()) / total if total > 0 else 0.0


def _widest(network: Network) -> float:
    return float(network.capacity_bps.max(initial=0.0))
