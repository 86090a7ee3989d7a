"""Which links are up, from the ports that switches report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from controller.fabric.model import Fabric, PortRef
from controller.telemetry.link_state import Bools

RECOVERY_HOLD_S = 1.0
"""A port must have been live this long before its link carries traffic again, so that a flapping
one does not drag traffic back and forth."""


class LinkBook:
    """A link is down while either of its ports is known to be dead.

    Nothing is known of the ports of a switch that has lost its controller, so they keep their last
    state: forwarding does not need a controller.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._dead: set[PortRef] = set()
        self._live_since: dict[PortRef, float] = {}
        self._ports = {end for link in fabric.links for end in (link.a, link.b)}
        self._arcs: dict[PortRef, list[int]] = {end: [] for end in self._ports}
        self._up: Bools = np.ones(len(fabric.arcs), dtype=np.bool_)
        self._switches = {
            end: (link.a.switch, link.b.switch) for link in fabric.links for end in (link.a, link.b)
        }
        for arc in fabric.arcs:
            for end in (arc.tail, arc.head):
                self._arcs[end].append(arc.index)

    def switch_ports(self, switch: str, ports: Mapping[int, bool], now: float) -> tuple[int, ...]:
        """Take in all ports of a switch that has just connected; returns the declared it lacks."""
        declared = [arc.tail.port for arc in self._fabric.arcs_from[switch]]
        for port in declared:
            self.set_port(switch, port, ports.get(port, False), now)
        access = {p.port for p, _ in self._fabric.nics_on[switch]}
        return tuple(p for p in sorted({*declared, *access}) if p not in ports)

    def set_port(self, switch: str, port: int, live: bool, now: float) -> bool:
        """Returns whether that is news of a link of the fabric."""
        ref = PortRef(switch, port)
        if ref not in self._ports:
            return False
        if live:
            news = ref in self._dead and ref not in self._live_since
            if news:
                self._live_since[ref] = now
            return news
        news = ref not in self._dead or ref in self._live_since
        self._dead.add(ref)
        self._update(ref)
        self._live_since.pop(ref, None)
        return news

    def exclude(self, switch: str, now: float) -> None:
        """A switch of which nothing is known carries nothing before it connects."""
        for arc in self._fabric.arcs_from[switch]:
            self.set_port(switch, arc.tail.port, False, now)

    def settle(self, now: float, can_carry: Callable[[str], bool]) -> None:
        """Let ports that have been live long enough carry traffic again, once both switches of
        their link can."""
        for ref, since in list(self._live_since.items()):
            if now - since >= RECOVERY_HOLD_S and all(map(can_carry, self._switches[ref])):
                del self._live_since[ref]
                self._dead.discard(ref)
                self._update(ref)

    def up(self) -> Bools:
        """One value for each arc of the fabric."""
        return self._up

    def _update(self, ref: PortRef) -> None:
        up = self._up.copy()  # the old one may be part of a snapshot
        for index in self._arcs[ref]:
            arc = self._fabric.arcs[index]
            up[index] = arc.tail not in self._dead and arc.head not in self._dead
        self._up = up
