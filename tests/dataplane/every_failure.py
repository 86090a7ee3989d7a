"""What tables do to packets under very many sets of failures at once.

A set of failures is a bit, so everything that depends on what has failed is an integer: of a port,
the sets in which it is dead; of a way through a switch, those in which packets can take it. One
walk over the labels that packets can carry then answers for all sets. That walk does not ask
whether two choices can meet in one set: where it finds no circle, no set of failures has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from controller.dataplane.tables import Tables
from controller.dataplane.walk import Headers, _copy, _Switch
from controller.fabric.model import Fabric, Nic, PortRef
from controller.openflow.model import (
    Action,
    ApplyActions,
    Bucket,
    CopyField,
    Field,
    GotoTable,
    GroupType,
    Output,
    Port,
    SetField,
    SetQueue,
    ToGroup,
    WriteMetadata,
)

Packet = dict[Field, int]
State = tuple[PortRef, Headers]
Sent = tuple[int, int, Headers]
"""The sets in which this may happen, the port (-1: nothing is sent), the packet."""

_NOWHERE = -1
_OF_THE_SOURCE = {Field.ETH_SRC, Field.IPV4_SRC, Field.IPV6_SRC}
"""No switch but the first looks at these, so packets of all sources are alike behind it."""
_REGISTERS = {Field.METADATA, Field.IN_PORT, Field.REG0, Field.XXREG0}


class LoopError(Exception):
    """A packet can come back as it was."""


@dataclass(frozen=True)
class Fates:
    """``lost``: the sets in which some choice of a hash loses the packet; ``ends``: those in which
    it may come out at a port, with a MAC address."""

    lost: int
    ends: Mapping[tuple[PortRef, int], int]


class EveryFailure:
    def __init__(self, fabric: Fabric, tables: Tables, sets: Sequence[Iterable[str]]) -> None:
        """``sets`` of names of links and switches."""
        self._fabric = fabric
        self._switches = {name: _Switch(of_switch) for name, of_switch in tables.items()}
        self._access = {port for nic in fabric.nics for port in nic.attachments}
        self._known: dict[State, Fates] = {}
        self._above: set[State] = set()
        names = [*(link.name for link in fabric.links), *fabric.switch_by_name]
        place = {name: i for i, name in enumerate(names)}
        failed = np.zeros((len(names), len(sets)), np.bool_)
        for row, each in enumerate(sets):
            failed[[place[name] for name in each], row] = True
        packed = np.packbits(failed, axis=1, bitorder="little")
        self.failed = {
            name: int.from_bytes(bits.tobytes(), "little")
            for name, bits in zip(names, packed, strict=True)
        }
        """For each link and switch the sets that it is in."""
        self.all = (1 << len(sets)) - 1
        self._dead = {port: self.failed[port.switch] for port in self._access}
        for arc in fabric.arcs:
            gone = self.failed[arc.link]
            gone |= self.failed[arc.tail.switch] | self.failed[arc.head.switch]
            self._dead[arc.tail] = self._dead[arc.head] = gone

    def alive(self, port: PortRef) -> int:
        return self.all & ~self._dead[port]

    def lost(self, at: PortRef, target: Nic, packet: Packet) -> int:
        """The sets in which a packet that comes in by a live port may fail to reach its NIC, though
        that has a live port, too. Raises LoopError."""
        fates = self._walk((at, frozenset(packet.items())), first=True)
        possible = self.alive(at) & self._any(self.alive(port) for port in target.attachments)
        astray = self._any(
            bits
            for (port, mac), bits in fates.ends.items()
            if port not in target.attachments or mac != target.mac
        )
        return possible & (fates.lost | astray)

    def joined(self, target: Nic) -> Mapping[str, int]:
        """For each switch the sets in which what is left of the fabric joins it to the NIC."""
        found = dict.fromkeys(self._switches, 0)
        for port in target.attachments:
            found[port.switch] |= self.alive(port)
        changed = True
        while changed:
            changed = False
            for arc in self._fabric.arcs:
                more = found[arc.tail.switch] | self.alive(arc.tail) & found[arc.head.switch]
                changed |= more != found[arc.tail.switch]
                found[arc.tail.switch] = more
        return found

    @staticmethod
    def _any(of: Iterable[int]) -> int:
        out = 0
        for bits in of:
            out |= bits
        return out

    def _walk(self, state: State, first: bool = False) -> Fates:
        if state in self._known:
            return self._known[state]
        at, headers = state
        if state in self._above:
            raise LoopError(f"{at} again, with {dict(headers)}")
        self._above.add(state)
        lost = 0
        ends: dict[tuple[PortRef, int], int] = {}
        for when, port, sent in self._table(at, 0, self.all, self._arrived(at, headers)):
            out = PortRef(at.switch, port)
            arc = self._fabric.arc_by_tail.get(out)
            if port == _NOWHERE or (arc is None and out not in self._access):
                lost |= when
                continue
            lost |= when & self._dead[out]
            when &= ~self._dead[out]
            if not when:
                continue
            if arc is None:
                end = out, dict(sent)[Field.ETH_DST]
                ends[end] = ends.get(end, 0) | when
                continue
            if first:
                sent = frozenset((f, v) for f, v in sent if f not in _OF_THE_SOURCE)
            further = self._walk((arc.head, sent))
            lost |= when & further.lost
            for end, bits in further.ends.items():
                if when & bits:
                    ends[end] = ends.get(end, 0) | when & bits
        self._above.remove(state)
        fates = self._known[state] = Fates(lost, ends)
        return fates

    def _arrived(self, at: PortRef, headers: Headers) -> Packet:
        return {**dict(headers), Field.METADATA: 0, Field.IN_PORT: at.port}

    def _table(self, at: PortRef, table: int, when: int, packet: Packet) -> list[Sent]:
        lookup = self._switches[at.switch].lookups.get(table)
        flow = lookup.find(packet) if lookup is not None else None
        sent: list[Sent] = []
        for instruction in flow.instructions if flow is not None else ():
            if isinstance(instruction, ApplyActions):
                sent += self._apply(at, instruction.actions, when, packet)
            elif isinstance(instruction, WriteMetadata):
                packet[Field.METADATA] &= ~instruction.mask
                packet[Field.METADATA] |= instruction.value
            elif isinstance(instruction, GotoTable):
                assert all(port == _NOWHERE for _, port, _ in sent), "sent before the last table"
                sent = self._table(at, instruction.table, when, packet)
        return sent or [(when, _NOWHERE, frozenset())]

    def _apply(
        self, at: PortRef, actions: Iterable[Action], when: int, packet: Packet
    ) -> list[Sent]:
        sent: list[Sent] = []
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
                assert not sent, "copied"
                port = at.port if action.port == Port.IN_PORT else action.port
                if port == at.port and action.port != Port.IN_PORT and not forgotten:
                    port = _NOWHERE
                left = frozenset((f, v) for f, v in packet.items() if f not in _REGISTERS)
                sent = [(when, port, left)]
            elif isinstance(action, ToGroup):
                assert not sent, "copied"
                sent = self._group(at, action.group_id, when, packet)
            else:
                assert isinstance(action, SetQueue)
        return sent

    def _group(self, at: PortRef, group_id: int, when: int, packet: Packet) -> list[Sent]:
        group = self._switches[at.switch].tables.groups[group_id]
        failover = group.type is GroupType.FAST_FAILOVER
        sent: list[Sent] = []
        none = when
        for bucket in group.buckets:
            live = self._live(at.switch, bucket)
            chosen = live & (none if failover else when)
            none &= ~live
            if chosen and (failover or bucket.weight):
                sent += self._apply(at, bucket.actions, chosen, dict(packet))
        return [*sent, (none, _NOWHERE, frozenset())] if none else sent

    def _live(self, switch: str, bucket: Bucket) -> int:
        if bucket.watch_port is not None:
            return self.alive(PortRef(switch, bucket.watch_port))
        if bucket.watch_group is not None:
            group = self._switches[switch].tables.groups[bucket.watch_group]
            return self._any(self._live(switch, child) for child in group.buckets)
        return self.all
