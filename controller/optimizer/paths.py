"""The paths that the trees of a forest give to demands, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.optimizer.kernels import flows, ways
from controller.optimizer.problem import (
    Bools,
    Demand,
    Floats,
    Forest,
    Indices,
    Ints,
    Network,
    check_demand,
    check_forest,
    check_network,
    refuse,
)

THIN = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Working paths, one for each (demand, tree of its egress), sorted by demand, then tree.

    Path p takes ``arcs[first[p]:first[p + 1]]``: none for a demand that is already where it wants
    to be, and then ``bottleneck_bps[P]`` is infinite. ``twins[P]`` counts the paths of the same
    demand that take exactly the same arcs (itself included).
    """

    demand: Indices
    tree: Indices
    first: Indices
    arcs: Ints
    bottleneck_bps: Floats
    twins: Ints

    def __len__(self) -> int:
        return len(self.demand)

    @property
    def hops(self) -> Indices:
        return np.diff(self.first)

    @property
    def starts(self) -> Indices:
        """First path of each demand that has one (the demands are ``demand[starts]``)."""
        return np.flatnonzero(np.diff(self.demand, prepend=-1))

    @property
    def bounds(self) -> Indices:
        """``starts``, and the number of paths."""
        return np.flatnonzero(np.diff(self.demand, prepend=-1, append=-1))

    def only(self, keep: Bools) -> Paths:
        """The paths that are ``keep[P]``; their twins are counted as before."""
        hops = self.hops
        return Paths(
            self.demand[keep],
            self.tree[keep],
            np.append(0, np.cumsum(hops[keep])),
            self.arcs[np.repeat(keep, hops)],
            self.bottleneck_bps[keep],
            self.twins[keep],
        )


def trace(network: Network, forest: Forest, demand: Demand) -> Paths:
    """All paths over arcs with capacity. A demand without one has no row.

    A node where a tree does nothing is a member if some arc of the tree leads to it; else the tree
    does not reach it. Raises ValueError for arrays that make no sense.
    """
    check_network(network)
    check_forest(network, forest)
    check_demand(network, demand)
    order = np.lexsort((np.arange(len(forest.egress)), forest.egress))
    grouped = forest.egress[order]
    low = np.searchsorted(grouped, demand.egress, "left")
    count = np.searchsorted(grouped, demand.egress, "right") - low
    who = np.repeat(np.arange(len(count)), count)
    candidates = np.append(0, np.cumsum(count))
    tree = order[np.arange(len(who)) + np.repeat(low - candidates[:-1], count)]

    ends = ways.members(forest.next_arc, network.head)
    hops = ways.works(
        forest.next_arc,
        network.head,
        network.capacity_bps,
        ends,
        demand.source,
        candidates,
        tree,
    )
    works = hops >= 0
    who, tree, hops = who[works], tree[works], hops[works]
    first = np.append(0, np.cumsum(hops, dtype=np.int64))
    arcs, bottleneck = ways.lay(
        forest.next_arc, network.head, network.capacity_bps, demand.source[who], tree, first
    )
    bounds = np.flatnonzero(np.diff(who, prepend=-1, append=-1))
    return Paths(who, tree, first, arcs, bottleneck, ways.twins(bounds, first, arcs))


def check_paths(network: Network, demand: Demand, paths: Paths) -> None:
    """Raises ValueError, naming the first path that is wrong."""
    count, arcs = len(paths), len(network.tail)
    fields = (paths.tree, paths.bottleneck_bps, paths.twins, paths.first[1:])
    if any(len(field) != count for field in fields):
        raise ValueError(f"arrays of different lengths for {count} paths: give one of each")
    who, low, high = paths.demand, paths.first[:-1], paths.first[1:]
    refuse((who < 0) | (who >= len(demand.source)), "path {} is of no demand", who)
    refuse(np.diff(who, prepend=0) < 0, "path {} is not behind those of earlier demands", who)
    if paths.first[0] != 0 or paths.first[-1] != len(paths.arcs) or (high < low).any():
        raise ValueError(f"paths do not part {len(paths.arcs)} arcs among themselves")
    wrong = (paths.arcs < 0) | (paths.arcs >= arcs)
    refuse(wrong, f"entry {{}} of the paths is no arc of {arcs}", paths.arcs)


def spread(paths: Paths, by_capacity: bool) -> Floats:
    """Share of each path when each demand uses all its shortest distinct paths, ``shares[P]``.

    In equal parts, or in proportion to the paths' bottleneck capacity; then paths with less than
    ``THIN`` of the demand's best do not count, however short.
    """
    if not len(paths):
        return np.zeros(0)
    starts = paths.starts
    sizes = np.diff(paths.bounds)
    weight = 1.0 / paths.twins
    hops = paths.hops
    if by_capacity:
        capacity = np.where(np.isfinite(paths.bottleneck_bps), paths.bottleneck_bps, 1.0)
        best = np.repeat(np.maximum.reduceat(capacity, starts), sizes)
        weight = weight * capacity / best
        hops = np.where(capacity < THIN * best, np.iinfo(hops.dtype).max, hops)
    shortest = np.repeat(np.minimum.reduceat(hops, starts), sizes)
    weight = np.where(hops == shortest, weight, 0.0)
    return np.asarray(weight / np.repeat(np.add.reduceat(weight, starts), sizes))


def normalised(paths: Paths, share: Floats, fallback: Floats) -> Floats:
    """Shares scaled to sum to 1 for each demand; the fallback's where a demand has none."""
    starts = paths.starts
    if not len(starts):
        return share
    sizes = np.diff(paths.bounds)
    total = np.repeat(np.add.reduceat(share, starts), sizes)
    share = np.where(total > 1e-9, share, fallback)
    return np.asarray(share / np.repeat(np.add.reduceat(share, starts), sizes))


def load(paths: Paths, carried_bps: Floats, arc_count: int) -> Floats:
    """Load of each arc, ``[A]``, when path p carries ``carried_bps[p]``."""
    return flows.load(paths.first, paths.arcs, carried_bps, arc_count)


def length(paths: Paths, cost: Floats) -> Floats:
    """Sum of ``cost[A]`` over each path."""
    return flows.length(paths.first, paths.arcs, cost)


def utilisation(load_bps: Floats, network: Network) -> Floats:
    """Load over capacity of each arc; 0 where nothing flows, infinite on a loaded dead arc."""
    capacity = network.capacity_bps
    idle = np.where(load_bps > 0, np.inf, 0.0)
    return np.divide(load_bps, capacity, out=idle, where=(capacity > 0) & (load_bps > 0))
