"""Recognising folded Clos fabrics (leaf-spine, fat-tree) in a network, links failed or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from controller.optimizer.paths import Paths
from controller.optimizer.problem import Bools, Indices, Ints, Network


@dataclass(frozen=True, slots=True, eq=False)
class Clos:
    """Edge switches, planes, and cores that join a plane's switches of different pods.

    ``edge[N]`` is the number of each edge switch, -1 for other nodes; ``pod[E]``. A pod has one
    switch in a plane: ``up[E, P]`` is the arc from an edge switch to it, ``down[E, P]`` the arc
    back. ``plane[C]`` of each core; ``to_core[pods, C]`` is the arc from the pod's switch in that
    plane, ``from_core[pods, C]`` the arc back. -1 where no arc is alive. A leaf-spine is one pod
    without cores, each spine a plane.
    """

    edge: Ints
    pod: Ints
    up: Ints
    down: Ints
    plane: Ints
    to_core: Ints
    from_core: Ints


def recognise(network: Network, ends: Indices) -> Clos | None:
    """The Clos fabric whose edge switches are the nodes ``ends``; None if there is none, or if two
    switches are joined by several links."""
    nodes, ends = network.nodes, np.unique(ends)
    arc = np.flatnonzero(network.capacity_bps > 0)
    tail, head = network.tail[arc], network.head[arc]
    is_edge = _mark(ends, nodes)
    if (is_edge[tail] & is_edge[head]).any():
        return None
    is_middle = _mark(np.concatenate((head[is_edge[tail]], tail[is_edge[head]])), nodes)
    lower = is_edge[tail] | is_edge[head]
    pod = _components(nodes, tail[lower], head[lower])

    upper = ~lower & (is_middle[tail] ^ is_middle[head])
    outer = np.where(is_middle[tail], head, tail)[upper].astype(np.int64)
    inner = np.where(is_middle[tail], tail, head)[upper]
    seen = np.unique(outer * nodes + pod[inner]) // nodes
    is_core = np.bincount(seen, minlength=nodes) > 1
    upper &= is_core[tail] | is_core[head]
    plane = _components(nodes, tail[upper], head[upper])

    middles, cores = np.flatnonzero(is_middle), np.flatnonzero(is_core)
    if len(np.unique(pod[middles].astype(np.int64) * nodes + plane[middles])) < len(middles):
        return None
    pods, planes = np.unique(pod[ends]), np.unique(plane[middles])
    edge = np.full(nodes, -1, np.int32)
    edge[ends] = np.arange(len(ends))
    core = np.full(nodes, -1, np.int32)
    core[cores] = np.arange(len(cores))
    of_pod = np.searchsorted(pods, pod).clip(max=max(0, len(pods) - 1))
    of_plane = np.searchsorted(planes, plane).clip(max=max(0, len(planes) - 1))
    shape, above = (len(ends), len(planes)), (len(pods), len(cores))
    tables = [
        _table(arc, edge[tail], of_plane[head], is_edge[tail], shape),
        _table(arc, edge[head], of_plane[tail], is_edge[head], shape),
        _table(arc, of_pod[tail], core[head], upper & is_core[head], above),
        _table(arc, of_pod[head], core[tail], upper & is_core[tail], above),
    ]
    whole = [table for table in tables if table is not None]
    if len(whole) < len(tables):
        return None
    up, down, to_core, from_core = whole
    pod_of_edge, plane_of_core = of_pod[ends].astype(np.int32), of_plane[cores].astype(np.int32)
    return Clos(edge, pod_of_edge, up, down, plane_of_core, to_core, from_core)


def candidates(clos: Clos, network: Network, source: Ints, target: Ints) -> Paths:
    """All shortest paths up and down of each flow from ``source[F]`` to ``target[F]`` (nodes); a
    flow that stays where it is has an empty one."""
    u, v = clos.edge[source], clos.edge[target]
    up, down = clos.up[u], clos.down[v]
    a, b = clos.pod[u], clos.pod[v]
    both = (up >= 0) & (down >= 0)
    near, plane = np.nonzero(both & (a == b)[:, None] & (u != v)[:, None])
    to_core, from_core = clos.to_core[a], clos.from_core[b]
    joined = (to_core >= 0) & (from_core >= 0) & (a != b)[:, None]
    far, core = np.nonzero(joined & both[:, clos.plane])
    stays = np.flatnonzero(u == v)
    flow = np.concatenate((near, far, stays))
    legs = np.full((len(flow), 4), -1, np.int32)
    legs[: len(near), 0], legs[: len(near), 3] = up[near, plane], down[near, plane]
    rows = slice(len(near), len(near) + len(far))
    of_core = clos.plane[core]
    legs[rows, 0], legs[rows, 1] = up[far, of_core], to_core[far, core]
    legs[rows, 2], legs[rows, 3] = from_core[far, core], down[far, of_core]
    order = np.argsort(flow, kind="stable")
    flow, legs = flow[order], legs[order]
    used = legs >= 0
    capacity = np.where(used, network.capacity_bps[legs], np.inf)
    return Paths(
        flow,
        np.full(len(flow), -1),
        np.append(0, np.cumsum(used.sum(1))),
        legs[used],
        capacity.min(1),
        np.ones(len(flow), np.int32),
    )


def reaches(clos: Clos, source: Ints, ends: Ints) -> Bools:
    """Whether each flow has a path up and down."""
    u, v = clos.edge[source], clos.edge[ends]
    up, down = clos.up >= 0, clos.down >= 0
    to_core, from_core = clos.to_core >= 0, clos.from_core >= 0
    if up.all() and down.all() and to_core.all() and from_core.all():
        return np.ones(len(u), bool)
    routable: Bools = np.equal(u, v)
    for chunk in np.array_split(np.arange(len(u)), 1 + len(u) * clos.plane.size // 10_000_000):
        a, b = clos.pod[u[chunk]], clos.pod[v[chunk]]
        both = up[u[chunk]] & down[v[chunk]]
        near = (a == b) & both.any(1)
        far = (both[:, clos.plane] & to_core[a] & from_core[b]).any(1)
        routable[chunk] |= near | ((a != b) & far)
    return routable


def pod_cuts(clos: Clos, network: Network, source: Ints, ends: Ints) -> list[tuple[Ints, Ints]]:
    """What leaves and what enters a pod up and down: the pod of each arc that does, ``[A]``, -1 for
    others, and the pods of the flows that have to."""
    a, b = clos.pod[clos.edge[source]], clos.pod[clos.edge[ends]]
    cuts = []
    for table, pod in ((clos.to_core, a), (clos.from_core, b)):
        group = np.full(len(network.tail), -1, np.int32)
        rows, columns = np.nonzero(table >= 0)
        group[table[rows, columns]] = rows
        cuts.append((group, pod[a != b]))
    return cuts


def _table(
    arc: Indices, row: Ints, column: Ints, here: Bools, shape: tuple[int, int]
) -> Ints | None:
    """The arcs that are ``here`` by row and column, -1 where there is none; None if there are two
    somewhere."""
    table = np.full(shape, -1, np.int32)
    table[row[here], column[here]] = arc[here]
    return table if (table >= 0).sum() == here.sum() else None


def _mark(which: Indices, nodes: int) -> Bools:
    marked = np.zeros(nodes, bool)
    marked[which] = True
    return marked


def _components(nodes: int, tail: Ints, head: Ints) -> Ints:
    graph = sparse.coo_matrix((np.ones(len(tail), bool), (tail, head)), shape=(nodes, nodes))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], np.int32)
