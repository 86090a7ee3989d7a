"""The paths that the trees of a forest give to demands, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.optimizer.problem import Demand, Floats, Forest, Ints, Network

Indices = npt.NDArray[np.int64]
THIN = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Working paths, one for each (demand, tree of its egress), sorted by demand, then tree.

    ``arcs[P, H]`` is padded with A. ``hops[P]`` is 0 for a demand that is already where it wants
    to be, and then ``bottleneck_bps[P]`` is infinite. ``twins[P]`` counts the paths of the same
    demand that take exactly the same arcs (itself included).
    """

    demand: Indices
    tree: Indices
    arcs: Indices
    hops: Indices
    bottleneck_bps: Floats
    twins: Indices

    def __len__(self) -> int:
        return len(self.demand)

    @property
    def starts(self) -> Indices:
        """First path of each demand that has one (the demands are ``demand[starts]``)."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.r_[True, self.demand[1:] != self.demand[:-1]])


def walk(next_arc: Ints, head: Ints, start: Ints | Indices) -> tuple[Indices, Indices]:
    """Follow one row of ``next_arc[P, N]`` from each ``start[P]``.

    Returns ``arcs[P, H]`` padded with A, and the node where each walk ends (-1 if it never does).
    """
    arc_count, nodes = len(head), next_arc.shape[1]
    rows = np.arange(len(start))
    at = np.asarray(start, np.int64)
    columns: list[Indices] = []
    for _ in range(nodes):
        arc = next_arc[rows, at].astype(np.int64)
        if (arc < 0).all():
            break
        columns.append(np.where(arc < 0, arc_count, arc))
        at = np.where(arc < 0, at, head[np.maximum(arc, 0)])
    else:
        at = np.where(next_arc[rows, at] < 0, at, -1)
    arcs = np.stack(columns, 1) if columns else np.full((len(rows), 0), arc_count, np.int64)
    return arcs, at


def trace(network: Network, forest: Forest, demand: Demand) -> Paths:
    """All paths over arcs with capacity. A demand without one has no row.

    A node where a tree does nothing is a member if some arc of the tree leads to it; else the tree
    does not reach it.
    """
    order = np.argsort(forest.egress, kind="stable")
    grouped = forest.egress[order]
    low = np.searchsorted(grouped, demand.egress, "left")
    count = np.searchsorted(grouped, demand.egress, "right") - low
    who = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(who)) - np.repeat(np.cumsum(count) - count, count)
    tree = order[np.repeat(low, count) + nth].astype(np.int64)

    arcs, end = walk(forest.next_arc[tree], network.head, demand.source[who])
    capacity = np.append(network.capacity_bps, np.inf)
    bottleneck = capacity[arcs].min(1, initial=np.inf)
    member = np.zeros(forest.next_arc.shape, bool)
    planted, node = np.nonzero(forest.next_arc >= 0)
    member[planted, network.head[forest.next_arc[planted, node]]] = True
    member &= forest.next_arc < 0
    works = (end >= 0) & (bottleneck > 0)
    works[works] = member[tree[works], end[works]]

    who, tree, arcs, bottleneck = who[works], tree[works], arcs[works], bottleneck[works]
    order = np.lexsort((tree, who))
    who, tree, arcs, bottleneck = who[order], tree[order], arcs[order], bottleneck[order]
    key = np.column_stack((who, arcs))
    _, same, copies = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    hops = (arcs < len(network.head)).sum(1)
    return Paths(who, tree, arcs, hops, bottleneck, copies[same.reshape(-1)])


def spread(paths: Paths, by_capacity: bool) -> Floats:
    """Share of each path when each demand uses all its shortest distinct paths, ``shares[P]``.

    In equal parts, or in proportion to the paths' bottleneck capacity; then paths with less than
    ``THIN`` of the demand's best do not count, however short.
    """
    if not len(paths):
        return np.zeros(0)
    starts = paths.starts
    sizes = np.diff(np.append(starts, len(paths)))
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


def load(paths: Paths, carried_bps: Floats, arc_count: int) -> Floats:
    """Load of each arc, ``[A]``, when path p carries ``carried_bps[p]``."""
    weights = np.repeat(carried_bps, paths.arcs.shape[1])
    total = np.bincount(paths.arcs.ravel(), weights, minlength=arc_count + 1)
    return np.asarray(total[:arc_count], np.float64)


def utilisation(load_bps: Floats, network: Network) -> Floats:
    """Load over capacity of each arc; 0 where nothing flows, infinite on a loaded dead arc."""
    capacity = network.capacity_bps
    idle = np.where(load_bps > 0, np.inf, 0.0)
    return np.divide(load_bps, capacity, out=idle, where=(capacity > 0) & (load_bps > 0))
