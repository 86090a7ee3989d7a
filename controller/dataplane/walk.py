"""Follows packets through tables, over every choice that a hash could make, with dead ports.

This is the OpenFlow pipeline as ``model`` states it, read independently of what compiled the
tables: it verifies tables before they are sent, and it is the oracle of tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from controller.dataplane.tables import SwitchTables, Tables
from controller.fabric.model import Fabric, Nic, PortRef
from controller.openflow.model import (
    Action,
    ApplyActions,
    Bucket,
    CopyField,
    Field,
    Flow,
    GotoTable,
    GroupType,
    Output,
    Port,
    SetField,
    SetQueue,
    ToGroup,
    WriteMetadata,
)

Headers = frozenset[tuple[Field, int]]

_REGISTERS = frozenset({Field.METADATA, Field.IN_PORT, Field.REG0, Field.XXREG0})


class Fate(Enum):
    """ARRIVED left by an access port, DROPPED nothing came of it, LOOPED came back in the same
    state, PUNTED went to the controller, COPIED was multiplied."""

    ARRIVED = "arrived"
    DROPPED = "dropped"
    LOOPED = "looped"
    PUNTED = "punted"
    COPIED = "copied"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``at`` is the port where it happened: the access port it left by, otherwise the port by which
    it came into the last switch. ``headers`` are those of the packet there, ``path`` the
    switches."""

    fate: Fate
    at: PortRef
    headers: Headers
    path: tuple[str, ...]

    def reached(self, nic: Nic) -> bool:
        """Whether the NIC takes the packet: it came out at its port, with its MAC."""
        return (
            self.fate is Fate.ARRIVED
            and self.at in nic.attachments
            and dict(self.headers).get(Field.ETH_DST) == nic.mac
        )


@dataclass(frozen=True, slots=True)
class _Copy:
    """A packet on its way out of a switch."""

    port: int
    headers: Headers


class _Lookup:
    """Flow lookup of one table by tuple-space search: one hash table for each priority and mask."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        shapes: dict[tuple[int, tuple[tuple[Field, int], ...]], dict[tuple[int, ...], Flow]] = {}
        for flow in flows:
            fields = flow.match.fields
            shape = tuple((f.field, f.field.all_ones if f.mask is None else f.mask) for f in fields)
            by_value = shapes.setdefault((flow.priority, shape), {})
            by_value[tuple(f.value for f in fields)] = flow
        self._shapes = [
            (shape, by_value)
            for (_, shape), by_value in sorted(shapes.items(), key=lambda item: -item[0][0])
        ]

    def find(self, packet: Mapping[Field, int]) -> Flow | None:
        for shape, by_value in self._shapes:
            try:
                found = by_value.get(tuple([packet[name] & mask for name, mask in shape]))
            except KeyError:
                continue
            if found is not None:
                return found
        return None


@dataclass
class _Switch:
    tables: SwitchTables
    lookups: dict[int, _Lookup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_table: dict[int, list[Flow]] = {}
        for flow in self.tables.flows.values():
            by_table.setdefault(flow.table, []).append(flow)
        self.lookups = {table: _Lookup(flows) for table, flows in by_table.items()}


def dead_ports(
    fabric: Fabric, links: Iterable[str] = (), switches: Iterable[str] = ()
) -> frozenset[PortRef]:
    """The ports that lose their carrier when these links and switches fail, at both ends."""
    links, switches = set(links), set(switches)
    dead = set()
    for arc in fabric.arcs:
        if arc.link in links or {arc.tail.switch, arc.head.switch} & switches:
            dead |= {arc.tail, arc.head}
    for nic in fabric.nics:
        dead.update(port for port in nic.attachments if port.switch in switches)
    return frozenset(dead)


class Walker:
    """Walks over one set of tables with one set of dead ports; remembers what it has walked."""

    def __init__(
        self, fabric: Fabric, tables: Tables, dead: frozenset[PortRef] = frozenset()
    ) -> None:
        self._fabric = fabric
        self._switches = {name: _Switch(of_switch) for name, of_switch in tables.items()}
        self._dead = dead
        self._access = {port for nic in fabric.nics for port in nic.attachments}
        self._known: dict[tuple[PortRef, Headers], frozenset[Outcome]] = {}

    def with_dead(self, dead: frozenset[PortRef]) -> Walker:
        """The same tables with other ports dead."""
        other = Walker(self._fabric, {}, dead)
        other._switches = self._switches
        return other

    def walk(self, at: PortRef, packet: Mapping[Field, int]) -> frozenset[Outcome]:
        """Every outcome that some choice of buckets leads to, each with one path."""
        return self._walk(at, frozenset(packet.items()), {})

    def _walk(
        self, at: PortRef, headers: Headers, above: dict[tuple[PortRef, Headers], None]
    ) -> frozenset[Outcome]:
        state = at, headers
        if state in self._known:
            return self._known[state]
        if state in above:
            return frozenset({Outcome(Fate.LOOPED, at, headers, (at.switch,))})
        above[state] = None
        found: dict[tuple[Fate, PortRef, Headers], Outcome] = {}
        for copies in self._process(at, dict(headers)):
            ends: list[Outcome] = []
            if len(copies) != 1:
                fate = Fate.COPIED if copies else Fate.DROPPED
                ends.append(Outcome(fate, at, headers, ()))
            for copy in copies:
                ends += self._leave(at, copy, above)
            for end in ends:
                key = end.fate, end.at, end.headers
                if key not in found or len(end.path) < len(found[key].path):
                    found[key] = Outcome(end.fate, end.at, end.headers, (at.switch, *end.path))
        del above[state]
        outcomes = frozenset(found.values())
        # Inside a loop an outcome depends on where the walk came in.
        if not above or not any(end.fate is Fate.LOOPED for end in outcomes):
            self._known[state] = outcomes
        return outcomes

    def _leave(
        self, at: PortRef, copy: _Copy, above: dict[tuple[PortRef, Headers], None]
    ) -> Iterable[Outcome]:
        if copy.port == Port.CONTROLLER:
            return [Outcome(Fate.PUNTED, at, copy.headers, ())]
        out = PortRef(at.switch, copy.port)
        arc = self._fabric.arc_by_tail.get(out)
        if out not in self._dead and out in self._access:
            return [Outcome(Fate.ARRIVED, out, copy.headers, ())]
        if out in self._dead or arc is None or arc.head.switch not in self._switches:
            return [Outcome(Fate.DROPPED, at, copy.headers, ())]
        return self._walk(arc.head, copy.headers, above)

    def _process(self, at: PortRef, packet: dict[Field, int]) -> list[tuple[_Copy, ...]]:
        """What one switch sends out, for each choice of buckets."""
        packet = {**packet, Field.METADATA: 0, Field.IN_PORT: at.port}
        return self._table(at.switch, 0, at.port, packet)

    def _table(
        self, switch: str, table: int, came_by: int, packet: dict[Field, int]
    ) -> list[tuple[_Copy, ...]]:
        lookup = self._switches[switch].lookups.get(table)
        flow = lookup.find(packet) if lookup is not None else None
        sent: list[tuple[_Copy, ...]] = [()]
        if flow is None:
            return sent
        for instruction in flow.instructions:
            if isinstance(instruction, ApplyActions):
                sent = self._apply(switch, instruction.actions, came_by, packet)
            elif isinstance(instruction, WriteMetadata):
                packet[Field.METADATA] &= ~instruction.mask
                packet[Field.METADATA] |= instruction.value
            elif isinstance(instruction, GotoTable):
                later = self._table(switch, instruction.table, came_by, packet)
                sent = [before + after for before in sent for after in later]
        return sent

    def _apply(
        self, switch: str, actions: Iterable[Action], came_by: int, packet: dict[Field, int]
    ) -> list[tuple[_Copy, ...]]:
        sent: list[tuple[_Copy, ...]] = [()]
        forgotten = False
        for action in actions:
            if isinstance(action, SetField):
                if action.field is Field.NXM_IN_PORT:
                    forgotten = True
                    continue
                mask = action.field.all_ones if action.mask is None else action.mask
                packet[action.field] = packet.get(action.field, 0) & ~mask | action.value
            elif isinstance(action, CopyField):
                _copy(action, packet)
            elif isinstance(action, Output):
                port = came_by if action.port == Port.IN_PORT else action.port
                if port != came_by or action.port == Port.IN_PORT or forgotten:
                    on_the_wire = {f: v for f, v in packet.items() if f not in _REGISTERS}
                    copy = _Copy(port, frozenset(on_the_wire.items()))
                    sent = [(*before, copy) for before in sent]
            elif isinstance(action, ToGroup):
                ends = self._group(switch, action.group_id, came_by, packet)
                sent = [before + after for before in sent for after in ends]
            elif isinstance(action, SetQueue):
                continue
        return sent

    def _group(
        self, switch: str, group_id: int, came_by: int, packet: dict[Field, int]
    ) -> list[tuple[_Copy, ...]]:
        group = self._switches[switch].tables.groups[group_id]
        live = [b for b in group.buckets if self._live(switch, b)]
        if group.type is GroupType.SELECT:
            live = [b for b in live if b.weight]
        elif group.type is GroupType.FAST_FAILOVER:
            live = live[:1]
        else:
            raise ValueError(f"{switch}: group {group_id:#x} is of type {group.type.name}")
        ends = [
            end
            for bucket in live
            for end in self._apply(switch, bucket.actions, came_by, dict(packet))
        ]
        return ends or [()]

    def _live(self, switch: str, bucket: Bucket) -> bool:
        if bucket.watch_port is not None:
            return PortRef(switch, bucket.watch_port) not in self._dead
        if bucket.watch_group is not None:
            group = self._switches[switch].tables.groups[bucket.watch_group]
            return any(self._live(switch, child) for child in group.buckets)
        return True


def _copy(action: CopyField, packet: dict[Field, int]) -> None:
    ones = (1 << action.bits) - 1
    value = packet.get(action.source, 0) >> action.source_offset & ones
    cleared = packet.get(action.target, 0) & ~(ones << action.target_offset)
    packet[action.target] = cleared | value << action.target_offset
