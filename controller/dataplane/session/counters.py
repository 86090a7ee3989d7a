"""The counters of one switch, put together from the parts of three multipart replies. Pure."""

from __future__ import annotations

from controller.openflow import decode
from controller.openflow.statistics import PortStats
from controller.openflow.wire import MultipartType
from heald.internal.v1 import session_pb2 as pb

LAST_PORT = 0xFFFFFF00
"""Greater numbers are reserved: the switch's own LOCAL port and such."""

KINDS = (MultipartType.PORT_STATS, MultipartType.GROUP_STATS, MultipartType.QUEUE_STATS)


def add(sample: pb.Sample, kind: MultipartType, message: bytes) -> None:
    """Append the rows of one part of a reply of ``kind``. Raises DecodeError."""
    if kind is MultipartType.PORT_STATS:
        _add_ports(sample, decode.port_stats(message))
    elif kind is MultipartType.GROUP_STATS:
        buckets = decode.group_stats(message)
        sample.bucket_group.extend(buckets.group.tolist())
        sample.bucket_index.extend(buckets.bucket.tolist())
        sample.bucket_bytes.extend(buckets.bytes.tolist())
        sample.bucket_packets.extend(buckets.packets.tolist())
    else:
        queues = decode.queue_stats(message)
        sample.queue_port.extend(queues.port.tolist())
        sample.queue_id.extend(queues.queue.tolist())
        sample.queue_bytes.extend(queues.tx_bytes.tolist())
        sample.queue_packets.extend(queues.tx_packets.tolist())
        sample.queue_errors.extend(queues.tx_errors.tolist())


def _add_ports(sample: pb.Sample, ports: PortStats) -> None:
    physical = ports.port <= LAST_PORT
    sample.port.extend(ports.port[physical].tolist())
    sample.rx_bytes.extend(ports.rx_bytes[physical].tolist())
    sample.tx_bytes.extend(ports.tx_bytes[physical].tolist())
    sample.rx_packets.extend(ports.rx_packets[physical].tolist())
    sample.tx_packets.extend(ports.tx_packets[physical].tolist())
    sample.rx_dropped.extend(ports.rx_dropped[physical].tolist())
    sample.tx_dropped.extend(ports.tx_dropped[physical].tolist())
    sample.rx_errors.extend(ports.rx_errors[physical].tolist())
