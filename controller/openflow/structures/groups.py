"""Groups and their buckets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.openflow.bodies import (
    BucketCounters,
    GroupDesc,
    GroupDescReply,
    GroupDescRequest,
    GroupFeaturesReply,
    GroupFeaturesRequest,
    GroupStats,
    GroupStatsReply,
    GroupStatsRequest,
)
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import GroupMod, Selection
from controller.openflow.model import ANY_GROUP, Bucket, GroupType, Port
from controller.openflow.structures.actions import ACTIONS
from controller.openflow.structures.kept import Kept
from controller.openflow.structures.layout import (
    Codec,
    Part,
    Sequence,
    Single,
    Size,
    Slot,
    constant,
    duration,
    optional_u32,
    pad,
    part,
    since,
    text,
    u8,
    u16,
    u32,
    u64,
    until,
)
from controller.openflow.structures.matches import FIELD_MASKS
from controller.openflow.structures.multipart import reply, request
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import EXPERIMENTER, Property, properties

_NETRONOME = 0x154D


def _bucket(weight: int, always: bool) -> Record:
    """``weight``: of one that does not say it, ``always``: it is written even so."""
    return Record(
        Bucket,
        Size(),
        *until(
            5,
            u16("weight"),
            optional_u32("watch_port", Port.ANY),
            optional_u32("watch_group", ANY_GROUP),
            pad(4),
        ),
        *since(6, Size("actions"), u32("id")),
        part("actions", ACTIONS),
        *since(
            6,
            properties(
                Property(0, "weight", Single("H", 2), weight, always),
                Property(1, "watch_port", Single("I", load=_none_if(Port.ANY))),
                Property(2, "watch_group", Single("I", load=_none_if(ANY_GROUP))),
            ),
        ),
        ignored={"id": 0},
        length=ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET,
    )


def _none_if(nothing: int) -> Any:
    return lambda number: None if number == nothing else number


class _Buckets:
    def __init__(self, bucket: Record) -> None:
        self._many = Sequence(bucket)

    def at(self, version: int) -> Codec:
        codec = self._many.at(version)
        return codec if version >= 6 else _Numbered(codec)


class _Numbered:
    """Buckets that have no ids on the wire are numbered from 0."""

    def __init__(self, many: Codec) -> None:
        self._many = many

    def encode(self, value: tuple[Bucket, ...]) -> bytes:
        return self._many.encode(value)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        buckets, after = self._many.decode(buffer, at, end)
        return tuple(replace(b, id=i) for i, b in enumerate(buckets)), after


_BUCKETS = Part(
    ("buckets",),
    _Buckets(_bucket(0, False)),
    chosen_by="type",
    choices={GroupType.SELECT: _Buckets(_bucket(1, True))},
)
_KEPT_BUCKETS = replace(
    _BUCKETS,
    structure=Kept(_BUCKETS.structure),
    choices={kind: Kept(structure) for kind, structure in (_BUCKETS.choices or {}).items()},
)
_SELECTION = Record(
    Selection,
    constant("I", _NETRONOME, ErrorCode.BAD_PROPERTY_BAD_EXPERIMENTER),
    constant("I", 1, ErrorCode.BAD_PROPERTY_BAD_EXP_TYPE),
    pad(4),
    text("method", 16),
    u64("parameter"),
    part("fields", FIELD_MASKS),
    length=ErrorCode.BAD_PROPERTY_BAD_LEN,
)
_SELECTING = since(6, properties(Property(EXPERIMENTER, "selection", _SELECTION)))

GROUP_MOD = Record(
    GroupMod,
    u16("command"),
    u8("type"),
    pad(1),
    u32("group_id"),
    *since(6, Size("buckets"), pad(2), u32("command_bucket_id")),
    _BUCKETS,
    *_SELECTING,
)
_GROUP_DESC = Record(
    GroupDesc,
    Size(),
    u8("type"),
    pad(1),
    u32("group_id"),
    *since(6, Size("buckets"), pad(6)),
    _KEPT_BUCKETS,
    *_SELECTING,
)
GROUP_DESC_REQUEST = request(GroupDescRequest, 7, *since(6, u32("group_id"), pad(4)))
GROUP_DESC_REPLY = reply(GroupDescReply, 7, part("groups", Sequence(_GROUP_DESC)))

_GROUP_STATS = Record(
    GroupStats,
    Size(),
    pad(2),
    u32("group_id"),
    u32("references"),
    pad(4),
    u64("packets"),
    u64("bytes"),
    duration("duration"),
    part("buckets", Sequence(Record(BucketCounters, u64("packets"), u64("bytes")))),
)
GROUP_STATS_REQUEST = request(GroupStatsRequest, 6, u32("group_id"), pad(4))
GROUP_STATS_REPLY = reply(GroupStatsReply, 6, part("groups", Sequence(_GROUP_STATS)))


def _four(name: str) -> Slot:
    return Slot("4I", name, lambda *raw: raw, lambda v: v)


GROUP_FEATURES_REQUEST = request(GroupFeaturesRequest, 8)
GROUP_FEATURES_REPLY = reply(
    GroupFeaturesReply, 8, u32("types"), u32("capabilities"), _four("max_groups"), _four("actions")
)
