"""What a switch does with all packets of a class, and for which values of their hash.

A class is all headers that agree in the bits that decided anything on one packet's way: those that
lookups examined and those that actions may set. It is what Open vSwitch calls a megaflow, and like
there the way of one packet serves all of its class (Pfaff et al., "The design and implementation of
Open vSwitch", 2015). SELECT groups divide the hash into slots; values whose slots lead to the same
buckets have one way.

The first table is looked up for every packet, as it tells apart where packets come from; what
follows is remembered for all entries of it that do the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from controller.emulator import headers as h
from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import BucketState, GroupEntry
from controller.emulator.pipeline import Forwarding, Walk
from controller.emulator.state import State
from controller.openflow.model import (
    Action,
    ApplyActions,
    CopyField,
    DecTtl,
    GroupType,
    Output,
    PopVlan,
    Port,
    PushVlan,
    SetField,
    SetTtl,
    WriteActions,
)

Slots: TypeAlias = int
"""A set of values modulo some power of two, as bits."""

HashFunction: TypeAlias = tuple[str, int]
"""Name and basis. Values of one function are equal in all switches that the same flow passes;
those of two are taken to be independent."""

_ABOVE_SLOTS = 1 << 20
_TAGS = 0
for _place in (*h.VLANS, *h.VLAN_TPIDS):
    _TAGS |= _place.mask
_ALWAYS = h.ETH_TYPE.mask | h.IP_PROTO.mask | h.IP_FRAGMENT.mask | h.VLANS[0].mask
ADDRESSES_AND_PORTS = h.IP_PROTO.mask
for _place in (h.NW_SRC, h.NW_DST, h.IPV6_SRC, h.IPV6_DST, h.TP_SRC, h.TP_DST):
    ADDRESSES_AND_PORTS |= _place.mask
_EVERYTHING = -1
_NO_PORTS: frozenset[int] = frozenset()
_OTHER_PORTS = frozenset({Port.IN_PORT, Port.TABLE, Port.NORMAL, Port.FLOOD, Port.ALL})
"""Where a packet goes by these depends on where it came from."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A copy leaves by a port; ``flip`` are the bits of its headers that have changed."""

    port: int
    queue: int | None
    flip: int


@dataclass(slots=True, eq=False)
class Way:
    """``slots``: the values that take it, modulo ``Ways.modulus``. ``visited``, ``matched`` (the
    tables of those entries), ``misses`` and ``buckets`` are what counts the packets."""

    slots: Slots
    exits: tuple[Exit, ...]
    punts: int
    visited: tuple[Entry, ...]
    matched: tuple[FlowTable, ...]
    misses: tuple[FlowTable, ...]
    buckets: tuple[tuple[GroupEntry, tuple[BucketState, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Of one class. ``function`` is None where no hash counts. ``by_headers``: a group chooses by
    the headers themselves, so the class is this one packet's only. ``ports``: a packet that comes
    by one of these is another class, as it does not go back there."""

    ways: tuple[Way, ...]
    modulus: int
    function: HashFunction | None
    by_headers: bool
    ports: frozenset[int]


def widened(slots: Slots, modulus: int, to: int) -> Slots:
    """The same set modulo a larger power of two."""
    while modulus < to:
        slots |= slots << modulus
        modulus *= 2
    return slots


class _Examined:
    """The tables of a switch, noting which bits of the headers lookups after the first depend
    on."""

    def __init__(self, tables: Sequence[FlowTable]) -> None:
        self._tables = tables
        self._table = tables[0]
        self._first = True
        self.mask = 0

    def begin(self) -> None:
        self._first = True

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> _Examined:
        self._table = self._tables[number]
        return self

    def find(self, headers: int) -> Entry | None:
        if self._first:
            self._first = False
            return self._table.find(headers)
        entry, examined = self._table.examine(headers)
        self.mask |= examined
        return entry


class WayCache:
    """The classes seen so far of one switch, as long as its tables and ports stay as they are."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._behind: dict[object, dict[int, dict[int, Ways]]] = {}
        self._behind_entry: dict[int, dict[int, dict[int, Ways]]] = {}
        self._from_entry: dict[tuple[int, int], Ways] = {}
        self._touched_by: dict[int, tuple[int, frozenset[int]]] = {}
        self._by_bucket: dict[int, dict[int, Slots]] = {}
        self._examined = _Examined(state.tables)
        self._forwarding = Forwarding(
            cast("list[FlowTable]", self._examined),
            state.groups,
            state.ports,
            state.forwarding.drop_fragments,
        )

    def find(self, headers: int) -> Ways:
        """``headers`` as they arrive, with the port they came by."""
        if h.IP_FRAGMENT.get(headers):
            # Lookups see other headers than these.
            return self._explore(headers)[0]
        entry = self._state.tables[0].find(headers)
        classes = self._behind_entry.get(id(entry))
        if classes is None:
            program = None if entry is None else entry.instructions
            classes = self._behind.setdefault(program, {})
            self._behind_entry[id(entry)] = classes
        found = self._known(classes, headers)
        if found is None:
            found, mask = self._explore(headers)
            classes.setdefault(mask, {})[headers & mask] = found
        if entry is None:
            return found
        key = id(entry), id(found)
        whole = self._from_entry.get(key)
        if whole is None:
            ways = tuple(
                replace(
                    way,
                    visited=(entry, *way.visited[1:]),
                )
                for way in found.ways
            )
            whole = self._from_entry[key] = replace(found, ways=ways)
        return whole

    def _known(self, classes: dict[int, dict[int, Ways]], headers: int) -> Ways | None:
        for mask, members in classes.items():
            known = members.get(headers & mask)
            if known is not None and (
                mask & h.IN_PORT.mask == h.IN_PORT.mask or h.IN_PORT.get(headers) not in known.ports
            ):
                return known
        return None

    def _explore(self, headers: int) -> tuple[Ways, int]:
        self._examined.mask = 0
        settable = 0
        ports: frozenset[int] = _NO_PORTS
        found: list[Way] = []
        function: HashFunction | None = None
        by_headers = False
        modulus, left = 1, 1
        while left:
            value = (left & -left).bit_length() - 1
            self._examined.begin()
            walk = Walk(self._forwarding, headers, hashed=value | _ABOVE_SLOTS).through_tables()
            if walk.hash_slots > modulus:
                left = widened(left, modulus, walk.hash_slots)
                for way in found:
                    way.slots = widened(way.slots, modulus, walk.hash_slots)
                modulus = walk.hash_slots
            slots = (1 << modulus) - 1
            for entry in walk.visited:
                bits, outputs = self._touches(entry, entry.instructions)
                settable |= bits
                ports |= outputs
            for group, chosen in walk.buckets:
                for state in group.buckets if chosen is None else (chosen,):
                    bits, outputs = self._touches(state, state.bucket.actions)
                    settable |= bits
                    ports |= outputs
                if group.type is not GroupType.SELECT or chosen is None:
                    continue
                if group.slots is None:
                    by_headers = True
                    continue
                if function is None:
                    function = _function(group)
                of_bucket = self._slots(group)[id(chosen)]
                slots &= widened(of_bucket, len(group.slots), modulus)
            left &= ~slots
            found.append(self._way(walk, headers, slots))
        if function is not None and function[0] == "symmetric" and settable & ADDRESSES_AND_PORTS:
            # It hashes headers as they are by then, the others as they arrived.
            by_headers = True
        mask = _EVERYTHING if by_headers else _ALWAYS | self._examined.mask | settable
        if h.IN_PORT.get(headers) in ports or ports & _OTHER_PORTS:
            mask |= h.IN_PORT.mask
        return Ways(tuple(found), modulus, function, by_headers, ports), mask

    def _way(self, walk: Walk, headers: int, slots: Slots) -> Way:
        tables = self._state.tables
        return Way(
            slots,
            tuple(
                Exit(sent.port, sent.queue, (sent.headers ^ headers) & ~h.PIPELINE)
                for sent in walk.sent
            ),
            len(walk.punted),
            tuple(walk.visited),
            tuple(tables[entry.table] for entry in walk.visited),
            tuple(tables[number] for number in walk.misses),
            tuple(
                (group, tuple(group.buckets) if chosen is None else (chosen,))
                for group, chosen in walk.buckets
            ),
        )

    def _slots(self, group: GroupEntry) -> dict[int, Slots]:
        """Which values of the hash lead to each bucket, by the bucket's identity."""
        known = self._by_bucket.get(group.id)
        if known is None:
            known = self._by_bucket[group.id] = {}
            assert group.slots is not None
            groups = self._state.groups
            live = [groups.is_live(group, state) for state in group.buckets]
            for value, position in enumerate(group.slots):
                if live[position]:
                    state: BucketState | None = group.buckets[position]
                else:
                    state = groups.by_slot(group, value)
                if state is not None:
                    known[id(state)] = known.get(id(state), 0) | 1 << value
        return known

    def _touches(self, owner: object, doing: Iterable[Any]) -> tuple[int, frozenset[int]]:
        """The bits that instructions or actions may set, and the ports that they send to."""
        known = self._touched_by.get(id(owner))
        if known is None:
            bits, ports = 0, _NO_PORTS
            for action in _flat(doing):
                bits |= _settable(action)
                if isinstance(action, Output):
                    ports |= {action.port}
            known = self._touched_by[id(owner)] = bits, ports
        return known


def _function(group: GroupEntry) -> HashFunction:
    selection = group.selection
    if selection is None:
        return "symmetric", 0
    basis = selection.parameter & 0xFFFFFFFF
    return ("symmetric" if selection.parameter >> 32 == 1 else "dp"), basis


def _flat(doing: Iterable[Any]) -> Iterable[Action]:
    for each in doing:
        if isinstance(each, ApplyActions | WriteActions):
            yield from each.actions
        else:
            yield each


def _settable(action: Action) -> int:
    """The bits that an action may set, or set others by."""
    if isinstance(action, SetField):
        place = h.PLACES[action.field]
        return (place.ones if action.mask is None else action.mask) << place.shift
    if isinstance(action, CopyField):
        source = h.PLACES[action.source].part(action.source_offset, action.bits)
        return source.mask | h.PLACES[action.target].part(action.target_offset, action.bits).mask
    if isinstance(action, DecTtl | SetTtl):
        return h.IP_TTL.mask
    if isinstance(action, PushVlan | PopVlan):
        return _TAGS
    return 0
