"""A controller's side of real connections, and a fleet that plays for it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from controller.emulator import personas
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.fleet import Fleet
from controller.fabric.model import Fabric
from controller.openflow import messages
from controller.openflow.codec import decode
from controller.openflow.codec import encode as encode_message
from controller.openflow.wire import HEADER_BYTES, header

PERSONA = personas.load("openvswitch-3.1")
VERSION = 6
DEADLINE_S = 20.0

M = TypeVar("M")


async def message(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readexactly(HEADER_BYTES), DEADLINE_S)
    return head + await reader.readexactly(header(head).length - HEADER_BYTES)


class Controller:
    """Listens, and answers nothing."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.Queue()
        )
        self._tls = tls
        # Since Python 3.13 a stream that nobody holds any more is closed.
        self._held: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Controller:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.address = ControllerAddress("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._held:
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held.append(writer)
        await self.accepted.put((reader, writer))

    async def next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.wait_for(self.accepted.get(), DEADLINE_S)

    async def greeted(self, fabric: Fabric) -> Peer:
        """The next switch to connect, once it has told who it is."""
        reader, writer = await self.next()
        peer = Peer("", reader, writer)
        peer.say(messages.Hello((VERSION,)))
        features = await peer.ask(messages.FeaturesRequest(), messages.FeaturesReply)
        peer.unread.clear()
        peer.switch = fabric.switch_by_dpid[features.dpid].name
        return peer

    async def all_of(self, fabric: Fabric) -> dict[str, Peer]:
        peers = [await self.greeted(fabric) for _ in fabric.switches]
        return {peer.switch: peer for peer in peers}


@dataclass
class Peer:
    """One switch, as its controller meets it. ``unread``: what came while something else was
    waited for, with its transaction."""

    switch: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    unread: list[tuple[int, Any]] = field(default_factory=list)
    _xid: int = 1000

    def say(self, said: Any) -> int:
        self._xid += 1
        self.writer.write(encode_message(said, VERSION, self._xid))
        return self._xid

    async def ask(self, request: Any, kind: type[M]) -> M:
        """The answer to this request; errors are answers."""
        xid = self.say(request)
        return await self.next(kind, xid)

    async def next(self, kind: type[M], xid: int | None = None) -> M:
        """The next message of this kind."""
        for each in self.unread:
            if isinstance(each[1], kind) and xid in (None, each[0]):
                self.unread.remove(each)
                return each[1]
        while True:
            decoded = decode(await message(self.reader))
            if isinstance(decoded.message, kind) and xid in (None, decoded.xid):
                return decoded.message
            self.unread.append((decoded.xid, decoded.message))

    async def rest(self) -> bytes:
        """All that still comes before the connection ends."""
        data = b""
        with contextlib.suppress(ConnectionError):
            while more := await asyncio.wait_for(self.reader.read(1 << 16), DEADLINE_S):
                data += more
        return data


@contextlib.asynccontextmanager
async def playing(fabric: Fabric, where: ControllerAddress) -> AsyncIterator[Fleet]:
    fleet = Fleet(fabric, replace(PERSONA, versions=(VERSION,)), where, seed=1)
    task = asyncio.get_running_loop().create_task(fleet.run())
    try:
        yield fleet
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
