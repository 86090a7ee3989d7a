"""What the session process talks to, scripted: a switch over TCP and a brain on a unix socket."""

from __future__ import annotations

import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from struct import Struct

from controller.openflow.wire import (
    HEADER_BYTES,
    VERSION,
    MessageType,
    MultipartType,
    compose,
    header,
    split,
)
from heald.internal.v1 import session_pb2 as pb

ROOT = Path(__file__).resolve().parents[2]
PEM = ROOT / "tests" / "emulator" / "tls"
DEADLINE_S = 20.0
LIVE = 4

_LENGTH = Struct("!I")
_FEATURES = Struct("!QIBB2xII")
_DESCRIPTION = Struct("!256s256s256s32s256s")
_PORT = Struct("!IH2x6s2x16sII")
_PORT_STATS = Struct("!H2xIII8Q")
_GROUP_STATS = Struct("!H2xII4xQQII")
_BUCKET_STATS = Struct("!QQ")
_MULTIPART = Struct("!HH4x")
_ERROR = Struct("!HH")


def description(manufacturer: str, hardware: str, software: str) -> bytes:
    texts = (text.encode() for text in (manufacturer, hardware, software, "", ""))
    return _DESCRIPTION.pack(*texts)


SAYS = description("Heald", "scripted switch", "1")


def environment(directory: Path) -> dict[str, str]:
    """As in an environment where Heald is installed, whether or not this is one."""
    env = dict(os.environ)
    paths = [str(ROOT)]
    if find_spec("heald_compat") is None:
        (directory / "sitecustomize.py").write_text("import heald_compat\n")
        paths = [str(directory), str(ROOT / "shim"), *paths]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    return env


def eventually(condition: Callable[[], object], what: str, timeout_s: float = DEADLINE_S) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {what}"
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Controller:
    """A running `ryu-manager apps.fabric`."""

    def __init__(
        self,
        directory: Path,
        *options: str,
        descriptors: tuple[int, int] | None = None,
        listens: str = "tcp",
    ) -> None:
        """``descriptors``: its RLIMIT_NOFILE, soft and hard. ``listens``: tcp or ssl."""
        directory.mkdir(exist_ok=True)
        self.port = free_port()
        self.log_path = directory / "controller.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    str(Path(sys.executable).with_name("ryu-manager")),
                    "apps.fabric",
                    f"--ofp-{listens}-listen-port={self.port}",
                    *options,
                ],
                env=environment(directory),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if descriptors is not None:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, descriptors)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def await_log(self, text: str) -> None:
        eventually(lambda: text in self.log or self.process.poll() is not None, f"log: {text}")
        assert text in self.log, self.log

    def await_listening(self) -> None:
        def listens() -> bool:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return self.process.poll() is not None

        eventually(listens, "listening")
        assert self.process.poll() is None, self.log

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(5)
        finally:
            self.process.kill()


class Brain:
    """Listens at ``path``, greets, and gives credit; ``next`` waits for a message of a kind."""

    def __init__(self, path: Path, epoch: int = 1) -> None:
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(DEADLINE_S)
        self._epoch = epoch
        self._connection: socket.socket | None = None
        self.skipped: list[pb.FromSession] = []

    def accept(self, switches: dict[int, str], credit: int = 1 << 24) -> None:
        """Take a session process's connection and tell it which switches there are."""
        self._connection, _ = self._listener.accept()
        self._connection.settimeout(DEADLINE_S)
        self.send(hello=pb.Hello(protocol_version=1, epoch=self._epoch, process="brain of a test"))
        if credit:
            self.send(credit=pb.Credit(bytes=credit))
        self.send(expect=pb.Expect(switches=switches))
        assert self.next("hello").hello.protocol_version == 1
        assert self.next("credit").credit.bytes > 0

    def send(self, **message: object) -> None:
        assert self._connection is not None
        payload = pb.FromBrain(**message).SerializeToString()  # type: ignore[arg-type]
        self._connection.sendall(_LENGTH.pack(len(payload)) + payload)

    def batch(self, dpid: int, session: int, messages: list[bytes], number: int = 1) -> None:
        self.send(
            batch=pb.Batch(
                dpid=dpid,
                session=session,
                epoch=self._epoch,
                plan=1,
                phase=2,
                batch_id=number,
                messages=messages,
            )
        )

    def next(self, kind: str, dpid: int | None = None) -> pb.FromSession:
        """The next message of this kind (of this switch); what came before is in ``skipped``."""
        while True:
            message = self.take()
            found = message.WhichOneof("message")
            if found == kind and dpid in (None, getattr(getattr(message, kind), "dpid", None)):
                return message
            self.skipped.append(message)

    def take(self) -> pb.FromSession:
        """The next message, of whatever kind."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return pb.FromSession.FromString(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        assert self._connection is not None
        data = b""
        while len(data) < count:
            piece = self._connection.recv(count - len(data))
            assert piece, "the session process closed the link"
            data += piece
        return data

    def shut_down(self) -> None:
        """End the link also for a thread that waits for a message."""
        assert self._connection is not None
        self._connection.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        self.hang_up()
        self._listener.close()


SILENCE = b"nothing at all"
"""What a switch says that never answers when it is asked what it is."""


class Answers:
    """What an OpenFlow 1.5 switch answers to what it is asked.

    ``errors`` maps a message's position among the modifications (flow, group, meter) to the (type,
    code) that it is refused with. ``says``: the body of its description; None refuses to describe,
    SILENCE is no answer.
    """

    def __init__(self, dpid: int, says: bytes | None = SAYS) -> None:
        self.dpid = dpid
        self.errors: dict[int, tuple[int, int]] = {}
        self.modifications: list[bytes] = []
        self.flows: list[bytes] = []
        self.ports = port_desc(1, LIVE) + port_desc(2, 1)
        self._says = says

    def answer(self, message: bytes) -> bytes:
        head = header(message)
        kind, xid = head.type, head.xid
        if kind == MessageType.ECHO_REQUEST:
            return compose(MessageType.ECHO_REPLY, message[HEADER_BYTES:], xid)
        if kind == MessageType.FEATURES_REQUEST:
            return features(self.dpid, xid)
        if kind == MessageType.BARRIER_REQUEST:
            return compose(MessageType.BARRIER_REPLY, xid=xid)
        if kind == MessageType.MULTIPART_REQUEST:
            return self._multipart(message, xid)
        if kind in (MessageType.FLOW_MOD, MessageType.GROUP_MOD, MessageType.METER_MOD):
            self.modifications.append(message)
            error = self.errors.get(len(self.modifications) - 1)
            if error is not None:
                return compose(MessageType.ERROR, _ERROR.pack(*error) + message[:64], xid)
        return b""

    def _multipart(self, message: bytes, xid: int) -> bytes:
        (kind, _) = _MULTIPART.unpack_from(message, HEADER_BYTES)
        if kind == MultipartType.DESC and self._says is SILENCE:
            return b""
        bodies = {
            MultipartType.DESC: [self._says or b""],
            MultipartType.PORT_DESC: [self.ports],
            MultipartType.FLOW_DESC: self.flows or [b""],
            MultipartType.PORT_STATS: [port_stats(1, 1000), port_stats(2, 2000)],
            MultipartType.GROUP_STATS: [group_stats(0x48000001, [7, 9])],
        }.get(MultipartType(kind), [b""])
        if kind == MultipartType.QUEUE_STATS or (kind == MultipartType.DESC and self._says is None):
            return compose(MessageType.ERROR, _ERROR.pack(9, 0) + message[:64], xid)
        return b"".join(
            compose(
                MessageType.MULTIPART_REPLY,
                _MULTIPART.pack(kind, index < len(bodies) - 1) + body,
                xid,
            )
            for index, body in enumerate(bodies)
        )


class Switch(Answers):
    """An OpenFlow 1.5 switch on a thread of its own; ``received`` holds all messages. Clear
    ``reads`` to stall it."""

    def __init__(
        self,
        port: int,
        dpid: int,
        hello: bytes | None = None,
        tls: ssl.SSLContext | None = None,
        says: bytes | None = SAYS,
    ) -> None:
        super().__init__(dpid, says)
        self.received: list[bytes] = []
        self.reads = threading.Event()
        self.reads.set()
        self.closed = threading.Event()
        self._socket = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.certificate: bytes | None = None
        """Of the controller, with ``tls``."""
        if tls is not None:
            secured = tls.wrap_socket(self._socket)
            self._socket, self.certificate = secured, secured.getpeercert(binary_form=True)
        self._socket.settimeout(None)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.send(compose(MessageType.HELLO) if hello is None else hello)
        self._thread.start()

    def send(self, message: bytes) -> None:
        self._socket.sendall(message)

    def count(self, kind: MessageType) -> int:
        return sum(message[1] == kind for message in list(self.received))

    def close(self) -> None:
        self.reads.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(DEADLINE_S)
        self._socket.close()

    def _run(self) -> None:
        rest = b""
        try:
            while self.reads.wait():
                data = self._socket.recv(1 << 16)
                if not data:
                    break
                messages, rest = split(rest + data)
                for message in messages:
                    self.received.append(message)
                    answer = self.answer(message)
                    if answer:
                        self._socket.sendall(answer)
        except OSError:
            pass
        self.closed.set()


class RawSwitch:
    """A connection that says only what the test sends."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), DEADLINE_S)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ended(self, within_s: float) -> bool:
        """Whether the controller ends the connection in that time; closes it in any case."""
        deadline_s = time.monotonic() + within_s
        with self._socket:
            while (left_s := deadline_s - time.monotonic()) > 0:
                self._socket.settimeout(left_s)
                try:
                    if not self._socket.recv(1 << 16):
                        return True
                except TimeoutError:
                    break
                except OSError:
                    return True
        return False

    def close(self) -> None:
        self._socket.close()


def switch_tls(with_certificate: bool = True, authority: str = "controllers-ca") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(PEM / f"{authority}.pem"))
    context.check_hostname = False
    if with_certificate:
        context.load_cert_chain(PEM / "switch.pem", PEM / "switch.key")
    return context


def features(dpid: int, xid: int = 1) -> bytes:
    return compose(MessageType.FEATURES_REPLY, _FEATURES.pack(dpid, 0, 5, 0, 0, 0), xid)


def ports_reply(ports: bytes, more: bool = False) -> bytes:
    body = _MULTIPART.pack(MultipartType.PORT_DESC, more) + ports
    return compose(MessageType.MULTIPART_REPLY, body, 1)


def port_desc(number: int, state: int) -> bytes:
    name = f"p{number}".encode()
    return _PORT.pack(number, _PORT.size, bytes(6), name, 0, state)


def port_status(number: int, state: int, deleted: bool = False) -> bytes:
    reason = bytes([1 if deleted else 2]) + bytes(7)
    return compose(MessageType.PORT_STATUS, reason + port_desc(number, state))


def port_stats(number: int, tx_bytes: int) -> bytes:
    return _PORT_STATS.pack(_PORT_STATS.size, number, 1, 0, 0, 0, 0, tx_bytes, 0, 0, 0, 0)


def group_stats(group: int, bucket_bytes: list[int]) -> bytes:
    length = _GROUP_STATS.size + _BUCKET_STATS.size * len(bucket_bytes)
    buckets = b"".join(_BUCKET_STATS.pack(1, count) for count in bucket_bytes)
    return _GROUP_STATS.pack(length, group, 1, 0, 0, 1, 0) + buckets


def hello_of(version: int, bitmap: int) -> bytes:
    """A HELLO of any version; those of `compose` are of 1.5."""
    element = Struct("!HHI").pack(1, 8, bitmap)
    return bytes([version, 0]) + Struct("!HI").pack(HEADER_BYTES + len(element), 1) + element


assert VERSION == 6


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="heald-") as path:
        yield Path(path)
