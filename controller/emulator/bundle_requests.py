"""Requests about bundles, and requests inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from controller.emulator import bundles
from controller.emulator.changes import PacketSent, PortChange
from controller.emulator.diagnosis import what_is_wrong
from controller.emulator.flow_mods import CheckedFlowMod
from controller.emulator.group_mods import CheckedGroupMod
from controller.emulator.refusal import RefusedError
from controller.emulator.session import Session
from controller.openflow import messages
from controller.openflow.codec import decode
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import BundleCommand
from controller.openflow.wire import DecodeError, header

if TYPE_CHECKING:
    from controller.emulator.switch import Switch

_BUNDLED = frozenset({13, 14, 15, 16})  # packet-out, flow, group and port modification


def control(
    switch: Switch, session: Session, request: messages.BundleControl, message: bytes, xid: int
) -> None:
    if not switch.state.persona.bundles:
        raise RefusedError(ErrorCode.BAD_REQUEST_BAD_EXPERIMENTER)
    known, number, flags = session.bundles, request.bundle_id, request.flags
    if request.command == BundleCommand.OPEN_REQUEST:
        bundles.open_bundle(known, number, flags, switch.now)
    elif request.command == BundleCommand.CLOSE_REQUEST:
        bundles.close_bundle(known, number, flags, switch.now)
    elif request.command == BundleCommand.DISCARD_REQUEST:
        bundles.discard_bundle(known, number)
    elif request.command == BundleCommand.COMMIT_REQUEST:
        failure = bundles.commit_bundle(switch.state, known, number, flags, switch.now)
        if failure is not None:
            switch.controllers.refuse(session, failure.message, failure.refused)
            raise RefusedError(ErrorCode.BUNDLE_FAILED_MSG_FAILED)
        switch.controllers.tell_vacancy()
    elif request.command in tuple(BundleCommand):
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_TYPE)
    # To a command that it does not know, Open vSwitch says 0.
    known_command = request.command in tuple(BundleCommand)
    reply = messages.BundleControl(number, request.command + 1 if known_command else 0, 0)
    switch.controllers.say(session, reply, xid)


def add(
    switch: Switch, session: Session, request: messages.BundleAdd, message: bytes, xid: int
) -> None:
    if not switch.state.persona.bundles:
        raise RefusedError(ErrorCode.BAD_REQUEST_BAD_EXPERIMENTER)
    change, prepare = _checked(switch, session, request.request, xid)
    added = bundles.Added(message, change, prepare)
    bundles.add_to_bundle(session.bundles, request.bundle_id, request.flags, added, switch.now)


def _checked(
    switch: Switch, session: Session, inner: bytes, xid: int
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
        raise RefusedError(what_is_wrong(inner, error)) from error
    if isinstance(request, messages.FlowMod):
        return CheckedFlowMod(switch.state, request, session.version), None
    if isinstance(request, messages.GroupMod):
        return CheckedGroupMod(switch.state, request, session.version), None
    if isinstance(request, messages.PortMod):
        port_change = PortChange(switch, session, request)
        return port_change, port_change.check
    packet = PacketSent(switch, session, request)
    return packet, packet.prepare
