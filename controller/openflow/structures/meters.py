"""Meters and their bands."""

from __future__ import annotations

from controller.openflow.bodies import (
    BandCounters,
    MeterDesc,
    MeterDescReply,
    MeterDescRequest,
    MeterFeaturesReply,
    MeterFeaturesRequest,
    MeterStats,
    MeterStatsReply,
    MeterStatsRequest,
)
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import DropBand, MeterMod, RemarkBand
from controller.openflow.structures.layout import (
    Fixed,
    Sequence,
    Single,
    Size,
    duration,
    pad,
    part,
    since,
    u8,
    u16,
    u32,
    u64,
)
from controller.openflow.structures.multipart import reply, request
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import Tagged

_BANDS = Sequence(
    Tagged(
        "meter band",
        {
            1: Record(DropBand, u32("rate"), u32("burst"), pad(4)),
            2: Record(RemarkBand, u32("rate"), u32("burst"), u8("precedence"), pad(3)),
        },
        ErrorCode.BAD_REQUEST_BAD_LEN,
        ErrorCode.METER_MOD_FAILED_BAD_BAND,
    )
)

METER_MOD = Record(MeterMod, u16("command"), u16("flags"), u32("meter_id"), part("bands", _BANDS))

_METER_DESC = Record(MeterDesc, Size(), u16("flags"), u32("meter_id"), part("bands", _BANDS))
METER_DESC_REQUEST = request(MeterDescRequest, 10, u32("meter_id"), pad(4))
METER_DESC_REPLY = reply(MeterDescReply, 10, part("meters", Sequence(_METER_DESC)))

_METER_STATS = Record(
    MeterStats,
    u32("meter_id"),
    Size(),
    pad(6),
    u32("references"),
    u64("packets"),
    u64("bytes"),
    duration("duration"),
    part("bands", Sequence(Record(BandCounters, u64("packets"), u64("bytes")))),
)
METER_STATS_REQUEST = request(MeterStatsRequest, 9, u32("meter_id"), pad(4))
METER_STATS_REPLY = reply(MeterStatsReply, 9, part("meters", Sequence(_METER_STATS)))


class _Features(Fixed):
    """Eight bytes, or none."""

    _number = Single("I", 4, code=ErrorCode.BAD_REQUEST_BAD_LEN)

    def encode(self, value: int | None) -> bytes:
        return b"" if value is None else self._number.encode(value)

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[int | None, int]:
        return (None, at) if at == end else self._number.decode(buffer, at, end)


METER_FEATURES_REQUEST = request(MeterFeaturesRequest, 11)
METER_FEATURES_REPLY = reply(
    MeterFeaturesReply,
    11,
    u32("max_meters"),
    u32("band_types"),
    u32("capabilities"),
    u8("max_bands"),
    u8("max_color"),
    pad(2),
    *since(6, part("features", _Features())),
)
