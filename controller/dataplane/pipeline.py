"""The tables of a switch and how one switch's entries are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from controller.dataplane import ids
from controller.dataplane.tables import SwitchTables
from controller.openflow.encode import match_key
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
PROTO_UDP, PROTO_ICMPV6 = 17, 58

FORGET_IN_PORT = SetField(Field.NXM_IN_PORT, 0xFFFF)
"""A switch never sends a packet out of the port it came in by; a detour may have to."""


class Table(IntEnum):
    GUARD = 0
    CLASSIFY = 1
    QUEUE = 2
    TRANSIT = 3
    DELIVER = 4
    ADVERTISE = 5


Spelled: TypeAlias = tuple[Bucket, str]
"""A bucket and its ``repr``: groups are named by their content, and most buckets are in many."""


def spelled(bucket: Bucket) -> Spelled:
    return bucket, repr(bucket)


class SwitchBuilder:
    """Collects the entries of one switch."""

    def __init__(self) -> None:
        self._flows: dict[FlowKey, Flow] = {}
        self._groups: dict[int, Group] = {}
        self._meters: dict[int, Meter] = {}
        self._interned: dict[str, int] = {}

    def flow(
        self,
        table: Table,
        priority: int,
        match: Mapping[Field, int | tuple[int, int]],
        instructions: tuple[Instruction, ...],
        cookie: int,
    ) -> None:
        """ValueError when the table already holds another flow of this priority and match."""
        made, key = _of_fields(tuple(match.items()))
        self._add(table, priority, made, key, instructions, cookie)

    def label_flow(
        self,
        table: Table,
        priority: int,
        label: int | tuple[int, int],
        instructions: tuple[Instruction, ...],
        cookie: int,
    ) -> None:
        """A flow for packets of these labels and nothing else; see :meth:`flow`."""
        match, key = _of_label(label)
        self._add(table, priority, match, key, instructions, cookie)

    def _add(
        self,
        table: Table,
        priority: int,
        match: Match,
        encoded: bytes,
        instructions: tuple[Instruction, ...],
        cookie: int,
    ) -> None:
        flow = Flow(int(table), priority, match, instructions, cookie)
        known = self._flows.setdefault(FlowKey(flow.table, priority, encoded), flow)
        if known is not flow and known != flow:
            raise ValueError(f"two flows for one match: {known} and {flow}")

    def group(self, group: Group) -> None:
        if self._groups.setdefault(group.id, group) != group:
            raise ValueError(f"two groups of id {group.id:#x}")

    def meter(self, meter: Meter) -> None:
        self._meters[meter.id] = meter

    def intern(
        self,
        kind: GroupType,
        buckets: Sequence[Spelled],
        number: Callable[[str, int], int] = ids.transit_group_number,
    ) -> int:
        """The id of the group of this content, added where it is new; a transit group unless
        ``number`` says otherwise."""
        content = ids.group_content(kind, [text for _, text in buckets])
        found = self._interned.get(content)
        if found is not None:
            return found
        attempt = 0
        while (group_id := number(content, attempt)) in self._groups:
            attempt += 1
        self._groups[group_id] = Group(group_id, kind, tuple([bucket for bucket, _ in buckets]))
        self._interned[content] = group_id
        return group_id

    def tables(self) -> SwitchTables:
        return SwitchTables(self._flows, self._groups, self._meters)


# The same labels and destinations are at many switches.


@lru_cache(maxsize=1 << 16)
def _of_label(label: int | tuple[int, int]) -> tuple[Match, bytes]:
    return _of_fields(((Field.ETH_DST, label),))


@lru_cache(maxsize=1 << 16)
def _of_fields(fields: tuple[tuple[Field, int | tuple[int, int]], ...]) -> tuple[Match, bytes]:
    match = Match.of(dict(fields))
    return match, match_key(match)


def drop() -> tuple[Instruction, ...]:
    return ()


def output(port: int) -> tuple[Instruction, ...]:
    return (ApplyActions((Output(port),)),)
