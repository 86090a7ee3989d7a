"""The way of one packet through tables, groups and meters: what it does, and nothing done yet.

A walk collects what the packet met; :meth:`Walk.account` counts it, once or for many packets like
it. Semantics where OpenFlow leaves them open, and all limits, are Open vSwitch's
(`ofproto-dpif-xlate.c`): a packet that recurses too deep through groups is dropped altogether.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from controller.emulator import headers as h
from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import BucketState, GroupEntry, GroupTable
from controller.emulator.hashing import dp_hash, fields_hash, symmetric_l3l4, symmetric_l4
from controller.emulator.program import Step, compile_action_set, compile_actions
from controller.openflow.messages import PacketInReason
from controller.openflow.model import Action, GroupType, Port

MAX_DEPTH = 64
MAX_RESUBMITS = MAX_DEPTH * MAX_DEPTH
MAX_COPIES = 8192
_WHOLE_PACKET = 0xFFFF
_NO_PORT = 0xFFFF  # what "none" is in Open vSwitch's own 16 bits
_ANY_FRAGMENT = 1 << h.IP_FRAGMENT.shift
_NO_PORTS = ~(h.TP_SRC.mask | h.TP_DST.mask)
_HAS_NETWORK = frozenset({h.ETH_IPV4, h.ETH_IPV6, h.ETH_ARP, h.ETH_RARP})
_NETWORK = 0
for _place in (
    *(h.IP_PROTO, h.IP_TOS, h.IP_TTL, h.NW_SRC, h.NW_DST, h.TP_SRC, h.TP_DST, h.IPV6_SRC),
    *(h.IPV6_DST, h.IPV6_LABEL, h.ARP_SHA, h.ARP_THA, h.ND_TARGET, h.ND_RESERVED),
    h.ND_OPTIONS_TYPE,
):
    _NETWORK |= _place.mask


class Ports(Protocol):
    def forwards(self, number: int) -> bool:
        """Whether there is such a port and it sends what it is given."""

    def flooded(self) -> list[int]:
        """The ports that a flooded packet leaves by."""


@dataclass(slots=True)
class Forwarding:
    """What a walk reads of a switch. ``drop_fragments``: no entry matches a fragment."""

    tables: list[FlowTable]
    groups: GroupTable
    ports: Ports
    drop_fragments: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """A copy of the packet that leaves by a port. ``replaced``: the bits of its headers that are
    what they are whatever they were on arrival."""

    port: int
    headers: int
    queue: int | None
    replaced: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Punted:
    """A copy of the packet for the controllers; ``max_len`` octets of it."""

    headers: int
    reason: PacketInReason
    max_len: int
    table: int
    cookie: int
    in_port: int


@lru_cache(maxsize=1024)
def _action_set(actions: tuple[Action, ...]) -> tuple[Step, ...]:
    return compile_action_set(actions)


class Walk:
    """One packet's way. ``hashed`` is what SELECT groups choose by: None to compute it from the
    headers as a datapath does. ``admit`` says whether a meter lets the packet pass."""

    __slots__ = (
        "_action_set",
        "_admit",
        "_arrival",
        "_committed",
        "_context",
        "_depth",
        "_entry",
        "_over",
        "_resubmits",
        "_stop",
        "_switch",
        "_table",
        "buckets",
        "hash_slots",
        "hashed",
        "headers",
        "misses",
        "punted",
        "queue",
        "replaced",
        "sent",
        "visited",
    )

    def __init__(
        self,
        switch: Forwarding,
        headers: int,
        hashed: int | None = None,
        admit: Callable[[int], bool] | None = None,
    ) -> None:
        self._switch = switch
        self._arrival = headers
        self._committed = headers
        self.headers = headers
        self.replaced = 0
        """The bits of the headers that were set to a value of an action's own."""
        self.hashed = hashed
        self._admit = admit
        self.queue: int | None = None
        self.sent: list[Sent] = []
        self.punted: list[Punted] = []
        self.visited: list[Entry] = []
        self.misses: list[int] = []
        self.buckets: list[tuple[GroupEntry, BucketState | None]] = []
        self.hash_slots = 1
        """Into how many slots the groups on the way have divided the hash."""
        self._action_set: tuple[Action, ...] = ()
        self._context: PacketInReason | None = None
        self._entry: Entry | None = None
        self._table = 0
        self._depth = 0
        self._resubmits = 0
        self._stop = False  # the rest of this action list is left out
        self._over = False  # the packet is gone

    # ---- From where ----

    def through_tables(self) -> Walk:
        """The packet has come in by a port."""
        self._tables(0)
        self._execute_action_set()
        return self

    def through_actions(self, actions: tuple[Action, ...]) -> Walk:
        """The packet is one that a controller sends out."""
        self._context = PacketInReason.PACKET_OUT
        self._run(compile_actions(actions))
        self._execute_action_set()
        return self

    def _tables(self, table: int) -> None:
        tables = self._switch.tables
        while True:
            if table >= len(tables):
                return
            self._table = table
            headers = self.headers
            if headers & _ANY_FRAGMENT:
                # No fragment is known by its ports, not even the one that has them.
                if self._switch.drop_fragments:
                    self.misses.append(table)
                    return
                headers &= _NO_PORTS
            entry = tables[table].find(headers)
            if entry is None:
                self.misses.append(table)
                return
            self._entry = entry
            self.visited.append(entry)
            program = entry.program
            if program.apply and not self._run(program.apply):
                return
            if program.clear:
                self._action_set = ()
            if program.write:
                self._action_set += program.write
            if program.metadata_mask:
                self.headers = self.headers & ~program.metadata_mask | program.metadata
            if program.goto is None:
                return
            table = program.goto

    def _execute_action_set(self) -> None:
        if self._action_set and not self._over:
            if self._context is None:
                self._context = PacketInReason.ACTION_SET
            self._run(_action_set(self._action_set))

    def _run(self, steps: tuple[Step, ...]) -> bool:
        """Whether what stands after the list is to happen too."""
        for step in steps:
            step(self)
            if self._stop or self._over:
                self._stop = False
                return False
        return True

    def _fail(self) -> None:
        """A limit is exceeded: nothing of the packet gets anywhere."""
        self.sent.clear()
        self.punted.clear()
        self._over = True

    # ---- What steps of programs do ----

    def output(self, port: int, max_len: int) -> None:
        if port == Port.CONTROLLER:
            self._punt(self._reason(), max_len)
        elif port < Port.MAX or port == Port.LOCAL:
            if port != h.IN_PORT.get(self.headers):
                self._send(port)
        elif port == Port.IN_PORT:
            self._send(h.IN_PORT.get(self.headers))
        elif port in (Port.ALL, Port.FLOOD, Port.NORMAL):
            # An address that was never seen as a source is flooded, and none is ever remembered.
            came_by = h.IN_PORT.get(self.headers)
            for number in self._switch.ports.flooded():
                if number != came_by:
                    self._send(number)
        elif port == Port.TABLE:
            self._resubmit()

    def _send(self, port: int) -> None:
        if self._switch.ports.forwards(port):
            self.sent.append(Sent(port, self._commit(), self.queue, self.replaced))

    def _commit(self) -> int:
        """The headers as they get into the frame. Open vSwitch takes a protocol (or ARP operation)
        of 0 for no network header at all, so what was set in one stays in its books."""
        headers = self.headers
        if not h.IP_PROTO.get(headers) and h.ETH_TYPE.get(headers) in _HAS_NETWORK:
            headers = headers & ~_NETWORK | self._committed & _NETWORK
        self._committed = headers
        return headers

    def _resubmit(self) -> None:
        if self._depth >= MAX_DEPTH or self._resubmits >= MAX_RESUBMITS:
            self._fail()
            return
        before = self._table, self._entry, self._context
        if self._context is not PacketInReason.PACKET_OUT:
            self._context = None
        self._depth += 1
        self._resubmits += 1
        self._tables(0)
        self._depth -= 1
        self._table, self._entry, self._context = before

    def to_group(self, group_id: int) -> None:
        if self._depth >= MAX_DEPTH or len(self.sent) > MAX_COPIES:
            self._fail()
            return
        group = self._switch.groups.get(group_id)
        if group is None:
            self._stop = True
            return
        if group.type in (GroupType.ALL, GroupType.INDIRECT):
            self.buckets.append((group, None))
            for state in list(group.buckets):
                self._through(state)
                if self._over:
                    return
            return
        if group.type is GroupType.SELECT:
            chosen = self._select(group)
        else:
            chosen = self._switch.groups.first_live(group)
        if chosen is not None:
            self.buckets.append((group, chosen))
            self._through(chosen)

    def _through(self, state: BucketState) -> None:
        """A bucket works on a copy of the packet."""
        before = self.headers, self.queue, self._context, self.replaced
        if self._context is not PacketInReason.PACKET_OUT:
            self._context = PacketInReason.GROUP
        self._depth += 1
        self._run(state.steps)
        self._depth -= 1
        self.headers, self.queue, self._context, self.replaced = before

    def _select(self, group: GroupEntry) -> BucketState | None:
        groups = self._switch.groups
        selection = group.selection
        if group.slots is not None:
            if not self.hashed:
                # A hash once made serves all later groups, whatever they ask for.
                if selection is None:
                    self.hashed = symmetric_l3l4(self.headers) or 1
                elif selection.parameter >> 32 == 1:
                    self.hashed = symmetric_l3l4(self.headers, selection.parameter & 0xFFFFFFFF)
                else:
                    self.hashed = dp_hash(self._arrival, selection.parameter & 0xFFFFFFFF)
            self.hash_slots = max(self.hash_slots, len(group.slots))
            return groups.by_slot(group, self.hashed)
        if selection is not None and selection.method == "hash" and selection.fields:
            return groups.by_slot(group, fields_hash(self.headers, selection))
        return groups.by_slot(group, symmetric_l4(self.headers))

    def meter(self, meter_id: int) -> None:
        if self._admit is not None and not self._admit(meter_id):
            self._over = True

    def ttl_expired(self) -> None:
        self._punt(PacketInReason.INVALID_TTL, _WHOLE_PACKET)
        self._stop = True

    def _reason(self) -> PacketInReason:
        if self._context is not None:
            return self._context
        entry = self._entry
        if entry is not None and not entry.priority and not entry.mask:
            return PacketInReason.TABLE_MISS
        return PacketInReason.APPLY_ACTION

    def _punt(self, reason: PacketInReason, max_len: int) -> None:
        cookie = 0xFFFFFFFFFFFFFFFF if self._entry is None else self._entry.cookie
        came_by = h.IN_PORT.get(self.headers)
        came_by = Port.ANY if came_by == _NO_PORT else came_by
        self.punted.append(Punted(self._commit(), reason, max_len, self._table, cookie, came_by))

    # ---- Afterwards ----

    def account(self, packets: int, octets: int, now: float) -> None:
        """Count on flows, groups, buckets and tables; ``octets`` are those of all packets."""
        tables = self._switch.tables
        for entry in self.visited:
            entry.count(packets, octets, now)
            tables[entry.table].lookups += packets
            tables[entry.table].matched += packets
        for table in self.misses:
            tables[table].lookups += packets
        for group, chosen in self.buckets:
            group.packets += packets
            group.bytes += octets
            for state in group.buckets if chosen is None else (chosen,):
                state.packets += packets
                state.bytes += octets


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of ``share`` of the hash values; ``walk`` is one of them."""

    share: float
    walk: Walk


def outcomes(switch: Forwarding, headers: int) -> list[Outcome]:
    """Every way that a packet may go, over all values of the hash, as shares of them.

    One hash serves all groups that a packet meets in a switch, so its ways through several are not
    independent of each other: each value is walked, and equal ways are added up.
    """
    slots, walks = 1, [Walk(switch, headers, hashed=1).through_tables()]
    while True:
        wanted = max(walk.hash_slots for walk in walks)
        if wanted <= slots:
            break
        slots = wanted
        # Values above the slots count for no group; 0 would mean that there is no hash yet.
        walks = [
            Walk(switch, headers, hashed=value | slots).through_tables() for value in range(slots)
        ]
    found: dict[tuple[object, ...], list[Walk]] = {}
    for walk in walks:
        found.setdefault((tuple(walk.sent), tuple(walk.punted)), []).append(walk)
    return [Outcome(len(same) / len(walks), same[0]) for same in found.values()]
