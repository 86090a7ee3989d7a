"""Where packets get to, kept up to date change by change.

A packet of each probe is followed through the emulated switches' own tables, over every choice that
a hash could make. What a switch does with given headers is remembered with what decided it: which
lookups, groups and ports. A change makes only those stale that it could concern, and only if one of
them then does something else are the probes walked anew that pass there. So the verdict after each
event is that of a walk from scratch, at a cost that follows the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from controller.dataplane.pipeline import Table
from controller.dataplane.walk import Fate
from controller.emulator import headers as h
from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import BucketState, GroupEntry, GroupTable
from controller.emulator.pipeline import Forwarding, Walk
from controller.emulator.switch import Switch
from controller.fabric.model import Fabric, Nic, PortRef
from controller.openflow.model import Field, Port

Copies = tuple[tuple[int, int], ...]
"""(Port, headers) of each copy that leaves."""
_DROPPED = frozenset[Copies]({()})
_NOWHERE = -1
_NO_GROUPS = frozenset[int]()


@dataclass(slots=True, eq=False)
class Probe:
    """``ends``: what can become of its packet, and the port that it arrived at."""

    source: Nic
    target: Nic
    packet: Mapping[Field, int]
    ends: frozenset[tuple[Fate, PortRef | None]] = frozenset()
    _passes: list[_Known] = field(default_factory=list)

    @property
    def loops(self) -> bool:
        return any(fate in (Fate.LOOPED, Fate.COPIED) for fate, _ in self.ends)

    @property
    def arrives(self) -> bool:
        """Whatever the hash says."""
        return bool(self.ends) and all(fate is Fate.ARRIVED for fate, _ in self.ends)

    @property
    def strays(self) -> bool:
        """It can come out where its target is not."""
        return any(at is not None and at not in self.target.attachments for _, at in self.ends)

    def __str__(self) -> str:
        ends = ", ".join(sorted(f"{fate.value} {at or ''}" for fate, at in self.ends))
        return f"{self.source.id} to {self.target.id}: {ends or 'nothing'}"


@dataclass(slots=True, eq=False)
class _Known:
    """What a switch does with a packet, one item for each choice of buckets."""

    switch: str
    headers: int
    choices: frozenset[Copies] = _DROPPED
    lookups: tuple[tuple[int, int], ...] = ()
    groups: frozenset[int] = _NO_GROUPS
    probes: set[Probe] = field(default_factory=set)
    stale: bool = False


class Probes:
    """``changed`` returns the probes whose ends are others now."""

    def __init__(self, network: Fabric, switches: Mapping[str, Switch]) -> None:
        self._network = network
        self._access = {port for nic in network.nics for port in nic.attachments}
        self._probes: list[Probe] = []
        self._known: dict[str, dict[int, _Known]] = {}
        self._explorers: dict[str, _Explorer | None] = {}
        self._stale: list[_Known] = []
        self._dirty: dict[Probe, None] = {}
        for name, switch in switches.items():
            self.replace(name, switch)

    def __iter__(self) -> Iterator[Probe]:
        return iter(self._probes)

    def follow(self, probes: Iterable[Probe]) -> None:
        """From now on these, and no others."""
        self._probes = list(probes)
        for known in self._known.values():
            known.clear()
        self._stale.clear()
        self._dirty.clear()
        for probe in self._probes:
            probe._passes.clear()
            self._walk(probe)

    # ---- what changes ----

    def replace(self, name: str, switch: Switch | None) -> None:
        """Another switch is there instead, with tables of its own, or none."""
        for known in self._known.get(name, {}).values():
            self._dirty.update(dict.fromkeys(known.probes))
        for probe in self._probes:
            if probe.source.attachments[0].switch == name:
                self._dirty[probe] = None
        self._known[name] = {}
        self._explorers[name] = None
        if switch is not None:
            self._explorers[name] = _Explorer(switch)
            _tell_changes(
                switch, lambda *a: self._entry(name, *a), lambda *a: self._group(name, *a)
            )

    def ports_changed(self, name: str) -> None:
        for known in self._known[name].values():
            self._mark(known)

    def _entry(self, name: str, table: int, entry: Entry) -> None:
        mask, value = entry.mask, entry.value
        for known in self._known[name].values():
            if not known.stale:
                for at, headers in known.lookups:
                    if at == table and headers & mask == value:
                        self._mark(known)
                        break

    def _group(self, name: str, group_id: int) -> None:
        for known in self._known[name].values():
            if group_id in known.groups:
                self._mark(known)

    def _mark(self, known: _Known) -> None:
        if not known.stale:
            known.stale = True
            self._stale.append(known)

    # ---- what is so now ----

    def changed(self) -> Sequence[Probe]:
        if not self._stale and not self._dirty:
            return ()
        stale, self._stale = self._stale, []
        for known in stale:
            known.stale = False
            if self._known[known.switch].get(known.headers) is not known:
                continue
            if not known.probes:
                del self._known[known.switch][known.headers]
                continue
            before = known.choices
            self._explore(known)
            if known.choices != before:
                self._dirty.update(dict.fromkeys(known.probes))
        if not self._dirty:
            return ()
        dirty, self._dirty = self._dirty, {}
        return [probe for probe in dirty if self._walk(probe)]

    def _explore(self, known: _Known) -> None:
        explorer = self._explorers[known.switch]
        if explorer is not None:
            known.choices, known.lookups, known.groups = explorer.explore(known.headers)

    def _does(self, switch: str, headers: int) -> _Known:
        known = self._known[switch].get(headers)
        if known is None:
            known = self._known[switch][headers] = _Known(switch, headers)
            self._explore(known)
        elif known.stale:
            # Its turn is still to come, but for this probe it counts already.
            before = known.choices
            self._explore(known)
            if known.choices != before:
                self._dirty.update(dict.fromkeys(known.probes))
        return known

    def _walk(self, probe: Probe) -> bool:
        for known in probe._passes:
            known.probes.discard(probe)
        probe._passes.clear()
        ends: set[tuple[Fate, PortRef | None]] = set()
        at = probe.source.attachments[0]
        if self._explorers[at.switch] is None:
            ends.add((Fate.DROPPED, None))
        else:
            self._visit(probe, at, h.of(dict(probe.packet)), set(), set(), ends)
        before, probe.ends = probe.ends, frozenset(ends)
        return probe.ends != before

    def _visit(
        self,
        probe: Probe,
        at: PortRef,
        headers: int,
        above: set[_Known],
        done: set[_Known],
        ends: set[tuple[Fate, PortRef | None]],
    ) -> None:
        known = self._does(at.switch, headers & ~h.PIPELINE | at.port << h.IN_PORT.shift)
        if known in above:
            ends.add((Fate.LOOPED, None))
        if known in done:
            return
        done.add(known)
        above.add(known)
        known.probes.add(probe)
        probe._passes.append(known)
        for copies in known.choices:
            if len(copies) != 1:
                ends.add((Fate.COPIED if copies else Fate.DROPPED, None))
            for port, leaving in copies:
                self._leave(probe, PortRef(at.switch, port), leaving, above, done, ends)
        above.discard(known)

    def _leave(
        self,
        probe: Probe,
        out: PortRef,
        headers: int,
        above: set[_Known],
        done: set[_Known],
        ends: set[tuple[Fate, PortRef | None]],
    ) -> None:
        arc = self._network.arc_by_tail.get(out)
        if out.port == Port.CONTROLLER:
            ends.add((Fate.PUNTED, None))
        elif out in self._access:
            right = h.ETH_DST.get(headers) == probe.target.mac
            ends.add((Fate.ARRIVED, out) if right else (Fate.DROPPED, None))
        elif arc is None or self._explorers[arc.head.switch] is None:
            ends.add((Fate.DROPPED, None))
        else:
            self._visit(probe, arc.head, headers, above, done, ends)


def _tell_changes(
    switch: Switch, entry: Callable[[int, Entry], None], group: Callable[[int], None]
) -> None:
    """Let what changes the tables of a switch say so, whoever calls it."""

    def and_tell(change: Callable[[Any], None], tell: Callable[[Any], None]) -> Any:
        def changed(what: Any) -> None:
            change(what)
            tell(what)

        return changed

    for number in Table:
        table = cast("Any", switch.state.tables[number])
        for name in ("insert", "remove"):
            told = and_tell(getattr(table, name), lambda e, n=int(number): entry(n, e))
            setattr(table, name, told)
    groups = cast("Any", switch.state.groups)
    groups.put = and_tell(groups.put, lambda g: group(g.id))
    groups.remove = and_tell(groups.remove, group)


class _Explorer:
    """All that one switch may do with a packet. Stands for its tables and groups in walks, notes
    what is looked up, and chooses in turn each bucket that a SELECT group could."""

    def __init__(self, switch: Switch) -> None:
        state = switch.state
        self._tables: Sequence[FlowTable] = state.tables
        self._groups: GroupTable = state.groups
        self._ports = state.ports
        self._table = 0
        self._lookups: set[tuple[int, int]] = set()
        self._used: set[int] = set()
        self._choice: list[int] = []
        self._of: list[int] = []
        self._at = 0
        self._forwarding = Forwarding(
            cast("list[FlowTable]", self), cast("GroupTable", self), state.ports
        )

    def explore(
        self, headers: int
    ) -> tuple[frozenset[Copies], tuple[tuple[int, int], ...], frozenset[int]]:
        self._lookups.clear()
        self._used.clear()
        self._choice.clear()
        self._of.clear()
        found = set()
        while True:
            self._at = 0
            walk = Walk(self._forwarding, headers, hashed=1).through_tables()
            copies = [
                (sent.port if self._carries(sent.port) else _NOWHERE, sent.headers)
                for sent in walk.sent
            ]
            copies += [(int(Port.CONTROLLER), punted.headers) for punted in walk.punted]
            found.add(tuple(copies))
            while self._choice and self._choice[-1] + 1 >= self._of[-1]:
                self._choice.pop()
                self._of.pop()
            if not self._choice:
                break
            self._choice[-1] += 1
        return frozenset(found), tuple(self._lookups), frozenset(self._used)

    def _carries(self, number: int) -> bool:
        port = self._ports.get(number)
        return port is not None and port.up

    # ---- as tables ----

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> _Explorer:
        self._table = number
        return self

    def find(self, headers: int) -> Entry | None:
        self._lookups.add((self._table, headers))
        return self._tables[self._table].find(headers)

    # ---- as groups ----

    def get(self, group_id: int) -> GroupEntry | None:
        group = self._groups.get(group_id)
        self._use(group_id, group)
        return group

    def _use(self, group_id: int, group: GroupEntry | None) -> None:
        if group_id not in self._used:
            self._used.add(group_id)
            for state in group.buckets if group is not None else ():
                watched = state.bucket.watch_group
                if watched is not None:
                    self._use(watched, self._groups.get(watched))

    def first_live(self, group: GroupEntry) -> BucketState | None:
        return self._groups.first_live(group)

    def by_slot(self, group: GroupEntry, _: int) -> BucketState | None:
        live = [state for state in group.buckets if self._groups.is_live(group, state)]
        if not live:
            return None
        if self._at == len(self._choice):
            self._choice.append(0)
            self._of.append(len(live))
        self._at += 1
        return live[self._choice[self._at - 1]]
