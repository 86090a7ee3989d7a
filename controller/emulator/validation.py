"""What a switch checks of matches and actions before it takes them, in Open vSwitch's order.

Bytes that say nothing sensible are refused by the codec; this is what is well-formed but asks for
what the switch cannot do.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.emulator import headers as h
from controller.emulator.personas import Persona
from controller.emulator.refusal import RefusedError
from controller.openflow.codes import ErrorCode
from controller.openflow.model import (
    Action,
    ApplyActions,
    CopyField,
    DecTtl,
    Field,
    GotoTable,
    Instruction,
    Match,
    Metered,
    Output,
    PopVlan,
    Port,
    PushVlan,
    SetField,
    SetTtl,
    ToGroup,
    WriteActions,
)

FIRST_RESERVED_PORT = 0xFF00
"""Open vSwitch's own port numbers have 16 bits, of which these are reserved."""
MAX_METER = 0xFFFF0000
_OPENFLOW_BASIC = 0x8000
_SETS_UNDER_A_MASK = 6  # the version that can say so
_TAG_TYPES = (h.ETH_VLAN, h.ETH_VLAN_SERVICE)
_OUTPUTS = frozenset(
    {
        Port.IN_PORT,
        Port.TABLE,
        Port.NORMAL,
        Port.FLOOD,
        Port.ALL,
        Port.CONTROLLER,
        Port.LOCAL,
    }
)


def port_exists(port: int) -> bool:
    """Whether a number can be that of a port, reserved ones included."""
    return port < FIRST_RESERVED_PORT or port >= Port.MAX


_LAYOUT = {
    field: (place.shift, place.ones, field in h.UNMASKED) for field, place in h.PLACES.items()
}


def match_headers(match: Match, persona: Persona) -> tuple[int, int]:
    """(value, mask) of the headers that match. That the fields' prerequisites are matched too, the
    codec has made sure of. Raises RefusedError."""
    value = mask = 0
    masks = persona.masks
    for entry in match.fields:
        field = entry.field
        layout = _LAYOUT.get(field)
        if layout is None:
            raise RefusedError(ErrorCode.BAD_MATCH_BAD_FIELD)
        shift, ones, in_full_only = layout
        part = entry.mask
        if part is None:
            mask |= ones << shift
        elif in_full_only or (masks is not None and field not in masks):
            raise RefusedError(ErrorCode.BAD_MATCH_BAD_MASK)
        else:
            mask |= part << shift
        if (field is Field.ARP_OP and entry.value > 0xFF) or (
            field is Field.IN_PORT and not port_exists(entry.value)
        ):
            raise RefusedError(ErrorCode.BAD_MATCH_BAD_VALUE)
        value |= entry.value << shift
    return value, mask


def check_each_instruction(
    instructions: Iterable[Instruction], version: int, persona: Persona
) -> None:
    """Each action for itself. Raises RefusedError."""
    for instruction in instructions:
        if isinstance(instruction, ApplyActions):
            check_each(instruction.actions, version, persona)
        elif isinstance(instruction, WriteActions):
            check_each(instruction.actions, version, persona)
            if any(isinstance(action, Metered) for action in instruction.actions):
                raise RefusedError(ErrorCode.BAD_ACTION_BAD_TYPE)


def check_consistency(
    instructions: Iterable[Instruction], headers: int, table: int, persona: Persona
) -> None:
    """``headers`` are those that the match requires. Raises RefusedError."""
    consistent = True
    for instruction in instructions:
        if isinstance(instruction, ApplyActions):
            headers, fits = _follow(instruction.actions, headers)
            consistent = consistent and fits
        elif isinstance(instruction, WriteActions):
            # Of a set it is not known what it will be executed on.
            _follow(instruction.actions, headers)
        elif isinstance(instruction, GotoTable) and (
            instruction.table <= table
            # Open vSwitch, which could have 255 tables, takes any; there the packet ends.
            or (instruction.table >= persona.tables and not persona.extensions)
        ):
            raise RefusedError(ErrorCode.BAD_INSTRUCTION_BAD_TABLE_ID)
    if not consistent:
        raise RefusedError(ErrorCode.BAD_ACTION_MATCH_INCONSISTENT)


def check_packet_out(
    actions: tuple[Action, ...], headers: int, version: int, persona: Persona
) -> None:
    check_each(actions, version, persona)
    _, consistent = _follow(actions, headers)
    if not consistent:
        raise RefusedError(ErrorCode.BAD_ACTION_MATCH_INCONSISTENT)


def check_bucket(actions: tuple[Action, ...], version: int, persona: Persona) -> None:
    """A bucket's actions are not checked against any packet; what does not fit one does nothing."""
    check_each(actions, version, persona)
    if any(isinstance(action, Metered) for action in actions):
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_TYPE)
    if not persona.chaining and any(isinstance(action, ToGroup) for action in actions):
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_CHAINING_UNSUPPORTED)


def check_each(actions: Iterable[Action], version: int, persona: Persona) -> None:
    """Each action for itself."""
    for action in actions:
        if isinstance(action, Output):
            if action.port >= FIRST_RESERVED_PORT and action.port not in _OUTPUTS:
                raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_PORT)
        elif isinstance(action, SetField):
            _check_set(action, version, persona)
        elif isinstance(action, CopyField):
            _check_copy(action, persona)
        elif isinstance(action, PushVlan) and action.ethertype not in _TAG_TYPES:
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_ARGUMENT)


def _check_set(action: SetField, version: int, persona: Persona) -> None:
    field = action.field
    if not persona.extensions and (field not in h.PLACES or field.value[0] != _OPENFLOW_BASIC):
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_TYPE)
    if field is Field.ACTSET_OUTPUT:
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT)
    if field not in h.PLACES:
        # A field of OpenFlow's that Open vSwitch does not know is a wrong length to it.
        loaded = action.mask is not None and version < _SETS_UNDER_A_MASK
        raise RefusedError(
            ErrorCode.BAD_ACTION_BAD_SET_TYPE if loaded else ErrorCode.BAD_ACTION_BAD_SET_LEN
        )
    if action.mask is not None and not persona.masked_set_field:
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_MASK)
    if action.mask is not None and version < _SETS_UNDER_A_MASK:
        # It came as an extension's action, which only asks for a field that can be written.
        if field in h.READ_ONLY and field is not Field.IN_PORT:
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT)
        if field is Field.VLAN_VID and action.mask & h.VLAN_PRESENT:
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_LEN)
        return
    if field in h.READ_ONLY or (field is Field.ARP_OP and action.value > 0xFF):
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT)
    if field is Field.VLAN_VID and not (
        action.value & h.VLAN_PRESENT and (action.mask is None or action.mask & h.VLAN_PRESENT)
    ):
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT)


def _check_copy(action: CopyField, persona: Persona) -> None:
    ends = (
        (action.source, action.source_offset),
        (action.target, action.target_offset),
    )
    for field, _ in ends:
        if field not in h.PLACES or (not persona.extensions and field.value[0] != _OPENFLOW_BASIC):
            raise RefusedError(ErrorCode.BAD_MATCH_BAD_FIELD)
    for field, offset in ends:
        # The bit that says that there is a tag is no part of its id here.
        bits = 12 if field is Field.VLAN_VID else field.bits
        if not action.bits or offset + action.bits > bits:
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_LEN)
    if action.target in h.READ_ONLY and action.target is not Field.IN_PORT:
        raise RefusedError(ErrorCode.BAD_ACTION_BAD_SET_ARGUMENT)


def _follow(actions: Iterable[Action], headers: int) -> tuple[int, bool]:
    """(headers after the actions, whether each found what it needs). Raises RefusedError."""
    consistent = True
    for action in actions:
        if isinstance(action, SetField):
            needs_tag = action.field is Field.VLAN_VID
            if not h.exists(action.field, headers) or (needs_tag and not h.has_vlan(headers)):
                raise RefusedError(ErrorCode.BAD_ACTION_MATCH_INCONSISTENT)
        elif isinstance(action, CopyField):
            if not (h.exists(action.source, headers) and h.exists(action.target, headers)):
                raise RefusedError(ErrorCode.BAD_ACTION_MATCH_INCONSISTENT)
        elif isinstance(action, DecTtl | SetTtl):
            consistent = consistent and h.is_ip(headers)
        elif isinstance(action, PopVlan):
            consistent = consistent and h.has_vlan(headers)
            headers = h.VLANS[0].put(headers, h.VLANS[1].get(headers))
            headers = h.VLANS[1].put(headers, 0)
        elif isinstance(action, PushVlan):
            if h.VLANS[1].get(headers) & h.VLAN_PRESENT:
                raise RefusedError(ErrorCode.BAD_ACTION_BAD_TAG)
            headers = h.VLANS[1].put(headers, h.VLANS[0].get(headers))
            headers = h.VLANS[0].put(headers, h.VLAN_PRESENT)
        elif isinstance(action, Metered) and not 0 < action.meter_id <= MAX_METER:
            raise RefusedError(ErrorCode.METER_MOD_FAILED_INVALID_METER)
    return headers, consistent
