"""Edits of a topology as people make them, each of them a new fabric."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from controller.fabric.model import Fabric, Host, Link, Nic, PortRef, Switch


@dataclass(slots=True)
class Editor:
    """Ports, datapath ids, MACs and addresses that were in use once are not given to others, so
    that all cables that ever were can be plugged in at once."""

    fabric: Fabric
    random: random.Random
    _ports: int = 100
    _made: int = 0

    def port(self, switch: str) -> PortRef:
        self._ports += 1
        return PortRef(switch, self._ports)

    def name(self, kind: str) -> str:
        self._made += 1
        return f"{kind}{self._made}"

    # ---- links ----

    def add_link(self) -> None:
        a, b = self.random.sample(sorted(self.fabric.switch_by_name), 2)
        self._link(a, b)

    def _link(self, a: str, b: str) -> None:
        link = Link(self.name("link"), self.port(a), self.port(b), 1e9, 0.0)
        self.fabric = replace(self.fabric, links=(*self.fabric.links, link))

    def remove_link(self) -> None:
        gone = self.random.choice(self.fabric.links)
        self.fabric = replace(
            self.fabric, links=tuple(link for link in self.fabric.links if link is not gone)
        )

    def _change_link(self, **values: object) -> None:
        at = self.random.randrange(len(self.fabric.links))
        links = list(self.fabric.links)
        links[at] = replace(links[at], **values)  # type: ignore[arg-type]
        self.fabric = replace(self.fabric, links=tuple(links))

    def change_capacity(self) -> None:
        self._change_link(capacity_bps=self.random.choice((1e8, 4e8, 2e9)))

    def change_latency(self) -> None:
        self._change_link(latency_s=self.random.random() / 1000)

    def change_risk(self) -> None:
        self._change_link(srlgs=(self.random.choice(("duct1", "duct2")),))

    def turn_link(self) -> None:
        at = self.random.randrange(len(self.fabric.links))
        links = list(self.fabric.links)
        links[at] = replace(links[at], a=links[at].b, b=links[at].a)
        self.fabric = replace(self.fabric, links=tuple(links))

    # ---- switches ----

    def add_leaf(self) -> None:
        near = self.random.sample(sorted(self.fabric.switch_by_name), 2)
        leaf = Switch(self.name("leaf"), 1000 + self._made, "leaf")
        self.fabric = replace(self.fabric, switches=(*self.fabric.switches, leaf))
        for switch in near:
            self._link(leaf.name, switch)
        self._host(leaf.name)

    def remove_switch(self) -> None:
        """With what hangs on it."""
        gone = self.random.choice(self.fabric.switches).name
        hosts = []
        for host in self.fabric.hosts:
            nics = tuple(
                replace(n, attachments=left)
                for n in host.nics
                if (left := tuple(p for p in n.attachments if p.switch != gone))
            )
            if nics:
                hosts.append(replace(host, nics=nics))
        self.fabric = replace(
            self.fabric,
            switches=tuple(s for s in self.fabric.switches if s.name != gone),
            links=tuple(
                link for link in self.fabric.links if gone not in (link.a.switch, link.b.switch)
            ),
            hosts=tuple(hosts),
        )

    def rename_switch(self) -> None:
        old = self.random.choice(self.fabric.switches).name
        # Such that the order of names changes, too.
        new = self.random.choice("amz") + self.name("switch")
        self.fabric = renamed(self.fabric, {old: new})

    def swap_names(self) -> None:
        a, b = self.random.sample(sorted(self.fabric.switch_by_name), 2)
        self.fabric = renamed(self.fabric, {a: b, b: a})

    # ---- hosts ----

    def _nic(self, host: str, name: str, switch: str) -> Nic:
        self._made += 1
        addresses = (
            IPv4Address((10 << 24) + (200 << 16) + self._made),
            IPv6Address(f"fd00:0:200::{self._made:x}"),
        )
        mac = 0x020000001000 + self._made
        return Nic(host, name, mac, addresses, (self.port(switch),), 1e9)

    def _host(self, switch: str) -> None:
        name = self.name("host")
        host = Host(name, (self._nic(name, "eth0", switch),))
        self.fabric = replace(self.fabric, hosts=(*self.fabric.hosts, host))

    def add_host(self) -> None:
        self._host(self.random.choice(self.fabric.switches).name)

    def remove_host(self) -> None:
        gone = self.random.choice(self.fabric.hosts)
        self.fabric = replace(
            self.fabric, hosts=tuple(host for host in self.fabric.hosts if host is not gone)
        )

    def _change_host(self, change: Callable[[Host], Host]) -> None:
        at = self.random.randrange(len(self.fabric.hosts))
        hosts = list(self.fabric.hosts)
        hosts[at] = change(hosts[at])
        self.fabric = replace(self.fabric, hosts=tuple(hosts))

    def add_nic(self) -> None:
        switch = self.random.choice(self.fabric.switches).name
        name = self.name("eth")
        self._change_host(lambda h: replace(h, nics=(*h.nics, self._nic(h.name, name, switch))))

    def remove_nic(self) -> None:
        several = [host for host in self.fabric.hosts if len(host.nics) > 1]
        if several:
            gone = self.random.choice(several)
            hosts = (replace(h, nics=h.nics[1:]) if h is gone else h for h in self.fabric.hosts)
            self.fabric = replace(self.fabric, hosts=tuple(hosts))

    def move_host(self) -> None:
        switch = self.random.choice(self.fabric.switches).name
        self._change_host(
            lambda h: replace(
                h, nics=tuple(replace(n, attachments=(self.port(switch),)) for n in h.nics)
            )
        )

    def change_address(self) -> None:
        self._made += 1
        first = IPv4Address((10 << 24) + (201 << 16) + self._made)
        self._change_host(
            lambda h: replace(
                h,
                nics=(replace(h.nics[0], addresses=(first, *h.nics[0].addresses[1:])), *h.nics[1:]),
            )
        )

    def rename_host(self) -> None:
        name = self.name("renamed")
        self._change_host(
            lambda h: replace(h, name=name, nics=tuple(replace(n, host=name) for n in h.nics))
        )

    # ---- everything ----

    def change_class(self) -> None:
        classes = tuple(
            replace(c, queue=self.random.randrange(1, 8)) if c.dscp is not None else c
            for c in self.fabric.classes
        )
        self.fabric = replace(self.fabric, classes=classes)

    def reorder(self) -> None:
        def shuffled(things: Iterable[object]) -> tuple[object, ...]:
            return tuple(self.random.sample(list(things), len(list(things))))

        self.fabric = replace(
            self.fabric,
            switches=shuffled(self.fabric.switches),  # type: ignore[arg-type]
            hosts=shuffled(self.fabric.hosts),  # type: ignore[arg-type]
            links=shuffled(self.fabric.links),  # type: ignore[arg-type]
        )

    def describe(self) -> None:
        """What reaches no switch: roles, names of links, sites."""
        self.fabric = replace(
            self.fabric,
            switches=tuple(replace(s, role="other", site="here") for s in self.fabric.switches),
            links=tuple(replace(x, name=f"{x.name}-too", medium="dac") for x in self.fabric.links),
        )


def renamed(fabric: Fabric, names: Mapping[str, str]) -> Fabric:
    """With other names of switches."""

    def ref(port: PortRef) -> PortRef:
        return PortRef(names.get(port.switch, port.switch), port.port)

    return replace(
        fabric,
        switches=tuple(replace(s, name=names.get(s.name, s.name)) for s in fabric.switches),
        links=tuple(replace(link, a=ref(link.a), b=ref(link.b)) for link in fabric.links),
        hosts=tuple(
            replace(
                host,
                nics=tuple(
                    replace(n, attachments=tuple(map(ref, n.attachments))) for n in host.nics
                ),
            )
            for host in fabric.hosts
        ),
    )


def hardware_of(*fabrics: Fabric) -> Fabric:
    """All switches, cables and NICs of these fabrics, by the names that each had first."""
    names: dict[int, str] = {}
    used: set[PortRef] = set()
    switches: dict[int, Switch] = {}
    links: list[Link] = []
    nics: dict[tuple[int, tuple[object, ...]], Nic] = {}
    for fabric in fabrics:
        for switch in fabric.switches:
            if switch.dpid not in names:
                name = switch.name
                while name in names.values():
                    name += "'"
                names[switch.dpid] = name
        same = renamed(fabric, {s.name: names[s.dpid] for s in fabric.switches})
        for switch in same.switches:
            switches.setdefault(switch.dpid, switch)
        for link in same.links:
            if not {link.a, link.b} & used:
                links.append(replace(link, name=f"{link.a}-{link.b}"))
                used |= {link.a, link.b}
        for nic in same.nics:
            if not set(nic.attachments) & used:
                nics[nic.mac, nic.attachments] = nic
                used |= set(nic.attachments)
    hosts = tuple(
        Host(f"{nic.host}#{i}", (replace(nic, host=f"{nic.host}#{i}"),))
        for i, nic in enumerate(nics.values())
    )
    return replace(fabrics[-1], switches=tuple(switches.values()), links=tuple(links), hosts=hosts)


COSMETIC = ("reorder", "describe", "turn_link", "rename_switch", "swap_names")
KINDS = (
    *COSMETIC,
    "rename_host",
    "add_link",
    "remove_link",
    "change_capacity",
    "change_latency",
    "change_risk",
    "add_leaf",
    "remove_switch",
    "add_host",
    "remove_host",
    "add_nic",
    "remove_nic",
    "move_host",
    "change_address",
    "change_class",
)
