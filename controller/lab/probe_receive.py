"""A UDP receiver that says what was lost, doubled, reordered, and how long it was silent."""

from __future__ import annotations

import select
import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from controller.lab.probe_send import HEADER, stop_flag

_SO_TIMESTAMPNS = 35
_TRAFFIC_CLASS = (
    (socket.IPPROTO_IP, socket.IP_TOS),
    (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
)
_TIMESPEC = struct.Struct("@qq")
_BUFFER_BYTES = 16 << 20
_SO_RCVBUFFORCE = 33
_TICK_S = 0.05


@dataclass(slots=True)
class ReceiveReport:
    """Counts of packets. Gaps use the kernel's arrival times, so a slow receiver makes none.

    Attributes:
        received: distinct packets; ``duplicates`` come on top.
        missing: holes below the highest sequence number. What was lost at the very end is not in
            it: compare ``received`` with the sender's ``sent``.
        reordered: packets that came after one with a higher number.
        max_gap_ms: the longest time between two arrivals, and where it began.
        max_hole: the longest run of numbers that never came.
        holes: each run of numbers that never came: the time (seconds since 1970) at which the last
            packet before it arrived, and its length.
        bps: received bit/s of payload between the first and the last arrival.
        source_ports: packets by UDP source port.
        dscps: packets by DSCP.
    """

    received: int = 0
    duplicates: int = 0
    missing: int = 0
    reordered: int = 0
    max_gap_ms: float = 0.0
    max_gap_after: int = -1
    max_hole: int = 0
    holes: list[tuple[float, int]] = field(default_factory=list)
    payload_bytes: int = 0
    duration_s: float = 0.0
    bps: float = 0.0
    source_ports: dict[int, int] = field(default_factory=dict)
    dscps: dict[int, int] = field(default_factory=dict)


def receive(port: int, idle_s: float | None, duration_s: float | None) -> ReceiveReport:
    """Receive on all addresses, v4 and v6, until told to stop; one sender at a time."""
    stopped = stop_flag()
    counts = _Counts()
    end = time.monotonic() + (duration_s if duration_s is not None else 1e12)
    heard: float | None = None
    with _listen(port) as udp:
        print("listening", file=sys.stderr, flush=True)
        while True:
            stopping = stopped()  # Asked before the socket is emptied, so that nothing is left.
            if select.select([udp], [], [], 0 if stopping else _TICK_S)[0]:
                heard = time.monotonic()
                _drain(udp, counts)
            now = time.monotonic()
            silent = idle_s is not None and heard is not None and now - heard > idle_s
            if stopping or silent or now > end:
                return counts.report()


def _listen(port: int) -> socket.socket:
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    udp.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    udp.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    udp.bind(("::", port))
    udp.setblocking(False)
    return udp


def _drain(udp: socket.socket, counts: _Counts) -> None:
    while True:
        try:
            data, ancillary, _, address = udp.recvmsg(65535, 256)
        except BlockingIOError:
            return
        if len(data) < HEADER.size:
            continue
        arrival = 0.0
        dscp = 0
        for level, kind, value in ancillary:
            if level == socket.SOL_SOCKET:
                seconds, nanoseconds = _TIMESPEC.unpack_from(value)
                arrival = seconds + nanoseconds * 1e-9
            elif (level, kind) in _TRAFFIC_CLASS:
                dscp = int.from_bytes(value, sys.byteorder) >> 2
        _, sequence = HEADER.unpack_from(data)
        counts.add(sequence, arrival, len(data), address[1], dscp)


class _Counts:
    def __init__(self) -> None:
        self._seen = bytearray()
        self._report = ReceiveReport()
        self._ports: Counter[int] = Counter()
        self._dscps: Counter[int] = Counter()
        self._first = self._last = 0.0
        self._latest = self._highest = -1
        self._jumps: list[tuple[float, int, int]] = []
        """When, and between which numbers; packets in between may have come later."""

    def add(self, sequence: int, arrival: float, size: int, source_port: int, dscp: int) -> None:
        report = self._report
        if sequence >= len(self._seen):
            self._seen.extend(bytes(max(sequence + 1 - len(self._seen), 4096)))
        elif self._seen[sequence]:
            report.duplicates += 1
            return
        self._seen[sequence] = 1
        if report.received == 0:
            self._first = arrival
        elif (gap := (arrival - self._last) * 1e3) > report.max_gap_ms:
            report.max_gap_ms, report.max_gap_after = gap, self._latest
        report.reordered += sequence < self._highest
        if sequence > self._highest + 1 and report.received:
            self._jumps.append((self._last, self._highest + 1, sequence))
        report.received += 1
        report.payload_bytes += size
        self._highest = max(self._highest, sequence)
        self._last, self._latest = arrival, sequence
        self._ports[source_port] += 1
        self._dscps[dscp] += 1

    def report(self) -> ReceiveReport:
        report = self._report
        seen = bytes(self._seen[: self._highest + 1])
        report.missing = seen.count(0)
        report.max_hole = max(map(len, seen.split(b"\1")), default=0)
        report.holes = [
            (when, missing)
            for when, first, end in self._jumps
            if (missing := seen.count(0, first, end))
        ]
        report.duration_s = self._last - self._first
        if report.duration_s > 0:
            report.bps = report.payload_bytes * 8 / report.duration_s
        report.source_ports = dict(sorted(self._ports.items()))
        report.dscps = dict(sorted(self._dscps.items()))
        return report
