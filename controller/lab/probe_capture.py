"""The packets of one TCP port as a pcap file, which Wireshark and tcpdump read.

Format: draft-ietf-opsawg-pcap, with nanoseconds. A lab's control channel is TCP on the loopback
interface of its namespace; its packets pass a socket there twice, of which the one that arrives is
kept.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from controller.lab.probe_send import stop_flag
from controller.lab.tap import PACKET_OUTGOING, tap

_SO_TIMESTAMPNS = 35
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_TIMESPEC = struct.Struct("@qq")
_BUFFER_BYTES = 16 << 20
_SNAPLEN = 1 << 18
"""More than the largest packet of a loopback interface, so that none is cut."""
_ETHERNET = 1
_MAGIC_NS = 0xA1B23C4D
_TICK_S = 0.05

_FILE_HEADER = struct.Struct("<IHHiIII")
_PACKET_HEADER = struct.Struct("<IIII")


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """``missed``: packets for which there was no room while the disk was busy."""

    packets: int
    missed: int


def capture(port: int, interface: str, file: str) -> CaptureReport:
    """Until told to stop. Each packet is in the file as soon as it is read."""
    stopped = stop_flag()
    with (
        Path(file).open("wb", buffering=0) as out,
        tap(interface, _filter(port), _BUFFER_BYTES) as heard,
    ):
        heard.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        out.write(_FILE_HEADER.pack(_MAGIC_NS, 2, 4, 0, 0, _SNAPLEN, _ETHERNET))
        print("listening", file=sys.stderr, flush=True)
        packets = 0
        while True:
            stopping = stopped()
            if select.select([heard], [], [], 0 if stopping else _TICK_S)[0]:
                packets += _drain(heard, out)
            if stopping:
                statistics = heard.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
                return CaptureReport(packets, struct.unpack("@II", statistics)[1])


def _drain(heard: socket.socket, out: IO[bytes]) -> int:
    packets = 0
    while True:
        try:
            data, ancillary, _, address = heard.recvmsg(_SNAPLEN, 64)
        except BlockingIOError:
            return packets
        if address[2] == PACKET_OUTGOING:
            continue
        now_ns = time.time_ns()
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                seconds, nanoseconds = _TIMESPEC.unpack_from(value)
                now_ns = seconds * 10**9 + nanoseconds
        out.write(_PACKET_HEADER.pack(*divmod(now_ns, 10**9), len(data), len(data)) + data)
        packets += 1


def _filter(port: int) -> list[tuple[int, int, int, int]]:
    """Classic BPF: TCP over IPv4 (unfragmented) or IPv6, from or to this port."""
    ldh, ldb, ldxb, ldhx, jeq, jset, ret = 0x28, 0x30, 0xB1, 0x48, 0x15, 0x45, 0x06
    return [
        (ldh, 0, 0, 12),
        (jeq, 0, 9, 0x0800),
        (ldb, 0, 0, 23),
        (jeq, 0, 15, 6),
        (ldh, 0, 0, 20),
        (jset, 13, 0, 0x1FFF),
        (ldxb, 0, 0, 14),
        (ldhx, 0, 0, 14),
        (jeq, 9, 0, port),
        (ldhx, 0, 0, 16),
        (jeq, 7, 8, port),
        (jeq, 0, 7, 0x86DD),
        (ldb, 0, 0, 20),
        (jeq, 0, 5, 6),
        (ldh, 0, 0, 54),
        (jeq, 2, 0, port),
        (ldh, 0, 0, 56),
        (jeq, 0, 1, port),
        (ret, 0, 0, _SNAPLEN),
        (ret, 0, 0, 0),
    ]
