"""Hosts between which the fabric has no path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import networkx

from controller.fabric.errors import Problem
from controller.fabric.model import Fabric, Provenance


def unreachable(fabric: Fabric, where: Provenance) -> Iterator[Problem]:
    """One problem for each group of hosts that others cannot reach, the largest excepted.

    Two hosts reach each other if any of their NICs hang on the same part of the network: rails and
    planes may well be separate networks.
    """
    part_of = parts(fabric)
    groups: dict[frozenset[int], list[str]] = defaultdict(list)
    for host in fabric.hosts:
        touched = frozenset(part_of[a.switch] for nic in host.nics for a in nic.attachments)
        if touched:
            groups[touched].append(host.name)
    order = sorted(groups, key=lambda touched: -len(groups[touched]))
    # One bit for each group, so that thousands of groups are compared in few steps.
    inside: dict[int, int] = defaultdict(int)
    for i, touched in enumerate(order):
        for part in touched:
            inside[part] |= 1 << i
    members = defaultdict(list)
    for switch in fabric.switches:
        members[part_of[switch.name]].append(switch.name)
    sources = {host.name: host.source for host in fabric.hosts}
    for i, touched in enumerate(order):
        reached = 0
        for part in touched:
            reached |= inside[part]
        larger = (1 << i) - 1
        missing = larger & ~reached
        if missing:
            other = order[(missing & -missing).bit_length() - 1]
            switches = sorted(name for part in touched for name in members[part])
            here, there = groups[touched], groups[other]
            yield Problem(
                sources[here[0]] or where,
                f"no path between {_some(here)} (on {_some(switches)}) and {_some(there)}: "
                "add a link that joins their switches",
            )


def parts(fabric: Fabric, without: Collection[str] = ()) -> dict[str, int]:
    """The number of the connected part that each switch is in; ``without`` some links."""
    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(fabric.switch_by_name)
    graph.add_edges_from(
        (link.a.switch, link.b.switch) for link in fabric.links if link.name not in without
    )
    found = networkx.connected_components(graph)
    return {switch: number for number, part in enumerate(found) for switch in part}


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
