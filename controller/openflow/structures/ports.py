"""Ports and queues."""

from __future__ import annotations

from controller.openflow.bodies import (
    EthernetErrors,
    ExperimenterProperty,
    PortDescReply,
    PortDescRequest,
    PortStats,
    PortStatsReply,
    PortStatsRequest,
    QueueConfigReply,
    QueueConfigRequest,
    QueueDesc,
    QueueDescReply,
    QueueDescRequest,
    QueueStats,
    QueueStatsReply,
    QueueStatsRequest,
)
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Ethernet, PortDescription, PortMod, PortStatus
from controller.openflow.structures.layout import (
    Part,
    Sequence,
    Single,
    Size,
    duration,
    mac,
    pad,
    part,
    rest,
    several,
    since,
    text,
    u8,
    u32,
    u64,
    until,
)
from controller.openflow.structures.multipart import reply, request
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import EXPERIMENTER, Property, properties

_BAD_LEN = ErrorCode.BAD_PROPERTY_BAD_LEN
_SPEEDS = ("current", "advertised", "supported", "peer", "current_speed_kbps", "max_speed_kbps")

_PORT = Record(
    PortDescription,
    u32("port"),
    *until(4, pad(4)),
    *since(5, Size(), pad(2)),
    mac("mac"),
    pad(2),
    text("name", 16),
    u32("config"),
    u32("state"),
    *until(4, several("ethernet", "6I", Ethernet, _SPEEDS)),
    *since(
        5,
        properties(
            Property(0, "ethernet", Record(Ethernet, pad(4), *map(u32, _SPEEDS), length=_BAD_LEN))
        ),
    ),
)
PORT_STATUS = Record(PortStatus, u8("reason"), pad(7), part("port", _PORT))
PORT_DESC_REQUEST = request(PortDescRequest, 13, *since(6, u32("port"), pad(4)))
PORT_DESC_REPLY = reply(PortDescReply, 13, part("ports", Sequence(_PORT)))

PORT_MOD = Record(
    PortMod,
    u32("port"),
    pad(4),
    mac("mac"),
    pad(2),
    u32("config"),
    u32("mask"),
    *until(4, u32("advertise"), pad(4)),
    *since(5, properties(Property(0, "advertise", Single("I"), 0))),
)

_COUNTERS = (
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
)
_ERRORS = ("frame", "overrun", "crc", "collisions")
_OTHERS = Property(
    EXPERIMENTER,
    "experimenters",
    Record(
        ExperimenterProperty, u32("experimenter"), u32("exp_type"), rest("data"), length=_BAD_LEN
    ),
)

_PORT_STATS = Record(
    PortStats,
    *since(5, Size(), pad(2)),
    u32("port"),
    *until(4, pad(4)),
    *since(5, duration("duration")),
    *map(u64, _COUNTERS),
    *until(4, several("ethernet", "4Q", EthernetErrors, _ERRORS), duration("duration")),
    *since(
        5,
        properties(
            Property(
                0, "ethernet", Record(EthernetErrors, pad(4), *map(u64, _ERRORS), length=_BAD_LEN)
            ),
            others=_OTHERS,
        ),
    ),
)
PORT_STATS_REQUEST = request(PortStatsRequest, 4, u32("port"), pad(4))
PORT_STATS_REPLY = reply(PortStatsReply, 4, part("ports", Sequence(_PORT_STATS)))

_QUEUE_STATS = Record(
    QueueStats,
    *since(5, Size(), pad(6)),
    u32("port"),
    u32("queue"),
    u64("tx_bytes"),
    u64("tx_packets"),
    u64("tx_errors"),
    duration("duration"),
    *since(5, properties(others=_OTHERS)),
)
QUEUE_STATS_REQUEST = request(QueueStatsRequest, 5, u32("port"), u32("queue"))
QUEUE_STATS_REPLY = reply(QueueStatsReply, 5, part("queues", Sequence(_QUEUE_STATS)))


def _rates(before: int, after: int) -> Part:
    """``before``, ``after``: padding around a rate."""
    rate = Single("H", after, before=before)
    return properties(Property(1, "min_rate", rate), Property(2, "max_rate", rate))


_QUEUE_DESC = Record(
    QueueDesc,
    *until(4, u32("queue")),
    u32("port"),
    *since(5, u32("queue")),
    Size(),
    pad(6),
    *until(4, _rates(4, 6)),
    *since(5, _rates(0, 2)),
)
QUEUE_DESC_REQUEST = request(QueueDescRequest, 15, u32("port"), u32("queue"))
QUEUE_DESC_REPLY = reply(QueueDescReply, 15, part("queues", Sequence(_QUEUE_DESC)))
QUEUE_CONFIG_REQUEST = Record(QueueConfigRequest, u32("port"), pad(4))
QUEUE_CONFIG_REPLY = Record(
    QueueConfigReply, u32("port"), pad(4), part("queues", Sequence(_QUEUE_DESC))
)
