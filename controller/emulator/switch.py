"""A software switch without sockets or clocks: bytes and events in, bytes and frames out.

All of its behaviour is a function of what it was given, in which order and at which times. A shell
gives it what its connections receive and sends what it answers; several switches and a controller
can as well run in one process, on a clock that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from controller.emulator import bundles, frame
from controller.emulator import headers as h
from controller.emulator.changes import PacketSent, PortChange
from controller.emulator.diagnosis import match_error
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
from controller.emulator.flow_mods import CheckedFlowMod
from controller.emulator.group_mods import CheckedGroupMod
from controller.emulator.meter_mods import apply_meter_mod
from controller.emulator.personas import Persona
from controller.emulator.pipeline import Punted, Walk
from controller.emulator.ports import PortEntry, PortTable, local_port
from controller.emulator.refusal import RefusedError
from controller.emulator.replies import Answers, duration
from controller.emulator.session import (
    ERROR_DATA,
    VERSION_1_3,
    VERSION_1_5,
    Session,
    agreed_version,
    spoken,
)
from controller.emulator.state import Removed, State
from controller.openflow import bodies, messages
from controller.openflow.codec import decode, encode
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import AsyncEvent, BundleCommand, PortConfig, PortReason, Role
from controller.openflow.model import Field, Match
from controller.openflow.wire import DecodeError, header, split

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
        self._datapath = datapath
        table = PortTable(ports)
        if persona.local_port:
            table.add(local_port("local", dpid & 0xFFFFFFFFFFFF))
        for port in table.all():
            port.created = now
        self.state = State(persona, table)
        self._sessions: dict[Hashable, Session] = {}
        self._generation: int | None = None
        self._effects = Effects()
        self._now = now

    # ---- In ----

    def receive(self, connection: Hashable, data: bytes, now: float) -> Effects:
        """Bytes of a controller, cut anywhere. KeyError for a connection that is not there."""
        session = self._sessions[connection]
        self._begin(now)
        try:
            received, session.rest = split(session.rest + data if session.rest else data)
        except DecodeError:
            # Where one message ends wrongly, nobody can say where the next one begins.
            self._close(session)
            received = []
        for message in received:
            if connection not in self._sessions:
                break
            self._handle(session, message)
        return self._finish()

    def event(self, event: Event, now: float) -> Effects:
        self._begin(now)
        _EVENTS[type(event)](self, event)
        return self._finish()

    def next_deadline(self) -> float | None:
        """When a timeout may be due: give the switch a :class:`TimePassed` then."""
        times = [
            bundle.used + bundles.IDLE_S
            for session in self._sessions.values()
            for bundle in session.bundles.values()
        ]
        expiry = self.state.next_expiry()
        if expiry is not None:
            times.append(expiry)
        return min(times, default=None)

    def role(self, connection: Hashable) -> Role:
        return self._sessions[connection].role

    def _begin(self, now: float) -> None:
        self._now = now
        self.state.expire(now)
        for session in self._sessions.values():
            if session.bundles:
                self._expire_bundles(session)

    def _expire_bundles(self, session: Session) -> None:
        for bundle_id, bundle in list(session.bundles.items()):
            if bundle.used + bundles.IDLE_S <= self._now:
                del session.bundles[bundle_id]
                message = bundle.added[-1].message if bundle.added else b""
                self._refuse(session, message, RefusedError(ErrorCode.BUNDLE_FAILED_TIMEOUT))

    def _finish(self) -> Effects:
        self._tell_removed()
        effects, self._effects = self._effects, Effects()
        effects.messages |= {
            session.connection: b"".join(session.out)
            for session in self._sessions.values()
            if session.out
        }
        for session in self._sessions.values():
            session.out.clear()
        return effects

    # ---- Events ----

    def _connected(self, event: Connected) -> None:
        session = Session(event.connection)
        self._sessions[event.connection] = session
        versions = self.state.persona.versions
        session.out.append(encode(messages.Hello(versions), max(versions), 1))

    def _disconnected(self, event: Disconnected) -> None:
        """Bundles of the connection are gone with it, all else stays."""
        self._sessions.pop(event.connection, None)

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
            self._tell_port(PortReason.MODIFY, port, cause)

    def _port_added(self, event: PortAdded) -> None:
        event.port.created = self._now
        self.state.ports.add(event.port)
        self._tell_port(PortReason.ADD, event.port)

    def _port_removed(self, event: PortRemoved) -> None:
        port = self.state.ports.remove(event.port)
        if port is not None:
            self._tell_port(PortReason.DELETE, port)

    def _time_passed(self, _: TimePassed) -> None:
        pass

    # ---- Packets ----

    def admission(self, octets: int) -> Callable[[int], bool]:
        def admit(meter_id: int) -> bool:
            meter = self.state.meters.get(meter_id)
            return meter is None or meter.admit(octets, self._now)

        return admit

    def carry_out(self, walk: Walk, data: bytes, parsed: int) -> None:
        walk.account(1, len(data), self._now)
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
            self._tell_punted(punted, frame.rewrite(data, parsed, punted.headers))

    # ---- What controllers are told without asking ----

    def _tell_punted(self, punted: Punted, data: bytes) -> None:
        for session in self._sessions.values():
            reason = int(punted.reason)
            if session.version == VERSION_1_3 and reason > messages.PacketInReason.INVALID_TTL:
                reason = messages.PacketInReason.APPLY_ACTION
            if session.wants(AsyncEvent.PACKET_IN_SECONDARY, reason):
                fields: dict[Field, int | tuple[int, int]] = {Field.IN_PORT: punted.in_port}
                metadata = h.METADATA.get(punted.headers)
                if metadata:
                    fields[Field.METADATA] = metadata
                self._say(
                    session,
                    messages.PacketIn(
                        len(data),
                        reason,
                        punted.table,
                        punted.cookie,
                        Match.of(fields),
                        data[: punted.max_len] if self.state.persona.truncates else data,
                    ),
                )

    def _tell_port(self, reason: PortReason, port: PortEntry, cause: Session | None = None) -> None:
        """Before OpenFlow 1.5, who changes a port is not told of it."""
        status = messages.PortStatus(reason, port.description())
        for session in self._sessions.values():
            own = session is cause and (session.version or 0) < VERSION_1_5
            if not own and session.wants(AsyncEvent.PORT_STATUS_SECONDARY, reason):
                self._say(session, status)

    def _tell_removed(self) -> None:
        removed, self.state.removed = self.state.removed, []
        for each in removed:
            if each.entry.flags & messages.FlowFlag.SEND_FLOW_REM:
                for session in self._sessions.values():
                    if session.wants(AsyncEvent.FLOW_REMOVED_SECONDARY, each.reason):
                        self._say(session, self._flow_removed(each))

    def _flow_removed(self, removed: Removed) -> messages.FlowRemoved:
        entry = removed.entry
        counters = messages.Counters(
            duration(self._now - entry.created), None, None, entry.packets, entry.bytes
        )
        return messages.FlowRemoved(
            entry.table,
            entry.priority,
            entry.match,
            entry.cookie,
            removed.reason,
            counters,
            entry.idle_timeout,
            entry.hard_timeout,
        )

    def _say(self, session: Session, message: Any, xid: int = 0) -> None:
        assert session.version is not None
        session.out.append(encode(message, session.version, xid))

    def _refuse(self, session: Session, message: bytes, refused: RefusedError) -> None:
        version = session.version or message[0]
        kind, code, experimenter = spoken(refused, version)
        xid = header(message).xid if message else 0
        error = messages.Error(kind, code, message[:ERROR_DATA], experimenter)
        session.out.append(encode(error, version, xid))

    def _close(self, session: Session) -> None:
        # What was said before is still sent.
        if session.out:
            self._effects.messages[session.connection] = b"".join(session.out)
        self._effects.closed.append(session.connection)
        del self._sessions[session.connection]

    # ---- Requests ----

    def _handle(self, session: Session, message: bytes) -> None:
        if session.version is None:
            self._handle_hello(session, message)
            return
        if message[0] != session.version:
            if message[1] not in _OF_ANY_VERSION:
                self._close(session)
            return
        try:
            xid, _, request = decode(message)
        except DecodeError as error:
            refused = RefusedError(_what_is_wrong(message, error))
            if session.role is Role.SECONDARY and message[1] in _WRITING_TYPES:
                refused = RefusedError(ErrorCode.BAD_REQUEST_IS_SECONDARY)
            self._refuse(session, message, refused)
            return
        handler = _HANDLERS.get(type(request))
        try:
            if handler is not None:
                if session.role is Role.SECONDARY and type(request) in _WRITES:
                    raise RefusedError(ErrorCode.BAD_REQUEST_IS_SECONDARY)
                handler(self, session, request, message, xid)
            elif type(request) not in _IGNORED:
                self._answer(session, request, xid)
        except RefusedError as refused:
            self._refuse(session, message, refused)

    def _handle_hello(self, session: Session, message: bytes) -> None:
        versions = self.state.persona.versions
        hello: Any = None
        if header(message).type == 0:
            try:
                hello = decode(message).message
            except DecodeError:
                hello = messages.Hello()
        if hello is None:
            self._close(session)
            return
        version = agreed_version(versions, header(message).version, hello.versions)
        if version is None:
            said = min(header(message).version, max(versions))
            text = f"This switch speaks OpenFlow {', '.join(f'1.{v - 1}' for v in versions)}."
            error = messages.Error(0, 0, text.encode())
            session.out.append(encode(error, max(said, min(versions)), header(message).xid))
            self._close(session)
            return
        session.agree(version)

    def _answer(self, session: Session, request: Any, xid: int) -> None:
        assert session.version is not None
        answers = Answers(self.state, session.version, self._datapath, self._now)
        if isinstance(request, bodies.QueueConfigRequest):
            self._say(session, answers.queue_config(request), xid)
            return
        for part in list(answers.answer(request)):
            self._say(session, part, xid)

    def _echo(self, session: Session, request: messages.EchoRequest, _: bytes, xid: int) -> None:
        self._say(session, messages.EchoReply(request.data), xid)

    def _features(self, session: Session, _: messages.FeaturesRequest, __: bytes, xid: int) -> None:
        persona = self.state.persona
        capabilities = persona.capabilities
        if session.version == VERSION_1_3:
            capabilities &= _CAPABILITIES_OF_1_3
        reply = messages.FeaturesReply(self.dpid, 0, persona.tables, 0, capabilities)
        self._say(session, reply, xid)

    def _get_config(
        self, session: Session, _: messages.GetConfigRequest, __: bytes, xid: int
    ) -> None:
        fragments = _DROP_FRAGMENTS if self.state.forwarding.drop_fragments else 0
        self._say(session, messages.GetConfigReply(fragments, session.miss_send_len), xid)

    def _set_config(self, session: Session, request: messages.SetConfig, _: bytes, __: int) -> None:
        if request.flags & ~3:
            raise RefusedError(ErrorCode.SWITCH_CONFIG_FAILED_BAD_FLAGS)
        if session.role is not Role.SECONDARY:
            # Of the whole switch, whoever says it; it puts no fragments together.
            self.state.forwarding.drop_fragments = request.flags == _DROP_FRAGMENTS
        session.miss_send_len = request.miss_send_len

    def _barrier(self, session: Session, _: messages.BarrierRequest, __: bytes, xid: int) -> None:
        # Requests are done one after the other, so all before it are.
        self._tell_removed()
        self._say(session, messages.BarrierReply(), xid)

    def _role(self, session: Session, request: messages.RoleRequest, _: bytes, xid: int) -> None:
        if request.role not in tuple(Role):
            raise RefusedError(ErrorCode.ROLE_REQUEST_FAILED_BAD_ROLE)
        role = Role(request.role)
        if role in (Role.PRIMARY, Role.SECONDARY):
            self._check_generation(request.generation_id)
        if role is Role.PRIMARY and session.role is not Role.PRIMARY:
            self._demote_primary()
        if role is not Role.NOCHANGE:
            session.role = role
        self._say(session, messages.RoleReply(session.role, self._known_generation()), xid)

    def _check_generation(self, generation: int) -> None:
        if self._generation is not None:
            ahead = (generation - self._generation) & 0xFFFFFFFFFFFFFFFF
            if ahead >> 63:  # the difference as a signed number
                raise RefusedError(ErrorCode.ROLE_REQUEST_FAILED_STALE)
        self._generation = generation

    def _known_generation(self) -> int:
        return 0xFFFFFFFFFFFFFFFF if self._generation is None else self._generation

    def _demote_primary(self) -> None:
        for other in self._sessions.values():
            if other.role is Role.PRIMARY:
                other.role = Role.SECONDARY
                if (other.version or 0) > VERSION_1_3:
                    reason = messages.RoleStatusReason.PRIMARY_REQUEST
                    status = messages.RoleStatus(other.role, reason, self._known_generation())
                    self._say(other, status)

    def _get_async(
        self, session: Session, _: messages.GetAsyncRequest, __: bytes, xid: int
    ) -> None:
        self._say(session, messages.GetAsyncReply(session.async_masks()), xid)

    def _set_async(self, session: Session, request: messages.SetAsync, _: bytes, __: int) -> None:
        session.masks |= {each.event: each.mask for each in request.masks}

    def _flow_mod(self, session: Session, request: messages.FlowMod, _: bytes, __: int) -> None:
        assert session.version is not None
        CheckedFlowMod(self.state, request, session.version).apply(self.state, self._now)

    def _group_mod(self, session: Session, request: messages.GroupMod, _: bytes, __: int) -> None:
        assert session.version is not None
        CheckedGroupMod(self.state, request, session.version).apply(self.state, self._now)

    def _meter_mod(self, _: Session, request: messages.MeterMod, __: bytes, ___: int) -> None:
        apply_meter_mod(self.state, request, self._now)

    def _port_mod(self, session: Session, request: messages.PortMod, _: bytes, __: int) -> None:
        change = PortChange(self, session, request)
        change.check(0)
        change.apply(self.state, self._now)

    def _table_mod(self, _: Session, request: messages.TableMod, __: bytes, ___: int) -> None:
        config = self.state.table_config
        if request.table != 0xFF and request.table >= len(config):
            raise RefusedError(ErrorCode.TABLE_MOD_FAILED_BAD_TABLE)
        if request.config and not self.state.persona.eviction:
            raise RefusedError(ErrorCode.TABLE_MOD_FAILED_BAD_CONFIG)
        chosen = range(len(config)) if request.table == 0xFF else (request.table,)
        for number in chosen:
            config[number] = messages.TableDescription(
                number, request.config, request.eviction, request.vacancy
            )

    def _packet_out(self, session: Session, request: messages.PacketOut, _: bytes, __: int) -> None:
        change = PacketSent(self, session, request)
        change.prepare(0)
        change.apply(self.state, self._now)

    def _bundle_control(
        self, session: Session, request: messages.BundleControl, message: bytes, xid: int
    ) -> None:
        if not self.state.persona.bundles:
            raise RefusedError(ErrorCode.BAD_REQUEST_BAD_EXPERIMENTER)
        known, number, flags = session.bundles, request.bundle_id, request.flags
        if request.command == BundleCommand.OPEN_REQUEST:
            bundles.open_bundle(known, number, flags, self._now)
        elif request.command == BundleCommand.CLOSE_REQUEST:
            bundles.close_bundle(known, number, flags, self._now)
        elif request.command == BundleCommand.DISCARD_REQUEST:
            bundles.discard_bundle(known, number)
        elif request.command == BundleCommand.COMMIT_REQUEST:
            failure = bundles.commit_bundle(self.state, known, number, flags, self._now)
            if failure is not None:
                self._refuse(session, failure.message, failure.refused)
                raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_FAILED)
        elif request.command in tuple(BundleCommand):
            raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_TYPE)
        # To a command that it does not know, Open vSwitch says 0.
        known_command = request.command in tuple(BundleCommand)
        reply = messages.BundleControl(number, request.command + 1 if known_command else 0, 0)
        self._say(session, reply, xid)

    def _bundle_add(
        self, session: Session, request: messages.BundleAdd, message: bytes, xid: int
    ) -> None:
        if not self.state.persona.bundles:
            raise RefusedError(ErrorCode.BAD_REQUEST_BAD_EXPERIMENTER)
        change, prepare = self._checked(session, request.request, xid)
        added = bundles.Added(message, change, prepare)
        bundles.add_to_bundle(session.bundles, request.bundle_id, request.flags, added, self._now)

    def _checked(
        self, session: Session, inner: bytes, xid: int
    ) -> tuple[bundles.Change, Callable[[int], None] | None]:
        """The request inside a bundle's message. Raises RefusedError."""
        assert session.version is not None
        if len(inner) < 8:
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_BAD_LEN)
        head = header(inner)
        if head.version != session.version:
            raise RefusedError((17, 5))  # OFPBFC_BAD_VERSION
        if not 8 <= head.length <= len(inner):
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_BAD_LEN)
        if head.xid != xid:
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_BAD_XID)
        if head.type not in _BUNDLED:
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_UNSUP)
        try:
            request: Any = decode(inner[: head.length]).message
        except DecodeError as error:
            raise RefusedError(_what_is_wrong(inner, error)) from error
        if isinstance(request, messages.FlowMod):
            return CheckedFlowMod(self.state, request, session.version), None
        if isinstance(request, messages.GroupMod):
            return CheckedGroupMod(self.state, request, session.version), None
        if isinstance(request, messages.PortMod):
            port_change = PortChange(self, session, request)
            return port_change, port_change.check
        packet = PacketSent(self, session, request)
        return packet, packet.prepare


def _of_a_match(code: ErrorCode | None) -> bool:
    return code is None or code.name.startswith("BAD_MATCH")


def _what_is_wrong(message: bytes, error: DecodeError) -> ErrorCode:
    found = match_error(message) if _of_a_match(error.code) else None
    return found or error.code or ErrorCode.BAD_REQUEST_BAD_LEN


_DROP_FRAGMENTS = 1
_CAPABILITIES_OF_1_3 = 0x1FF
_BUNDLED = frozenset({13, 14, 15, 16})  # packet-out, flow, group and port modification


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

_HANDLERS: dict[type, Callable[[Switch, Session, Any, bytes, int], None]] = {
    messages.EchoRequest: Switch._echo,
    messages.FeaturesRequest: Switch._features,
    messages.GetConfigRequest: Switch._get_config,
    messages.SetConfig: Switch._set_config,
    messages.BarrierRequest: Switch._barrier,
    messages.RoleRequest: Switch._role,
    messages.GetAsyncRequest: Switch._get_async,
    messages.SetAsync: Switch._set_async,
    messages.FlowMod: Switch._flow_mod,
    messages.GroupMod: Switch._group_mod,
    messages.MeterMod: Switch._meter_mod,
    messages.PortMod: Switch._port_mod,
    messages.TableMod: Switch._table_mod,
    messages.PacketOut: Switch._packet_out,
    messages.BundleControl: Switch._bundle_control,
    messages.BundleAdd: Switch._bundle_add,
}

_WRITES = frozenset(
    {
        messages.FlowMod,
        messages.GroupMod,
        messages.MeterMod,
        messages.PortMod,
        messages.TableMod,
        messages.PacketOut,
        messages.BundleControl,
        messages.BundleAdd,
    }
)
"""Requests that a controller with the secondary role may not make."""

_WRITING_TYPES = frozenset({13, 14, 15, 16, 17, 29, 33, 34})
"""The types of these on the wire."""

_OF_ANY_VERSION = frozenset({0, 1, 2, 3})
"""Hello, error and echo may come in another version than was agreed."""

_IGNORED = frozenset({messages.Hello, messages.EchoReply, messages.Error})
