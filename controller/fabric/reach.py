"""Hosts between which the fabric has no path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from controller.fabric.errors import Problem
from controller.fabric.model import Fabric, Provenance


def unreachable(fabric: Fabric, where: Provenance) -> Iterator[Problem]:
    """One problem for each group of hosts that others cannot reach, the largest excepted.

    Two hosts reach each other if any of their NICs hang on the same part of the network: rails and
    planes may well be separate networks.
    """
    part_of = _parts(fabric)
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for host in fabric.hosts:
        parts = frozenset(part_of[a.switch] for nic in host.nics for a in nic.attachments)
        if parts:
            groups[parts].append(host.name)
    order = sorted(groups, key=lambda parts: -len(groups[parts]))
    # One bit for each group, so that thousands of groups are compared in few steps.
    inside: dict[str, int] = defaultdict(int)
    for i, parts in enumerate(order):
        for part in parts:
            inside[part] |= 1 << i
    members = defaultdict(list)
    for switch in fabric.switches:
        members[part_of[switch.name]].append(switch.name)
    sources = {host.name: host.source for host in fabric.hosts}
    for i, parts in enumerate(order):
        reached = 0
        for part in parts:
            reached |= inside[part]
        larger = (1 << i) - 1
        missing = larger & ~reached
        if missing:
            other = order[(missing & -missing).bit_length() - 1]
            switches = sorted(name for part in parts for name in members[part])
            here, there = groups[parts], groups[other]
            yield Problem(
                sources[here[0]] or where,
                f"no path between {_some(here)} (on {_some(switches)}) and {_some(there)}: "
                "add a link that joins their switches",
            )


def _parts(fabric: Fabric) -> dict[str, str]:
    """Each switch to the representative of the connected part it is in (union by path halving)."""
    parent = {s.name: s.name for s in fabric.switches}

    def find(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for link in fabric.links:
        parent[find(link.a.switch)] = find(link.b.switch)
    return {name: find(name) for name in parent}


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
