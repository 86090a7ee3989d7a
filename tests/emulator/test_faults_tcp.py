"""Each fault as a controller meets it on real connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from controller.emulator.fault_kinds import (
    ClockSkew,
    DelayedReplies,
    Disconnect,
    Fault,
    Flapping,
    Latency,
    LinkDown,
    LostReplies,
    PowerLoss,
    SilentLoss,
    StalledReader,
    TableFull,
    WrongCounters,
)
from controller.emulator.routes import Demand
from controller.emulator.shell.fleet import Fleet
from controller.openflow import bodies, messages
from controller.openflow.messages import PortState
from controller.openflow.model import ALL_TABLES, ApplyActions, Field, Match, Output, Port
from tests.dataplane import fabrics
from tests.emulator.networks import install, tables_of, with_capacity
from tests.emulator.tcp import Controller, Peer, playing

FABRIC = with_capacity(fabrics.leaf_spine(2, 2, 1), 1e9, 1e9)
LINK = FABRIC.links[0]
SHORT_S = 0.3
FROM_CONTROLLER = Match.of({Field.IN_PORT: Port.CONTROLLER})


@dataclass
class World:
    fleet: Fleet
    controller: Controller
    peers: dict[str, Peer]

    def install(self, *script: Fault) -> None:
        self.fleet.install(script)

    async def packets(self, switch: str, port: int) -> int:
        """Packets that a port says it has received."""
        request = bodies.PortStatsRequest(port)
        reply = await self.peers[switch].ask(request, bodies.PortStatsReply)
        return reply.ports[0].rx_packets


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Controller() as controller, playing(FABRIC, controller.address) as fleet:
        yield World(fleet, controller, await controller.all_of(FABRIC))


def load(world: World) -> None:
    """8 Mb/s in packets of 1,000 octets, 1,000 a second, go from h1 on l0 to h2 on l1."""
    for name, tables in tables_of(FABRIC).items():
        switch = world.fleet.network.nodes[name].switch
        assert switch is not None
        install(switch, tables, world.fleet.now)
    world.fleet.offer([Demand("h1/eth0", "h2/eth0", 8e6, frame_bytes=1000, adapts=False)])


def is_up(status: messages.PortStatus) -> bool:
    return status.port.state != PortState.LINK_DOWN


async def test_link_down_is_told_by_both_ends(world: World) -> None:
    now = world.fleet.now
    world.install(LinkDown(wire=LINK.name, at_s=now, until_s=now + SHORT_S))
    for end in (LINK.a, LINK.b):
        for up in (False, True):
            status = await world.peers[end.switch].next(messages.PortStatus)
            assert (status.port.port, is_up(status)) == (end.port, up)
    assert world.fleet.now >= now + SHORT_S


async def test_flapping_is_told_each_time(world: World) -> None:
    now = world.fleet.now
    world.install(Flapping(wire=LINK.name, at_s=now, until_s=now + SHORT_S, period_s=0.1))
    told = [is_up(await world.peers[LINK.a.switch].next(messages.PortStatus)) for _ in range(6)]
    assert told == [False, True] * 3


async def test_silent_loss_is_seen_in_counters_alone(world: World) -> None:
    loss = [SilentLoss(wire=link.name, rate=0.5, at_s=0.0) for link in FABRIC.links]
    world.install(*loss)
    load(world)
    while await world.packets("l0", 1) < 300:
        await asyncio.sleep(0.01)
    arrived = [
        await world.packets("l1", link.a.port) for link in FABRIC.links if link.a.switch == "l1"
    ]
    sent = await world.packets("l0", 1)
    assert 0.15 * sent < sum(arrived) < 0.4 * sent
    assert not any(
        isinstance(m, messages.PortStatus) for p in world.peers.values() for _, m in p.unread
    )


async def test_latency_makes_a_frame_late(world: World) -> None:
    link = LINK
    to_controller = ApplyActions((Output(Port.CONTROLLER, 0xFFFF),))
    far = world.peers[link.b.switch]
    far.say(messages.FlowMod(0, 0, 1, Match(), (to_controller,)))
    await far.ask(messages.BarrierRequest(), messages.BarrierReply)
    world.install(Latency(wire=link.name, extra_s=SHORT_S, at_s=world.fleet.now))
    frame = bytes.fromhex("ffffffffffff020000000001 88b5") + bytes(46)
    began = world.fleet.now
    world.peers[link.a.switch].say(
        messages.PacketOut(FROM_CONTROLLER, (Output(link.a.port),), frame)
    )
    assert (await far.next(messages.PacketIn)).data == frame
    assert world.fleet.now - began >= SHORT_S


async def test_power_loss_ends_the_session_and_empties_the_tables(world: World) -> None:
    peer = world.peers["s0"]
    peer.say(messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(1),)),)))
    await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
    now = world.fleet.now
    world.install(PowerLoss(switch="s0", at_s=now, until_s=now + SHORT_S))
    await peer.rest()
    for leaf in ("l0", "l1"):
        assert not is_up(await world.peers[leaf].next(messages.PortStatus))
    back = await world.controller.greeted(FABRIC)
    assert back.switch == "s0"
    assert world.fleet.now >= now + SHORT_S
    reply = await back.ask(bodies.AggregateRequest(ALL_TABLES), bodies.AggregateReply)
    assert reply.counters.flows == 0
    for leaf in ("l0", "l1"):
        assert is_up(await world.peers[leaf].next(messages.PortStatus))


async def test_a_stalled_reader_answers_late_and_in_order(world: World) -> None:
    now = world.fleet.now
    world.install(StalledReader(switch="l0", at_s=now, until_s=now + SHORT_S))
    stalled = world.peers["l0"]
    first = stalled.say(messages.EchoRequest(b"1"))
    second = stalled.say(messages.BarrierRequest())
    await world.peers["l1"].ask(messages.EchoRequest(b"other"), messages.EchoReply)
    assert world.fleet.now < now + SHORT_S
    await stalled.next(messages.BarrierReply, second)
    assert world.fleet.now >= now + SHORT_S
    assert [xid for xid, _ in stalled.unread] == [first]


async def test_a_stalled_reader_leaves_a_flood_with_its_controller(world: World) -> None:
    """It does not read, so what is sent to it stays where it was, and comes through in the end."""
    world.install(StalledReader(switch="l0", at_s=world.fleet.now, until_s=world.fleet.now + 2.0))
    peer = world.peers["l0"]
    sent = 0
    with contextlib.suppress(asyncio.TimeoutError):
        while sent < 64 << 20:
            peer.say(messages.EchoRequest(bytes(60_000)))
            await asyncio.wait_for(peer.writer.drain(), 0.3)
            sent += 60_000
    assert sent < 32 << 20
    assert await peer.ask(messages.BarrierRequest(), messages.BarrierReply)


async def test_delayed_replies_come_behind_those_of_other_switches(world: World) -> None:
    now = world.fleet.now
    world.install(DelayedReplies(switch="l0", least_s=SHORT_S, most_s=2 * SHORT_S, at_s=now))
    slow, quick = world.peers["l0"], world.peers["l1"]
    xids = [slow.say(messages.BarrierRequest()) for _ in range(3)]
    await quick.ask(messages.BarrierRequest(), messages.BarrierReply)
    assert world.fleet.now < now + SHORT_S
    await slow.next(messages.BarrierReply, xids[-1])
    assert [xid for xid, _ in slow.unread] == xids[:-1]
    assert world.fleet.now >= now + SHORT_S


async def test_lost_replies_never_come(world: World) -> None:
    now = world.fleet.now
    world.install(LostReplies(switch="l0", rate=1.0, at_s=now, until_s=now + SHORT_S))
    peer = world.peers["l0"]
    for _ in range(5):
        peer.say(messages.BarrierRequest())
        peer.say(messages.EchoRequest(b"x"))
    while world.fleet.now < now + SHORT_S:
        await world.peers["l1"].ask(messages.BarrierRequest(), messages.BarrierReply)
    await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
    assert peer.unread == []


async def test_a_full_table_refuses_what_is_new(world: World) -> None:
    now = world.fleet.now
    world.install(TableFull(switch="l0", room=1, at_s=now))
    peer = world.peers["l0"]
    xids = [
        peer.say(messages.FlowMod(0, 0, number, Match(), (ApplyActions((Output(1),)),)))
        for number in range(3)
    ]
    await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
    errors = [(xid, m.type, m.code) for xid, m in peer.unread if isinstance(m, messages.Error)]
    assert errors == [(xids[1], 5, 1), (xids[2], 5, 1)]


async def test_wrong_counters_stand_still_and_start_again(world: World) -> None:
    load(world)
    while await world.packets("l0", 1) < 100:
        await asyncio.sleep(0.01)
    world.install(WrongCounters(switch="l0", factor=0.0, reset=True, at_s=world.fleet.now))
    began = world.fleet.now
    assert await world.packets("l0", 1) == 0
    while world.fleet.now < began + SHORT_S:
        await asyncio.sleep(0.01)
    assert await world.packets("l0", 1) == 0


async def test_clock_skew_is_in_the_age_of_what_is_there(world: World) -> None:
    peer = world.peers["l0"]
    world.install(ClockSkew(switch="l0", offset_s=1000.0, at_s=world.fleet.now))
    reply = await peer.ask(bodies.PortStatsRequest(1), bodies.PortStatsReply)
    assert 1000 <= reply.ports[0].duration.seconds < 1100
    other = await world.peers["l1"].ask(bodies.PortStatsRequest(1), bodies.PortStatsReply)
    assert other.ports[0].duration.seconds < 100


@pytest.mark.parametrize("after", [0, 1, 7, 8, 9, 50])
async def test_a_connection_ends_at_any_byte(world: World, after: int) -> None:
    peer = world.peers["l0"]
    world.install(Disconnect(switch="l0", after_bytes=after, at_s=world.fleet.now))
    peer.say(messages.EchoRequest(b"x" * 60))
    assert len(await peer.rest()) == after
    back = await world.controller.greeted(FABRIC)
    assert back.switch == "l0"


async def test_a_controller_cut_off_within_a_request_has_asked_nothing(world: World) -> None:
    peer = world.peers["l0"]
    now = world.fleet.now
    world.install(Disconnect(switch="l0", after_bytes=9, by="controller", at_s=now))
    peer.say(messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(1),)),)))
    assert await peer.rest() == b""
    back = await world.controller.greeted(FABRIC)
    reply = await back.ask(bodies.AggregateRequest(ALL_TABLES), bodies.AggregateReply)
    assert (back.switch, reply.counters.flows) == ("l0", 0)


async def test_a_storm_of_frames_keeps_no_controller_waiting() -> None:
    """Each switch floods to three others, in a fabric full of loops."""
    fabric = fabrics.leaf_spine(4, 4, 1)
    async with Controller() as controller, playing(fabric, controller.address) as fleet:
        peers = await controller.all_of(fabric)
        flood = messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(Port.FLOOD),)),))
        for peer in peers.values():
            peer.say(flood)
            await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
        frame = bytes.fromhex("ffffffffffff020000000001 88b5") + bytes(46)
        peers["l0"].say(messages.PacketOut(FROM_CONTROLLER, (Output(Port.FLOOD),), frame))
        clock = asyncio.get_running_loop().time
        until = clock() + 1.0
        while fleet.counts().frames_lost == 0 or clock() < until:
            began = clock()
            for peer in peers.values():
                await peer.ask(messages.EchoRequest(b"?"), messages.EchoReply)
            assert clock() - began < 5.0
        assert fleet.counts().behind_s > 0
