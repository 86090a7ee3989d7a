"""What the network is: an immutable snapshot that every later stage reads.

Names, not positions, identify things across versions of a fabric; positions (``Arc.index``) are for
arrays that live as long as one snapshot. Capacity is bits per second, latency seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

IpAddress: TypeAlias = IPv4Address | IPv6Address
AttachmentSet: TypeAlias = tuple[str, ...]
"""Sorted names of the switches that a NIC hangs on: the egress of every packet sent to it."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an element was declared, so that errors can point at it."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class PortRef:
    """One OpenFlow port of one switch, written ``leaf1:3``."""

    switch: str
    port: int

    def __str__(self) -> str:
        return f"{self.switch}:{self.port}"


@dataclass(frozen=True, slots=True)
class Switch:
    name: str
    dpid: int
    role: str
    pod: str | None = None
    site: str | None = None
    flow_limit: int | None = None
    group_limit: int | None = None
    ovsdb: str | None = None
    source: Provenance | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Nic:
    """A host's network port. ``id`` is ``host/nic``; ``mac`` is a 48-bit integer."""

    host: str
    name: str
    mac: int
    addresses: tuple[IpAddress, ...]
    attachments: tuple[PortRef, ...]
    capacity_bps: float
    rail: int | None = None
    plane: int | None = None
    source: Provenance | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        return f"{self.host}/{self.name}"

    @property
    def attachment_set(self) -> AttachmentSet:
        return tuple(sorted({a.switch for a in self.attachments}))


@dataclass(frozen=True, slots=True)
class Accelerator:
    host: str
    name: str
    kind: str
    model: str | None
    nic: str
    domain: str | None = None
    source: Provenance | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        return f"{self.host}/{self.name}"


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    nics: tuple[Nic, ...]
    accelerators: tuple[Accelerator, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    source: Provenance | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bfd:
    """Bidirectional forwarding detection (RFC 5880): both ends of a link say every ``interval_ms``
    that they hear the other; after ``multiplier`` intervals of silence the link is dead."""

    interval_ms: int
    multiplier: int = 3


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between two switches, the same in both directions."""

    name: str
    a: PortRef
    b: PortRef
    capacity_bps: float
    latency_s: float
    srlgs: tuple[str, ...] = ()
    medium: str | None = None
    bfd: Bfd | None = None
    source: Provenance | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """Packets told apart by DSCP. ``dscp`` is None for the class of everything else, and else what
    Heald marks packets of the class with; ``other_dscps`` are of the class, too.

    ``share`` and ``ceiling`` are parts of a port's capacity: what the class is guaranteed (None for
    its part of what is left, see ``classes.shares``), and what it never gets more of. What others
    leave goes to the class of the highest ``priority`` first.
    """

    name: str
    dscp: int | None
    queue: int
    share: float | None = None
    ceiling: float = 1.0
    priority: int = 0
    lossless: bool = False
    other_dscps: tuple[int, ...] = ()

    @property
    def dscps(self) -> tuple[int, ...]:
        return () if self.dscp is None else (self.dscp, *self.other_dscps)


@dataclass(frozen=True, slots=True)
class Arc:
    """One direction of a link; ``tail`` is the port that sends."""

    index: int
    link: str
    tail: PortRef
    head: PortRef
    capacity_bps: float
    latency_s: float


STRATEGIES = (
    "auto",
    "exact",
    *("ecmp", "equal-split", "wcmp", "pop", "ssdo"),
    *("ecmp-hash", "round-robin", "least-loaded"),
    *("protect-link", "protect-node", "protect-srlg"),
)
"""How plans can be made, by the names of ``controller.optimizer.strategies`` and of
``controller.engine.protecting``, which this room may not import. The first is what is used where
nobody says."""


@dataclass(frozen=True)
class Fabric:
    """A validated network. ``strategy`` is how its plans are made, where nobody says otherwise;
    ``version`` counts the snapshots that one brain has taken into use."""

    name: str
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    classes: tuple[TrafficClass, ...]
    gateway_mac: int
    gateway_ipv4: IPv4Address
    gateway_ipv6: IPv6Address
    strategy: str = STRATEGIES[0]
    version: int = field(default=0, compare=False)

    @property
    def default_class(self) -> TrafficClass:
        """The class of unmarked packets, or the first."""
        return next((c for c in self.classes if c.dscp is None), self.classes[0])

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Both directions of each link: ``2 i`` runs from ``links[i].a`` to ``.b``, then back."""
        arcs: list[Arc] = []
        for link in self.links:
            for tail, head in ((link.a, link.b), (link.b, link.a)):
                arcs.append(
                    Arc(len(arcs), link.name, tail, head, link.capacity_bps, link.latency_s)
                )
        return tuple(arcs)

    @cached_property
    def arc_by_tail(self) -> Mapping[PortRef, Arc]:
        return {arc.tail: arc for arc in self.arcs}

    @cached_property
    def arcs_from(self) -> Mapping[str, tuple[Arc, ...]]:
        """Arcs that leave each switch, in the order of their ports."""
        out: dict[str, list[Arc]] = {s.name: [] for s in self.switches}
        for arc in sorted(self.arcs, key=lambda a: a.tail):
            out[arc.tail.switch].append(arc)
        return {name: tuple(arcs) for name, arcs in out.items()}

    @cached_property
    def switch_by_name(self) -> Mapping[str, Switch]:
        return {s.name: s for s in self.switches}

    @cached_property
    def switch_by_dpid(self) -> Mapping[int, Switch]:
        return {s.dpid: s for s in self.switches}

    @cached_property
    def switch_index(self) -> Mapping[str, int]:
        return {s.name: i for i, s in enumerate(self.switches)}

    @cached_property
    def nics(self) -> tuple[Nic, ...]:
        return tuple(nic for host in self.hosts for nic in host.nics)

    @cached_property
    def nic_by_id(self) -> Mapping[str, Nic]:
        return {nic.id: nic for nic in self.nics}

    @cached_property
    def host_by_name(self) -> Mapping[str, Host]:
        return {host.name: host for host in self.hosts}

    @cached_property
    def nics_on(self) -> Mapping[str, tuple[tuple[PortRef, Nic], ...]]:
        """Access ports of each switch with the NIC behind each, in the order of their ports."""
        out: dict[str, list[tuple[PortRef, Nic]]] = {s.name: [] for s in self.switches}
        for nic in self.nics:
            for port in nic.attachments:
                out[port.switch].append((port, nic))
        return {name: tuple(sorted(found, key=lambda x: x[0])) for name, found in out.items()}
