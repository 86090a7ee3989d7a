"""A switch that says what no switch should: ``python -m tests.apps.liars PORT DPID SECONDS KIND``.

A process of its own, so that its zeal does not slow those who measure. It ends with one line: how
many connections it made and how many messages it sent.
"""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator
from struct import Struct

from controller.openflow.wire import (
    HEADER_BYTES,
    DecodeError,
    MessageType,
    MultipartType,
    compose,
    split,
)
from tests.apps.peers import (
    LIVE,
    SAYS,
    Answers,
    features,
    group_stats,
    hello_of,
    port_desc,
    port_stats,
    port_status,
    ports_reply,
)

GUISES = 2000
"""Datapath ids that a liar after the handshake uses, from its own on."""
BURST = 50
"""Messages that are sent before the liar looks whether it has been turned away."""
_LENGTH = Struct("!H")
_MULTIPART = Struct("!HH4x")
_PACKET_IN = Struct("!IHBBQ")


def honest_words(dpid: int) -> list[bytes]:
    """Messages of all the kinds that a switch sends, to start from."""
    port = Struct("!HHI4x").pack(1, 12, 0x80000004)
    packet = _PACKET_IN.pack(1, 60, 0, 0, 0) + port + bytes(62)
    replies = {
        MultipartType.DESC: SAYS,
        MultipartType.FLOW_DESC: _LENGTH.pack(40) + bytes(38),
        MultipartType.GROUP_DESC: Struct("!HBxIH6x").pack(16, 1, 7, 0),
        MultipartType.METER_DESC: Struct("!HHI").pack(8, 0, 1),
        MultipartType.PORT_STATS: port_stats(1, 5),
        MultipartType.GROUP_STATS: group_stats(7, [1, 2]),
        MultipartType.QUEUE_STATS: _LENGTH.pack(48) + bytes(46),
    }
    return [
        hello_of(6, 1 << 6),
        features(dpid),
        ports_reply(port_desc(1, LIVE) + port_desc(2, 1)),
        port_status(1, LIVE),
        compose(MessageType.ECHO_REQUEST, b"12345678"),
        compose(MessageType.ECHO_REPLY),
        compose(MessageType.BARRIER_REPLY),
        compose(MessageType.ERROR, Struct("!HH").pack(5, 1) + bytes(64)),
        compose(MessageType.PACKET_IN, packet),
        compose(MessageType.ROLE_REPLY, bytes(16)),
        *(
            compose(MessageType.MULTIPART_REPLY, _MULTIPART.pack(kind, 0) + body, xid)
            for kind, body in replies.items()
            for xid in (1, 6, 8, 9, 10, 11)
        ),
    ]


def lies(dpid: int, chance: random.Random) -> Iterator[bytes]:
    """Without end. Each is a message of an honest switch, with something wrong about it."""
    words = honest_words(dpid)
    while True:
        message = bytearray(chance.choice(words))
        kind = chance.randrange(7)
        inside = chance.randrange(HEADER_BYTES, len(message) + 1) if len(message) > 8 else 8
        if kind == 0:  # a length in it is nothing, or everything
            message[inside & ~1 : (inside & ~1) + 2] = chance.choice(
                (b"\0\0", b"\xff\xff", b"\0\1")
            )
        elif kind == 1:  # cut off, and says so
            del message[inside:]
        elif kind == 2:  # longer than what it holds
            message += chance.randbytes(chance.randrange(1, 5000))
        elif kind == 3:  # a few bits
            for _ in range(chance.randrange(1, 8)):
                message[chance.randrange(len(message))] ^= 1 << chance.randrange(8)
        elif kind == 4:  # noise with a good header
            message[HEADER_BYTES:] = chance.randbytes(chance.randrange(300))
            message[1] = chance.randrange(36)
        elif kind == 5:  # as large as can be
            message += chance.choice((b"\0", b"\xff")) * (0xFFF8 - len(message))
        else:  # noise
            yield chance.randbytes(chance.randrange(1, 200))
            continue
        if chance.random() < 0.9:
            _LENGTH.pack_into(message, 2, len(message))
        yield bytes(message)


class Liar:
    def __init__(self, port: int, dpid: int, kind: str) -> None:
        self._port, self._kind = port, kind
        self._chance = random.Random(dpid)
        self._lies = lies(dpid, self._chance)
        self._dpid = dpid
        self.connections = self.messages = 0

    def run(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            with socket.create_connection(("127.0.0.1", self._port), 10) as connection:
                self.connections += 1
                connection.settimeout(0.5)
                try:
                    if self._kind != "before":
                        self._shake_hands(connection)
                    self._lie(connection, end_s)
                except (OSError, DecodeError):
                    pass

    def _shake_hands(self, connection: socket.socket) -> None:
        # Who has lied is not let in again for a while, so it is another switch each time.
        honest, rest = Answers(self._dpid + self.connections % GUISES), b""
        connection.sendall(compose(MessageType.HELLO))
        while True:
            messages, rest = split(rest + self._heard(connection))
            for message in messages:
                connection.sendall(honest.answer(message))
                if message[1] == MessageType.BARRIER_REQUEST:
                    return

    def _lie(self, connection: socket.socket, end_s: float) -> None:
        if self._kind == "flood":
            # Echo requests whose answers nobody reads.
            echoes = compose(MessageType.ECHO_REQUEST, b"12345678") * 4000
            while time.monotonic() < end_s:
                connection.sendall(echoes)
                self.messages += 4000
        while time.monotonic() < end_s:
            for _ in range(self._chance.randrange(1, BURST)):
                connection.sendall(next(self._lies))
                self.messages += 1
            connection.settimeout(0.02)
            try:
                self._heard(connection)
            except TimeoutError:
                # It may be waiting for the rest of a message: then there will be none.
                if self._chance.random() < 0.3:
                    return

    def _heard(self, connection: socket.socket) -> bytes:
        data = connection.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        return data


if __name__ == "__main__":
    port, dpid, seconds, kind = sys.argv[1:]
    liar = Liar(int(port), int(dpid), kind)
    liar.run(float(seconds))
    print(kind, liar.connections, liar.messages)
