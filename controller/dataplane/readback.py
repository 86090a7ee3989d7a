"""From what a switch says it holds to tables."""

from __future__ import annotations

from collections.abc import Iterable

from controller.dataplane.tables import SwitchTables
from controller.openflow.encode import flow_key
from controller.openflow.model import (
    Flow,
    FlowKey,
    Group,
    Meter,
    OpaqueFlow,
    OpaqueGroup,
    OpaqueMeter,
)
from controller.openflow.ownership import owns_flow, owns_group, owns_meter


def readback(
    flows: Iterable[Flow | OpaqueFlow],
    groups: Iterable[Group | OpaqueGroup],
    meters: Iterable[Meter | OpaqueMeter],
) -> tuple[SwitchTables, int]:
    """The switch's tables, and how many entries are foreign."""
    foreign = 0
    own_flows: dict[FlowKey, Flow] = {}
    own_groups: dict[int, Group] = {}
    own_meters: dict[int, Meter] = {}
    spoiled_flows: dict[FlowKey, OpaqueFlow] = {}
    spoiled_groups: set[int] = set()
    spoiled_meters: set[int] = set()
    for flow in flows:
        if not owns_flow(flow.cookie):
            foreign += 1
        elif isinstance(flow, Flow):
            own_flows[flow_key(flow)] = flow
        else:
            spoiled_flows[FlowKey(flow.table, flow.priority, flow.match_key)] = flow
    for group in groups:
        if not owns_group(group.id):
            foreign += 1
        elif isinstance(group, Group):
            own_groups[group.id] = group
        else:
            spoiled_groups.add(group.id)
    for meter in meters:
        if not owns_meter(meter.id):
            foreign += 1
        elif isinstance(meter, Meter):
            own_meters[meter.id] = meter
        else:
            spoiled_meters.add(meter.id)
    tables = SwitchTables(
        own_flows,
        own_groups,
        own_meters,
        spoiled_flows,
        frozenset(spoiled_groups),
        frozenset(spoiled_meters),
    )
    return tables, foreign
