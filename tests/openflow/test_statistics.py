"""Statistics replies as columns."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.openflow import decode
from controller.openflow.decode import DecodeError, MessageType, MultipartType

words = st.integers(0, 2**32 - 1)
counters = st.integers(0, 2**64 - 1)
COLUMNS = (
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
)


def reply(kind: MultipartType, body: bytes) -> bytes:
    head = struct.pack("!BBHI", 6, MessageType.MULTIPART_REPLY, 16 + len(body), 0)
    return head + struct.pack("!HH4x", kind, 0) + body


@given(
    st.lists(
        st.tuples(
            words,
            words,
            st.integers(0, 999_999_999),
            st.lists(counters, min_size=8, max_size=8),
            st.integers(0, 6),
        ),
        max_size=5,
    )
)
def test_ports_with_properties_of_any_size(
    ports: list[tuple[int, int, int, list[int], int]],
) -> None:
    body = b"".join(
        struct.pack("!H2xIII8Q", 80 + 8 * extra, port, seconds, nanoseconds, *values)
        + bytes(8 * extra)
        for port, seconds, nanoseconds, values, extra in ports
    )
    got = decode.port_stats(reply(MultipartType.PORT_STATS, body))
    assert got.port.tolist() == [p[0] for p in ports]
    np.testing.assert_allclose(got.duration_s, [p[1] + p[2] / 1e9 for p in ports], rtol=1e-15)
    for index, column in enumerate(COLUMNS):
        values = getattr(got, column)
        assert values.dtype == np.uint64
        assert values.tolist() == [p[3][index] for p in ports]


@given(st.lists(st.tuples(words, words, counters, counters, counters), max_size=5))
def test_queues(queues: list[tuple[int, ...]]) -> None:
    body = b"".join(struct.pack("!H6xIIQQQII", 48, *queue, 1, 2) for queue in queues)
    got = decode.queue_stats(reply(MultipartType.QUEUE_STATS, body))
    columns = (got.port, got.queue, got.tx_bytes, got.tx_packets, got.tx_errors)
    assert [tuple(row) for row in zip(*(c.tolist() for c in columns), strict=True)] == queues


@given(st.lists(st.tuples(words, st.lists(st.tuples(counters, counters), max_size=4)), max_size=5))
def test_buckets_of_groups_in_their_own_order(
    groups: list[tuple[int, list[tuple[int, int]]]],
) -> None:
    body = b"".join(
        struct.pack("!H2xII4xQQII", 40 + 16 * len(buckets), group, 1, 2, 3, 4, 5)
        + b"".join(struct.pack("!QQ", *bucket) for bucket in buckets)
        for group, buckets in groups
    )
    got = decode.group_stats(reply(MultipartType.GROUP_STATS, body))
    columns = (got.group, got.bucket, got.packets, got.bytes)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == [
        (group, index, *bucket) for group, buckets in groups for index, bucket in enumerate(buckets)
    ]


@pytest.mark.parametrize("length", [0, 79, 81, 0xFFFF])
def test_a_port_entry_of_a_wrong_length_is_refused(length: int) -> None:
    body = struct.pack("!H", length) + bytes(78)
    with pytest.raises(DecodeError, match=rf"port statistics entry length {length} at offset 16"):
        decode.port_stats(reply(MultipartType.PORT_STATS, body))


def test_half_a_bucket_is_refused() -> None:
    body = struct.pack("!H", 48) + bytes(46)
    with pytest.raises(DecodeError, match="half a bucket at offset 16"):
        decode.group_stats(reply(MultipartType.GROUP_STATS, body))
