"""Small fabrics and plans for the tests of this room."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from controller.fabric.model import (
    Fabric,
    Host,
    Link,
    Nic,
    PortRef,
    Switch,
    TrafficClass,
)
from controller.intents.demands import DemandKey, Demands, Reach
from controller.openflow.model import Field
from controller.optimizer.plan import (
    Certificate,
    PlacementKey,
    Plan,
    PlannedEgress,
    PlannedTree,
)

CLASSES = (
    TrafficClass("best-effort", None, 0),
    TrafficClass("roce", 26, 3),
)
GATEWAY = 0x0A_00_00_00_00_FE


def fabric(
    edges: Iterable[tuple[str, str]],
    hosts: Sequence[tuple[str, ...]],
    classes: tuple[TrafficClass, ...] = CLASSES,
) -> Fabric:
    """``edges`` are cables between switches, ``hosts[i]`` the switches that host i hangs on."""
    edges = list(edges)
    names = sorted({s for edge in edges for s in edge} | {s for on in hosts for s in on})
    ports = dict.fromkeys(names, 0)

    def port(switch: str) -> PortRef:
        ports[switch] += 1
        return PortRef(switch, ports[switch])

    made = []
    for number, on in enumerate(hosts, 1):
        edge = names.index(on[0])
        addresses = (
            IPv4Address((10 << 24) + (edge << 16) + number),
            IPv6Address(f"fd00:0:{edge:x}::{number:x}"),
        )
        attachments = tuple(port(switch) for switch in on)
        nic = Nic(f"h{number}", "eth0", 0x020000000000 + number, addresses, attachments, 1e9)
        made.append(Host(f"h{number}", (nic,)))
    links = tuple(
        Link(f"{a}-{b}#{i}", port(a), port(b), 1e9, 0.0) for i, (a, b) in enumerate(edges)
    )
    return Fabric(
        "test",
        tuple(Switch(name, dpid, "switch") for dpid, name in enumerate(names, 1)),
        tuple(made),
        links,
        classes,
        GATEWAY,
        IPv4Address("10.255.255.254"),
        ip_address("fd00:ffff::1"),  # type: ignore[arg-type]
    )


def leaf_spine(leaves: int = 4, spines: int = 2, hosts: int = 2) -> Fabric:
    return fabric(
        [(f"l{i}", f"s{j}") for i in range(leaves) for j in range(spines)],
        [(f"l{i}",) for i in range(leaves) for _ in range(hosts)],
    )


def asymmetric() -> Fabric:
    """Leaf-spine with a cable missing and one doubled."""
    edges = [(f"l{i}", f"s{j}") for i in range(4) for j in range(3) if (i, j) != (0, 2)]
    return fabric([*edges, ("l1", "s0")], [(f"l{i}",) for i in range(4)])


def fat_tree(k: int = 4, hosts: int = 1) -> Fabric:
    half = k // 2
    edges = []
    for p in range(k):
        for a in range(half):
            edges += [(f"e{p}{e}", f"a{p}{a}") for e in range(half)]
            edges += [(f"a{p}{a}", f"c{a * half + m}") for m in range(half)]
    return fabric(
        edges, [(f"e{p}{e}",) for p in range(k) for e in range(half) for _ in range(hosts)]
    )


def ring(n: int = 5) -> Fabric:
    return fabric([(f"r{i}", f"r{(i + 1) % n}") for i in range(n)], [(f"r{i}",) for i in range(n)])


def dual_homed(leaves: int = 4, spines: int = 2) -> Fabric:
    """Leaves in pairs; one host on each pair, one on the first leaf of each pair alone."""
    pairs = [(f"l{i}", f"l{i + 1}") for i in range(0, leaves, 2)]
    return fabric(
        [(f"l{i}", f"s{j}") for i in range(leaves) for j in range(spines)],
        [*pairs, *((a,) for a, _ in pairs)],
    )


def random_graph(rng: random.Random, switches: int = 7, extra: int = 4) -> Fabric:
    """Connected, possibly with parallel cables; a host on every second switch."""
    names = [f"x{i}" for i in range(switches)]
    edges = [(names[rng.randrange(i)], names[i]) for i in range(1, switches)]
    for _ in range(extra):
        a, b = rng.sample(names, 2)
        edges.append((a, b))
    return fabric(edges, [(name,) for name in names[::2]])


def demands(of: Fabric, reaches: Mapping[str, Iterable[str]] | None = None) -> Demands:
    """``reaches[intent]`` are NIC ids; without it one intent lets all talk to all."""
    if reaches is None:
        reaches = {"all": [nic.id for nic in of.nics]}
    made = tuple(Reach(intent, frozenset(nics)) for intent, nics in sorted(reaches.items()))
    keys = sorted(
        {
            DemandKey(port.switch, b.attachment_set, c.name)
            for reach in made
            for a in reach.nics
            for b in map(of.nic_by_id.__getitem__, reach.nics)
            for port in of.nic_by_id[a].attachments
            if port.switch not in b.attachment_set
            for c in of.classes
        }
    )
    return Demands(1, made, tuple(keys), (1e6,) * len(keys))


def plan(
    of: Fabric,
    asked: Demands,
    trees: int = 2,
    rng: random.Random | None = None,
    first_tree: int = 0,
) -> Plan:
    """Diverse shortest-path trees; with ``rng`` other, random ones, numbered from
    ``first_tree``."""
    sets = sorted({nic.attachment_set for nic in of.nics})
    egresses = tuple(PlannedEgress(10 + i, members) for i, members in enumerate(sets))
    planned = [
        PlannedTree(egress.id, first_tree + number, next_port)
        for egress in egresses
        for number, next_port in enumerate(_trees(of, egress.members, trees, rng))
    ]
    weights = {}
    by_members = {egress.members: egress.id for egress in egresses}
    for key in asked.keys:
        usable = [
            tree.id
            for tree in planned
            if tree.egress == by_members[key.egress] and key.ingress in tree.next_port
        ]
        shares = dict.fromkeys(usable, 1)
        if rng is not None:
            shares = {tree: rng.randint(1, 5) for tree in usable}
        weights[PlacementKey(*key)] = shares
    named: dict[str, set[str]] = {}
    for reach in asked.reaches:
        for nic in reach.nics:
            named.setdefault(nic, set()).add(reach.intent)
    zones = {
        zone: i + 1
        for i, zone in enumerate(sorted({frozenset(z) for z in named.values()}, key=sorted))
    }
    return Plan(
        1,
        (of.version, asked.version, 0),
        egresses,
        tuple(planned),
        weights,
        zones,
        {},
        Certificate("test", "test", 0.0, 0.0, 0.0, 0.0),
    )


def _trees(
    of: Fabric, members: tuple[str, ...], count: int, rng: random.Random | None
) -> list[dict[str, int]]:
    """Shortest-path trees; each keeps to some of the members' neighbours where it can, and away
    from the cables that earlier trees took."""
    neighbours = sorted({arc.head.switch for m in members for arc in of.arcs_from[m]} - {*members})
    back = {arc.index: of.arcs[arc.index ^ 1] for arc in of.arcs}
    used = dict.fromkeys(range(len(of.arcs)), 0)
    out = []
    for number in range(count):
        preferred = {n for i, n in enumerate(neighbours) if i % count == number % len(neighbours)}
        queue: list[tuple[float, str, int]] = [(0.0, member, -1) for member in members]
        arc_of: dict[str, int] = {}
        settled: set[str] = set()
        heapq.heapify(queue)
        while queue:
            cost, switch, index = heapq.heappop(queue)
            if switch in settled:
                continue
            settled.add(switch)
            if index >= 0:
                arc_of[switch] = index
            for arc in of.arcs_from[switch]:
                toward = back[arc.index]
                step = 1 + 0.1 * used[toward.index] + (rng.random() if rng else 0.0)
                if switch in neighbours and switch not in preferred:
                    step += 10
                heapq.heappush(queue, (cost + step, toward.tail.switch, toward.index))
        for index in arc_of.values():
            used[index] += 1
        out.append({switch: of.arcs[index].tail.port for switch, index in arc_of.items()})
    return out


def packet(source: Nic, target: Nic, version: int = 4, dscp: int = 0) -> dict[Field, int]:
    """What ``source`` sends to ``target`` by the gateway."""
    (src,) = (int(a) for a in source.addresses if a.version == version)
    (dst,) = (int(a) for a in target.addresses if a.version == version)
    return {
        Field.ETH_SRC: source.mac,
        Field.ETH_DST: GATEWAY,
        Field.ETH_TYPE: 0x0800 if version == 4 else 0x86DD,
        Field.IP_DSCP: dscp,
        Field.IP_PROTO: 17,
        Field.UDP_DST: 4791,
        Field.IPV4_SRC if version == 4 else Field.IPV6_SRC: src,
        Field.IPV4_DST if version == 4 else Field.IPV6_DST: dst,
    }
