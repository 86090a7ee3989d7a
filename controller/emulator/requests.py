"""What a switch does with the messages of its controllers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from controller.emulator import bundle_requests, table_config
from controller.emulator.changes import PacketSent, PortChange
from controller.emulator.diagnosis import what_is_wrong
from controller.emulator.flow_mods import CheckedFlowMod
from controller.emulator.group_mods import CheckedGroupMod
from controller.emulator.meter_mods import apply_meter_mod
from controller.emulator.refusal import RefusedError
from controller.emulator.replies import Answers
from controller.emulator.session import VERSION_1_3, Session, agreed_version
from controller.openflow import bodies, messages
from controller.openflow.codec import decode, encode
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Role
from controller.openflow.wire import DecodeError, header

if TYPE_CHECKING:
    from controller.emulator.switch import Switch

_DROP_FRAGMENTS = 1
_CAPABILITIES_OF_1_3 = 0x1FF


def handle(switch: Switch, session: Session, message: bytes) -> None:
    if session.version is None:
        _handle_hello(switch, session, message)
        return
    if message[0] != session.version:
        if message[1] not in _OF_ANY_VERSION:
            switch.controllers.close(session)
        return
    try:
        xid, _, request = decode(message)
    except DecodeError as error:
        refused = RefusedError(what_is_wrong(message, error))
        if session.role is Role.SECONDARY and message[1] in _WRITING_TYPES:
            refused = RefusedError(ErrorCode.BAD_REQUEST_IS_SECONDARY)
        switch.controllers.refuse(session, message, refused)
        return
    handler = _HANDLERS.get(type(request))
    try:
        if handler is not None:
            if session.role is Role.SECONDARY and type(request) in _WRITES:
                raise RefusedError(ErrorCode.BAD_REQUEST_IS_SECONDARY)
            handler(switch, session, request, message, xid)
        elif type(request) not in _IGNORED:
            _answer(switch, session, request, xid)
    except RefusedError as refused:
        switch.controllers.refuse(session, message, refused)


def _handle_hello(switch: Switch, session: Session, message: bytes) -> None:
    versions = switch.state.persona.versions
    hello: Any = None
    if header(message).type == 0:
        try:
            hello = decode(message).message
        except DecodeError:
            hello = messages.Hello()
    if hello is None:
        switch.controllers.close(session)
        return
    version = agreed_version(versions, header(message).version, hello.versions)
    if version is None:
        said = min(header(message).version, max(versions))
        text = f"This switch speaks OpenFlow {', '.join(f'1.{v - 1}' for v in versions)}."
        error = messages.Error(0, 0, text.encode())
        session.out.append(encode(error, max(said, min(versions)), header(message).xid))
        switch.controllers.close(session)
        return
    session.agree(version)


def _answer(switch: Switch, session: Session, request: Any, xid: int) -> None:
    assert session.version is not None
    answers = Answers(switch.state, session.version, switch.datapath, switch.now)
    if isinstance(request, bodies.QueueConfigRequest):
        switch.controllers.say(session, answers.queue_config(request), xid)
        return
    for part in list(answers.answer(request)):
        switch.controllers.say(session, part, xid)


def _echo(
    switch: Switch, session: Session, request: messages.EchoRequest, _: bytes, xid: int
) -> None:
    switch.controllers.say(session, messages.EchoReply(request.data), xid)


def _features(
    switch: Switch, session: Session, _: messages.FeaturesRequest, __: bytes, xid: int
) -> None:
    persona = switch.state.persona
    capabilities = persona.capabilities
    if session.version == VERSION_1_3:
        capabilities &= _CAPABILITIES_OF_1_3
    reply = messages.FeaturesReply(switch.dpid, 0, persona.tables, 0, capabilities)
    switch.controllers.say(session, reply, xid)


def _get_config(
    switch: Switch, session: Session, _: messages.GetConfigRequest, __: bytes, xid: int
) -> None:
    fragments = _DROP_FRAGMENTS if switch.state.forwarding.drop_fragments else 0
    switch.controllers.say(session, messages.GetConfigReply(fragments, session.miss_send_len), xid)


def _set_config(
    switch: Switch, session: Session, request: messages.SetConfig, _: bytes, __: int
) -> None:
    if request.flags & ~3:
        raise RefusedError(ErrorCode.SWITCH_CONFIG_FAILED_BAD_FLAGS)
    if session.role is not Role.SECONDARY:
        # Of the whole switch, whoever says it; it puts no fragments together.
        switch.state.forwarding.drop_fragments = request.flags == _DROP_FRAGMENTS
    session.miss_send_len = request.miss_send_len


def _barrier(
    switch: Switch, session: Session, _: messages.BarrierRequest, __: bytes, xid: int
) -> None:
    # Requests are done one after the other, so all before it are.
    switch.controllers.tell_changes(switch.now)
    switch.controllers.say(session, messages.BarrierReply(), xid)


def _role(
    switch: Switch, session: Session, request: messages.RoleRequest, _: bytes, xid: int
) -> None:
    switch.controllers.say(session, switch.controllers.change_role(session, request), xid)


def _get_async(
    switch: Switch, session: Session, _: messages.GetAsyncRequest, __: bytes, xid: int
) -> None:
    switch.controllers.say(session, messages.GetAsyncReply(session.async_masks()), xid)


def _set_async(
    switch: Switch, session: Session, request: messages.SetAsync, _: bytes, __: int
) -> None:
    session.masks |= {each.event: each.mask for each in request.masks}


def _flow_mod(
    switch: Switch, session: Session, request: messages.FlowMod, _: bytes, __: int
) -> None:
    assert session.version is not None
    CheckedFlowMod(switch.state, request, session.version).apply(switch.state, switch.now)
    switch.controllers.tell_vacancy()


def _group_mod(
    switch: Switch, session: Session, request: messages.GroupMod, _: bytes, __: int
) -> None:
    assert session.version is not None
    CheckedGroupMod(switch.state, request, session.version).apply(switch.state, switch.now)
    switch.controllers.tell_vacancy()


def _meter_mod(switch: Switch, _: Session, request: messages.MeterMod, __: bytes, ___: int) -> None:
    apply_meter_mod(switch.state, request, switch.now)
    switch.controllers.tell_vacancy()


def _port_mod(
    switch: Switch, session: Session, request: messages.PortMod, _: bytes, __: int
) -> None:
    change = PortChange(switch, session, request)
    change.check(0)
    change.apply(switch.state, switch.now)


def _table_mod(
    switch: Switch, session: Session, request: messages.TableMod, _: bytes, __: int
) -> None:
    assert session.version is not None
    table_config.modify(switch.state, request, session.version)


def _packet_out(
    switch: Switch, session: Session, request: messages.PacketOut, _: bytes, __: int
) -> None:
    change = PacketSent(switch, session, request)
    change.prepare(0)
    change.apply(switch.state, switch.now)


_HANDLERS: dict[type, Callable[[Switch, Session, Any, bytes, int], None]] = {
    messages.EchoRequest: _echo,
    messages.FeaturesRequest: _features,
    messages.GetConfigRequest: _get_config,
    messages.SetConfig: _set_config,
    messages.BarrierRequest: _barrier,
    messages.RoleRequest: _role,
    messages.GetAsyncRequest: _get_async,
    messages.SetAsync: _set_async,
    messages.FlowMod: _flow_mod,
    messages.GroupMod: _group_mod,
    messages.MeterMod: _meter_mod,
    messages.PortMod: _port_mod,
    messages.TableMod: _table_mod,
    messages.PacketOut: _packet_out,
    messages.BundleControl: bundle_requests.control,
    messages.BundleAdd: bundle_requests.add,
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
