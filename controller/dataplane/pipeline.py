"""The tables of a switch and how one switch's entries are collected."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from controller.dataplane import ids
from controller.dataplane.tables import SwitchTables
from controller.openflow.encode import flow_key
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    Field,
    Flow,
    FlowKey,
    Group,
    GroupType,
    Instruction,
    Match,
    Meter,
    Output,
    SetField,
)

ETH_IPV4, ETH_ARP, ETH_IPV6, ETH_LLDP = 0x0800, 0x0806, 0x86DD, 0x88CC
PROTO_ICMPV6 = 58

FORGET_IN_PORT = SetField(Field.NXM_IN_PORT, 0xFFFF)
"""A switch never sends a packet out of the port it came in by; a detour may have to."""


class Table(IntEnum):
    GUARD = 0
    CLASSIFY = 1
    QUEUE = 2
    TRANSIT = 3
    DELIVER = 4
    ADVERTISE = 5


INGRESS_TABLES = frozenset({Table.GUARD, Table.CLASSIFY})
"""Tables that decide which labels are written; all others act on labels that were written."""


class SwitchBuilder:
    """Collects the entries of one switch."""

    def __init__(self) -> None:
        self._flows: dict[FlowKey, Flow] = {}
        self._groups: dict[int, Group] = {}
        self._meters: dict[int, Meter] = {}
        self._interned: dict[tuple[GroupType, tuple[Bucket, ...]], int] = {}

    def flow(
        self,
        table: Table,
        priority: int,
        match: Mapping[Field, int | tuple[int, int]],
        instructions: tuple[Instruction, ...],
        cookie: int,
    ) -> None:
        """ValueError when the table already holds another flow of this priority and match."""
        flow = Flow(int(table), priority, Match.of(match), instructions, cookie)
        key = flow_key(flow)
        if self._flows.setdefault(key, flow) != flow:
            raise ValueError(f"two flows for one match: {self._flows[key]} and {flow}")

    def group(self, group: Group) -> None:
        if self._groups.setdefault(group.id, group) != group:
            raise ValueError(f"two groups of id {group.id:#x}")

    def meter(self, meter: Meter) -> None:
        self._meters[meter.id] = meter

    def intern(self, kind: GroupType, buckets: tuple[Bucket, ...]) -> int:
        """The id of the transit group of this content, added where it is new."""
        found = self._interned.get((kind, buckets))
        if found is not None:
            return found
        attempt = 0
        while (group_id := ids.transit_group_id(kind, buckets, attempt)) in self._groups:
            attempt += 1
        self._groups[group_id] = Group(group_id, kind, buckets)
        self._interned[kind, buckets] = group_id
        return group_id

    def tables(self) -> SwitchTables:
        return SwitchTables(self._flows, self._groups, self._meters)


def drop() -> tuple[Instruction, ...]:
    return ()


def output(port: int) -> tuple[Instruction, ...]:
    return (ApplyActions((Output(port),)),)
