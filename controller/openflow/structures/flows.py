"""Flow entries and packets."""

from __future__ import annotations

from typing import Any

from controller.openflow.bodies import (
    AggregateReply,
    AggregateRequest,
    FlowDesc,
    FlowDescReply,
    FlowDescRequest,
    FlowStats,
    FlowStatsReply,
    FlowStatsRequest,
)
from controller.openflow.messages import Counters, FlowMod, FlowRemoved, PacketIn, PacketOut
from controller.openflow.model import Field, Match
from controller.openflow.structures.actions import ACTIONS
from controller.openflow.structures.instructions import INSTRUCTIONS
from controller.openflow.structures.kept import Kept
from controller.openflow.structures.layout import (
    Sequence,
    Size,
    Slot,
    duration,
    pad,
    part,
    rest,
    since,
    u8,
    u16,
    u32,
    u64,
    until,
)
from controller.openflow.structures.matches import COUNTERS, MATCH, REQUESTED_MATCH
from controller.openflow.structures.multipart import reply, request
from controller.openflow.structures.record import Record

PACKET_IN = Record(
    PacketIn,
    u32("buffer_id"),
    u16("total_len"),
    u8("reason"),
    u8("table"),
    u64("cookie"),
    part("match", MATCH),
    pad(2),
    rest("data"),
)


def _in_port(match: Match) -> tuple[int]:
    if [(f.field, f.mask) for f in match.fields] != [(Field.IN_PORT, None)]:
        raise ValueError(f"packet-out with {match}: before OpenFlow 1.5 exactly IN_PORT")
    return (match.fields[0].value,)


PACKET_OUT = Record(
    PacketOut,
    u32("buffer_id"),
    *until(5, Slot("I", "match", lambda port: Match.of({Field.IN_PORT: port}), _in_port)),
    Size("actions"),
    *until(5, pad(6)),
    *since(6, pad(2), part("match", REQUESTED_MATCH)),
    part("actions", ACTIONS),
    rest("data"),
)

FLOW_MOD = Record(
    FlowMod,
    u64("cookie"),
    u64("cookie_mask"),
    u8("table"),
    u8("command"),
    u16("idle_timeout"),
    u16("hard_timeout"),
    u16("priority"),
    u32("buffer_id"),
    u32("out_port"),
    u32("out_group"),
    u16("flags"),
    *until(4, pad(2)),
    *since(5, u16("importance")),
    part("match", REQUESTED_MATCH),
    part("instructions", INSTRUCTIONS),
)

FLOW_REMOVED = Record(
    FlowRemoved,
    *until(
        5,
        u64("cookie"),
        u16("priority"),
        u8("reason"),
        u8("table"),
        duration("counters.duration"),
        u16("idle_timeout"),
        u16("hard_timeout"),
        u64("counters.packets"),
        u64("counters.bytes"),
        part("match", MATCH),
    ),
    *since(
        6,
        u8("table"),
        u8("reason"),
        u16("priority"),
        u16("idle_timeout"),
        u16("hard_timeout"),
        u64("cookie"),
        part("match", MATCH),
        part("counters", COUNTERS),
    ),
    nested={"counters": Counters},
)

_FLOW_DESC = Record(
    FlowDesc,
    Size(),
    *since(6, pad(2)),
    u8("table"),
    pad(1),
    *until(5, duration("counters.duration")),
    u16("priority"),
    u16("idle_timeout"),
    u16("hard_timeout"),
    u16("flags"),
    *until(4, pad(4)),
    *since(5, u16("importance")),
    *until(5, *since(5, pad(2))),
    u64("cookie"),
    *until(5, u64("counters.packets"), u64("counters.bytes")),
    part("match", MATCH),
    *since(6, part("counters", COUNTERS)),
    part("instructions", Kept(INSTRUCTIONS)),
    nested={"counters": Counters},
)

_FLOW_STATS = Record(
    FlowStats,
    Size(),
    pad(2),
    u8("table"),
    u8("reason"),
    u16("priority"),
    part("match", MATCH),
    part("counters", COUNTERS),
)


def _selecting(make: type[Any], kind: int) -> Record:
    return request(
        make,
        kind,
        u8("table"),
        pad(3),
        u32("out_port"),
        u32("out_group"),
        pad(4),
        u64("cookie"),
        u64("cookie_mask"),
        part("match", REQUESTED_MATCH),
    )


FLOW_DESC_REQUEST = _selecting(FlowDescRequest, 1)
FLOW_DESC_REPLY = reply(FlowDescReply, 1, part("flows", Sequence(_FLOW_DESC)))
AGGREGATE_REQUEST = _selecting(AggregateRequest, 2)
AGGREGATE_REPLY = reply(
    AggregateReply,
    2,
    *until(5, u64("counters.packets"), u64("counters.bytes"), u32("counters.flows"), pad(4)),
    *since(6, part("counters", COUNTERS)),
    nested={"counters": Counters},
)
FLOW_STATS_REQUEST = _selecting(FlowStatsRequest, 17)
FLOW_STATS_REPLY = reply(FlowStatsReply, 17, part("flows", Sequence(_FLOW_STATS)))
