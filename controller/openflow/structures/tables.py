"""Flow tables, and what a switch is."""

from __future__ import annotations

from struct import Struct
from typing import Any

from controller.openflow.bodies import (
    DescReply,
    DescRequest,
    TableDescReply,
    TableDescRequest,
    TableFeature,
    TableFeatures,
    TableFeaturesReply,
    TableFeaturesRequest,
    TableProperty,
    TableStats,
    TableStatsReply,
    TableStatsRequest,
)
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import TableDescription, TableMod, TableStatus, Vacancy
from controller.openflow.oxm import InexpressibleError, padded
from controller.openflow.structures.layout import (
    Fixed,
    Sequence,
    Single,
    Size,
    pad,
    part,
    since,
    text,
    u8,
    u32,
    u64,
    until,
)
from controller.openflow.structures.multipart import reply, request
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import Property, properties
from controller.openflow.wire import DecodeError

DESC_REQUEST = request(DescRequest, 0)
DESC_REPLY = reply(
    DescReply,
    0,
    text("manufacturer", 256),
    text("hardware", 256),
    text("software", 256),
    text("serial", 32),
    text("datapath", 256),
)

TABLE_STATS_REQUEST = request(TableStatsRequest, 3)
TABLE_STATS_REPLY = reply(
    TableStatsReply,
    3,
    part(
        "tables",
        Sequence(
            Record(TableStats, u8("table"), pad(3), u32("active"), u64("lookups"), u64("matched"))
        ),
    ),
)

_BAD_LEN = ErrorCode.BAD_PROPERTY_BAD_LEN
_PROPERTIES = since(
    5,
    properties(
        Property(2, "eviction", Single("I")),
        Property(
            3,
            "vacancy",
            Record(Vacancy, u8("down"), u8("up"), u8("now"), pad(1), length=_BAD_LEN),
        ),
    ),
)
TABLE_MOD = Record(TableMod, u8("table"), pad(3), u32("config"), *_PROPERTIES)
_TABLE = Record(TableDescription, Size(), u8("table"), pad(1), u32("config"), *_PROPERTIES)
TABLE_STATUS = Record(TableStatus, u8("reason"), pad(7), part("table", _TABLE))
TABLE_DESC_REQUEST = request(TableDescRequest, 14)
TABLE_DESC_REPLY = reply(TableDescReply, 14, part("tables", Sequence(_TABLE)))

_HEAD = Struct("!HH")
_WORD = Struct("!I")
_P = TableProperty
_TYPES = {
    p for p in _P if p <= _P.INSTRUCTIONS_MISS or _P.WRITE_ACTIONS <= p <= _P.APPLY_ACTIONS_MISS
}
_TABLES = {_P.NEXT_TABLES, _P.NEXT_TABLES_MISS, _P.TABLE_SYNC_FROM}
_EXPERIMENTER_FIELDS = 0xFFFF


class _TableFeature(Fixed):
    """A property whose ids are as wide as its kind has them."""

    def encode(self, value: TableFeature) -> bytes:
        kind = _P(value.property)
        if kind in _TABLES:
            body = bytes(value.ids)
        elif kind in _TYPES:
            body = b"".join([_HEAD.pack(i, _HEAD.size) for i in value.ids])
        else:
            body = b"".join([_field_id(i) for i in value.ids])
        length = _HEAD.size + len(body)
        return _HEAD.pack(kind, length) + body + bytes(padded(length) - length)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[TableFeature, int]:
        if end - at < _HEAD.size:
            raise DecodeError(f"table property cut off at offset {at}", _BAD_LEN)
        number, length = _HEAD.unpack_from(buffer, at)
        stop, after = at + length, at + padded(length)
        if length < _HEAD.size or after > end or buffer[stop:after].strip(b"\0"):
            raise DecodeError(f"table property length {length} at offset {at}", _BAD_LEN)
        if number not in _KNOWN:
            raise InexpressibleError(
                f"table property of unknown type {number} at offset {at}",
                ErrorCode.BAD_PROPERTY_BAD_TYPE,
            )
        at += _HEAD.size
        kind = _P(number)
        if kind in _TABLES:
            return TableFeature(kind, tuple(buffer[at:stop])), after
        if (stop - at) % 4:
            raise DecodeError(f"table property of {stop - at} bytes at offset {at}", _BAD_LEN)
        ids: list[int] = []
        while at < stop:
            if kind in _TYPES:
                identifier, size = _HEAD.unpack_from(buffer, at)
                if size != _HEAD.size:
                    raise DecodeError(f"id of {size} bytes at offset {at}", _BAD_LEN)
                width = 4
            else:
                (identifier,) = _WORD.unpack_from(buffer, at)
                width = 8 if identifier >> 16 == _EXPERIMENTER_FIELDS else 4
                if at + width > stop:
                    raise DecodeError(f"field id cut off at offset {at}", _BAD_LEN)
                identifier = int.from_bytes(buffer[at : at + width], "big")
            ids.append(identifier)
            at += width
        return TableFeature(kind, tuple(ids)), after


_KNOWN = {int(p) for p in _P}


def _field_id(identifier: int) -> bytes:
    width = 4 if identifier >> 32 == 0 else 8
    of_experimenter = identifier >> (8 * width - 16) == _EXPERIMENTER_FIELDS
    if of_experimenter != (width == 8):
        raise ValueError(
            f"field id {identifier:#x}: 64 bits where it is an experimenter's, else 32"
        )
    return identifier.to_bytes(width, "big")


_TABLE_FEATURES = Record(
    TableFeatures,
    Size(),
    u8("table"),
    *until(5, pad(5)),
    *since(6, u8("command"), u32("features")),
    text("name", 32),
    u64("metadata_match"),
    u64("metadata_write"),
    u32("config"),
    u32("max_entries"),
    part("properties", Sequence(_TableFeature())),
)


def _table_features(make: type[Any]) -> Record:
    return reply(make, 12, part("tables", Sequence(_TABLE_FEATURES)))


TABLE_FEATURES_REQUEST = _table_features(TableFeaturesRequest)
TABLE_FEATURES_REPLY = _table_features(TableFeaturesReply)
