"""The controllers of a switch: their connections and roles, and what they are told."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from controller.emulator import headers as h
from controller.emulator.events import Effects
from controller.emulator.pipeline import Punted
from controller.emulator.ports import PortEntry
from controller.emulator.refusal import RefusedError
from controller.emulator.replies import duration
from controller.emulator.session import ERROR_DATA, VERSION_1_3, VERSION_1_5, Session, spoken
from controller.emulator.state import Removed, State
from controller.openflow import messages
from controller.openflow.codec import encode
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import AsyncEvent, PortReason, Role
from controller.openflow.model import Field, Match
from controller.openflow.wire import header

_NO_GENERATION = 0xFFFFFFFFFFFFFFFF


class Controllers:
    def __init__(self, state: State) -> None:
        self.sessions: dict[Hashable, Session] = {}
        self._state = state
        self._generation: int | None = None
        self._ended: list[Session] = []

    def connect(self, connection: Hashable) -> None:
        session = self.sessions[connection] = Session(connection)
        versions = self._state.persona.versions
        session.out.append(encode(messages.Hello(versions), max(versions), 1))

    def close(self, session: Session) -> None:
        """What was said before is still sent."""
        self._ended.append(session)
        del self.sessions[session.connection]

    def take_said(self, effects: Effects) -> None:
        """Move what is said to controllers, and what ends, into the effects."""
        for session in (*self._ended, *self.sessions.values()):
            if session.out:
                effects.messages[session.connection] = b"".join(session.out)
                session.out.clear()
        effects.closed += [session.connection for session in self._ended]
        self._ended.clear()

    def say(self, session: Session, message: Any, xid: int = 0) -> None:
        assert session.version is not None
        session.out.append(encode(message, session.version, xid))

    def refuse(self, session: Session, message: bytes, refused: RefusedError) -> None:
        version = session.version or message[0]
        kind, code, experimenter = spoken(refused, version)
        xid = header(message).xid if message else 0
        error = messages.Error(kind, code, message[:ERROR_DATA], experimenter)
        session.out.append(encode(error, version, xid))

    # ---- Roles ----

    def change_role(self, session: Session, request: messages.RoleRequest) -> messages.RoleReply:
        """Raises RefusedError."""
        if request.role not in tuple(Role):
            raise RefusedError(ErrorCode.ROLE_REQUEST_FAILED_BAD_ROLE)
        role = Role(request.role)
        if role in (Role.PRIMARY, Role.SECONDARY):
            self._check_generation(request.generation_id)
        if role is Role.PRIMARY and session.role is not Role.PRIMARY:
            self._demote_primary()
        if role is not Role.NOCHANGE:
            session.role = role
        return messages.RoleReply(session.role, self._known_generation())

    def _check_generation(self, generation: int) -> None:
        if self._generation is not None:
            ahead = (generation - self._generation) & 0xFFFFFFFFFFFFFFFF
            if ahead >> 63:  # the difference as a signed number
                raise RefusedError(ErrorCode.ROLE_REQUEST_FAILED_STALE)
        self._generation = generation

    def _known_generation(self) -> int:
        return _NO_GENERATION if self._generation is None else self._generation

    def _demote_primary(self) -> None:
        for other in self.sessions.values():
            if other.role is Role.PRIMARY:
                other.role = Role.SECONDARY
                if (other.version or 0) > VERSION_1_3:
                    reason = messages.RoleStatusReason.PRIMARY_REQUEST
                    status = messages.RoleStatus(other.role, reason, self._known_generation())
                    self.say(other, status)

    # ---- What they are told without asking ----

    def tell_punted(self, punted: Punted, data: bytes) -> None:
        for session in self.sessions.values():
            reason = int(punted.reason)
            if session.version == VERSION_1_3 and reason > messages.PacketInReason.INVALID_TTL:
                reason = messages.PacketInReason.APPLY_ACTION
            if session.wants(AsyncEvent.PACKET_IN_SECONDARY, reason):
                fields: dict[Field, int | tuple[int, int]] = {Field.IN_PORT: punted.in_port}
                metadata = h.METADATA.get(punted.headers)
                if metadata:
                    fields[Field.METADATA] = metadata
                self.say(
                    session,
                    messages.PacketIn(
                        len(data),
                        reason,
                        punted.table,
                        punted.cookie,
                        Match.of(fields),
                        data[: punted.max_len] if self._state.persona.truncates else data,
                    ),
                )

    def tell_port(self, reason: PortReason, port: PortEntry, cause: Session | None = None) -> None:
        """Before OpenFlow 1.5, who changes a port is not told of it."""
        status = messages.PortStatus(reason, port.description())
        for session in self.sessions.values():
            own = session is cause and (session.version or 0) < VERSION_1_5
            if not own and session.wants(AsyncEvent.PORT_STATUS_SECONDARY, reason):
                self.say(session, status)

    def tell_changes(self, now: float) -> None:
        """Of vacancy and of flows that were removed."""
        self.tell_vacancy()
        removed, self._state.removed = self._state.removed, []
        for each in removed:
            if each.entry.flags & messages.FlowFlag.SEND_FLOW_REM:
                for session in self.sessions.values():
                    if session.wants(AsyncEvent.FLOW_REMOVED_SECONDARY, each.reason):
                        self.say(session, _flow_removed(each, now))

    def tell_vacancy(self) -> None:
        """Of tables that are filling or have room again, before anything else is said."""
        self._state.note_vacancy()
        events, self._state.table_events = self._state.table_events, []
        for event in events:
            for session in self.sessions.values():
                known = (session.version or 0) > VERSION_1_3
                if known and session.wants(AsyncEvent.TABLE_STATUS_SECONDARY, event.reason):
                    self.say(session, event)


def _flow_removed(removed: Removed, now: float) -> messages.FlowRemoved:
    entry = removed.entry
    counters = messages.Counters(
        duration(now - entry.created), None, None, entry.packets, entry.bytes
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
