"""The brain's socket as a session process meets it."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controller.brain.session_socket import (
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    WINDOW_BYTES,
    SessionProcess,
    SessionSocket,
)
from heald.internal.v1 import session_pb2 as pb


class Brain:
    def __init__(self, path: Path) -> None:
        self.messages: asyncio.Queue[pb.FromSession] = asyncio.Queue()
        self.lost: asyncio.Queue[SessionProcess] = asyncio.Queue()
        self.socket = SessionSocket(
            path,
            7,
            lambda: [pb.FromBrain(poll=pb.Poll(interval_s=1.0))],
            self._message,
            self.lost.put,
        )

    async def _message(self, process: SessionProcess, message: pb.FromSession) -> None:
        await self.messages.put(message)


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    @staticmethod
    async def attach(path: Path, version: int = PROTOCOL_VERSION) -> Peer:
        peer = Peer(*await asyncio.open_unix_connection(str(path)))
        hello = pb.Hello(protocol_version=version, process="session test")
        peer.send(pb.FromSession(hello=hello))
        return peer

    def send(self, message: pb.FromSession) -> None:
        data = message.SerializeToString()
        self.writer.write(len(data).to_bytes(4, "big") + data)

    async def read(self) -> pb.FromBrain:
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        return pb.FromBrain.FromString(await self._reader.readexactly(size))

    async def ended(self) -> bool:
        return await self._reader.read() == b""


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "session.sock"


@pytest.fixture
async def brain(path: Path) -> AsyncIterator[Brain]:
    brain = Brain(path)
    await brain.socket.start()
    yield brain
    await brain.socket.stop()


async def test_it_greets_with_its_epoch_and_then_says_what_to_do(brain: Brain, path: Path) -> None:
    peer = await Peer.attach(path)
    assert (await peer.read()).hello.epoch == 7
    assert (await peer.read()).credit.bytes == WINDOW_BYTES
    peer.send(pb.FromSession(credit=pb.Credit(bytes=1000)))
    assert (await peer.read()).poll.interval_s == 1.0


async def test_only_this_user_may_connect(brain: Brain, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_nothing_is_sent_beyond_the_credit(brain: Brain, path: Path) -> None:
    peer = await Peer.attach(path)
    await peer.read()
    await peer.read()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(peer.read(), 0.2)
    peer.send(pb.FromSession(credit=pb.Credit(bytes=1)))
    # The last message may overdraw; the next waits until that has been made good.
    assert (await peer.read()).WhichOneof("message") == "poll"
    brain.socket.processes[0].send(pb.FromBrain(poll=pb.Poll(interval_s=2.0)))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(peer.read(), 0.2)
    peer.send(pb.FromSession(credit=pb.Credit(bytes=1000)))
    assert (await peer.read()).poll.interval_s == 2.0


async def test_credit_comes_back_for_what_has_been_handled(brain: Brain, path: Path) -> None:
    peer = await Peer.attach(path)
    await peer.read()
    await peer.read()
    big = pb.FromSession(readback=pb.Readback(flows=[bytes(WINDOW_BYTES // 3)]))
    peer.send(big)
    await brain.messages.get()
    assert (await peer.read()).credit.bytes == len(big.SerializeToString())


@pytest.mark.parametrize(
    "first",
    [
        b"\xff\xff\xff\xff",
        (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
        b"\0\0\0\3abc",
        b"\0\0\0\0",
    ],
)
async def test_a_peer_that_talks_nonsense_is_cut_off_and_others_are_not(
    brain: Brain, path: Path, first: bytes
) -> None:
    honest = await Peer.attach(path)
    await honest.read()
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(first)
    peer = Peer(reader, writer)
    await peer.read()  # its hello
    assert await asyncio.wait_for(peer.ended(), 5)
    honest.send(pb.FromSession(done=pb.Done(dpid=1)))
    assert (await brain.messages.get()).done.dpid == 1


async def test_another_protocol_version_is_refused(brain: Brain, path: Path) -> None:
    peer = await Peer.attach(path, version=PROTOCOL_VERSION + 1)
    await peer.read()
    assert await asyncio.wait_for(peer.ended(), 5)
    assert brain.socket.processes == []


async def test_the_loss_of_a_process_is_told(brain: Brain, path: Path) -> None:
    peer = await Peer.attach(path)
    await peer.read()
    await peer.read()
    peer.writer.close()
    assert (await asyncio.wait_for(brain.lost.get(), 5)).name == "session test"
