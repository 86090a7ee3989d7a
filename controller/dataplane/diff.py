"""The ordered difference between what switches hold and what they should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from controller.dataplane import ids
from controller.dataplane.pipeline import INGRESS_TABLES
from controller.dataplane.tables import Phase, SwitchTables, Tables, Updates
from controller.openflow import encode
from controller.openflow.model import Flow, FlowKey, Group, Meter, OpaqueFlow, ToGroup


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


@dataclass(frozen=True, slots=True)
class Change:
    """One message. Flows are added and deleted; groups and meters added, modified, and deleted by
    id."""

    verb: Verb
    entry: Flow | OpaqueFlow | Group | Meter | GroupId | MeterId

    def encode(self) -> bytes:
        entry = self.entry
        if isinstance(entry, OpaqueFlow):
            return encode.flow_delete(entry)
        if isinstance(entry, Flow):
            return (encode.flow_delete if self.verb is Verb.DELETE else encode.flow_add)(entry)
        if isinstance(entry, Group):
            return (encode.group_add if self.verb is Verb.ADD else encode.group_modify)(entry)
        if isinstance(entry, Meter):
            return (encode.meter_add if self.verb is Verb.ADD else encode.meter_modify)(entry)
        if isinstance(entry, GroupId):
            return encode.group_delete(entry.id)
        return encode.meter_delete(entry.id)


Changes: TypeAlias = Mapping[Phase, Mapping[str, tuple[Change, ...]]]


def diff(installed: Tables, desired: Tables) -> Updates:
    """The messages that make every switch of ``installed`` hold exactly what ``desired`` says,
    which is nothing where it does not name the switch. See :func:`changes` for their order."""
    return Updates(
        {
            phase: {
                switch: tuple(change.encode() for change in batch)
                for switch, batch in batches.items()
            }
            for phase, batches in changes(installed, desired).items()
        }
    )


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


def _switch(has: SwitchTables, wants: SwitchTables) -> dict[Phase, list[Change]]:
    out: dict[Phase, list[Change]] = {phase: [] for phase in Phase}
    for meter in wants.meters.values():
        if has.meters.get(meter.id) != meter:
            taken = meter.id in has.meters or meter.id in has.spoiled_meters
            out[Phase.TRANSIT_GROUPS].append(Change(Verb.MODIFY if taken else Verb.ADD, meter))
    for group in _children_first(wants.groups):
        if has.groups.get(group.id) != group:
            taken = group.id in has.groups or group.id in has.spoiled_groups
            transit = ids.is_transit_group(group.id)
            phase = Phase.TRANSIT_GROUPS if transit else Phase.INGRESS_GROUPS
            out[phase].append(Change(Verb.MODIFY if taken else Verb.ADD, group))
    fresh = [flow for key, flow in wants.flows.items() if has.flows.get(key) != flow]
    for flow in sorted(fresh, key=_precedence, reverse=True):
        ingress = flow.table in INGRESS_TABLES
        phase = Phase.INGRESS_FLOWS if ingress else Phase.TRANSIT_FLOWS
        out[phase].append(Change(Verb.ADD, flow))
    owned: dict[FlowKey, Flow | OpaqueFlow] = {**has.flows, **has.spoiled_flows}
    gone = [flow for key, flow in owned.items() if key not in wants.flows]
    out[Phase.REMOVE_FLOWS] += [Change(Verb.DELETE, f) for f in sorted(gone, key=_precedence)]
    parents_first = [
        *sorted(has.spoiled_groups),
        *[g.id for g in reversed(_children_first(has.groups))],
    ]
    out[Phase.REMOVE_GROUPS] += [
        Change(Verb.DELETE, GroupId(group_id))
        for group_id in parents_first
        if group_id not in wants.groups
    ]
    out[Phase.REMOVE_GROUPS] += [
        Change(Verb.DELETE, MeterId(meter_id))
        for meter_id in [*sorted(has.spoiled_meters), *has.meters]
        if meter_id not in wants.meters
    ]
    return out


def _precedence(flow: Flow | OpaqueFlow) -> tuple[int, int]:
    return flow.table, flow.priority


def children(group: Group) -> Iterator[int]:
    """The groups that a group refers to."""
    for bucket in group.buckets:
        if bucket.watch_group is not None:
            yield bucket.watch_group
        for action in bucket.actions:
            if isinstance(action, ToGroup):
                yield action.group_id


def _children_first(groups: Mapping[int, Group]) -> list[Group]:
    """Groups after those they refer to, by id where that leaves a choice. Groups that refer to each
    other in a circle, which only a foreign hand can have made, come in some order."""
    done: dict[int, Group] = {}
    seen: set[int] = set()

    def visit(group_id: int) -> None:
        if group_id in seen or group_id not in groups:
            return
        seen.add(group_id)
        for child in sorted(set(children(groups[group_id]))):
            visit(child)
        done[group_id] = groups[group_id]

    for group_id in sorted(groups):
        visit(group_id)
    return list(done.values())
