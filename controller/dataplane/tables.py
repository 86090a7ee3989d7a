"""Desired or installed state of switches, and the ordered difference between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from controller.openflow.model import Flow, FlowKey, Group, Meter, OpaqueFlow


@dataclass(frozen=True, slots=True)
class SwitchTables:
    """All that one switch holds and that Heald owns.

    ``spoiled_*`` are entries under Heald's ids that are not as Heald writes them, so a foreign hand
    was at them; desired tables have none. They are replaced or removed.
    """

    flows: Mapping[FlowKey, Flow] = field(default_factory=dict)
    groups: Mapping[int, Group] = field(default_factory=dict)
    meters: Mapping[int, Meter] = field(default_factory=dict)
    spoiled_flows: Mapping[FlowKey, OpaqueFlow] = field(default_factory=dict)
    spoiled_groups: frozenset[int] = frozenset()
    spoiled_meters: frozenset[int] = frozenset()


Tables: TypeAlias = Mapping[str, SwitchTables]
"""Switch name to its state."""


class Phase(IntEnum):
    """Make-before-break: no switch starts a phase before every switch has finished the one before.

    New labels exist everywhere before an ingress writes them; old ones go after the last ingress
    has stopped.
    """

    TRANSIT_GROUPS = 0
    TRANSIT_FLOWS = 1
    INGRESS_GROUPS = 2
    INGRESS_FLOWS = 3
    REMOVE_FLOWS = 4
    REMOVE_GROUPS = 5


@dataclass(frozen=True, slots=True)
class Updates:
    """``messages[phase][switch]``: encoded OpenFlow messages in sending order; xids are 0.

    Empty phases and switches are absent; no messages at all means that installed equals desired.
    """

    messages: Mapping[Phase, Mapping[str, tuple[bytes, ...]]]

    @property
    def count(self) -> int:
        return sum(len(batch) for phase in self.messages.values() for batch in phase.values())
