"""Entries of one kind of one switch, as objects or as the messages that make them.

A large fabric has hundreds of thousands of entries; they are made in one process, compared and sent
in another. Between processes they travel as one piece of bytes, the messages that add them one
after the other, and become messages or objects only where somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from controller.openflow import encode, messages
from controller.openflow.codec import decode
from controller.openflow.model import Flow, FlowKey, Group, GroupType, Meter, ToGroup

K = TypeVar("K")
V = TypeVar("V")

_TABLE, _PRIORITY, _MATCH = 24, 30, 48
_GROUP_ID = 12
_METER_ID = 12


@dataclass(frozen=True, slots=True)
class _Kind(Generic[K, V]):
    """``arranged`` puts entries into the order in which they are to be added."""

    decode: Callable[[Any], V]
    key: Callable[[bytes], K]
    arranged: Callable[[Mapping[K, V]], Iterable[tuple[K, bytes]]]


class Entries(Mapping[K, V]):
    """Immutable; equal to another when both hold equal entries. ``messages`` are in the order in
    which a switch that holds nothing can take them, and equal for equal entries."""

    __slots__ = ("_encoded", "_entries", "_kind", "_messages", "_packed")

    def __init__(
        self, kind: _Kind[K, V], entries: Mapping[K, V] | None, packed: bytes | None = None
    ) -> None:
        self._kind = kind
        self._entries: dict[K, V] = dict(entries) if entries is not None else {}
        # Whether the messages say what there is; then entries are but those somebody asked for.
        self._encoded = packed is not None
        self._packed = packed
        self._messages: dict[K, bytes] | None = None

    @property
    def messages(self) -> Mapping[K, bytes]:
        if self._messages is None:
            kind = self._kind
            if self._encoded and self._packed is not None:
                key = kind.key
                self._messages = {key(message): message for message in _cut(self._packed)}
            else:
                self._messages = dict(kind.arranged(self._entries))
        return self._messages

    @property
    def packed(self) -> bytes:
        if self._packed is None:
            self._packed = b"".join(self.messages.values())
        return self._packed

    def replaced(self, messages: Mapping[K, bytes]) -> Entries[K, V]:
        """The same with these messages in the place of those of their keys. KeyError for a key that
        is not there. The order stays, so none may refer to other entries than before."""
        old = self.messages
        if missing := [key for key in messages if key not in old]:
            raise KeyError(missing[0])
        made = Entries(self._kind, None)
        made._entries = {k: entry for k, entry in self._entries.items() if k not in messages}
        made._messages = {**old, **messages}
        made._encoded = True
        return made

    def _all(self) -> dict[K, V]:
        if self._encoded and len(self._entries) < len(self.messages):
            for key in self.messages:
                self[key]
        return self._entries

    def __getitem__(self, key: K) -> V:
        found = self._entries.get(key)
        if found is None:
            if not self._encoded:
                raise KeyError(key)
            found = self._kind.decode(decode(self.messages[key]).message)
            self._entries[key] = found
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._entries or (self._encoded and key in self.messages)

    def __iter__(self) -> Iterator[K]:
        return iter(self.messages if self._encoded else self._entries)

    def __len__(self) -> int:
        return len(self.messages if self._encoded else self._entries)

    def items(self) -> ItemsView[K, V]:
        return self._all().items()

    def values(self) -> ValuesView[V]:
        return self._all().values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Entries):
            if self._encoded and other._encoded:
                return self is other or self.packed == other.packed
            return self._all() == other._all()
        return self._all() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._all())


def _cut(packed: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(packed):
        end = at + (packed[at + 2] << 8 | packed[at + 3])
        yield packed[at:end]
        at = end


# ---- flows ----


def flows(
    entries: Mapping[FlowKey, Flow] | None, packed: bytes | None = None
) -> Entries[FlowKey, Flow]:
    """Those that overlap: the one of higher priority first; later tables before earlier ones."""
    return Entries(_FLOWS, entries, packed)


def _flow_key(message: bytes) -> FlowKey:
    length = message[_MATCH + 2] << 8 | message[_MATCH + 3]
    end = _MATCH + (length + 7) // 8 * 8
    priority = message[_PRIORITY] << 8 | message[_PRIORITY + 1]
    return FlowKey(message[_TABLE], priority, message[_MATCH:end])


def _flow(mod: messages.FlowMod) -> Flow:
    return Flow(mod.table, mod.priority, mod.match, mod.instructions, mod.cookie)


def _arranged_flows(entries: Mapping[FlowKey, Flow]) -> Iterable[tuple[FlowKey, bytes]]:
    made = [(key, encode.flow_add(flow)) for key, flow in entries.items()]
    made.sort(key=lambda item: (-item[0].table, -item[0].priority, item[1]))
    return made


# ---- groups ----


def groups(entries: Mapping[int, Group] | None, packed: bytes | None = None) -> Entries[int, Group]:
    """Groups after those that they refer to."""
    return Entries(_GROUPS, entries, packed)


def children(group: Group) -> Iterator[int]:
    """The groups that a group refers to."""
    for bucket in group.buckets:
        if bucket.watch_group is not None:
            yield bucket.watch_group
        for action in bucket.actions:
            if isinstance(action, ToGroup):
                yield action.group_id


def _group(mod: messages.GroupMod) -> Group:
    return Group(mod.group_id, GroupType(mod.type), mod.buckets)


def _arranged_groups(entries: Mapping[int, Group]) -> Iterable[tuple[int, bytes]]:
    """By id where that leaves a choice. Groups that refer to each other in a circle, which only a
    foreign hand can have made, come in some order."""
    done: dict[int, bytes] = {}
    seen: set[int] = set()

    def visit(group_id: int) -> None:
        if group_id in seen or group_id not in entries:
            return
        seen.add(group_id)
        group = entries[group_id]
        for child in sorted(set(children(group))):
            visit(child)
        done[group_id] = encode.group_add(group)

    for group_id in sorted(entries):
        visit(group_id)
    return done.items()


# ---- meters ----


def meters(entries: Mapping[int, Meter] | None, packed: bytes | None = None) -> Entries[int, Meter]:
    return Entries(_METERS, entries, packed)


def _meter(mod: messages.MeterMod) -> Meter:
    (band,) = mod.bands
    assert isinstance(band, messages.DropBand)
    return Meter(mod.meter_id, band.rate, band.burst)


def _arranged_meters(entries: Mapping[int, Meter]) -> Iterable[tuple[int, bytes]]:
    return [(meter_id, encode.meter_add(entries[meter_id])) for meter_id in sorted(entries)]


def _word(at: int) -> Callable[[bytes], int]:
    def read(message: bytes) -> int:
        return int.from_bytes(message[at : at + 4], "big")

    return read


_FLOWS: _Kind[FlowKey, Flow] = _Kind(_flow, _flow_key, _arranged_flows)
_GROUPS: _Kind[int, Group] = _Kind(_group, _word(_GROUP_ID), _arranged_groups)
_METERS: _Kind[int, Meter] = _Kind(_meter, _word(_METER_ID), _arranged_meters)
