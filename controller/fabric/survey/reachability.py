"""How many ways there are between edge switches, and what hosts cannot do without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

from controller.fabric.model import Fabric


@dataclass(frozen=True, slots=True)
class Ways:
    """Over all pairs of switches with hosts that have a path: hops, and shortest paths."""

    pairs: int
    most_hops: int
    fewest: int
    median: float
    most: int


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """A switch or link whose loss cuts ``hosts`` off from most others."""

    kind: str
    name: str
    hosts: tuple[str, ...]


def ways(fabric: Fabric) -> Ways:
    """Shortest paths, parallel links counted apart."""
    edge = [i for i, s in enumerate(fabric.switches) if fabric.nics_on[s.name]]
    links = np.zeros((len(fabric.switches),) * 2)
    for arc in fabric.arcs:
        links[fabric.switch_index[arc.tail.switch], fabric.switch_index[arc.head.switch]] += 1
    found = np.zeros((len(edge), len(links)))
    found[np.arange(len(edge)), edge] = 1
    frontier, count, hops = found.copy(), found.copy(), np.where(found > 0, 0, -1)
    step = 0
    while frontier.any():
        step += 1
        frontier = np.where(hops < 0, frontier @ links, 0)
        count += frontier
        hops[frontier > 0] = step
    among, distance = count[:, edge], hops[:, edge]
    apart = distance > 0
    if not apart.any():
        return Ways(0, 0, 0, 0.0, 0)
    values = among[apart]
    return Ways(
        int(apart.sum()) // 2,
        int(distance.max()),
        int(values.min()),
        float(np.median(values)),
        int(values.max()),
    )


def weak_points(fabric: Fabric) -> tuple[WeakPoint, ...]:
    """The switches and links whose loss alone cuts hosts off, worst first."""
    found = list(_weak_points(fabric))
    return tuple(sorted(found, key=lambda weak: (-len(weak.hosts), weak.kind, weak.name)))


def _weak_points(fabric: Fabric) -> Iterator[WeakPoint]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(fabric.switch_by_name)
    cables = Counter(frozenset((link.a.switch, link.b.switch)) for link in fabric.links)
    graph.add_edges_from((link.a.switch, link.b.switch) for link in fabric.links)
    edges = {name for name, nics in fabric.nics_on.items() if nics}
    for name in sorted(edges | set(nx.articulation_points(graph))):
        kept = graph.copy()
        kept.remove_node(name)
        if hosts := _cut_off(fabric, kept):
            yield WeakPoint("switch", name, hosts)
    bridges = {frozenset(ends) for ends in nx.bridges(graph)}
    for link in fabric.links:
        ends = frozenset((link.a.switch, link.b.switch))
        if ends in bridges and cables[ends] == 1:
            kept = graph.copy()
            kept.remove_edge(*ends)
            if hosts := _cut_off(fabric, kept):
                yield WeakPoint("link", link.name, hosts)


def _cut_off(fabric: Fabric, graph: nx.Graph[str]) -> tuple[str, ...]:
    """Hosts that share no part of the graph with the largest group of hosts."""
    part = {name: i for i, names in enumerate(nx.connected_components(graph)) for name in names}
    parts = {
        host.name: frozenset(
            part[p.switch] for nic in host.nics for p in nic.attachments if p.switch in part
        )
        for host in fabric.hosts
    }
    groups = Counter(found for found in parts.values() if found)
    if not groups:
        return tuple(parts)
    largest = max(groups, key=lambda group: (groups[group], sorted(group)))
    return tuple(name for name, found in parts.items() if not found & largest)
