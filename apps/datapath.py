"""The connection to one switch: Ryu's Datapath with bounded buffers and checked input.

What differs from Ryu's own: it reads in large pieces; what was queued is sent in one call; a switch
that does not read delays nobody, and its session ends when its queue is full or nothing moves; dead
peers are found; no unchecked byte reaches Ryu's parsers; and a malformed message ends the session
of its switch instead of the process's patience.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from eventlet import event
from ryu.controller import controller, ofp_event
from ryu.controller.handler import (
    CONFIG_DISPATCHER,
    DEAD_DISPATCHER,
    HANDSHAKE_DISPATCHER,
    MAIN_DISPATCHER,
)
from ryu.lib import hub
from ryu.ofproto import ofproto_parser

from apps.handshake import State, WrongVersionError, for_ryu, hello_failed
from controller.dataplane.session.session import PORT_LIMIT
from controller.openflow import decode, encode
from controller.openflow.wire import DecodeError, Header, MessageType, header, multipart, split

log = logging.getLogger("heald.switch")

SEND_LIMIT_BYTES = 64 << 20
UNREAD_ECHOES_BYTES = 1 << 20
"""Who has so much waiting and asks for more echoes does not read the answers."""
SEND_BYTES = 1 << 18
RECEIVE_BYTES = 1 << 16
SLICE_S = 0.001
"""How long one switch may keep the process busy before the others have their turn."""
SILENCE_S = 4.0
"""A peer is dead when it neither sent anything nor took anything for so long."""
ECHO_INTERVAL_S = 1.0
HANDSHAKE_S = 10.0
"""How long a peer may take from its connection to the last of its ports."""
HANDSHAKE_LIMIT_BYTES = 2 << 20

_STATES = {
    HANDSHAKE_DISPATCHER: State.HANDSHAKE,
    CONFIG_DISPATCHER: State.CONFIG,
    MAIN_DISPATCHER: State.MAIN,
}


class Receiver(Protocol):
    """What takes the messages of a switch once its session is set up."""

    def received(self, head: Header, message: bytes) -> None:
        """Raises DecodeError for a malformed message."""

    def port_changed(self, status: decode.PortStatus) -> None: ...


class SwitchConnection(controller.Datapath):
    """``ports`` are those of the switch as last told; ``receiver`` gets all else once it is set.

    ``name`` is for logs: the switch's in the fabric when known, else its address. ``is_malformed``
    is set when it ends because of what the peer sent. ``refusal`` says why a datapath id may not
    connect, nothing if it may.
    """

    def __init__(
        self, socket: Any, address: tuple[Any, ...], refusal: Callable[[int], str]
    ) -> None:
        self._refusal = refusal
        self._handshake_bytes = 0
        # Not a list: to free millions of messages would hold up all other switches.
        self._queue = bytearray()
        self._queued_bytes = 0
        self._queue_filled = event.Event()
        self._heard_s = self._began_s = time.monotonic()
        self.peer = ":".join(str(part) for part in address[:2])
        self.name = f"switch at {self.peer}"
        self.xid = 0
        self.reason = ""
        self.is_malformed = False
        self.ports: dict[int, decode.PortDesc] = {}
        self.receiver: Receiver | None = None
        super().__init__(socket, address)

    @property
    def is_unfinished(self) -> bool:
        """Whether the handshake is still under way."""
        return self.state not in (MAIN_DISPATCHER, DEAD_DISPATCHER)

    # ---- sending -------------------------------------------------------------------------------

    def take_xids(self, count: int) -> int:
        """The first of ``count`` consecutive transaction ids that nothing else uses."""
        if self.xid + count > self.ofproto.MAX_XID:
            self.xid = 0
        first = self.xid + 1
        self.xid += count
        return first

    def set_xid(self, msg: Any) -> int:
        msg.set_xid(self.take_xids(1))
        return self.xid

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Queue whole messages; never waits. False when the session is over or ends by this."""
        if self.state == DEAD_DISPATCHER:
            return False
        if self._queued_bytes + len(buf) > SEND_LIMIT_BYTES:
            self.drop(f"does not read: {self._queued_bytes >> 20} MiB wait for it")
            return False
        self._queue += buf
        self._queued_bytes += len(buf)
        if not self._queue_filled.ready():
            self._queue_filled.send()
        return True

    def _send_loop(self) -> None:
        try:
            while self.state != DEAD_DISPATCHER:
                self._queue_filled.wait()
                self._queue_filled = event.Event()
                is_full = False
                while self._queue:
                    waiting = memoryview(bytes(self._queue[:SEND_BYTES]))
                    del self._queue[:SEND_BYTES]
                    while waiting:
                        sent = self.socket.send(waiting)
                        if is_full:
                            # There is room again only because the peer took something.
                            self._heard_s = time.monotonic()
                        is_full = sent < len(waiting)
                        self._queued_bytes -= sent
                        waiting = waiting[sent:]
                    hub.sleep(0)
        except TimeoutError:
            self.drop("does not read")
        except OSError as error:
            self.drop(f"connection lost: {_reason(error)}")

    # ---- ending --------------------------------------------------------------------------------

    def drop(self, reason: str) -> None:
        """End the session. The first reason stands."""
        if self.state != DEAD_DISPATCHER:
            self.reason = self.reason or reason
            self.close()

    def warn(self, text: str) -> None:
        log.warning("%s: %s", self.name, text)

    def close(self) -> None:
        if self.state != DEAD_DISPATCHER:
            self.set_state(DEAD_DISPATCHER)
        # Not only the sending half, as in Ryu: a dead peer would never close the other one.
        with contextlib.suppress(OSError):
            self.socket.shutdown(2)

    def _echo_request_loop(self) -> None:
        due_s = time.monotonic()
        while self.state != DEAD_DISPATCHER:
            now_s = time.monotonic()
            # What this process was too busy to hear is not the switch's silence.
            self._heard_s += max(0.0, now_s - due_s - ECHO_INTERVAL_S)
            silent_s = now_s - self._heard_s
            if self.is_unfinished and now_s - self._began_s >= HANDSHAKE_S:
                self.drop(f"no handshake within {HANDSHAKE_S:.0f} s")
            elif silent_s >= SILENCE_S:
                self.drop(f"silent for {silent_s:.0f} s")
            elif silent_s >= ECHO_INTERVAL_S:
                self.send(encode.with_xid(encode.echo_request(), self.take_xids(1)))
            due_s = time.monotonic() + ECHO_INTERVAL_S / 2
            hub.sleep(ECHO_INTERVAL_S / 2)

    # ---- receiving -----------------------------------------------------------------------------

    def _recv_loop(self) -> None:
        rest = b""
        try:
            while self.state != DEAD_DISPATCHER:
                try:
                    data = self.socket.recv(RECEIVE_BYTES)
                except TimeoutError:
                    continue
                if not data:
                    self.drop("closed the connection")
                    break
                self._heard_s = time.monotonic()
                messages, rest = split(rest + data)
                self._receive_all(messages)
        except OSError as error:
            self.drop(f"connection lost: {_reason(error)}")
        except DecodeError as error:
            self.is_malformed = True
            self.drop(f"malformed message: {error}")
        except WrongVersionError as error:
            with contextlib.suppress(OSError):
                self.socket.send(hello_failed(str(error)))
            self.drop(str(error))
        finally:
            with contextlib.suppress(OSError):
                self.socket.close()

    def _receive_all(self, messages: list[bytes]) -> None:
        began_s = time.monotonic()
        for message in messages:
            if self.state == DEAD_DISPATCHER:
                return
            try:
                self._receive(message)
            except DecodeError as error:
                head = header(message)
                raise DecodeError(f"type {head.type}, xid {head.xid}: {error}") from None
            if time.monotonic() - began_s > SLICE_S:
                hub.sleep(0)
                began_s = time.monotonic()

    def _receive(self, message: bytes) -> None:
        head = header(message)
        state = _STATES[self.state]
        if state is not State.MAIN:
            self._handshake_bytes += len(message)
            if self._handshake_bytes > HANDSHAKE_LIMIT_BYTES:
                raise DecodeError(
                    f"more than {HANDSHAKE_LIMIT_BYTES >> 20} MiB before the end of the handshake"
                )
        if head.type == MessageType.FEATURES_REPLY and self.id is not None:
            raise DecodeError("a second FEATURES_REPLY at offset 1")
        if head.type == MessageType.ECHO_REQUEST and self._queued_bytes > UNREAD_ECHOES_BYTES:
            return
        checked = for_ryu(state, head, message)
        if checked is not None:
            self._dispatch_by_ryu(checked)
            if head.type == MessageType.FEATURES_REPLY and (reason := self._refusal(self.id)):
                self.drop(reason)
        elif head.type == MessageType.PORT_STATUS:
            self._port_status(message)
        elif state is State.CONFIG and head.type == MessageType.MULTIPART_REPLY:
            self._port_descriptions(message)
        elif self.receiver is not None:
            self.receiver.received(head, message)

    def _dispatch_by_ryu(self, message: bytes) -> None:
        head = header(message)
        parsed = ofproto_parser.msg(
            self, head.version, head.type, head.length, head.xid, bytearray(message)
        )
        if parsed is None:
            raise DecodeError("refused by Ryu's parser at offset 0")
        happened = ofp_event.ofp_msg_to_ev(parsed)
        self.ofp_brick.send_event_to_observers(happened, self.state)
        for handler in list(self.ofp_brick.get_handlers(happened, self.state)):
            handler(happened)

    def _port_descriptions(self, message: bytes) -> None:
        if self.id is None:
            raise DecodeError("a PORT_DESC reply before the FEATURES_REPLY at offset 1")
        for port in decode.port_descs(message):
            self._keep_port(port)
        _, more = multipart(message)
        if not more:
            self.set_state(MAIN_DISPATCHER)

    def _keep_port(self, port: decode.PortDesc) -> None:
        self.ports[port.port] = port
        if len(self.ports) > PORT_LIMIT:
            raise DecodeError(f"more than {PORT_LIMIT} ports")

    def _port_status(self, message: bytes) -> None:
        status = decode.port_status(message)
        if status.deleted:
            self.ports.pop(status.port.port, None)
        else:
            self._keep_port(status.port)
        if self.receiver is not None:
            self.receiver.port_changed(status)


def _reason(error: OSError) -> str:
    # eventlet gives the symbol where the system gives words.
    return os.strerror(error.errno) if error.errno else str(error)
