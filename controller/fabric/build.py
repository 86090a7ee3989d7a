"""From a valid ``FabricSpec`` to a ``Fabric``: defaults filled in, addresses derived.

The result does not depend on the order of the file: everything is sorted by name, numbers in names
counting as numbers (h2 before h10).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from controller.fabric import addresses
from controller.fabric.document import Document
from controller.fabric.errors import Problems
from controller.fabric.model import (
    Accelerator,
    Bfd,
    Fabric,
    Host,
    IpAddress,
    Link,
    Nic,
    PortRef,
    Provenance,
    Switch,
    TrafficClass,
)
from controller.fabric.schema import BfdSpec, ClassSpec, FabricSpec, LinkSpec, NicKeys
from controller.fabric.validate import Validated, unknown

ONLY_NIC = "eth0"
BEST_EFFORT = "best-effort"


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sort key of names; total, since ``h1`` and ``h01`` differ in the second part."""
    parts = re.split(r"([0-9]+)", name)
    return tuple(int(p) if i % 2 else p for i, p in enumerate(parts)), name


def build(document: Document, validated: Validated, problems: Problems) -> Fabric:
    """The fabric, without the links and NICs that its problems make impossible."""
    return _Builder(document, validated, problems).fabric()


class _Builder:
    def __init__(self, document: Document, validated: Validated, problems: Problems) -> None:
        self._problem = problems.add
        self._where = document.where
        self._validated = validated
        self._spec: FabricSpec = validated.spec
        self._dpids = {
            name: addresses.dpid_of(name) if spec.dpid is None else spec.dpid
            for name, spec in self._spec.switches.items()
        }
        self._numbers: Mapping[int, int] = addresses.switch_numbers(self._dpids.values())

    def fabric(self) -> Fabric:
        links = [found for i, spec in enumerate(self._spec.links) if (found := self._link(i, spec))]
        return Fabric(
            name=self._spec.fabric,
            switches=tuple(self._switch(name) for name in sorted(self._spec.switches, key=natural)),
            hosts=tuple(self._host(name) for name in sorted(self._spec.hosts, key=natural)),
            links=tuple(sorted(links, key=lambda link: (natural(link.name), link.a, link.b))),
            classes=self._classes(),
            gateway_mac=self._spec.gateway.mac,
            gateway_ipv4=self._spec.gateway.ipv4,
            gateway_ipv6=self._spec.gateway.ipv6,
            strategy=self._spec.strategy,
        )

    def _classes(self) -> tuple[TrafficClass, ...]:
        specs = self._spec.classes
        found = [_class(name, spec) for name, spec in specs.items()]
        if all(spec.dscp is not None for spec in specs.values()) and BEST_EFFORT not in specs:
            found.append(TrafficClass(BEST_EFFORT, None, 0))
        return tuple(sorted(found, key=lambda c: natural(c.name)))

    def _switch(self, name: str) -> Switch:
        spec = self._spec.switches[name]
        return Switch(
            name=name,
            dpid=self._dpids[name],
            role=spec.role,
            pod=spec.pod,
            site=spec.site,
            flow_limit=spec.limits.flows,
            group_limit=spec.limits.groups,
            ovsdb=spec.ovsdb,
            source=self._where(("switches", name), key=True),
        )

    def _link(self, index: int, spec: LinkSpec) -> Link | None:
        place = ("links", self._validated.links[index])
        defaults = self._spec.defaults.link
        source = self._where(place)
        known = [
            self._known(end, self._where((*place, "ends", i))) for i, end in enumerate(spec.ends)
        ]
        capacity = defaults.capacity if spec.capacity is None else spec.capacity
        if capacity is None:
            self._problem(
                source, "the link has no capacity: add one here, or as `capacity` of defaults.link"
            )
        if capacity is None or not all(known):
            return None
        a, b = sorted(spec.ends)
        return Link(
            name=spec.name or f"{a}-{b}",
            a=a,
            b=b,
            capacity_bps=capacity,
            latency_s=defaults.latency if spec.latency is None else spec.latency,
            srlgs=tuple(sorted(set(spec.srlgs), key=natural)),
            medium=defaults.medium if spec.medium is None else spec.medium,
            bfd=_bfd(defaults.bfd if spec.bfd is None else spec.bfd),
            source=source,
        )

    def _known(self, port: PortRef, where: Provenance) -> bool:
        """Whether the switch of ``port`` can be built on; a problem if it is not even declared."""
        if port.switch not in self._validated.switches:
            self._problem(
                where, unknown(f"switch '{port.switch}'", port.switch, self._validated.switches)
            )
        return port.switch in self._spec.switches

    def _host(self, name: str) -> Host:
        spec = self._spec.hosts[name]
        if spec.attach:
            nics = [self._nic(name, ONLY_NIC, spec, spec.attach, ("hosts", name))]
        else:
            nics = [
                self._nic(name, nic, keys, keys.attach, ("hosts", name, "nics", nic))
                for nic, keys in spec.nics.items()
            ]
        return Host(
            name=name,
            nics=tuple(sorted(filter(None, nics), key=lambda nic: natural(nic.name))),
            accelerators=self._accelerators(name),
            labels=dict(sorted(spec.labels.items())),
            source=self._where(("hosts", name), key=True),
        )

    def _nic(
        self, host: str, name: str, spec: NicKeys, attach: list[PortRef], place: tuple[str, ...]
    ) -> Nic | None:
        source = self._where(place, key=True)
        known = [self._known(p, self._where((*place, "attach", i))) for i, p in enumerate(attach)]
        capacity = self._spec.defaults.nic.capacity if spec.capacity is None else spec.capacity
        if capacity is None:
            self._problem(
                source, "the NIC has no capacity: add one here, or as `capacity` of defaults.nic"
            )
        if capacity is None or not all(known):
            return None
        attachments = tuple(sorted(attach))
        number, port = self._numbers[self._dpids[attachments[0].switch]], attachments[0].port
        ips: list[IpAddress] | None = spec.ips
        if ips is None:
            ips = [addresses.derived_ipv4(number, port), addresses.derived_ipv6(number, port)]
            if port > addresses.MAX_IPV4_PORT:
                self._problem(
                    self._where((*place, "attach")),
                    f"no IPv4 address can be derived from port {port}, only from 1 to "
                    f"{addresses.MAX_IPV4_PORT}: give `ips`",
                )
        return Nic(
            host=host,
            name=name,
            mac=addresses.derived_mac(number, port) if spec.mac is None else spec.mac,
            addresses=tuple(sorted(ips, key=lambda ip: (ip.version, int(ip)))),
            attachments=attachments,
            capacity_bps=capacity,
            rail=spec.rail,
            plane=spec.plane,
            source=source,
        )

    def _accelerators(self, host: str) -> tuple[Accelerator, ...]:
        spec = self._spec.hosts[host]
        defaults = self._spec.defaults.accelerator
        nics = list(spec.nics) or [ONLY_NIC]
        found = []
        for name, keys in spec.accelerators.items():
            nic = nics[0] if keys.nic is None else keys.nic
            source = self._where(("hosts", host, "accelerators", name), key=True)
            if keys.nic is None and len(nics) > 1:
                self._problem(source, f"which NIC is nearest? add `nic`, one of {', '.join(nics)}")
            if nic not in nics:
                self._problem(
                    self._where(("hosts", host, "accelerators", name, "nic")),
                    unknown(f"NIC '{nic}' of host {host}", nic, nics),
                )
            model = defaults.model if keys.model is None else keys.model
            kind = keys.kind or defaults.kind
            found.append(Accelerator(host, name, kind, model, nic, keys.domain, source))
        return tuple(sorted(found, key=lambda a: natural(a.name)))


def _class(name: str, spec: ClassSpec) -> TrafficClass:
    dscps = spec.dscp or []
    return TrafficClass(
        name=name,
        dscp=dscps[0] if dscps else None,
        queue=spec.queue,
        share=spec.share,
        ceiling=spec.ceiling,
        priority=spec.priority,
        lossless=spec.lossless,
        other_dscps=tuple(dscps[1:]),
    )


def _bfd(spec: BfdSpec | None) -> Bfd | None:
    if spec is None or spec.interval is None:
        return None
    return Bfd(spec.interval, spec.multiplier)
