"""Port, queue and group statistics as columns, one row an entry.

Polled each second from every switch, so nothing here builds an object per entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from controller.openflow.descriptions import entries
from controller.openflow.wire import DecodeError, MultipartType, expect_multipart

Unsigned32: TypeAlias = npt.NDArray[np.uint32]
Unsigned64: TypeAlias = npt.NDArray[np.uint64]

_PORT = np.dtype(
    [("length", ">u2"), ("pad", "V2"), ("port", ">u4"), ("seconds", ">u4"), ("nanoseconds", ">u4")]
    + [
        (name, ">u8")
        for name in (
            "rx_packets",
            "tx_packets",
            "rx_bytes",
            "tx_bytes",
            "rx_dropped",
            "tx_dropped",
            "rx_errors",
            "tx_errors",
        )
    ]
)
_QUEUE = np.dtype(
    [
        ("length", ">u2"),
        ("pad", "V6"),
        ("port", ">u4"),
        ("queue", ">u4"),
        ("tx_bytes", ">u8"),
        ("tx_packets", ">u8"),
        ("tx_errors", ">u8"),
        ("seconds", ">u4"),
        ("nanoseconds", ">u4"),
    ]
)
_GROUP = np.dtype(
    [
        ("length", ">u2"),
        ("pad", "V2"),
        ("group", ">u4"),
        ("references", ">u4"),
        ("pad2", "V4"),
        ("packets", ">u8"),
        ("bytes", ">u8"),
        ("seconds", ">u4"),
        ("nanoseconds", ">u4"),
    ]
)
_BUCKET = np.dtype([("packets", ">u8"), ("bytes", ">u8")])


@dataclass(frozen=True, slots=True, eq=False)
class PortStats:
    """Shape (ports,) each. Counters since ``duration_s``; all ones where a port does not count."""

    port: Unsigned32
    duration_s: npt.NDArray[np.float64]
    rx_packets: Unsigned64
    tx_packets: Unsigned64
    rx_bytes: Unsigned64
    tx_bytes: Unsigned64
    rx_dropped: Unsigned64
    tx_dropped: Unsigned64
    rx_errors: Unsigned64
    tx_errors: Unsigned64


@dataclass(frozen=True, slots=True, eq=False)
class QueueStats:
    """Shape (queues,) each. ``tx_errors`` are drops of the queue."""

    port: Unsigned32
    queue: Unsigned32
    tx_bytes: Unsigned64
    tx_packets: Unsigned64
    tx_errors: Unsigned64


@dataclass(frozen=True, slots=True, eq=False)
class BucketStats:
    """Shape (buckets,) each: the buckets of all groups, those of a group in its own order.

    ``bucket`` counts them within their group from 0: a position, not a bucket id.
    """

    group: Unsigned32
    bucket: Unsigned32
    packets: Unsigned64
    bytes: Unsigned64


def port_stats(message: bytes) -> PortStats:
    """One part of a PORT_STATS reply."""
    expect_multipart(message, MultipartType.PORT_STATS)
    rows = _rows(message, _PORT, "port statistics entry")
    return PortStats(
        port=rows["port"].astype(np.uint32),
        duration_s=rows["seconds"] + rows["nanoseconds"] * 1e-9,
        rx_packets=rows["rx_packets"].astype(np.uint64),
        tx_packets=rows["tx_packets"].astype(np.uint64),
        rx_bytes=rows["rx_bytes"].astype(np.uint64),
        tx_bytes=rows["tx_bytes"].astype(np.uint64),
        rx_dropped=rows["rx_dropped"].astype(np.uint64),
        tx_dropped=rows["tx_dropped"].astype(np.uint64),
        rx_errors=rows["rx_errors"].astype(np.uint64),
        tx_errors=rows["tx_errors"].astype(np.uint64),
    )


def queue_stats(message: bytes) -> QueueStats:
    """One part of a QUEUE_STATS reply."""
    expect_multipart(message, MultipartType.QUEUE_STATS)
    rows = _rows(message, _QUEUE, "queue statistics entry")
    return QueueStats(
        port=rows["port"].astype(np.uint32),
        queue=rows["queue"].astype(np.uint32),
        tx_bytes=rows["tx_bytes"].astype(np.uint64),
        tx_packets=rows["tx_packets"].astype(np.uint64),
        tx_errors=rows["tx_errors"].astype(np.uint64),
    )


def group_stats(message: bytes) -> BucketStats:
    """One part of a GROUP_STATS reply. A group without buckets has no row."""
    expect_multipart(message, MultipartType.GROUP_STATS)
    extents = list(entries(message, _GROUP.itemsize, "group statistics entry"))
    for at, end in extents:
        if (end - at - _GROUP.itemsize) % _BUCKET.itemsize:
            raise DecodeError(f"group statistics entry with half a bucket at offset {at}")
    starts = np.array([at for at, _ in extents], np.intp)
    counts = np.array(
        [(end - at - _GROUP.itemsize) // _BUCKET.itemsize for at, end in extents], np.intp
    )
    bucket = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    offsets = np.repeat(starts + _GROUP.itemsize, counts) + bucket * _BUCKET.itemsize
    counters = _gather(message, offsets, _BUCKET)
    return BucketStats(
        group=np.repeat(_gather(message, starts, _GROUP)["group"].astype(np.uint32), counts),
        bucket=bucket.astype(np.uint32),
        packets=counters["packets"].astype(np.uint64),
        bytes=counters["bytes"].astype(np.uint64),
    )


def _rows(message: bytes, layout: np.dtype[Any], what: str) -> npt.NDArray[Any]:
    """The fixed part of each entry; properties may follow it, of different sizes."""
    starts = [at for at, _ in entries(message, layout.itemsize, what)]
    return _gather(message, np.array(starts, np.intp), layout)


def _gather(
    message: bytes, offsets: npt.NDArray[np.intp], layout: np.dtype[Any]
) -> npt.NDArray[Any]:
    octets = np.frombuffer(message, np.uint8)
    rows: npt.NDArray[Any] = octets[offsets[:, None] + np.arange(layout.itemsize)].view(layout)
    return rows.reshape(len(offsets))
