"""A software switch without sockets or clocks: bytes and events in, bytes and frames out.

All of its behaviour is a function of what it was given, in which order and at which times. A shell
gives it what its connections receive and sends what it answers; several switches and a controller
can as well run in one process, on a clock that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from controller.emulator import bundles, frame, requests
from controller.emulator import headers as h
from controller.emulator.controllers import Controllers
from controller.emulator.events import (
    Connected,
    Disconnected,
    Effects,
    Emitted,
    Event,
    FrameReceived,
    LinkChanged,
    LivenessChanged,
    PortAdded,
    PortRemoved,
    TimePassed,
)
from controller.emulator.personas import Persona
from controller.emulator.pipeline import Walk
from controller.emulator.ports import PortEntry, PortTable, local_port
from controller.emulator.refusal import RefusedError
from controller.emulator.session import Session
from controller.emulator.state import State
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import PortConfig, PortReason, Role
from controller.openflow.wire import DecodeError, split

__all__ = [
    "Connected",
    "Disconnected",
    "Effects",
    "Emitted",
    "Event",
    "FrameReceived",
    "LinkChanged",
    "LivenessChanged",
    "PortAdded",
    "PortRemoved",
    "Switch",
    "TimePassed",
]


class Switch:
    def __init__(
        self,
        dpid: int,
        ports: Iterable[PortEntry],
        persona: Persona,
        *,
        datapath: str = "None",
        now: float = 0.0,
    ) -> None:
        """``datapath`` describes the switch to people. The ports become the switch's own."""
        self.dpid = dpid
        self.datapath = datapath
        table = PortTable(ports)
        if persona.local_port:
            table.add(local_port("local", dpid & 0xFFFFFFFFFFFF))
        for port in table.all():
            port.created = now
        self.state = State(persona, table)
        self.controllers = Controllers(self.state)
        self.now = now
        """By the switch's clock, when it was last given something."""
        self._effects = Effects()

    # ---- In ----

    def receive(self, connection: Hashable, data: bytes, now: float) -> Effects:
        """Bytes of a controller, cut anywhere. KeyError for a connection that is not there."""
        session = self.controllers.sessions[connection]
        self._begin(now)
        try:
            received, session.rest = split(session.rest + data if session.rest else data)
        except DecodeError:
            # Where one message ends wrongly, nobody can say where the next one begins.
            self.controllers.close(session)
            received = []
        for message in received:
            if connection not in self.controllers.sessions:
                break
            requests.handle(self, session, message)
        return self._finish()

    def event(self, event: Event, now: float) -> Effects:
        self._begin(now)
        _EVENTS[type(event)](self, event)
        return self._finish()

    def next_deadline(self) -> float | None:
        """When a timeout may be due: give the switch a :class:`TimePassed` then."""
        times = [
            bundle.used + bundles.IDLE_S
            for session in self.controllers.sessions.values()
            for bundle in session.bundles.values()
        ]
        expiry = self.state.next_expiry()
        if expiry is not None:
            times.append(expiry)
        return min(times, default=None)

    def role(self, connection: Hashable) -> Role:
        return self.controllers.sessions[connection].role

    def _begin(self, now: float) -> None:
        self.now = now
        self.state.expire(now)
        for session in self.controllers.sessions.values():
            if session.bundles:
                self._expire_bundles(session)

    def _expire_bundles(self, session: Session) -> None:
        for bundle_id, bundle in list(session.bundles.items()):
            if bundle.used + bundles.IDLE_S <= self.now:
                del session.bundles[bundle_id]
                message = bundle.added[-1].message if bundle.added else b""
                refused = RefusedError(ErrorCode.BUNDLE_FAILED_TIMEOUT)
                self.controllers.refuse(session, message, refused)

    def _finish(self) -> Effects:
        self.controllers.tell_changes(self.now)
        effects, self._effects = self._effects, Effects()
        self.controllers.take_said(effects)
        return effects

    # ---- Events ----

    def _connected(self, event: Connected) -> None:
        self.controllers.connect(event.connection)

    def _disconnected(self, event: Disconnected) -> None:
        """Bundles of the connection are gone with it, all else stays."""
        self.controllers.sessions.pop(event.connection, None)

    def _frame_received(self, event: FrameReceived) -> None:
        port = self.state.ports.get(event.port)
        if port is None or not port.up:
            return
        port.rx_packets += 1
        port.rx_bytes += len(event.data)
        if port.config & PortConfig.NO_RECV:
            port.rx_dropped += 1
            return
        parsed = frame.parse(event.data)
        walk = Walk(
            self.state.forwarding,
            parsed | event.port << h.IN_PORT.shift,
            admit=self.admission(len(event.data)),
        )
        self.carry_out(walk.through_tables(), event.data, parsed)

    def _link_changed(self, event: LinkChanged) -> None:
        self.change_port(event.port, lambda port: setattr(port, "link", event.up))

    def _liveness_changed(self, event: LivenessChanged) -> None:
        self.change_port(event.port, lambda port: setattr(port, "forwarding", event.alive))

    def change_port(
        self,
        number: int,
        change: Callable[[PortEntry], None],
        cause: Session | None = None,
    ) -> None:
        port = self.state.ports.get(number)
        if port is None:
            return
        before = port.config, port.state
        change(port)
        if (port.config, port.state) != before:
            self.controllers.tell_port(PortReason.MODIFY, port, cause)

    def _port_added(self, event: PortAdded) -> None:
        event.port.created = self.now
        self.state.ports.add(event.port)
        self.controllers.tell_port(PortReason.ADD, event.port)

    def _port_removed(self, event: PortRemoved) -> None:
        port = self.state.ports.remove(event.port)
        if port is not None:
            self.controllers.tell_port(PortReason.DELETE, port)

    def _time_passed(self, _: TimePassed) -> None:
        pass

    # ---- Packets ----

    def admission(self, octets: int) -> Callable[[int], bool]:
        def admit(meter_id: int) -> bool:
            meter = self.state.meters.get(meter_id)
            return meter is None or meter.admit(octets, self.now)

        return admit

    def carry_out(self, walk: Walk, data: bytes, parsed: int) -> None:
        walk.account(1, len(data), self.now)
        for sent in walk.sent:
            port = self.state.ports.get(sent.port)
            if port is None:
                continue
            if not port.up:
                port.tx_dropped += 1
                continue
            out = frame.rewrite(data, parsed, sent.headers)
            port.tx_packets += 1
            port.tx_bytes += len(out)
            self._effects.frames.append(Emitted(sent.port, out, sent.headers, sent.queue))
        for punted in walk.punted:
            self.controllers.tell_punted(punted, frame.rewrite(data, parsed, punted.headers))


_EVENTS: dict[type, Callable[[Switch, Any], None]] = {
    Connected: Switch._connected,
    Disconnected: Switch._disconnected,
    FrameReceived: Switch._frame_received,
    LinkChanged: Switch._link_changed,
    LivenessChanged: Switch._liveness_changed,
    PortAdded: Switch._port_added,
    PortRemoved: Switch._port_removed,
    TimePassed: Switch._time_passed,
}
