"""What no single element shows: clashes and gaps between the elements of a fabric."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from controller.fabric.check_classes import class_problems
from controller.fabric.document import Document
from controller.fabric.errors import Problem, Problems, twice
from controller.fabric.model import Fabric, Nic, PortRef, Provenance
from controller.fabric.reach import unreachable
from controller.fabric.validate import Validated

MAX_ATTACHMENT_SETS = 1 << 14
"""Labels have 14 bits for the egress."""

Place = tuple[str | int, ...]


def check(document: Document, validated: Validated, fabric: Fabric, problems: Problems) -> None:
    """All problems of ``fabric``, which was built from ``validated``."""
    for problem in _all(document, validated, fabric):
        problems.add(problem.where, problem.text)
    # With links or hosts left out, what is unreachable says nothing.
    if not problems:
        for problem in unreachable(fabric, document.where(("fabric",), key=True)):
            problems.add(problem.where, problem.text)


def _all(document: Document, validated: Validated, fabric: Fabric) -> Iterator[Problem]:
    checks = _Checks(document, validated, fabric)
    yield from checks.names()
    yield from checks.ports()
    yield from checks.nic_addresses()
    yield from checks.gateway()
    yield from class_problems(document, validated.spec.classes)
    sets = {nic.attachment_set for nic in fabric.nics}
    if len(sets) > MAX_ATTACHMENT_SETS:
        yield Problem(
            document.where(("hosts",), key=True),
            f"NICs hang on {len(sets)} different sets of switches, and labels tell "
            f"{MAX_ATTACHMENT_SETS} apart: split the fabric",
        )


class _Checks:
    def __init__(self, document: Document, validated: Validated, fabric: Fabric) -> None:
        self._where = document.where
        self._spec = validated.spec
        self._fabric = fabric
        self._links = [
            (("links", i), s) for i, s in zip(validated.links, self._spec.links, strict=True)
        ]

    def names(self) -> Iterator[Problem]:
        for name in self._spec.hosts.keys() & self._spec.switches.keys():
            switch = self._where(("switches", name), key=True)
            yield Problem(
                self._where(("hosts", name), key=True),
                f"host {name} has the name of the switch at line {switch.line}: rename one",
            )
        yield from twice(
            (spec.name, f"link name {spec.name}", self._where((*place, "name")))
            for place, spec in self._links
            if spec.name
        )
        dpids: list[tuple[Hashable, str, Provenance]] = []
        for s in self._fabric.switches:
            derived = self._spec.switches[s.name].dpid is None
            what = f"datapath id 0x{s.dpid:x}" + " (derived from the name)" * derived
            dpids.append((s.dpid, what, self._where(("switches", s.name, "dpid"), key=True)))
        yield from twice(dpids)

    def ports(self) -> Iterator[Problem]:
        for place, spec in self._links:
            a, b = spec.ends
            if a.switch == b.switch:
                yield Problem(
                    self._where(place),
                    f"the link joins {a.switch} to itself: give it two switches",
                )
        yield from twice((p, f"port {p}", where) for p, where in self._port_uses())

    def _port_uses(self) -> Iterator[tuple[PortRef, Provenance]]:
        for place, spec in self._links:
            for i, end in enumerate(spec.ends):
                yield end, self._where((*place, "ends", i))
        for name, host in self._spec.hosts.items():
            at: Place = ("hosts", name)
            for i, port in enumerate(host.attach or ()):
                yield port, self._where((*at, "attach", i))
            for nic_name, nic in host.nics.items():
                for i, port in enumerate(nic.attach):
                    yield port, self._where((*at, "nics", nic_name, "attach", i))

    def nic_addresses(self) -> Iterator[Problem]:
        macs: list[tuple[Hashable, str, Provenance]] = []
        ips: list[tuple[Hashable, str, Provenance]] = []
        ports: set[PortRef] = set()
        for nic in self._fabric.nics:
            host = self._spec.hosts[nic.host]
            keys = host if host.attach else host.nics[nic.name]
            # Derived addresses are equal only where a port is used twice, which is said already.
            derived_anew = nic.attachments[0] not in ports
            ports.add(nic.attachments[0])
            if keys.mac is not None or derived_anew:
                what = f"MAC {mac_text(nic.mac)} of {nic.id}" + " (derived)" * (keys.mac is None)
                macs.append((nic.mac, what, self._at(nic, "mac")))
            if keys.ips is not None or derived_anew:
                derived = " (derived)" * (keys.ips is None)
                where = self._at(nic, "ips")
                ips += ((ip, f"address {ip} of {nic.id}{derived}", where) for ip in nic.addresses)
        yield from twice(macs)
        yield from twice(ips)

    def gateway(self) -> Iterator[Problem]:
        fabric = self._fabric
        for nic in fabric.nics:
            if nic.mac == fabric.gateway_mac:
                yield Problem(
                    self._at(nic, "mac"),
                    f"MAC {mac_text(nic.mac)} of {nic.id} is the gateway's: change one of them",
                )
            for ip in nic.addresses:
                if ip in (fabric.gateway_ipv4, fabric.gateway_ipv6):
                    yield Problem(
                        self._at(nic, "ips"),
                        f"address {ip} of {nic.id} is the gateway's: change one of them",
                    )

    def _at(self, nic: Nic, attribute: str) -> Provenance:
        """Of an attribute of a NIC, or of the NIC where the attribute is derived."""
        inside = () if self._spec.hosts[nic.host].attach else ("nics", nic.name)
        return self._where(("hosts", nic.host, *inside, attribute), key=True)


def mac_text(mac: int) -> str:
    return mac.to_bytes(6, "big").hex(":")
