"""No bytes make a decoder raise anything but DecodeError, or keep it busy."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.openflow import decode
from controller.openflow.decode import DecodeError, MessageType, MultipartType

DECODERS: list[tuple[Callable[[bytes], object], int, bytes]] = [
    (decode.hello_versions, MessageType.HELLO, b""),
    (decode.features_reply, MessageType.FEATURES_REPLY, b""),
    (decode.port_status, MessageType.PORT_STATUS, b""),
    (decode.packet_in, MessageType.PACKET_IN, b""),
    (decode.error, MessageType.ERROR, b""),
    *(
        (decoder, MessageType.MULTIPART_REPLY, struct.pack("!HH4x", kind, 0))
        for decoder, kind in (
            (decode.flow_descs, MultipartType.FLOW_DESC),
            (decode.group_descs, MultipartType.GROUP_DESC),
            (decode.meter_descs, MultipartType.METER_DESC),
            (decode.description, MultipartType.DESC),
            (decode.port_descs, MultipartType.PORT_DESC),
            (decode.port_stats, MultipartType.PORT_STATS),
            (decode.queue_stats, MultipartType.QUEUE_STATS),
            (decode.group_stats, MultipartType.GROUP_STATS),
        )
    ),
]

# Small numbers are what lengths are made of: they lead further in than uniform bytes.
octets = st.sampled_from([0, 0, 0, 0, 1, 2, 4, 8, 16, 24, 40, 0x48, 0x80, 0xFF]) | st.integers(
    0, 255
)


def check(decoder: Callable[[bytes], object], data: bytes) -> None:
    said = "at offset"
    try:
        decoder(data)
    except DecodeError as problem:
        said = str(problem)
    assert "at offset" in said


def framed(kind: int, body: bytes) -> bytes:
    return struct.pack("!BBHI", 6, kind, 8 + len(body), 0) + body


@pytest.mark.parametrize(("decoder", "kind", "prefix"), DECODERS)
@settings(max_examples=60)
@given(body=st.binary(max_size=200) | st.lists(octets, max_size=200).map(bytes))
def test_random_bodies(
    decoder: Callable[[bytes], object], kind: int, prefix: bytes, body: bytes
) -> None:
    check(decoder, framed(kind, prefix + body))


@given(st.binary(max_size=64))
def test_bytes_that_are_no_message_at_all(data: bytes) -> None:
    for decoder in (*(d for d, _, _ in DECODERS), decode.split, decode.multipart, decode.header):
        check(decoder, data)


@pytest.mark.parametrize(("decoder", "kind", "prefix"), DECODERS)
@pytest.mark.parametrize("filler", [b"\0", b"\x00\x08", b"\x00\x01\x00\x04", b"\0\x20" + bytes(30)])
def test_the_longest_messages_end_soon(
    decoder: Callable[[bytes], object], kind: int, prefix: bytes, filler: bytes
) -> None:
    room = 0xFFFF - 8 - len(prefix)
    message = framed(kind, prefix + (filler * (room // len(filler) + 1))[:room])
    before = time.process_time()
    with contextlib.suppress(DecodeError):
        decoder(message)
    assert time.process_time() - before < 2


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris is not installed: it has wheels for Linux on x86-64, from Python 3.11",
)
def test_fuzzing_guided_by_coverage_finds_nothing(tmp_path: Path) -> None:
    """For the seconds of HEALD_FUZZ_S; 20 in CI, 5 elsewhere."""
    seconds = os.environ.get("HEALD_FUZZ_S") or ("20" if os.environ.get("CI") == "true" else "5")
    script = Path(__file__).with_name("fuzz_decode.py")
    done = subprocess.run(
        [
            sys.executable,
            str(script),
            f"-max_total_time={seconds}",
            f"-artifact_prefix={tmp_path}/",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(script.parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    findings = [path.read_bytes().hex() for path in tmp_path.glob("crash-*")]
    assert done.returncode == 0, f"{findings}\n{done.stderr[-4000:]}"
