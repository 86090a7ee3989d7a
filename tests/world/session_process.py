"""What a session process is for one switch: handshake, ports, and the session once there is a
brain. The shell around the session's logic, as ``apps`` is, without its sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.session.session import Session
from controller.openflow import decode, encode
from controller.openflow.wire import MessageType, header, multipart, split
from heald.internal.v1 import session_pb2 as pb


class Connection:
    """One connection of one switch; implements the session's ``Wire``."""

    peer = "world"

    def __init__(
        self,
        send: Callable[[bytes], None],
        end: Callable[[str], None],
        ready: Callable[[Connection], None],
    ) -> None:
        self.ports: dict[int, decode.PortDesc] = {}
        self.session: Session | None = None
        self.is_ready = False
        self.over = False
        self.warnings: list[str] = []
        self._send, self._end, self._ready = send, end, ready
        self._xid = 0
        self._rest = b""

    def begin(
        self, uplink: Any, dpid: int, number: int, neighbours: Neighbours, clock: Any
    ) -> None:
        self.session = Session(self, uplink, dpid, number, neighbours, clock, epoch=1)
        self.session.begin()

    def ask_whether_there(self) -> None:
        self.send(encode.with_xid(encode.echo_request(), self.take_xids(1)))

    def received(self, data: bytes) -> None:
        messages, self._rest = split(self._rest + data)
        for message in messages:
            if not self.over:
                self._receive(message)

    def _receive(self, message: bytes) -> None:
        head = header(message)
        if head.type == MessageType.HELLO:
            self.send(encode.hello())
            for request in (encode.features_request(), encode.port_desc_request()):
                self.send(encode.with_xid(request, self.take_xids(1)))
        elif head.type == MessageType.ECHO_REQUEST:
            self.send(encode.echo_reply(head.xid, message[8:]))
        elif head.type == MessageType.PORT_STATUS:
            self._port_status(decode.port_status(message))
        elif not self.is_ready and head.type == MessageType.MULTIPART_REPLY:
            self.ports.update((port.port, port) for port in decode.port_descs(message))
            _, more = multipart(message)
            if not more:
                self.is_ready = True
                self._ready(self)
        elif self.session is not None:
            self.session.received(head, message)

    def _port_status(self, status: decode.PortStatus) -> None:
        self.ports[status.port.port] = status.port
        if self.session is not None:
            self.session.port_changed(status)

    # ---- Wire ----

    def take_xids(self, count: int) -> int:
        self._xid += count
        return self._xid - count + 1

    def send(self, buf: bytes) -> bool:
        if self.over:
            return False
        self._send(buf)
        return True

    def drop(self, reason: str) -> None:
        if not self.over:
            self._end(reason)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


__all__ = ["Connection", "pb"]
