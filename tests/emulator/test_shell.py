"""Emulated switches over real connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.emulator import personas
from controller.emulator.shell import address
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.fleet import Fleet
from controller.fabric.load import load
from controller.openflow import encode
from controller.openflow.wire import HEADER_BYTES, MessageType, header

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml"
PERSONA = personas.load("openvswitch-3.1")
DEADLINE_S = 10.0


class Controller:
    """Listens, says hello, and answers nothing."""

    def __init__(self) -> None:
        self.accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.Queue()
        )
        # Since Python 3.13 a stream that nobody holds any more is closed.
        self._held: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Controller:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = ControllerAddress("127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held.append(writer)
        await self.accepted.put((reader, writer))

    async def next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.wait_for(self.accepted.get(), DEADLINE_S)


async def message(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readexactly(HEADER_BYTES), DEADLINE_S)
    return head + await reader.readexactly(header(head).length - HEADER_BYTES)


@contextlib.asynccontextmanager
async def playing(where: ControllerAddress) -> AsyncIterator[Fleet]:
    fabric = load(TOPOLOGY.read_bytes(), TOPOLOGY.name)
    fleet = Fleet(fabric, replace(PERSONA, versions=(6,)), where)
    task = asyncio.get_running_loop().create_task(fleet.run())
    try:
        yield fleet
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_every_switch_connects_and_tells_its_datapath_id() -> None:
    async with Controller() as controller, playing(controller.address) as fleet:
        seen = set()
        for _ in fleet.fabric.switches:
            reader, writer = await controller.next()
            assert header(await message(reader)).type == MessageType.HELLO
            writer.write(encode.hello() + encode.features_request())
            features = await message(reader)
            assert header(features).type == MessageType.FEATURES_REPLY
            seen.add(int.from_bytes(features[8:16], "big"))
        assert seen == {switch.dpid for switch in fleet.fabric.switches}
        assert fleet.counts().connected == len(seen)


async def test_a_switch_whose_connection_ends_comes_back() -> None:
    async with Controller() as controller, playing(controller.address) as fleet:
        for _ in fleet.fabric.switches:
            _, writer = await controller.next()
            writer.close()
        await controller.next()
        assert fleet.counts().connects > len(fleet.fabric.switches)


async def test_a_cut_link_is_told_at_both_ends() -> None:
    async with Controller() as controller, playing(controller.address) as fleet:
        streams = []
        for _ in fleet.fabric.switches:
            reader, writer = await controller.next()
            await message(reader)
            writer.write(encode.hello() + encode.barrier_request())
            assert header(await message(reader)).type == MessageType.BARRIER_REPLY
            streams.append(reader)
        fleet.set_link(fleet.fabric.links[0].name, False)
        told = 0
        for _ in range(2):
            waiting = [asyncio.ensure_future(message(reader)) for reader in streams]
            done, late = await asyncio.wait(
                waiting, timeout=DEADLINE_S, return_when=asyncio.FIRST_COMPLETED
            )
            told += sum(header(each.result()).type == MessageType.PORT_STATUS for each in done)
            streams = [r for r, w in zip(streams, waiting, strict=True) if w in late]
            for each in late:
                each.cancel()
            if told == 2:
                break
        assert told == 2


async def test_a_controller_that_takes_no_answers_gets_to_ask_no_more() -> None:
    async with Controller() as controller, playing(controller.address) as fleet:
        reader, writer = await controller.next()
        await message(reader)
        writer.write(encode.hello())
        question = encode.echo_request(b"x" * 60_000)
        sent = 0
        with contextlib.suppress(asyncio.TimeoutError):
            while sent < 256 << 20:
                writer.write(question)
                await asyncio.wait_for(writer.drain(), 1.0)
                sent += len(question)
        assert sent < 64 << 20
        assert fleet.counts().memory_bytes < 1 << 30


@pytest.mark.parametrize("text", ["", "tcp:", "tcp:host", "udp:host:1", "tcp:host:70000"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="write tcp:HOST:PORT"):
        address.parse(text)


def test_addresses() -> None:
    assert str(address.parse("tcp:127.0.0.1:6653")) == "tcp:127.0.0.1:6653"
    assert str(address.parse("tcp:[::1]:6653")) == "tcp:[::1]:6653"
    with pytest.raises(ValueError, match="private key"):
        address.parse("ssl:127.0.0.1:6653")
