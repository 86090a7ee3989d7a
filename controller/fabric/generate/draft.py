"""The elements that a generator makes, as the values of a topology file: nested words.

Ports and datapath ids are given out here, so that they are the same for all kinds: hosts from port
1 of their switch, cables from behind the hosts, in the order in which they are laid; datapath ids
count from 1 in the lowest tier, from 0x101 in the next, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.fabric.addresses import MAX_IPV4_PORT, NUMBERS
from controller.fabric.generate.parameters import ParameterErrors, Rates
from controller.fabric.model import PortRef
from controller.fabric.quantities import MAX_PORT, rate_text, time_text

Value: TypeAlias = "str | Sequence[Value] | dict[str, Value] | None"

MAX_ELEMENTS = 200_000
"""Links, NICs, their ports and accelerators in all; a file could not hold many more."""
_TIER_BITS = (8, 12, 16)


@dataclass(frozen=True, slots=True)
class Elements:
    """What stands below ``switches``, ``hosts`` and ``links`` of a topology file."""

    switches: dict[str, Value]
    hosts: dict[str, Value]
    links: list[Value]

    def count(self) -> int:
        return len(self.switches) + len(self.hosts) + len(self.links)


@dataclass(slots=True)
class _Ports:
    tier: int
    number: int
    keys: dict[str, Value]
    host: int = 0
    cable: int = 0


@dataclass(slots=True)
class Draft:
    """``accelerator`` is the kind of accelerators, which also names them: gpu0, gpu1, ..."""

    accelerator: str = "gpu"
    _switches: dict[str, _Ports] = field(default_factory=dict)
    _hosts: dict[str, Value] = field(default_factory=dict)
    _links: list[Value] = field(default_factory=list)
    _in_tier: dict[int, int] = field(default_factory=dict)
    _count: int = 0

    def switch(self, name: str, *, tier: int = 0, hosts: int = 0, **keys: str | None) -> str:
        """Its name. Cables begin behind the ports of ``hosts`` NICs, at 11, 21, ... that is."""
        self._in_tier[tier] = number = self._in_tier.get(tier, 0) + 1
        if len(self._switches) >= NUMBERS:
            raise ParameterErrors.of(None, f"more than {NUMBERS} switches: choose smaller sizes")
        given: dict[str, Value] = {key: value for key, value in keys.items() if value is not None}
        self._switches[name] = _Ports(tier, number, given, cable=-(-hosts // 10) * 10)
        return name

    def host(
        self,
        nics: Sequence[Sequence[str]],
        accelerators: int = 1,
        rails: Sequence[int] | None = None,
    ) -> None:
        """A host called h1, h2, ... with a NIC on each of the switches of ``nics[i]``, of rail
        ``rails[i]``; ``accelerators`` are as many for each NIC."""
        name = f"h{len(self._hosts) + 1}"
        attach = [[self._host_port(switch) for switch in on] for on in nics]
        self._counted(sum(map(len, attach)) + accelerators)
        ports = [on[0] if len(on) == 1 else on for on in attach]
        several = accelerators > 1
        near = -(-accelerators // len(nics))
        held: dict[str, Value] = {}
        for i in range(accelerators):
            keys: dict[str, Value] = {"nic": f"nic{i // near}"} if len(nics) > 1 else {}
            if several:
                keys["domain"] = name
            held[f"{self.accelerator}{i}"] = keys or None
        host: dict[str, Value] = {}
        if len(nics) == 1:
            host["attach"] = ports[0]
        else:
            inside: dict[str, Value] = {}
            for i, port in enumerate(ports):
                rail = {} if rails is None else {"rail": str(rails[i])}
                inside[f"nic{i}"] = {"attach": port, **rail}
            host["nics"] = inside
        if held:
            host["accelerators"] = held
        self._hosts[name] = host if len(host) > 1 or len(nics) > 1 else ports[0]

    def cable(self, a: str, b: str, rates: Rates | None = None, count: int = 1) -> None:
        """``count`` parallel links."""
        for _ in range(count):
            self._counted(1)
            ends: list[Value] = [self._cable_port(a), self._cable_port(b)]
            keys: dict[str, Value] = {}
            if rates is not None and rates.capacity is not None:
                keys["capacity"] = rate_text(rates.capacity)
            if rates is not None and rates.latency is not None:
                keys["latency"] = time_text(rates.latency)
            self._links.append({"ends": ends, **keys} if keys else ends)

    def elements(self) -> Elements:
        most = max(self._in_tier.values(), default=0)
        bits = next(bits for bits in _TIER_BITS if most < 1 << bits)
        switches: dict[str, Value] = {
            name: {**made.keys, "dpid": hex(made.tier << bits | made.number)}
            for name, made in self._switches.items()
        }
        return Elements(switches, self._hosts, self._links)

    def _host_port(self, switch: str) -> str:
        ports = self._switches[switch]
        ports.host += 1
        if ports.host > MAX_IPV4_PORT:
            raise ParameterErrors.of(
                "hosts", f"more than {MAX_IPV4_PORT} NICs on {switch}: choose fewer"
            )
        return str(PortRef(switch, ports.host))

    def _cable_port(self, switch: str) -> str:
        ports = self._switches[switch]
        ports.cable += 1
        if ports.cable > MAX_PORT:
            raise ParameterErrors.of(None, f"more than {MAX_PORT} ports on {switch}: choose fewer")
        return str(PortRef(switch, ports.cable))

    def _counted(self, more: int) -> None:
        self._count += more
        if self._count > MAX_ELEMENTS:
            raise ParameterErrors.of(
                None,
                f"more than {MAX_ELEMENTS:,} links, NICs and accelerators: choose smaller sizes",
            )


def pairs(count: int) -> Iterator[tuple[int, int]]:
    """All pairs of 0..count-1, the lesser first."""
    for a in range(count):
        for b in range(a + 1, count):
            yield a, b
