"""The ordered difference between what switches hold and what they should."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from operator import itemgetter
from typing import TypeAlias, TypeVar

from controller.dataplane import ids
from controller.dataplane.entries import Entries, children
from controller.dataplane.pipeline import Table
from controller.dataplane.tables import Phase, SwitchTables, Tables, Updates
from controller.dataplane.transit import ANY_GENERATION
from controller.openflow import encode
from controller.openflow.model import Flow, FlowKey, Group, Meter, OpaqueFlow
from controller.openflow.wire import HEADER_BYTES

__all__ = ["Change", "Changes", "GroupId", "MeterId", "Verb", "changes", "children", "diff"]

V = TypeVar("V", Group, Meter)


class Verb(Enum):
    """ADD of a flow replaces the one of its key in place; groups and meters have MODIFY for
    that."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class GroupId:
    """A group to delete."""

    id: int


@dataclass(frozen=True, slots=True)
class MeterId:
    """A meter to delete."""

    id: int


class Change:
    """One message. Flows are added and deleted; groups and meters added, modified, and deleted by
    id."""

    __slots__ = ("_entry", "message", "verb")

    def __init__(self, verb: Verb, message: bytes, entry: Callable[[], Entry]) -> None:
        self.verb = verb
        self.message = message
        self._entry = entry

    @property
    def entry(self) -> Entry:
        return self._entry()


Entry: TypeAlias = Flow | OpaqueFlow | Group | Meter | GroupId | MeterId
Changes: TypeAlias = Mapping[Phase, Mapping[str, tuple[Change, ...]]]


def diff(installed: Tables, desired: Tables) -> Updates:
    """The messages that make every switch of ``installed`` hold exactly what ``desired`` says,
    which is nothing where it does not name the switch. See :func:`changes` for their order."""
    return gathered(
        {
            switch: switch_diff(has, desired.get(switch, _NOTHING))
            for switch, has in installed.items()
        }
    )


def switch_diff(has: SwitchTables, wants: SwitchTables) -> Mapping[Phase, tuple[bytes, ...]]:
    """The messages of one switch; empty phases are absent."""
    if has is wants:
        return {}
    return {
        phase: tuple(change.message for change in batch)
        for phase, batch in _switch(has, wants).items()
        if batch
    }


def gathered(by_switch: Mapping[str, Mapping[Phase, tuple[bytes, ...]]]) -> Updates:
    """The messages of all switches, from those of each."""
    out: dict[Phase, dict[str, tuple[bytes, ...]]] = {}
    for switch, phases in by_switch.items():
        for phase, messages in phases.items():
            out.setdefault(phase, {})[switch] = messages
    return Updates({phase: out[phase] for phase in sorted(out)})


def changes(installed: Tables, desired: Tables) -> Changes:
    """The same as entries; empty phases and switches are absent.

    Within a switch, at any time: a group exists before anything that refers to it and until nothing
    does; a later table is ready before an earlier one leads to it; of two flows that overlap the
    one of higher priority comes first and goes last.
    """
    out: dict[Phase, dict[str, tuple[Change, ...]]] = {}
    for switch, has in installed.items():
        wants = desired.get(switch, _NOTHING)
        if has is wants:
            continue
        for phase, batch in _switch(has, wants).items():
            if batch:
                out.setdefault(phase, {})[switch] = tuple(batch)
    return {phase: out[phase] for phase in sorted(out)}


_NOTHING = SwitchTables()
_INGRESS = {int(Table.CLASSIFY): Phase.CLASSIFY_FLOWS, int(Table.GUARD): Phase.GUARD_FLOWS}
_COOKIE, _KIND = slice(8, 16), 11
_GROUP_ID = slice(12, 16)
# Messages that add and that change a group or meter differ in their command alone, which is what
# comes after the header.
_MODIFY = b"\0\1"
_COMMAND_END = HEADER_BYTES + len(_MODIFY)


def _switch(has: SwitchTables, wants: SwitchTables) -> dict[Phase, list[Change]]:
    out: dict[Phase, list[Change]] = {phase: [] for phase in Phase}
    for meter_id, message in wants.meters.messages.items():
        if has.meters.messages.get(meter_id) != message:
            taken = meter_id in has.meters or meter_id in has.spoiled_meters
            out[Phase.TRANSIT_GROUPS].append(_put(wants.meters, meter_id, message, taken))
    for group_id, message in wants.groups.messages.items():
        if has.groups.messages.get(group_id) != message:
            taken = group_id in has.groups or group_id in has.spoiled_groups
            transit = ids.is_transit_group(group_id)
            phase = Phase.TRANSIT_GROUPS if transit else Phase.INGRESS_GROUPS
            out[phase].append(_put(wants.groups, group_id, message, taken))
    held, wanted = has.flows.messages, wants.flows.messages
    trees = {
        message[_COOKIE]
        for key, message in held.items()
        if key.table == Table.TRANSIT and key.priority == ANY_GENERATION
    }
    for key, message in wanted.items():
        if held.get(key) != message:
            if key.table in _INGRESS and message[_KIND] != ids.Kind.FABRIC_PORT:
                phase = _INGRESS[key.table]
            elif key in held or (key.table == Table.TRANSIT and message[_COOKIE] in trees):
                # In the second case a rule for all generations decides now what this one shall.
                phase = Phase.CHANGED_TRANSIT_FLOWS
            else:
                phase = Phase.NEW_TRANSIT_FLOWS
            entry = partial(wants.flows.__getitem__, key)
            out[phase].append(Change(Verb.ADD, message, entry))
    gone = []
    for key, message in held.items():
        if key not in wanted:
            change = _delete_flow(has, key)
            if message[_KIND] == ids.Kind.PIN:
                # Behind what its packets go by from now on, and before its label goes elsewhere.
                out[Phase.CLASSIFY_FLOWS].append(change[1])
            else:
                gone.append(change)
    gone += [_delete_spoiled(flow) for key, flow in has.spoiled_flows.items() if key not in wanted]
    out[Phase.REMOVE_FLOWS] = [change for _, change in sorted(gone, key=itemgetter(0))]
    parents_first = [*sorted(has.spoiled_groups), *reversed([*has.groups.messages])]
    out[Phase.REMOVE_GROUPS] += [
        Change(Verb.DELETE, encode.group_delete(group_id), partial(GroupId, group_id))
        for group_id in parents_first
        if group_id not in wants.groups
    ]
    out[Phase.REMOVE_GROUPS] += [
        Change(Verb.DELETE, encode.meter_delete(meter_id), partial(MeterId, meter_id))
        for meter_id in [*sorted(has.spoiled_meters), *has.meters]
        if meter_id not in wants.meters
    ]
    return out


def _put(entries: Entries[int, V], key: int, message: bytes, taken: bool) -> Change:
    """Adds a group or meter, or modifies the one that has its id."""
    entry = partial(entries.__getitem__, key)
    if not taken:
        return Change(Verb.ADD, message, entry)
    return Change(Verb.MODIFY, modifying(message), entry)


def modifying(message: bytes) -> bytes:
    """The message that changes the group or meter which ``message`` adds."""
    return message[:HEADER_BYTES] + _MODIFY + message[_COMMAND_END:]


def with_command_of(old: bytes, new: bytes) -> bytes:
    """``new``, which adds a group, as a message that adds or changes it as ``old`` does."""
    return new[:HEADER_BYTES] + old[HEADER_BYTES:_COMMAND_END] + new[_COMMAND_END:]


def group_id_of(message: bytes) -> int:
    """Of a message that adds or changes a group."""
    return int.from_bytes(message[_GROUP_ID], "big")


def _delete_flow(has: SwitchTables, key: FlowKey) -> tuple[tuple[int, int], Change]:
    cookie = int.from_bytes(has.flows.messages[key][_COOKIE], "big")
    named = OpaqueFlow(key.table, key.priority, key.match_key, cookie, b"")
    entry = partial(has.flows.__getitem__, key)
    return (key.table, key.priority), Change(Verb.DELETE, encode.flow_delete(named), entry)


def _delete_spoiled(flow: OpaqueFlow) -> tuple[tuple[int, int], Change]:
    delete = Change(Verb.DELETE, encode.flow_delete(flow), lambda: flow)
    return (flow.table, flow.priority), delete
