"""TCP throughput between two hosts."""

from __future__ import annotations

import socket
import sys
import time
from dataclasses import dataclass

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class TcpReport:
    """``bps`` counts payload, between connecting and the last byte."""

    payload_bytes: int
    duration_s: float
    bps: float


def send(to: str, port: int, duration_s: float, bind: str | None) -> TcpReport:
    chunk = bytes(_CHUNK)
    sent = 0
    source = (bind, 0) if bind is not None else None
    with socket.create_connection((to, port), timeout=10, source_address=source) as tcp:
        began = time.monotonic()
        while time.monotonic() - began < duration_s:
            sent += tcp.send(chunk)
        tcp.shutdown(socket.SHUT_WR)
        tcp.recv(1)  # The receiver closes when it has everything.
        return _report(sent, time.monotonic() - began)


def receive(port: int) -> TcpReport:
    received = 0
    with socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        print("listening", file=sys.stderr, flush=True)
        tcp, _ = server.accept()
        with tcp:
            began = time.monotonic()
            while chunk := tcp.recv(_CHUNK):
                received += len(chunk)
            return _report(received, time.monotonic() - began)


def _report(payload: int, seconds: float) -> TcpReport:
    return TcpReport(payload, seconds, payload * 8 / seconds if seconds > 0 else 0.0)
