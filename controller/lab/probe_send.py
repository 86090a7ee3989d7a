"""A UDP sender with a constant rate that sleeps between packets."""

from __future__ import annotations

import ctypes
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from controller.lab.kernel import go_first

HEADER = struct.Struct("!IQ")
"""Start of each payload: the sender's random number, and the sequence number from 0."""

_NICE = -10
_PR_SET_TIMERSLACK = 29
_LONGEST_SLEEP_S = 0.05
_FINEST_TICK_S = 0.0002
_MOST_SOCKETS = 256
_MOST_BEHIND_S = 0.1
"""A sender that was stopped for longer goes on at its rate; it does not send all at once."""


@dataclass(frozen=True, slots=True)
class SendReport:
    """``late_ms`` is the longest time by which a packet missed its moment."""

    sent: int
    errors: int
    duration_s: float
    late_ms: float


def frame_bytes(payload: int, version: int) -> int:
    """Length of the Ethernet frame, without FCS, around a UDP payload."""
    return payload + 8 + (20 if version == 4 else 40) + 14


def send(
    to: str,
    port: int,
    rate_pps: float | None,
    rate_bps: float | None,
    duration_s: float | None,
    count: int | None,
    size: int,
    bind: str | None,
    source_ports: int,
    first_source_port: int,
    dscp: int,
) -> SendReport:
    """Send until ``duration_s`` or ``count`` is reached, or a TERM comes."""
    version = ip_address(to).version
    if rate_pps is None:
        assert rate_bps is not None
        rate_pps = rate_bps / 8 / frame_bytes(size, version)
    emit = _emitter(version, (to, port), bind, source_ports, first_source_port, dscp)
    run = int.from_bytes(struct.pack("!d", time.time())[4:], "big")
    payload = bytearray(max(size, HEADER.size))

    def send_one(sequence: int) -> None:
        HEADER.pack_into(payload, 0, run, sequence)
        emit(sequence, payload)

    return paced(send_one, rate_pps, duration_s, count)


def paced(
    emit: Callable[[int], object], rate_pps: float, duration_s: float | None, count: int | None
) -> SendReport:
    """Call ``emit(0)``, ``emit(1)``, ... at a constant rate until one of the ends, or a TERM."""
    stopped = stop_flag()
    go_first(_NICE)
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    last = count if count is not None else 2**62
    sent = errors = 0
    late = 0.0
    began = origin = time.monotonic()
    end = began + (duration_s if duration_s is not None else 1e12)
    while sent < last and not stopped():
        now = time.monotonic()
        if now >= end:
            break
        behind = now - origin - sent / rate_pps
        late = max(late, behind)
        if behind > _MOST_BEHIND_S:
            origin += behind
        due = min(last, int((now - origin) * rate_pps) + 1)
        while sent < due:
            try:
                emit(sent)
            except OSError:
                errors += 1  # Such as "no route" while a link is down; the packet counts as lost.
            sent += 1
        pause = max(origin + sent / rate_pps - time.monotonic(), _FINEST_TICK_S)
        time.sleep(min(pause, _LONGEST_SLEEP_S))
    return SendReport(sent, errors, time.monotonic() - began, late * 1e3)


def _emitter(
    version: int,
    target: tuple[str, int],
    bind: str | None,
    source_ports: int,
    first: int,
    dscp: int,
) -> Callable[[int, bytearray], object]:
    """A function (sequence number, payload) that sends from the source port whose turn it is."""

    def open_socket(index: int) -> socket.socket:
        s = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        if version == 4:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
        s.bind((bind or ("0.0.0.0" if version == 4 else "::"), first + index))
        s.connect(target)
        return s

    if source_ports <= _MOST_SOCKETS:
        sockets = [open_socket(i) for i in range(source_ports)]
        return lambda sequence, payload: sockets[sequence % source_ports].send(payload)

    def once(sequence: int, payload: bytearray) -> None:
        with open_socket(sequence % source_ports) as s:
            s.send(payload)

    return once


def stop_flag() -> Callable[[], bool]:
    """From now on TERM and INT only make the returned function true."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return lambda: stopped
