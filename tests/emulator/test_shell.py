"""Emulated switches over real connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controller.emulator.shell import address
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.fleet import Fleet
from controller.fabric.load import load
from controller.openflow import encode, messages
from controller.openflow.model import ApplyActions, Match, Output
from controller.openflow.wire import MessageType, header
from tests.emulator import tcp
from tests.emulator.tcp import DEADLINE_S, Controller, message

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml"


@contextlib.asynccontextmanager
async def playing(where: ControllerAddress) -> AsyncIterator[Fleet]:
    async with tcp.playing(load(TOPOLOGY.read_bytes(), TOPOLOGY.name), where) as fleet:
        yield fleet


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


async def test_a_question_is_answered_soon_while_others_are_being_filled() -> None:
    flows = [messages.FlowMod(0, 0, n, Match(), (ApplyActions((Output(1),)),)) for n in range(4000)]
    async with Controller() as controller, playing(controller.address) as fleet:
        peers = await controller.all_of(fleet.fabric)
        asked, *filled = peers.values()
        answered: list[str] = []

        async def ask(peer: tcp.Peer) -> None:
            await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
            answered.append(peer.switch)

        for peer in filled:
            for flow in flows:
                peer.say(flow)
        waiting = [asyncio.ensure_future(ask(peer)) for peer in filled]
        # Once the filling has begun, and long before it ends.
        while not fleet.counts().flows:
            await asyncio.sleep(0)
        await ask(asked)
        held = fleet.counts().flows
        await asyncio.gather(*waiting)
        assert answered[0] == asked.switch
        assert held < len(flows) * len(filled) / 2
        assert fleet.counts().flows == len(flows) * len(filled)
