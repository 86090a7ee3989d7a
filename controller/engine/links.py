"""Which links are up, from the ports that switches report."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

import numpy as np

from controller.fabric.model import Fabric, PortRef
from controller.telemetry.link_state import Bools

RECOVERY_HOLD_S = 1.0
"""A port must have been live this long before its link carries traffic again, so that a flapping
one does not drag traffic back and forth."""


class LinkBook:
    """A link is down while either of its ports is known to be dead, it is drained, or it is barred:
    its cable leads elsewhere. Trees may still lead over a drained link, for when others fail; over
    a barred one, none does.

    Nothing is known of the ports of a switch that has lost its controller, so they keep their last
    state: forwarding does not need a controller.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._dead: set[PortRef] = set()
        self._live_since: dict[PortRef, float] = {}
        self._barred: frozenset[str] = frozenset()
        self._drained: frozenset[str] = frozenset()
        self._ports = {end for link in fabric.links for end in (link.a, link.b)}
        self._arcs: dict[PortRef, list[int]] = {end: [] for end in self._ports}
        self._live: Bools = np.ones(len(fabric.arcs), dtype=np.bool_)
        self._up = self._live
        self._switches = {
            end: (link.a.switch, link.b.switch) for link in fabric.links for end in (link.a, link.b)
        }
        for arc in fabric.arcs:
            for end in (arc.tail, arc.head):
                self._arcs[end].append(arc.index)

    def edited(
        self,
        fabric: Fabric,
        kept: Callable[[PortRef], PortRef | None],
        is_live: Callable[[PortRef], bool],
        can_carry: Callable[[str], bool],
        drained: frozenset[str],
        now: float,
    ) -> LinkBook:
        """The same for an edited fabric. What is known of links that stay goes on; ``kept`` is what
        their ports are called now. A link that has come carries traffic as soon as one that has
        come back would: at once, if its ports are live and its switches have long had rules."""
        new = LinkBook(fabric)
        new._drained = drained
        same = {(kept(arc.tail), kept(arc.head)): arc.tail for arc in self._fabric.arcs}
        for arc in fabric.arcs:
            ref, old = arc.tail, same.get((arc.tail, arc.head))
            if old is not None:
                if old in self._dead:
                    new._dead.add(ref)
                if old in self._live_since:
                    new._live_since[ref] = self._live_since[old]
            elif not is_live(ref):
                new._dead.add(ref)
            elif not all(map(can_carry, new._switches[ref])):
                new._dead.add(ref)
                new._live_since[ref] = now
        new._live = np.array([not {a.tail, a.head} & new._dead for a in fabric.arcs], np.bool_)
        kept_out = np.array([arc.link in drained for arc in fabric.arcs], np.bool_)
        new._up = new._live & ~kept_out
        return new

    def missing(self, switch: str, ports: Container[int]) -> tuple[int, ...]:
        """The ports of the topology that a switch with these ``ports`` lacks."""
        declared = {arc.tail.port for arc in self._fabric.arcs_from[switch]}
        declared |= {ref.port for ref, _ in self._fabric.nics_on[switch]}
        return tuple(port for port in sorted(declared) if port not in ports)

    def switch_ports(self, switch: str, ports: Mapping[int, bool], now: float) -> tuple[int, ...]:
        """Take in all ports of a switch that has just connected; returns the declared it lacks."""
        for arc in self._fabric.arcs_from[switch]:
            self.set_port(switch, arc.tail.port, ports.get(arc.tail.port, False), now)
        return self.missing(switch, ports)

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

    @property
    def drained(self) -> frozenset[str]:
        return self._drained

    def bar(self, links: frozenset[str]) -> bool:
        """These carry nothing, and no others for that reason; returns whether that is news."""
        changed, self._barred = links ^ self._barred, links
        self._update_all(changed)
        return bool(changed)

    def drain(self, links: frozenset[str]) -> None:
        """These carry nothing because people ordered it, and no others for that reason."""
        changed, self._drained = links ^ self._drained, links
        self._update_all(changed)

    def _update_all(self, links: frozenset[str]) -> None:
        for link in self._fabric.links if links else ():
            if link.name in links:
                self._update(link.a)

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

    def live(self) -> Bools:
        """Which arcs the switches themselves would use, one value for each of the fabric."""
        return self._live

    def barred(self) -> Bools | None:
        """One value for each arc of the fabric, None while no link is barred."""
        if not self._barred:
            return None
        return np.array([arc.link in self._barred for arc in self._fabric.arcs], np.bool_)

    def _update(self, ref: PortRef) -> None:
        live, up = self._live.copy(), self._up.copy()  # the old ones may be part of a snapshot
        for index in self._arcs[ref]:
            arc = self._fabric.arcs[index]
            live[index] = arc.tail not in self._dead and arc.head not in self._dead
            up[index] = live[index] and arc.link not in self._barred | self._drained
        self._live, self._up = live, up
