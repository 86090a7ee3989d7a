"""Requests that act beyond the tables: changes of ports, and packets that a controller sends.

As flow and group modifications they are checked where they are made and done later, which a bundle
needs; unlike them they cannot be taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.emulator import frame
from controller.emulator import headers as h
from controller.emulator.pipeline import Walk
from controller.emulator.ports import PortEntry
from controller.emulator.refusal import RefusedError
from controller.emulator.session import Session
from controller.emulator.state import State
from controller.emulator.validation import check_packet_out, port_exists
from controller.openflow import messages
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import PortConfig
from controller.openflow.model import NO_BUFFER, Field, Port

if TYPE_CHECKING:
    from controller.emulator.switch import Switch

_PORT_BITS = (
    PortConfig.PORT_DOWN | PortConfig.NO_RECV | PortConfig.NO_FWD | PortConfig.NO_PACKET_IN
).value


class PortChange:
    def __init__(self, switch: Switch, session: Session, request: messages.PortMod) -> None:
        self._switch = switch
        self._session = session
        self._request = request

    def check(self, bundle_flags: int) -> None:
        """Changes of ports are not atomic, so a bundle that is has none."""
        if bundle_flags & messages.BundleFlag.ATOMIC:
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_FAILED)
        port = self._switch.state.ports.get(self._request.port)
        if port is None:
            raise RefusedError(ErrorCode.PORT_MOD_FAILED_BAD_PORT)
        if port.mac != self._request.mac:
            raise RefusedError(ErrorCode.PORT_MOD_FAILED_BAD_HW_ADDR)

    def apply(self, _: State, __: float) -> None:
        request = self._request
        mask = request.mask & _PORT_BITS

        def change(port: PortEntry) -> None:
            port.config = port.config & ~mask | request.config & mask

        self._switch.change_port(request.port, change, self._session)


class PacketSent:
    """A packet-out, checked where it is made."""

    def __init__(self, switch: Switch, session: Session, request: messages.PacketOut) -> None:
        assert session.version is not None
        self._switch = switch
        self._request = request
        if request.buffer_id != NO_BUFFER:
            raise RefusedError(ErrorCode.BAD_REQUEST_BUFFER_UNKNOWN)
        self._parsed = frame.parse(request.data)
        self._headers = self._parsed
        in_port = 0
        for entry in request.match.fields:
            self._headers |= entry.value << h.PLACES[entry.field].shift
            if entry.field is Field.IN_PORT:
                in_port = entry.value
        reserved = in_port >= Port.MAX and in_port not in (Port.LOCAL, Port.CONTROLLER, Port.ANY)
        if reserved or not port_exists(in_port):
            raise RefusedError(ErrorCode.BAD_REQUEST_BAD_PORT)
        check_packet_out(request.actions, self._headers, session.version, switch.state.persona)

    def prepare(self, _: int) -> None:
        state = self._switch.state
        for action in self._request.actions:
            group_id = getattr(action, "group_id", None)
            if group_id is not None and group_id not in state.groups:
                raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_GROUP)
            meter_id = getattr(action, "meter_id", None)
            if meter_id is not None and meter_id not in state.meters:
                raise RefusedError(ErrorCode.METER_MOD_FAILED_INVALID_METER)

    def apply(self, state: State, _: float) -> None:
        data = self._request.data
        walk = Walk(
            state.forwarding, self._headers, admit=self._switch.admission(len(data))
        ).through_actions(self._request.actions)
        self._switch.carry_out(walk, data, self._parsed)
