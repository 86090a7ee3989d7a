"""From a fabric to the bridges, cables and NICs that a lab makes of it. Pure: nothing is started.

Names are at most 15 characters (the kernel's limit) and unique in the lab's namespace. Hosts need
no configuration of the network: all addresses are on one link, and the fabric answers ARP and ND.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from controller.fabric.model import Fabric, IpAddress, Nic, PortRef
from controller.lab.errors import LabError

MAX_CAPACITY_BPS = 1e9
"""Above this, one userspace Open vSwitch is the bottleneck and no longer the link."""
MIN_CAPACITY_BPS = 1e5

_INTERFACE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")
_LONGEST_PREFIX = {4: 8, 6: 32}
"""On-link prefixes are not longer than this, so that hosts can be added to a running fabric."""
_RESERVED = frozenset({"lo", "all", "default", "ovs-netdev", "ovs-system"})


@dataclass(frozen=True, slots=True)
class Bridge:
    """A switch as Open vSwitch knows it."""

    switch: str
    bridge: str
    dpid: int


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A switch's end of a cable: the OpenFlow port and its interface in the lab's namespace."""

    switch: str
    port: int
    interface: str
    capacity_bps: float


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two switches."""

    link: str
    a: SwitchPort
    b: SwitchPort


@dataclass(frozen=True, slots=True)
class HostNic:
    """A host's NIC and the switch port it hangs on; ``addresses`` carry their on-link prefix."""

    host: str
    nic: str
    interface: str
    mac: str
    addresses: tuple[str, ...]
    capacity_bps: float
    port: SwitchPort


@dataclass(frozen=True, slots=True)
class Queue:
    """An egress queue; ``dscps`` go into it, and into one without any all that is left."""

    queue: int
    dscps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wiring:
    """All that a lab is built from."""

    fabric: str
    bridges: tuple[Bridge, ...]
    cables: tuple[Cable, ...]
    nics: tuple[HostNic, ...]
    queues: tuple[Queue, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(nic.host for nic in self.nics))

    @property
    def ports(self) -> tuple[SwitchPort, ...]:
        """Every connected switch port."""
        fabric_ports = [end for cable in self.cables for end in (cable.a, cable.b)]
        return (*fabric_ports, *(nic.port for nic in self.nics))


def scaled(fabric: Fabric, factor: float) -> Fabric:
    """The same fabric with every capacity multiplied by ``factor``."""
    return replace(
        fabric,
        links=tuple(
            replace(link, capacity_bps=link.capacity_bps * factor) for link in fabric.links
        ),
        hosts=tuple(
            replace(
                host,
                nics=tuple(
                    replace(nic, capacity_bps=nic.capacity_bps * factor) for nic in host.nics
                ),
            )
            for host in fabric.hosts
        ),
    )


def wire(fabric: Fabric) -> Wiring:
    """Plan the lab of a fabric.

    Raises:
        LabError: with every element that a lab cannot emulate, and the cure.
    """
    problems = [*_capacity_problems(fabric), *_attachment_problems(fabric)]
    if problems:
        raise LabError("\n".join(problems))
    names = _Names()
    bridges = tuple(
        Bridge(s.name, names.take(s.name, f"sw{i}"), s.dpid) for i, s in enumerate(fabric.switches)
    )
    bridge_of = {b.switch: b.bridge for b in bridges}

    def port(ref: PortRef, capacity_bps: float) -> SwitchPort:
        index = fabric.switch_index[ref.switch]
        name = names.take(f"{bridge_of[ref.switch]}-eth{ref.port}", f"sw{index}-eth{ref.port}")
        return SwitchPort(ref.switch, ref.port, name, capacity_bps)

    cables = tuple(
        Cable(link.name, port(link.a, link.capacity_bps), port(link.b, link.capacity_bps))
        for link in fabric.links
    )
    prefixes = _on_link_prefixes(fabric)
    nics = []
    for host in fabric.hosts:
        host_names = _Names()
        for i, nic in enumerate(host.nics):
            nics.append(
                HostNic(
                    host.name,
                    nic.name,
                    host_names.take(nic.name, f"eth{i}"),
                    nic.mac.to_bytes(6, "big").hex(":"),
                    tuple(f"{a}/{prefixes[a.version].prefixlen}" for a in nic.addresses),
                    nic.capacity_bps,
                    port(nic.attachments[0], nic.capacity_bps),
                )
            )
    return Wiring(fabric.name, bridges, cables, tuple(nics), _queues(fabric))


class _Names:
    """Hands out interface names: the wished one if the kernel takes it, else a short one."""

    def __init__(self) -> None:
        self._taken = set(_RESERVED)

    def take(self, wish: str, short: str) -> str:
        candidates = [wish, short, *(f"{short}x{n}" for n in range(len(self._taken)))]
        name = next(c for c in candidates if _INTERFACE_NAME.fullmatch(c) and c not in self._taken)
        self._taken.add(name)
        return name


def _capacity_problems(fabric: Fabric) -> Iterable[str]:
    capacities = [(f"link {x.name}", x.capacity_bps) for x in fabric.links]
    capacities += [(f"NIC {x.id}", x.capacity_bps) for x in fabric.nics]
    if not capacities:
        return
    fastest, most = max(capacities, key=lambda c: c[1])
    slowest, least = min(capacities, key=lambda c: c[1])
    if most > MAX_CAPACITY_BPS:
        # Capacities are usually round, and stay so under a power of ten.
        scale = 10.0
        while most * scale > MAX_CAPACITY_BPS / 10:
            scale /= 10
        yield (
            f"{fastest} has {most / 1e9:g} Gbit/s, and a lab does at most "
            f"{MAX_CAPACITY_BPS / 1e9:g} Gbit/s; run it scaled down with --scale {scale:.0e}"
        )
    elif least < MIN_CAPACITY_BPS:
        yield (
            f"{slowest} has {least:g} bit/s, and a lab does at least "
            f"{MIN_CAPACITY_BPS:g} bit/s; use a larger --scale"
        )


def _attachment_problems(fabric: Fabric) -> Iterable[str]:
    for nic in fabric.nics:
        if len(nic.attachments) != 1:
            where = f"{nic.source}: " if nic.source else ""
            ports = ", ".join(str(a) for a in nic.attachments) or "no port"
            yield (
                f"{where}NIC {nic.id} is attached to {ports}; a lab emulates NICs with one port "
                "each: give the host one NIC for each of them"
            )


def _on_link_prefixes(fabric: Fabric) -> dict[int, IPv4Network | IPv6Network]:
    """For each IP version one prefix that holds all hosts, those to come, and the gateway."""
    gateways: tuple[IpAddress, ...] = (fabric.gateway_ipv4, fabric.gateway_ipv6)
    return {
        gateway.version: _covering(
            [gateway, *(a for nic in fabric.nics for a in _of_version(nic, gateway.version))]
        )
        for gateway in gateways
    }


def _of_version(nic: Nic, version: int) -> Iterable[IpAddress]:
    return (a for a in nic.addresses if a.version == version)


def _covering(addresses: list[IpAddress]) -> IPv4Network | IPv6Network:
    lowest = min(addresses, key=int)
    net = ip_network((int(lowest), _LONGEST_PREFIX[lowest.version]), strict=False)
    # The first and last address of a prefix are the network's and the broadcast address in IPv4.
    while net.prefixlen > 0 and not all(
        a in net and a not in (net.network_address, net.broadcast_address) for a in addresses
    ):
        net = net.supernet()
    return net


def _queues(fabric: Fabric) -> tuple[Queue, ...]:
    # Open vSwitch sends what no filter claims to queue 0; without one it would not be shaped.
    dscps: dict[int, list[int]] = {0: [], **{c.queue: [] for c in fabric.classes}}
    for c in fabric.classes:
        if c.dscp is not None:
            dscps[c.queue] += c.dscps
    return tuple(Queue(queue, tuple(dscps[queue])) for queue in sorted(dscps))
