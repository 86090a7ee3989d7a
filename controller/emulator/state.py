"""All that a switch holds, and every change of it as something that can be taken back."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import GroupEntry, GroupTable
from controller.emulator.meters import MeterEntry
from controller.emulator.personas import Persona
from controller.emulator.pipeline import Forwarding
from controller.emulator.ports import PortTable
from controller.emulator.table_config import TableSettings, vacancy_events
from controller.openflow.messages import RemovedReason, TableStatus


@dataclass(frozen=True, slots=True)
class Removed:
    """An entry that went, for controllers that asked to be told."""

    entry: Entry
    reason: RemovedReason


class State:
    """Tables, groups, meters and ports of one switch.

    Changes of flows and groups are written to a journal while one is open (:meth:`begin`), so that
    a bundle can be rolled back; who was removed is told (``removed``) once it is certain.
    """

    def __init__(self, persona: Persona, ports: PortTable) -> None:
        self.persona = persona
        self.ports = ports
        self.tables = [FlowTable() for _ in range(persona.tables)]
        self.groups = GroupTable(ports.is_live)
        self.meters: dict[int, MeterEntry] = {}
        self.settings = [TableSettings() for _ in range(persona.tables)]
        self.forwarding = Forwarding(self.tables, self.groups, ports)
        self.flows = 0
        self.changes = 0
        """Counts what was put into tables or taken out."""
        self.watched: set[int] = set()
        """The tables of which somebody wants vacancy events."""
        self.resized = False
        """Whether flows were added or removed, not just replaced, since vacancy was looked at."""
        self.removed: list[Removed] = []
        self.table_events: list[TableStatus] = []
        """Of vacancy, for controllers that asked to be told."""
        self._by_group: dict[int, set[Entry]] = {}
        self._by_meter: dict[int, set[Entry]] = {}
        self._expiries: list[tuple[float, int, Entry]] = []
        self._serial = 0
        self._journal: list[Callable[[], None]] | None = None
        self._removed_before = 0

    # ---- Journal ----

    def begin(self) -> None:
        self._journal = []
        self._removed_before = len(self.removed)

    def commit(self) -> None:
        self._journal = None

    def roll_back(self) -> None:
        journal, self._journal = self._journal, None
        for undo in reversed(journal or []):
            undo()
        del self.removed[self._removed_before :]
        self.resized = False

    def _note(self, undo: Callable[[], None]) -> None:
        if self._journal is not None:
            self._journal.append(undo)

    # ---- Flows ----

    def insert(self, entry: Entry) -> None:
        self.tables[entry.table].insert(entry)
        self.flows += 1
        self.changes += 1
        for group in entry.program.groups:
            self._by_group.setdefault(group, set()).add(entry)
        for meter in entry.program.meters:
            self._by_meter.setdefault(meter, set()).add(entry)
        expiry = entry.expiry()
        if expiry is not None:
            self._serial += 1
            heapq.heappush(self._expiries, (expiry[0], self._serial, entry))
        if self._journal is not None:
            self._journal.append(lambda: self._take_out(entry))

    def remove(self, entry: Entry, reason: RemovedReason | None) -> None:
        """``reason`` is None where another entry takes its place."""
        self._take_out(entry)
        if reason is not None:
            self.removed.append(Removed(entry, reason))
            self.resized = True
        self._note(lambda: self.insert(entry))

    def _take_out(self, entry: Entry) -> None:
        self.tables[entry.table].remove(entry)
        self.flows -= 1
        self.changes += 1
        for group in entry.program.groups:
            self._by_group[group].discard(entry)
        for meter in entry.program.meters:
            self._by_meter[meter].discard(entry)

    def users_of_group(self, group_id: int) -> list[Entry]:
        return list(self._by_group.get(group_id, ()))

    def users_of_meter(self, meter_id: int) -> list[Entry]:
        return list(self._by_meter.get(meter_id, ()))

    def next_expiry(self) -> float | None:
        """When an entry may expire, unless it is used before."""
        while self._expiries and self._expiries[0][2].removed:
            heapq.heappop(self._expiries)
        return self._expiries[0][0] if self._expiries else None

    def expire(self, now: float) -> None:
        while self._expiries and self._expiries[0][0] <= now:
            _, serial, entry = heapq.heappop(self._expiries)
            if entry.removed:
                continue
            expiry = entry.expiry()
            if expiry is None:
                continue
            if expiry[0] > now:
                heapq.heappush(self._expiries, (expiry[0], serial, entry))
            else:
                self.remove(entry, RemovedReason(expiry[1]))
                self.note_vacancy()

    # ---- Room ----

    def vacancy(self) -> int:
        """Percent of the room for flows that is free, rounded down."""
        room = self.persona.max_flows
        return max(0, room - self.flows) * 100 // room if room else 0

    def note_vacancy(self) -> None:
        """To be called after each request, bundle or expiry, which may have changed flows."""
        resized, self.resized = self.resized, False
        if resized and self.watched:
            self.table_events += vacancy_events(self)

    # ---- Groups ----

    def put_group(self, group: GroupEntry) -> None:
        before = self.groups.get(group.id)
        self.groups.put(group)
        if before is None:
            self._note(lambda: self.groups.remove(group.id))
        else:
            self._note(lambda: self.groups.put(before))

    def remove_group(self, group: GroupEntry) -> None:
        """And every flow that refers to it; groups that do are left with a bucket that drops."""
        for entry in self.users_of_group(group.id):
            self.remove(entry, RemovedReason.GROUP_DELETE)
        self.groups.remove(group.id)
        self._note(lambda: self.groups.put(group))

    def reset_counters(self) -> None:
        """All of them, as if nothing had ever been counted."""
        for table in self.tables:
            table.lookups = table.matched = 0
            for entry in table:
                entry.packets = entry.bytes = 0
        for group in self.groups.all():
            group.packets = group.bytes = 0
            for bucket in group.buckets:
                bucket.packets = bucket.bytes = 0
        for meter in self.meters.values():
            meter.packets = meter.bytes = 0
            for band in meter.bands:
                band.packets = band.bytes = 0
        for port in self.ports.all():
            port.reset_counters()
