"""The paths that packets really take: which interfaces of the switches send them."""

from __future__ import annotations

import errno
import selectors
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass

from controller.lab.probe_send import stop_flag
from controller.lab.tap import PACKET_OUTGOING, tap

_BUFFER_BYTES = 8 << 20
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class WatchReport:
    """``packets[source port][interface]``: how many packets of that flow left by that interface."""

    packets: dict[int, dict[str, int]]


def watch(port: int, duration_s: float | None, interfaces: list[str]) -> WatchReport:
    """Count UDP packets to ``port`` that leave by ``interfaces``, until told to stop."""
    stopped = stop_flag()
    counts: Counter[tuple[int, str]] = Counter()
    end = time.monotonic() + (duration_s if duration_s is not None else 1e12)
    with selectors.DefaultSelector() as selector:
        for name in interfaces:
            selector.register(tap(name, _filter(port), _BUFFER_BYTES), selectors.EVENT_READ, name)
        print("listening", file=sys.stderr, flush=True)
        stopping = False
        while not stopping:
            stopping = stopped() or time.monotonic() > end
            for key, _ in selector.select(0 if stopping else _TICK_S):
                assert isinstance(key.fileobj, socket.socket)
                _drain(key.fileobj, key.data, counts)
    packets: dict[int, dict[str, int]] = {}
    for (source_port, name), count in sorted(counts.items()):
        packets.setdefault(source_port, {})[name] = count
    return WatchReport(packets)


def _drain(heard: socket.socket, name: str, counts: Counter[tuple[int, str]]) -> None:
    while True:
        try:
            frame, (_, _, kind, _, _) = heard.recvfrom(128)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENETDOWN:
                raise
            return  # Said once when the interface goes down; it may come up again.
        if kind == PACKET_OUTGOING:
            start = 34 if frame[12] == 0x08 else 54
            counts[int.from_bytes(frame[start : start + 2], "big"), name] += 1


def _filter(port: int) -> list[tuple[int, int, int, int]]:
    """Classic BPF: unfragmented UDP over IPv4 without options, or IPv6, to one destination port."""
    ldh, ldb, jeq, jset, ret = 0x28, 0x30, 0x15, 0x45, 0x06
    return [
        (ldh, 0, 0, 12),
        (jeq, 0, 6, 0x0800),
        (ldb, 0, 0, 23),
        (jeq, 0, 10, 17),
        (ldh, 0, 0, 20),
        (jset, 8, 0, 0x3FFF),
        (ldh, 0, 0, 36),
        (jeq, 5, 6, port),
        (jeq, 0, 5, 0x86DD),
        (ldb, 0, 0, 20),
        (jeq, 0, 3, 17),
        (ldh, 0, 0, 56),
        (jeq, 0, 1, port),
        (ret, 0, 0, 128),
        (ret, 0, 0, 0),
    ]
