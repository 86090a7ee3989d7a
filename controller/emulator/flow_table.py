"""One flow table: entries by priority and mask, found by tuple-space search.

All entries of one mask are one hash table from masked headers to entries, so a lookup costs one
hash lookup for each mask in use, however many entries there are (Srinivasan et al., "Packet
classification using tuple space search", 1999; Open vSwitch's classifier does the same). Masks are
tried in the order of their highest priority, and not at all once a better entry is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.emulator.program import Program
from controller.openflow.model import Match

SEND_REMOVED, CHECK_OVERLAP, RESET_COUNTS, NO_PACKET_COUNTS, NO_BYTE_COUNTS = 1, 2, 4, 8, 16


class Entry:
    """A flow entry. Times are seconds of the switch's clock."""

    __slots__ = (
        "bytes",
        "cookie",
        "created",
        "flags",
        "hard_timeout",
        "idle_timeout",
        "importance",
        "instructions",
        "mask",
        "match",
        "modified",
        "packets",
        "priority",
        "program",
        "removed",
        "table",
        "used",
        "value",
    )

    def __init__(
        self,
        table: int,
        priority: int,
        value: int,
        mask: int,
        match: Match,
        instructions: tuple[object, ...],
        program: Program,
        now: float,
        *,
        cookie: int = 0,
        idle_timeout: int = 0,
        hard_timeout: int = 0,
        importance: int = 0,
        flags: int = 0,
    ) -> None:
        self.table = table
        self.priority = priority
        self.value = value
        self.mask = mask
        self.match = match
        self.instructions = instructions
        self.program = program
        self.cookie = cookie
        self.idle_timeout = idle_timeout
        self.hard_timeout = hard_timeout
        self.importance = importance
        self.flags = flags
        self.created = self.modified = self.used = now
        self.packets = self.bytes = 0
        self.removed = False

    def expiry(self) -> tuple[float, int] | None:
        """When it will expire if nothing uses it, and the reason (idle 0, hard 1)."""
        found = None
        if self.hard_timeout:
            found = self.modified + self.hard_timeout, 1
        if self.idle_timeout:
            idle = self.used + self.idle_timeout
            if found is None or idle < found[0]:
                found = idle, 0
        return found

    def count(self, packets: int, octets: int, now: float) -> None:
        self.packets += packets
        self.bytes += octets
        self.used = now


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a request is about. ``priority`` is given for strict requests, which mean the
    one entry of this match and priority; other requests mean all that this match contains."""

    value: int
    mask: int
    priority: int | None = None
    cookie: int = 0
    cookie_mask: int = 0
    port: int | None = None
    group: int | None = None

    def admits(self, entry: Entry) -> bool:
        """What does not depend on match and priority."""
        return (
            (entry.cookie ^ self.cookie) & self.cookie_mask == 0
            and (self.port is None or self.port in entry.program.ports)
            and (self.group is None or self.group in entry.program.groups)
        )


class _Shape:
    """The entries of one mask. ``by_value`` lists go from high to low priority."""

    __slots__ = ("by_value", "mask", "priorities", "top")

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self.by_value: dict[int, list[Entry]] = {}
        self.priorities: dict[int, int] = {}
        self.top = -1


class FlowTable:
    def __init__(self) -> None:
        self._shapes: dict[int, _Shape] = {}
        self._order: list[_Shape] = []
        self._sorted = True
        self._count = 0
        self.lookups = 0
        self.matched = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        for shape in self._shapes.values():
            for entries in shape.by_value.values():
                yield from entries

    def find(self, headers: int) -> Entry | None:
        """The entry of highest priority that matches."""
        if not self._sorted:
            self._order.sort(key=_descending)
            self._sorted = True
        best = None
        best_priority = -1
        for shape in self._order:
            if shape.top <= best_priority:
                break
            entries = shape.by_value.get(headers & shape.mask)
            if entries is not None and entries[0].priority > best_priority:
                best = entries[0]
                best_priority = best.priority
        return best

    def examine(self, headers: int) -> tuple[Entry | None, int]:
        """What :meth:`find` returns, and the bits that decided it: all headers that agree with
        these in them find the same."""
        if not self._sorted:
            self._order.sort(key=_descending)
            self._sorted = True
        best, best_priority, examined = None, -1, 0
        for shape in self._order:
            if shape.top <= best_priority:
                break
            examined |= shape.mask
            entries = shape.by_value.get(headers & shape.mask)
            if entries is not None and entries[0].priority > best_priority:
                best = entries[0]
                best_priority = best.priority
        return best, examined

    def exact(self, value: int, mask: int, priority: int) -> Entry | None:
        """The entry of this very match and priority."""
        shape = self._shapes.get(mask)
        if shape is not None:
            for entry in shape.by_value.get(value, ()):
                if entry.priority == priority:
                    return entry
        return None

    def insert(self, entry: Entry) -> None:
        """There must be none yet of its match and priority."""
        shape = self._shapes.get(entry.mask)
        if shape is None:
            shape = self._shapes[entry.mask] = _Shape(entry.mask)
            self._order.append(shape)
            self._sorted = False
        entries = shape.by_value.get(entry.value)
        if entries is None:
            shape.by_value[entry.value] = [entry]
        else:
            entries.append(entry)
            entries.sort(key=_by_priority)
        priority = entry.priority
        shape.priorities[priority] = shape.priorities.get(priority, 0) + 1
        if priority > shape.top:
            shape.top = priority
            self._sorted = False
        entry.removed = False
        self._count += 1

    def remove(self, entry: Entry) -> None:
        shape = self._shapes[entry.mask]
        entries = shape.by_value[entry.value]
        entries.remove(entry)
        if not entries:
            del shape.by_value[entry.value]
        left = shape.priorities[entry.priority] - 1
        if left:
            shape.priorities[entry.priority] = left
        else:
            del shape.priorities[entry.priority]
            if not shape.priorities:
                del self._shapes[entry.mask]
                self._order.remove(shape)
            elif entry.priority == shape.top:
                shape.top = max(shape.priorities)
                self._sorted = False
        entry.removed = True
        self._count -= 1

    def select(self, wanted: Filter) -> list[Entry]:
        if wanted.priority is not None:
            entry = self.exact(wanted.value, wanted.mask, wanted.priority)
            return [entry] if entry is not None and wanted.admits(entry) else []
        mask, value = wanted.mask, wanted.value
        found = []
        for shape in self._shapes.values():
            if shape.mask & mask != mask:
                continue
            for key, entries in shape.by_value.items():
                if key & mask == value:
                    found += [entry for entry in entries if wanted.admits(entry)]
        return found

    def overlaps(self, value: int, mask: int, priority: int) -> bool:
        """Whether some packet could match both this and an entry of the same priority."""
        for shape in self._shapes.values():
            if priority not in shape.priorities:
                continue
            common = shape.mask & mask
            for key, entries in shape.by_value.items():
                if (key ^ value) & common == 0 and any(e.priority == priority for e in entries):
                    return True
        return False


def _descending(shape: _Shape) -> int:
    return -shape.top


def _by_priority(entry: Entry) -> int:
    return -entry.priority
