"""The brain's end of the socket to session processes: framing, credits, who serves which switch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path

from google.protobuf.message import DecodeError

from heald.internal.v1 import session_pb2 as pb

_log = logging.getLogger("heald.sessions")

PROTOCOL_VERSION = 1
WINDOW_BYTES = 8 << 20
"""What a peer may have sent that we have not yet dealt with."""
MAX_FRAME_BYTES = 64 << 20


class SessionProcess:
    """One connected session process."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.name = "session ?"
        self.switches: dict[int, int] = {}
        """Datapath id to session number of the switches connected there."""
        self._writer = writer
        self._queue: deque[bytes] = deque()
        self._flushing = False
        self._credit = 0
        self._ungranted = 0

    def send(self, message: pb.FromBrain) -> None:
        """Soon; what is sent in one go, to hundreds of switches say, is written in one."""
        self._queue.append(message.SerializeToString())
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    @property
    def keeps_up(self) -> bool:
        """It has read what it was sent: what is sent now arrives now."""
        pending = self._writer.transport.get_write_buffer_size()
        return self._credit > 0 and not self._queue and not pending

    def send_free(self, message: pb.FromBrain) -> None:
        """Hello and Credit need no credit."""
        self._write(message.SerializeToString())

    def credit(self, count: int) -> None:
        self._credit += count
        self._flush()

    def consumed(self, count: int) -> None:
        self._ungranted += count
        if self._ungranted >= WINDOW_BYTES // 4:
            self.send_free(pb.FromBrain(credit=pb.Credit(bytes=self._ungranted)))
            self._ungranted = 0

    def _flush(self) -> None:
        self._flushing = False
        out = []
        # One message may overshoot, so that none is too large to be sent at all.
        while self._queue and self._credit > 0:
            data = self._queue.popleft()
            self._credit -= len(data)
            out.append(data)
        self._write(*out)

    def _write(self, *messages: bytes) -> None:
        if messages and not self._writer.is_closing():
            framed = [len(data).to_bytes(4, "big") + data for data in messages]
            self._writer.write(b"".join(framed))

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class SessionSocket:
    """Listens on a unix socket (mode 0600) and hands every message on.

    ``greeting`` is sent after each Hello; ``on_message`` gets every message but Hello and Credit;
    ``on_lost`` learns of a broken connection, with the switches that it served.
    """

    def __init__(
        self,
        path: Path,
        epoch: int,
        greeting: Callable[[], list[pb.FromBrain]],
        on_message: Callable[[SessionProcess, pb.FromSession], Awaitable[None]],
        on_lost: Callable[[SessionProcess], Awaitable[None]],
    ) -> None:
        self.processes: list[SessionProcess] = []
        self._path, self._epoch = path, epoch
        self._greeting, self._on_message, self._on_lost = greeting, on_message, on_lost
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        mask = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._accept, str(self._path))
        finally:
            os.umask(mask)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in self.processes:
            await process.close()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def greet(self) -> None:
        """Say again what is said first: it may be something else now."""
        for process in self.processes:
            for greeting in self._greeting():
                process.send(greeting)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        process = SessionProcess(writer)
        try:
            await self._serve(process, reader)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        except ValueError as error:
            _log.error("%s: %s; its connection is closed", process.name, error)
        finally:
            if process in self.processes:
                self.processes.remove(process)
                _log.warning("%s is gone", process.name)
                await self._on_lost(process)
            await process.close()

    async def _serve(self, process: SessionProcess, reader: asyncio.StreamReader) -> None:
        process.send_free(
            pb.FromBrain(
                hello=pb.Hello(
                    protocol_version=PROTOCOL_VERSION,
                    epoch=self._epoch,
                    process=f"brain {os.getpid()}",
                )
            )
        )
        first, _ = await self._read(reader)
        if first.WhichOneof("message") != "hello":
            raise ValueError("a session process must open with Hello")
        if first.hello.protocol_version != PROTOCOL_VERSION:
            raise ValueError(
                f"speaks protocol {first.hello.protocol_version}, this brain {PROTOCOL_VERSION}; "
                "install the same release of both"
            )
        process.name = first.hello.process or "session"
        process.send_free(pb.FromBrain(credit=pb.Credit(bytes=WINDOW_BYTES)))
        self.processes.append(process)
        _log.info("%s attached", process.name)
        for greeting in self._greeting():
            process.send(greeting)
        while True:
            message, size = await self._read(reader)
            if message.WhichOneof("message") == "credit":
                process.credit(message.credit.bytes)
                continue
            await self._on_message(process, message)
            process.consumed(size)

    @staticmethod
    async def _read(reader: asyncio.StreamReader) -> tuple[pb.FromSession, int]:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > MAX_FRAME_BYTES:
            raise ValueError(f"announces a message of {size} bytes, more than {MAX_FRAME_BYTES}")
        data = await reader.readexactly(size)
        try:
            return pb.FromSession.FromString(data), size
        except DecodeError:
            raise ValueError(f"sent {size} bytes that are no message") from None
