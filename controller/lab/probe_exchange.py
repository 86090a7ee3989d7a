"""One rank of a collective: sends its part of each step by TCP once it has that of the last.

Told what to do by a file, `Part` as JSON. It connects when a line comes on standard input, and
begins at the next one, so that all ranks begin together.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHUNK = bytes(1 << 16)
_CONNECT_S = 5.0
_SILENT_S = 15.0
_HELLO_BYTES = 4


@dataclass(frozen=True, slots=True)
class Part:
    """``address`` is that of each rank. ``sends`` and ``receives`` have a mapping from rank to
    bytes for each step."""

    rank: int
    port: int
    address: dict[int, str]
    sends: list[dict[int, int]]
    receives: list[dict[int, int]]


@dataclass(frozen=True, slots=True)
class ExchangeReport:
    """Times are of the machine's monotonic clock, the same for all ranks. ``failed`` says in words
    what came to nothing."""

    began_s: float
    ended_s: float
    sent_bytes: int
    failed: str = ""


class _FailedError(Exception):
    pass


def exchange(file: str) -> ExchangeReport:
    raw: dict[str, Any] = json.loads(Path(file).read_text())
    part = Part(
        raw["rank"],
        raw["port"],
        {int(rank): address for rank, address in raw["address"].items()},
        [{int(rank): size for rank, size in step.items()} for step in raw["sends"]],
        [{int(rank): size for rank, size in step.items()} for step in raw["receives"]],
    )
    family = socket.AF_INET6 if ":" in part.address[part.rank] else socket.AF_INET
    own = (part.address[part.rank], part.port)
    try:
        with socket.create_server(own, family=family, backlog=len(part.address)) as server:
            print("listening", file=sys.stderr, flush=True)
            sys.stdin.readline()
            to, heard_from = _connect(part, server)
        print("connected", file=sys.stderr, flush=True)
        sys.stdin.readline()
        began_s = time.monotonic()
        _run(part, to, heard_from)
    except _FailedError as error:
        print("failed", file=sys.stderr, flush=True)
        return ExchangeReport(0.0, 0.0, 0, str(error))
    sent = sum(size for step in part.sends for size in step.values())
    return ExchangeReport(began_s, time.monotonic(), sent)


def _connect(
    part: Part, server: socket.socket
) -> tuple[dict[int, socket.socket], dict[int, socket.socket]]:
    to: dict[int, socket.socket] = {}
    heard_from: dict[int, socket.socket] = {}
    for peer in sorted({peer for step in part.sends for peer in step}):
        where = (part.address[peer], part.port)
        try:
            found = socket.create_connection(where, _CONNECT_S, (part.address[part.rank], 0))
        except OSError as error:
            raise _FailedError(f"no way to {where[0]}: {error.strerror or error}") from None
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.sendall(part.rank.to_bytes(_HELLO_BYTES, "big"))
        to[peer] = found
    expected = {peer for step in part.receives for peer in step}
    server.settimeout(_CONNECT_S)
    while heard_from.keys() != expected:
        try:
            found, _ = server.accept()
            found.settimeout(_CONNECT_S)
            hello = found.recv(_HELLO_BYTES, socket.MSG_WAITALL)
        except OSError:
            missing = ", ".join(part.address[peer] for peer in expected - heard_from.keys())
            raise _FailedError(f"nothing comes from {missing}") from None
        heard_from[int.from_bytes(hello, "big")] = found
    return to, heard_from


def _run(part: Part, to: dict[int, socket.socket], heard_from: dict[int, socket.socket]) -> None:
    """What comes early, of a later step, is counted for that one."""
    received = dict.fromkeys(heard_from, 0)
    due = dict.fromkeys(heard_from, 0)
    in_all = {peer: sum(step.get(peer, 0) for step in part.receives) for peer in heard_from}
    with selectors.DefaultSelector() as selector:
        for peer, found in heard_from.items():
            found.setblocking(False)
            selector.register(found, selectors.EVENT_READ, peer)
        for found in to.values():
            found.setblocking(False)
        for sends, receives in zip(part.sends, part.receives, strict=True):
            left = dict(sends)
            for peer, size in receives.items():
                due[peer] += size
            for peer in left:
                selector.register(to[peer], selectors.EVENT_WRITE, peer)
            while left or any(received[peer] < due[peer] for peer in due):
                ready = selector.select(_SILENT_S)
                if not ready:
                    waits = [part.address[p] for p in due if received[p] < due[p]]
                    waits += [f"{part.address[p]} (to take it)" for p in left]
                    raise _FailedError(f"{_SILENT_S:g} s without a byte from {', '.join(waits)}")
                for key, events in ready:
                    if events & selectors.EVENT_READ:
                        received[key.data] += _read(key.fileobj, part.address[key.data])
                        if received[key.data] == in_all[key.data]:
                            selector.unregister(key.fileobj)
                        continue
                    left[key.data] -= _write(key.fileobj, left[key.data])
                    if not left[key.data]:
                        del left[key.data]
                        selector.unregister(key.fileobj)


def _read(found: Any, address: str) -> int:
    try:
        data = found.recv(1 << 18)
    except BlockingIOError:
        return 0
    except OSError as error:
        raise _FailedError(f"{address}: {error.strerror}") from None
    if not data:
        raise _FailedError(f"{address} has ended before it had sent everything")
    return len(data)


def _write(found: Any, left: int) -> int:
    try:
        sent: int = found.send(_CHUNK[: min(left, len(_CHUNK))])
    except BlockingIOError:
        return 0
    except OSError as error:
        raise _FailedError(str(error.strerror)) from None
    return sent
