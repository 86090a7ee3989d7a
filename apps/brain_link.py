"""The session process's end of the local socket to the brain.

Frames are a length of four bytes, big-endian, and a message of `heald.internal.v1`. Both sides open
with Hello and a first Credit. A frame may be sent while credit is positive and takes its payload's
length from it, so the last one may overdraw; Hello and Credit are free. The receiver gives back
what it has handled.

What waits to be sent is kept in order and never dropped, with three exceptions: a newer sample
replaces an older one of the same switch, a newer state of a port takes the place of an older one in
the same session, and of frames that were heard no more than a few wait. After any break all of it
is forgotten, for the switches are told anew.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, Protocol

from eventlet import event
from eventlet.green import socket
from google.protobuf.message import DecodeError
from ryu.lib import hub

from heald.internal.v1 import session_pb2 as pb

PROTOCOL_VERSION = 1
FRAME_LIMIT_BYTES = 64 << 20
WINDOW_BYTES = 16 << 20
OUTBOX_LIMIT_BYTES = 256 << 20
WRITE_BYTES = 1 << 16
HEARD_LIMIT = 2048
"""So many frames wait; what is heard beyond is shed."""
HEARD_S = 0.05
"""Frames that are heard within this time are one message."""
FIRST_RETRY_S, LAST_RETRY_S = 0.05, 0.5
COMPLAIN_S = 30.0

_LENGTH = Struct("!I")

log = logging.getLogger("heald.link")


class LinkError(Exception):
    """The other side does not keep to the protocol; the text says how."""


class Handler(Protocol):
    """What acts on the brain's words. Calls come from one greenlet, in order."""

    def link_down(self) -> None: ...

    def from_brain(self, message: pb.FromBrain) -> None:
        """May yield to other greenlets, so that a long message does not hold up the process."""


class BrainLink:
    """Keeps one connection to the brain at ``path``; ``run`` is the body of a greenlet.

    ``epoch`` is the highest ever seen: a brain with a lower one has been replaced and is refused.
    ``was_up`` is whether a brain has ever answered.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outbox = _Outbox()
        self._stopped = False
        self.is_up = False
        self.was_up = False
        self.epoch = 0

    def send(self, message: pb.FromSession) -> None:
        """Queue a message; without a link it is dropped, since a resync follows."""
        if self.is_up:
            self._outbox.put(message)

    def sample(self, sample: pb.Sample) -> None:
        """Queue counters in the place of older ones of the same switch."""
        if self.is_up:
            self._outbox.put_sample(sample)

    def heard(self, frame: pb.HeardFrame) -> None:
        """Queue a frame, to be sent with those that are heard soon after."""
        if self.is_up and self._outbox.put_heard(frame):
            hub.spawn_after(HEARD_S, self._outbox.release_heard)

    def shed(self) -> None:
        """Count a frame that was heard and is not passed on."""
        if self.is_up:
            self._outbox.shed()

    def stop(self) -> None:
        self._stopped = True

    def run(self, handler: Handler) -> None:
        retry_s, complain_at_s = FIRST_RETRY_S, time.monotonic() + 10 * LAST_RETRY_S
        while not self._stopped:
            try:
                connection = self._connect()
            except OSError as error:
                if time.monotonic() >= complain_at_s:
                    complain_at_s = time.monotonic() + COMPLAIN_S
                    log.warning(
                        "no brain at %s yet: %s; still trying, switches keep forwarding",
                        self._path,
                        os.strerror(error.errno) if error.errno else error,
                    )
                hub.sleep(retry_s)
                retry_s = min(2 * retry_s, LAST_RETRY_S)
                continue
            began_s = time.monotonic()
            try:
                self._talk(connection, handler)
            except (OSError, LinkError) as error:
                if not self._stopped:
                    log.warning("link to the brain lost: %s; switches keep forwarding", error)
            except Exception:
                # Heald's own mistake: say all of it, and begin anew with every switch.
                log.exception("link to the brain ended by an error; switches keep forwarding")
            finally:
                connection.close()
            if time.monotonic() - began_s > LAST_RETRY_S:
                retry_s = FIRST_RETRY_S
            complain_at_s = time.monotonic() + COMPLAIN_S
            hub.sleep(retry_s)
            retry_s = min(2 * retry_s, LAST_RETRY_S)

    def _connect(self) -> Any:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self._path))
        except OSError:
            connection.close()
            raise
        return connection

    def _talk(self, connection: Any, handler: Handler) -> None:
        self._outbox = outbox = _Outbox()
        hello = pb.Hello(protocol_version=PROTOCOL_VERSION, process=f"session {os.getpid()}")
        outbox.put_free(pb.FromSession(hello=hello))
        outbox.put_free(pb.FromSession(credit=pb.Credit(bytes=WINDOW_BYTES)))
        writer = hub.spawn(_write, connection, outbox)
        try:
            first, _ = _read(connection)
            self._greet(first)
            self.is_up = True
            self._follow(connection, outbox, handler)
        finally:
            hub.kill(writer)
            if self.is_up:
                self.is_up = False
                handler.link_down()

    def _greet(self, message: pb.FromBrain) -> None:
        if message.WhichOneof("message") != "hello":
            raise LinkError("it did not begin with Hello")
        hello = message.hello
        if hello.protocol_version != PROTOCOL_VERSION:
            raise LinkError(
                f"{hello.process} speaks protocol {hello.protocol_version}, this process "
                f"{PROTOCOL_VERSION}: run both from the same release of Heald"
            )
        if hello.epoch < self.epoch:
            raise LinkError(f"{hello.process} has epoch {hello.epoch}, replaced by {self.epoch}")
        self.epoch = hello.epoch
        self.was_up = True
        log.info("linked to %s, epoch %d", hello.process, hello.epoch)

    def _follow(self, connection: Any, outbox: _Outbox, handler: Handler) -> None:
        handled_bytes = 0
        while True:
            message, size = _read(connection)
            kind = message.WhichOneof("message")
            if kind == "credit":
                outbox.grant(message.credit.bytes)
                continue
            if kind == "hello":
                raise LinkError("it sent a second Hello")
            handler.from_brain(message)
            handled_bytes += size
            if handled_bytes >= WINDOW_BYTES // 4:
                outbox.put_free(pb.FromSession(credit=pb.Credit(bytes=handled_bytes)))
                handled_bytes = 0


@dataclass(slots=True)
class _Waiting:
    """``port``: whose state this is, as (dpid, port)."""

    payload: bytes
    port: tuple[int, int] | None = None


class _Outbox:
    """What waits for the brain: free messages first, then the ordered ones, then samples, then
    frames that were heard."""

    def __init__(self) -> None:
        self._free: deque[bytes] = deque()
        self._ordered: deque[_Waiting] = deque()
        self._ordered_bytes = 0
        self._ports: dict[int, dict[int, _Waiting]] = {}
        self._samples: dict[int, pb.Sample] = {}
        self._heard = pb.Heard()
        self._heard_released = False
        self._credit = 0
        self._changed = event.Event()
        self.overflown = False

    def put_free(self, message: pb.FromSession) -> None:
        self._free.append(message.SerializeToString())
        self._wake()

    def put(self, message: pb.FromSession) -> None:
        payload = message.SerializeToString()
        kind = message.WhichOneof("message")
        port = None
        if kind == "port_state":
            port = message.port_state.dpid, message.port_state.port
            older = self._ports.get(port[0], {}).get(port[1])
            if older is not None:
                self._ordered_bytes += len(payload) - len(older.payload)
                older.payload = payload
                return
        elif kind == "connected":
            self._ports.pop(message.connected.dpid, None)
        elif kind == "disconnected":
            self._ports.pop(message.disconnected.dpid, None)
        waiting = _Waiting(payload, port)
        if port is not None:
            self._ports.setdefault(port[0], {})[port[1]] = waiting
        self._ordered.append(waiting)
        self._ordered_bytes += len(payload)
        self.overflown = self._ordered_bytes > OUTBOX_LIMIT_BYTES
        self._wake()

    def put_sample(self, sample: pb.Sample) -> None:
        self._samples[sample.dpid] = sample
        self._wake()

    def put_heard(self, frame: pb.HeardFrame) -> bool:
        """Whether it is the first that waits, and :meth:`release_heard` is to follow."""
        if len(self._heard.frames) >= HEARD_LIMIT:
            self._heard.shed += 1
            return False
        self._heard.frames.append(frame)
        return len(self._heard.frames) == 1

    def shed(self) -> None:
        """To be told with the next frames."""
        self._heard.shed += 1

    def release_heard(self) -> None:
        """Frames have waited long enough for others."""
        self._heard_released = True
        self._wake()

    def grant(self, count: int) -> None:
        self._credit += count
        self._wake()

    def take(self) -> bytes | None:
        """The next payload that may be sent now."""
        if self._free:
            return self._free.popleft()
        if self._credit <= 0:
            return None
        if self._ordered:
            waiting = self._ordered.popleft()
            payload = waiting.payload
            self._ordered_bytes -= len(payload)
            if waiting.port is not None:
                self._forget(waiting, *waiting.port)
        elif self._samples:
            sample = self._samples.pop(next(iter(self._samples)))
            payload = pb.FromSession(sample=sample).SerializeToString()
        elif self._heard_released:
            payload = pb.FromSession(heard=self._heard).SerializeToString()
            self._heard, self._heard_released = pb.Heard(), False
        else:
            return None
        self._credit -= len(payload)
        return payload

    def _forget(self, waiting: _Waiting, dpid: int, port: int) -> None:
        ports = self._ports.get(dpid, {})
        # A later session of the switch may have a message of its own for the port.
        if ports.get(port) is waiting:
            del ports[port]
            if not ports:
                del self._ports[dpid]

    def wait(self) -> None:
        self._changed.wait()
        self._changed = event.Event()

    def _wake(self) -> None:
        if not self._changed.ready():
            self._changed.send()


def _write(connection: Any, outbox: _Outbox) -> None:
    """Body of the writing greenlet; on an error it shuts the socket, which ends the reader."""
    try:
        while True:
            while framed := _framed(outbox):
                connection.sendall(framed)
            if outbox.overflown:
                log.warning("the brain does not read: starting anew with it")
                break
            outbox.wait()
    except OSError:
        pass  # The reader sees the same and says it.
    finally:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _framed(outbox: _Outbox) -> bytes:
    """What may be sent now, but not much more than one call should send; nothing if nothing may."""
    out = bytearray()
    while len(out) < WRITE_BYTES and (payload := outbox.take()) is not None:
        out += _LENGTH.pack(len(payload)) + payload
    return bytes(out)


def _read(connection: Any) -> tuple[pb.FromBrain, int]:
    """The next message and the bytes of its payload. Raises LinkError at the end of the stream."""
    (length,) = _LENGTH.unpack(_read_exactly(connection, _LENGTH.size))
    if length > FRAME_LIMIT_BYTES:
        raise LinkError(f"a frame of {length} bytes; at most {FRAME_LIMIT_BYTES} are allowed")
    message = pb.FromBrain()
    try:
        message.ParseFromString(_read_exactly(connection, length))
    except DecodeError:
        raise LinkError(f"a frame of {length} bytes that is no FromBrain message") from None
    return message, length


def _read_exactly(connection: Any, count: int) -> bytes:
    data = bytearray(count)
    view, at = memoryview(data), 0
    while at < count:
        got = connection.recv_into(view[at:])
        if not got:
            raise LinkError("it closed the connection")
        at += got
    return bytes(data)
