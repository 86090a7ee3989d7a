"""What a switch does with all packets of a class, and for which values of their hash.

A class is all headers that agree in the bits that decided anything on one packet's way: those that
lookups examined and those that actions may set. It is what Open vSwitch calls a megaflow, and like
there the way of one packet serves all of its class (Pfaff et al., "The design and implementation of
Open vSwitch", 2015). SELECT groups divide the hash into slots; values whose slots lead to the same
buckets have one way.

The first table is looked up for every packet, as it tells apart where packets come from; what
follows is remembered for all entries of it that do the same. Where a port changes, only those
classes are forgotten whose ways depended on its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from controller.emulator import headers as h
from controller.emulator.examined import Consulted, Examined
from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import BucketState, GroupEntry
from controller.emulator.header_changes import changed_by, flat, own_bits
from controller.emulator.pipeline import Forwarding, Walk
from controller.emulator.state import State
from controller.openflow.model import GroupType, Output, Port, SetField

Slots: TypeAlias = int
"""A set of values modulo some power of two, as bits."""

HashFunction: TypeAlias = tuple[str, int]
"""Name and basis. Values of one function are equal in all switches that the same flow passes;
those of two are taken to be independent."""

_ABOVE_SLOTS = 1 << 20
_ALWAYS = h.ETH_TYPE.mask | h.IP_PROTO.mask | h.IP_FRAGMENT.mask | h.VLANS[0].mask
ADDRESSES_AND_PORTS = h.IP_PROTO.mask
for _place in (h.NW_SRC, h.NW_DST, h.IPV6_SRC, h.IPV6_DST, h.TP_SRC, h.TP_DST):
    ADDRESSES_AND_PORTS |= _place.mask
_EVERYTHING = -1
_IN_PORT = h.IN_PORT.mask  # the lowest bits, so the port itself
_PROTOCOL = h.IP_PROTO.mask
_FRAGMENT = h.IP_FRAGMENT.mask
_PORTS = h.TP_SRC.mask | h.TP_DST.mask
_NO_PORTS: frozenset[int] = frozenset()
_OTHER_PORTS = frozenset({Port.IN_PORT, Port.TABLE, Port.NORMAL, Port.FLOOD, Port.ALL})
"""Where a packet goes by these depends on where it came from."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A copy leaves by a port, some bits of its headers ``replaced``, and some then flipped."""

    port: int
    queue: int | None
    replaced: int
    flip: int

    def after(self, headers: int) -> int:
        return headers & ~self.replaced ^ self.flip


@dataclass(slots=True, eq=False)
class Way:
    """``slots``: the values that take it, modulo ``Ways.modulus``. ``visited`` (behind the first
    entry), ``matched`` (the tables of the entries, with that of the first), ``misses`` and
    ``buckets`` are what counts the packets. ``number`` is for who counts them."""

    slots: Slots
    exits: tuple[Exit, ...]
    punts: int
    visited: tuple[Entry, ...]
    matched: tuple[FlowTable, ...]
    misses: tuple[FlowTable, ...]
    buckets: tuple[tuple[GroupEntry, tuple[BucketState, ...]], ...]
    number: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Of one class. ``function`` is None where no hash counts. ``by_headers``: a group chooses by
    the headers themselves, so the class is this one packet's only. ``ports``: a packet that comes
    by one of these is another class, as it does not go back there. ``needs``: the ports whose
    state decides; None among them stands for all."""

    ways: tuple[Way, ...]
    modulus: int
    function: HashFunction | None
    by_headers: bool
    ports: frozenset[int]
    needs: frozenset[int | None]


def widened(slots: Slots, modulus: int, to: int) -> Slots:
    """The same set modulo a larger power of two."""
    while modulus < to:
        slots |= slots << modulus
        modulus *= 2
    return slots


class WayCache:
    """The classes seen so far of one switch, as long as its tables stay as they are."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._behind: dict[object, dict[int, dict[int, Ways]]] = {}
        self._behind_entry: dict[int, dict[int, dict[int, Ways]]] = {}
        self._touched_by: dict[int, tuple[int, int, frozenset[int]]] = {}
        self._by_bucket: dict[int, tuple[dict[int, Slots], frozenset[int | None]]] = {}
        self._examined = Examined(state.tables)
        self._consulted = Consulted(state.ports)
        self._groups = state.groups.asking(self._consulted.is_live)
        self._forwarding = Forwarding(
            cast("list[FlowTable]", self._examined),
            self._groups,
            self._consulted,
            state.forwarding.drop_fragments,
        )

    def find(self, headers: int) -> tuple[Entry | None, Ways]:
        """The entry of the first table that ``headers`` match as they arrive, with the port they
        came by, and what comes behind it."""
        entry = self._first(headers)
        classes = self._behind_entry.get(id(entry))
        if classes is None:
            program = None if entry is None else entry.instructions
            classes = self._behind.setdefault(program, {})
            self._behind_entry[id(entry)] = classes
        for mask, members in classes.items():
            known = members.get(headers & mask)
            if known is not None and (
                mask & _IN_PORT == _IN_PORT or headers & _IN_PORT not in known.ports
            ):
                return entry, known
        found, mask = self._explore(headers, entry)
        classes.setdefault(mask, {})[headers & mask] = found
        return entry, found

    def _first(self, headers: int) -> Entry | None:
        if headers & _FRAGMENT:
            if self._forwarding.drop_fragments:
                return None
            headers &= ~_PORTS
        return self._state.tables[0].find(headers)

    def all(self) -> list[Ways]:
        return [
            found
            for classes in self._behind.values()
            for members in classes.values()
            for found in members.values()
        ]

    def forget(self, ports: Set[int]) -> list[Ways]:
        """The state of these ports has changed: what is forgotten therefore."""
        gone: list[Ways] = []
        for classes in self._behind.values():
            for members in classes.values():
                for key, found in list(members.items()):
                    if None in found.needs or not ports.isdisjoint(found.needs):
                        gone.append(members.pop(key))
        self._by_bucket.clear()
        return gone

    def _explore(self, headers: int, first: Entry | None) -> tuple[Ways, int]:
        self._examined.another_class(first)
        self._consulted.numbers = set()
        decides, settable = 0, 0
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
            touched = [self._touches(entry, entry.instructions) for entry in walk.visited]
            for group, chosen in walk.buckets:
                for state in group.buckets if chosen is None else (chosen,):
                    touched.append(self._touches(state, state.bucket.actions))
                if group.type is not GroupType.SELECT or chosen is None:
                    continue
                if group.slots is None:
                    by_headers = True
                    continue
                if function is None:
                    function = _function(group)
                of_bucket = self._slots(group)[id(chosen)]
                slots &= widened(of_bucket, len(group.slots), modulus)
            for bits, any_bits, outputs in touched:
                decides |= bits
                settable |= any_bits
                ports |= outputs
            left &= ~slots
            found.append(self._way(walk, headers, slots))
        if function is not None and function[0] == "symmetric" and settable & ADDRESSES_AND_PORTS:
            # It hashes headers as they are by then, the others as they arrived.
            by_headers = True
        if by_headers:
            mask = _EVERYTHING
        else:
            mask = _ALWAYS | self._examined.mask | decides
            if not headers & _PROTOCOL:
                # What is set of no protocol is not always sent.
                mask |= settable
        if headers & _IN_PORT in ports or ports & _OTHER_PORTS:
            mask |= _IN_PORT
        needs = frozenset(self._consulted.numbers)
        return Ways(tuple(found), modulus, function, by_headers, ports, needs), mask

    def _way(self, walk: Walk, headers: int, slots: Slots) -> Way:
        tables = self._state.tables
        exits = []
        for sent in walk.sent:
            replaced = sent.replaced if headers & _PROTOCOL else 0
            flip = (sent.headers ^ headers & ~replaced) & ~h.PIPELINE
            exits.append(Exit(sent.port, sent.queue, replaced & ~h.PIPELINE, flip))
        visited = tuple(walk.visited)
        return Way(
            slots,
            tuple(exits),
            len(walk.punted),
            visited[1:],
            tuple(tables[entry.table] for entry in visited),
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
            consulted, self._consulted.numbers = self._consulted.numbers, set()
            known = self._by_bucket[group.id] = (
                self._divide(group),
                frozenset(self._consulted.numbers),
            )
            self._consulted.numbers = consulted
        self._consulted.numbers |= known[1]
        return known[0]

    def _divide(self, group: GroupEntry) -> dict[int, Slots]:
        assert group.slots is not None
        live = [self._groups.is_live(group, state) for state in group.buckets]
        found: dict[int, Slots] = {}
        for value, position in enumerate(group.slots):
            if live[position]:
                state: BucketState | None = group.buckets[position]
            else:
                state = self._groups.by_slot(group, value)
            if state is not None:
                found[id(state)] = found.get(id(state), 0) | 1 << value
        return found

    def _touches(self, owner: object, doing: Iterable[Any]) -> tuple[int, int, frozenset[int]]:
        """Of instructions or actions: the bits by which they may change others, the bits that they
        may change at all, and the ports that they send to."""
        known = self._touched_by.get(id(owner))
        if known is None:
            decides, own, ports = 0, 0, _NO_PORTS
            for action in flat(doing):
                if isinstance(action, SetField):
                    own |= own_bits(action)
                elif isinstance(action, Output):
                    ports |= {action.port}
                else:
                    decides |= changed_by(action)
            known = self._touched_by[id(owner)] = decides, own | decides, ports
        return known


def _function(group: GroupEntry) -> HashFunction:
    selection = group.selection
    if selection is None:
        return "symmetric", 0
    basis = selection.parameter & 0xFFFFFFFF
    return ("symmetric" if selection.parameter >> 32 == 1 else "dp"), basis
