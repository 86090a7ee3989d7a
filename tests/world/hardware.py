"""Switches, cables and the connections of switches to the session process, and how all of them
fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count

from controller.dataplane.tables import SwitchTables, Tables
from controller.emulator import personas
from controller.emulator.from_fabric import ports
from controller.emulator.personas import Persona
from controller.emulator.switch import Connected, Disconnected, Effects, LinkChanged, Switch
from controller.fabric.model import Fabric, PortRef
from controller.openflow import encode
from controller.openflow.wire import MessageType, header, multipart, split
from tests.world.probes import Probes
from tests.world.scheduler import Scheduler, Stream
from tests.world.session_process import Connection
from tests.world.tables import held

BEAT_S = 1.0
"""As often as the session process asks a switch for its counters, and whether it is there."""
ECHO_BEATS = 5
"""Beats between a switch's own questions whether its controller is there."""
PERSONA = personas.load("openvswitch-3.1")


class Hardware:
    """``ready`` is called with each connection that has said what ports its switch has, ``ended``
    when one is gone."""

    def __init__(
        self,
        network: Fabric,
        scheduler: Scheduler,
        polls: bool,
        ready: Callable[[str, Connection], None],
        ended: Callable[[Connection, str], None],
    ) -> None:
        self.network = network
        self.cut: set[str] = set()
        self.off: set[str] = set()
        self.full: set[str] = set()
        self.losing: set[str] = set()
        self.connections: dict[str, Connection] = {}
        self._scheduler = scheduler
        self._polls = polls
        self._ready, self._ended = ready, ended
        self._link_numbers = count(1)
        self._streams: dict[str, tuple[Stream, Stream, int]] = {}
        self._tables: dict[str, tuple[object, SwitchTables]] = {}
        self.switches = {name: self._made(name) for name in network.switch_by_name}
        self._carrier = {name: set[int]() for name in self.switches}
        self.dead: frozenset[PortRef] = frozenset()
        self.probes = Probes(network, self.switches)

    def start(self) -> None:
        for name in self.switches:
            self._connect_after(name, 0.5)

    def _made(self, name: str) -> Switch:
        dpid = self.network.switch_by_name[name].dpid
        of_switch = ports(self.network)[name]
        return Switch(dpid, of_switch, PERSONA, datapath=name, now=self._scheduler.now)

    @property
    def holds(self) -> Tables:
        """The tables of all switches as they are."""
        out = {}
        for name, switch in self.switches.items():
            state = switch.state
            version = switch, state.changes, state.groups.changes, tuple(state.meters)
            if name in self.off:
                out[name] = SwitchTables()
                continue
            if name not in self._tables or self._tables[name][0] != version:
                self._tables[name] = version, held(switch)
            out[name] = self._tables[name][1]
        return out

    # ---- what fails -----------------------------------------------------------------------------

    def set_link(self, link: str, up: bool) -> None:
        (self.cut.discard if up else self.cut.add)(link)
        self._update_carrier()

    def power_off(self, switch: str) -> None:
        self.off.add(switch)
        self.disconnect(switch)
        self.probes.replace(switch, None)
        self._update_carrier()

    def power_on(self, switch: str) -> None:
        """It has forgotten everything."""
        self.off.discard(switch)
        self.switches[switch] = self._made(switch)
        self._carrier[switch] = set()
        self.probes.replace(switch, self.switches[switch])
        self._update_carrier()
        self._connect_after(switch, 1.0)

    def disconnect(self, switch: str, reason: str = "cut") -> None:
        """Whatever is under way on its connection is lost."""
        connection = self.connections.pop(switch, None)
        if connection is None:
            return
        connection.over = True
        to_switch, to_controller, number = self._streams.pop(switch)
        to_switch.clear()
        to_controller.clear()
        self.switches[switch].event(Disconnected(number), self._scheduler.now)
        self._ended(connection, reason)
        if switch not in self.off:
            self._connect_after(switch, 2.0)

    def lose_reply(self, switch: str) -> None:
        """The next answer to a barrier, or the end of one to a question, is never sent."""
        self.losing.add(switch)

    def stall(self, switch: str, seconds: float) -> None:
        """Nothing gets through to it for a while."""
        if switch in self._streams:
            self._streams[switch][0].hold(seconds)

    def fill(self, switch: str, full: bool) -> None:
        """It refuses entries beyond those that it has."""
        state = self.switches[switch].state
        limits: Persona = PERSONA
        if full:
            limits = replace(PERSONA, max_flows=state.flows, max_groups=len(state.groups))
        state.persona = limits
        (self.full.add if full else self.full.discard)(switch)

    def meddle(self, switch: str, share: float) -> None:
        """Another controller deletes a share of its entries."""
        state, now = self.switches[switch].state, self._scheduler.now
        chance = self._scheduler.random.random
        hand = self.switches[switch]
        hand.event(Connected("other hand"), now)
        hand.receive("other hand", encode.hello(), now)
        for flow in held(hand).flows.values():
            if chance() < share:
                hand.receive("other hand", encode.flow_delete(flow), now)
        for group in state.groups.all():
            if chance() < share:
                hand.receive("other hand", encode.group_delete(group.id), now)
        hand.event(Disconnected("other hand"), now)

    # ---- connections ----------------------------------------------------------------------------

    def _connect_after(self, switch: str, seconds: float) -> None:
        pause = seconds * self._scheduler.random.random()
        self._scheduler.at(self._scheduler.now + pause, partial(self._connect, switch))

    def _connect(self, switch: str) -> None:
        if switch in self.connections or switch in self.off:
            return
        number = next(self._link_numbers)
        to_switch = Stream(self._scheduler, partial(self._to_switch, switch, number))
        connection = Connection(
            to_switch.put,
            partial(self.disconnect, switch),
            partial(self._ready, switch),
        )
        to_controller = Stream(self._scheduler, connection.received)
        self.connections[switch] = connection
        self._streams[switch] = to_switch, to_controller, number
        self._said(switch, self.switches[switch].event(Connected(number), self._scheduler.now))
        self._beat(switch, connection, 0)

    def _beat(self, switch: str, connection: Connection, beats: int) -> None:
        if connection.over:
            return
        self._scheduler.at(
            self._scheduler.now + BEAT_S, partial(self._beat, switch, connection, beats + 1)
        )
        if connection.session is not None:
            connection.session.check()
            if self._polls and not connection.over:
                connection.session.poll()
        if connection.is_ready and not connection.over:
            connection.ask_whether_there()
            if beats % ECHO_BEATS == 0:
                self._streams[switch][1].put(encode.echo_request())

    def _to_switch(self, switch: str, number: int, data: bytes) -> None:
        self._said(switch, self.switches[switch].receive(number, data, self._scheduler.now))

    def _said(self, switch: str, effects: Effects) -> None:
        if switch not in self._streams:
            return
        _, to_controller, number = self._streams[switch]
        data = effects.messages.get(number)
        if data:
            to_controller.put(self._without_lost(switch, data) if self.losing else data)
        assert not effects.closed, f"{switch} ended the connection"

    def _without_lost(self, switch: str, data: bytes) -> bytes:
        if switch not in self.losing:
            return data
        out = []
        for message in split(data)[0]:
            kind = header(message).type
            is_end = kind == MessageType.MULTIPART_REPLY and not multipart(message)[1]
            session = self.connections[switch].session
            is_answer = is_end or kind == MessageType.BARRIER_REPLY
            if session is not None and is_answer and switch in self.losing:
                self.losing.discard(switch)
                continue
            out.append(message)
        return b"".join(out)

    # ---- cables ---------------------------------------------------------------------------------

    def _update_carrier(self) -> None:
        dead = set()
        for arc in self.network.arcs:
            if arc.link in self.cut or {arc.tail.switch, arc.head.switch} & self.off:
                dead.add(arc.tail)
        self.dead = frozenset(dead) | {
            port for nic in self.network.nics for port in nic.attachments if port.switch in self.off
        }
        for name, switch in self.switches.items():
            now_dead = {ref.port for ref in dead if ref.switch == name}
            for port in sorted(now_dead ^ self._carrier[name]):
                up = port not in now_dead
                self._said(name, switch.event(LinkChanged(port, up), self._scheduler.now))
                self.probes.ports_changed(name)
            self._carrier[name] = now_dead
