"""Desired or installed state of switches, and the ordered difference between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from controller.dataplane import entries
from controller.dataplane.entries import Entries
from controller.openflow.model import Flow, FlowKey, Group, Meter, OpaqueFlow


class SwitchTables:
    """All that one switch holds and that Heald owns; immutable, and cheap to give to another
    process (see ``entries``).

    ``spoiled_*`` are entries under Heald's ids that are not as Heald writes them, so a foreign hand
    was at them; desired tables have none. They are replaced or removed.
    """

    __slots__ = (
        "flows",
        "groups",
        "meters",
        "spoiled_flows",
        "spoiled_groups",
        "spoiled_meters",
    )

    def __init__(
        self,
        flows: Mapping[FlowKey, Flow] | None = None,
        groups: Mapping[int, Group] | None = None,
        meters: Mapping[int, Meter] | None = None,
        spoiled_flows: Mapping[FlowKey, OpaqueFlow] | None = None,
        spoiled_groups: frozenset[int] = frozenset(),
        spoiled_meters: frozenset[int] = frozenset(),
    ) -> None:
        self.flows: Entries[FlowKey, Flow] = entries.flows(flows)
        self.groups: Entries[int, Group] = entries.groups(groups)
        self.meters: Entries[int, Meter] = entries.meters(meters)
        self.spoiled_flows: Mapping[FlowKey, OpaqueFlow] = spoiled_flows or {}
        self.spoiled_groups = spoiled_groups
        self.spoiled_meters = spoiled_meters

    def held(self, messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """Those of these messages that make groups of these tables. Plans place also what only
        refused intents would send, for which a switch has no groups."""
        return {
            group: message for group, message in messages.items() if group in self.groups.messages
        }

    def with_groups(self, messages: Mapping[int, bytes]) -> SwitchTables:
        """The same, but for the groups that these messages make. KeyError for one that is not
        there, see :meth:`held`."""
        made = SwitchTables(
            None, None, None, self.spoiled_flows, self.spoiled_groups, self.spoiled_meters
        )
        made.flows, made.meters = self.flows, self.meters
        made.groups = self.groups.replaced(messages)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SwitchTables):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = (f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"SwitchTables({', '.join(named)})"

    def __reduce__(self) -> tuple[object, ...]:
        packed = self.flows.packed, self.groups.packed, self.meters.packed
        spoiled = self.spoiled_flows, self.spoiled_groups, self.spoiled_meters
        return _unpacked, (packed, spoiled)


def _unpacked(
    packed: tuple[bytes, bytes, bytes],
    spoiled: tuple[Mapping[FlowKey, OpaqueFlow], frozenset[int], frozenset[int]],
) -> SwitchTables:
    tables = SwitchTables(None, None, None, *spoiled)
    tables.flows = entries.flows(None, packed[0])
    tables.groups = entries.groups(None, packed[1])
    tables.meters = entries.meters(None, packed[2])
    return tables


Tables: TypeAlias = Mapping[str, SwitchTables]
"""Switch name to its state."""

Groups: TypeAlias = Mapping[str, Mapping[int, bytes]]
"""Of each switch, group ids to the messages that make these groups."""


class Phase(IntEnum):
    """Make-before-break: no switch starts a phase before every switch has finished the one before.

    New labels exist everywhere before an ingress writes them, or a rule that packets use already
    repairs to them; old ones go after the last ingress has stopped, which for pins that are gone is
    when their flows are removed, with the new classification. Guards say by which
    classification a packet goes, so they come after it: where a switch has no room for the new one,
    packets still go by the old.
    """

    TRANSIT_GROUPS = 0
    NEW_TRANSIT_FLOWS = 1
    CHANGED_TRANSIT_FLOWS = 2
    INGRESS_GROUPS = 3
    CLASSIFY_FLOWS = 4
    GUARD_FLOWS = 5
    REMOVE_FLOWS = 6
    REMOVE_GROUPS = 7


@dataclass(frozen=True, slots=True)
class Updates:
    """``messages[phase][switch]``: encoded OpenFlow messages in sending order; xids are 0.

    Empty phases and switches are absent; no messages at all means that installed equals desired.
    """

    messages: Mapping[Phase, Mapping[str, tuple[bytes, ...]]]

    @property
    def count(self) -> int:
        return sum(len(batch) for phase in self.messages.values() for batch in phase.values())


def with_groups(tables: Tables, groups: Groups) -> Tables:
    """The same, but for those of these groups that the switches have."""
    changed = {
        name: tables[name].with_groups(tables[name].held(messages))
        for name, messages in groups.items()
    }
    return {**tables, **changed}
