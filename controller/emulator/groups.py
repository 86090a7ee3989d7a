"""Groups: which buckets a packet takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from controller.emulator.hashing import word
from controller.emulator.program import Step, compile_action_set
from controller.openflow.messages import Selection
from controller.openflow.model import Bucket, GroupType, Output, Port, ToGroup

MAX_SLOTS = 65536
DEFAULT_MAX_SLOTS = 256
_MAX_LIVENESS_DEPTH = 128


@lru_cache(maxsize=1 << 12)
def hash_slots(weights: tuple[int, ...], limit: int = MAX_SLOTS) -> tuple[int, ...] | None:
    """For each value of the masked hash, the bucket (a position); None where there would be more
    than ``limit`` slots, or no weight at all.

    Open vSwitch takes the power of two that gives the lightest bucket a slot, 16 at least, and
    hands the slots out by the Webster (Sainte-Laguë) method: each to the bucket whose weight,
    divided by twice the slots it has plus one, is largest (`group_setup_dp_hash_table`).
    """
    total = sum(weights)
    if not total:
        return None
    lightest = min(w for w in weights if w)
    count = max(16, 1 << (-(-total // lightest) - 1).bit_length())
    if count > limit:
        return None
    values = [float(w) for w in weights]
    divisors = [1] * len(weights)
    slots = []
    for _ in range(count):
        winner = max(range(len(values)), key=values.__getitem__)
        slots.append(winner)
        divisors[winner] += 2
        values[winner] = weights[winner] / divisors[winner]
    return tuple(slots)


@dataclass(slots=True)
class BucketState:
    bucket: Bucket
    steps: tuple[Step, ...]
    packets: int = 0
    bytes: int = 0


class GroupEntry:
    """``slots`` is None where the group is no SELECT, or falls back on hashing bucket by bucket."""

    __slots__ = (
        "buckets",
        "bytes",
        "created",
        "definition",
        "groups",
        "id",
        "packets",
        "selection",
        "slots",
        "type",
    )

    def __init__(
        self,
        group_id: int,
        kind: GroupType,
        buckets: tuple[Bucket, ...],
        selection: Selection | None,
        now: float,
    ) -> None:
        self.id = group_id
        self.type = kind
        self.selection = selection
        self.created = now
        self.packets = self.bytes = 0
        self.definition = buckets
        self.buckets = [BucketState(b, compile_action_set(b.actions)) for b in buckets]
        self.groups = frozenset(
            action.group_id for b in buckets for action in b.actions if isinstance(action, ToGroup)
        )
        self.slots: tuple[int, ...] | None = None
        if kind is GroupType.SELECT and (selection is None or selection.method == "dp_hash"):
            limit = DEFAULT_MAX_SLOTS if selection is None else MAX_SLOTS
            self.slots = hash_slots(tuple(b.weight for b in buckets), limit)

    def ports(self) -> frozenset[int]:
        return frozenset(
            a.port for s in self.buckets for a in s.bucket.actions if isinstance(a, Output)
        )


class GroupTable:
    """All groups of a switch. ``port_is_live`` tells of the ports that buckets watch."""

    def __init__(self, port_is_live: Callable[[int], bool]) -> None:
        self._groups: dict[int, GroupEntry] = {}
        self._port_is_live = port_is_live
        self.counts = dict.fromkeys(GroupType, 0)
        self.changes = 0
        """Counts what was put or removed."""

    def asking(self, port_is_live: Callable[[int], bool]) -> GroupTable:
        """The same groups, which ask another about ports."""
        view = GroupTable(port_is_live)
        view._groups = self._groups
        return view

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group_id: int) -> bool:
        return group_id in self._groups

    def get(self, group_id: int) -> GroupEntry | None:
        return self._groups.get(group_id)

    def all(self) -> list[GroupEntry]:
        return list(self._groups.values())

    def put(self, group: GroupEntry) -> None:
        self.changes += 1
        before = self._groups.get(group.id)
        if before is not None:
            self.counts[before.type] -= 1
        self._groups[group.id] = group
        self.counts[group.type] += 1

    def remove(self, group_id: int) -> None:
        self.changes += 1
        self.counts[self._groups.pop(group_id).type] -= 1

    def is_live(self, group: GroupEntry, state: BucketState, depth: int = 0) -> bool:
        """A bucket without a watch always is; one with weight 0 never in a SELECT group."""
        bucket = state.bucket
        if depth >= _MAX_LIVENESS_DEPTH:
            return False
        if group.type is GroupType.SELECT and not bucket.weight:
            return False
        if bucket.watch_port is None and bucket.watch_group is None:
            return True
        if bucket.watch_port is not None and self._watched_port_is_live(bucket.watch_port):
            return True
        return bucket.watch_group is not None and self.group_is_live(bucket.watch_group, depth + 1)

    def _watched_port_is_live(self, port: int) -> bool:
        # A controller is watched as a port that is there while a controller is.
        return self._port_is_live(port)

    def group_is_live(self, group_id: int, depth: int = 0) -> bool:
        group = self._groups.get(group_id)
        return group is not None and self.first_live(group, depth) is not None

    def first_live(self, group: GroupEntry, depth: int = 0) -> BucketState | None:
        for state in group.buckets:
            if self.is_live(group, state, depth):
                return state
        return None

    def by_slot(self, group: GroupEntry, hashed: int) -> BucketState | None:
        """The bucket of a SELECT group's slot; where that is dead, of the next slot of a live one,
        so that the other flows stay where they are and those moved spread by weight."""
        slots = group.slots
        if slots is None:
            return self._by_score(group, hashed)
        mask = len(slots) - 1
        state = group.buckets[slots[hashed & mask]]
        if self.is_live(group, state):
            return state
        live = [self.is_live(group, s) for s in group.buckets]
        for step in range(1, mask + 1):
            position = slots[hashed + step & mask]
            if live[position]:
                return group.buckets[position]
        return None

    def _by_score(self, group: GroupEntry, basis: int) -> BucketState | None:
        """Where weights need more slots than there may be, or a method has none: the live bucket
        with the highest weighted hash of its id."""
        best, best_score = None, 0
        for state in group.buckets:
            if self.is_live(group, state):
                score = (word(state.bucket.id, basis) & 0xFFFF) * state.bucket.weight
                if score >= best_score:
                    best, best_score = state, score
        return best


def watches_controller(bucket: Bucket) -> bool:
    return bucket.watch_port == Port.CONTROLLER
