"""Commands to a fleet, and what they do as its controller sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from controller.emulator import demand_file
from controller.emulator.demand_file import DemandError
from controller.emulator.routes import Demand
from controller.emulator.shell.answer import Answer
from controller.emulator.shell.commands import CommandError, answer
from controller.openflow import bodies, encode, messages
from controller.openflow.messages import PortState
from controller.openflow.model import ALL_TABLES
from tests.dataplane import fabrics
from tests.emulator.networks import in_order, tables_of, with_capacity
from tests.emulator.tcp import Controller, Peer, playing
from tests.emulator.test_faults_tcp import World

FABRIC = with_capacity(fabrics.leaf_spine(2, 2, 1), 1e9, 1e9)
TABLES = tables_of(FABRIC)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Controller() as controller, playing(FABRIC, controller.address) as fleet:
        yield World(fleet, controller, await controller.all_of(FABRIC))


async def install(peer: Peer) -> None:
    tables = TABLES[peer.switch]
    said = [encode.meter_add(meter) for meter in tables.meters.values()]
    said += [encode.group_add(group) for group in in_order(dict(tables.groups))]
    said += [encode.flow_add(flow) for flow in tables.flows.values()]
    peer.writer.write(b"".join(said))
    await peer.ask(messages.BarrierRequest(), messages.BarrierReply)


def records(made: Answer) -> list[dict[str, Any]]:
    return made.records()


async def test_traffic_is_in_the_counters_of_ports_groups_and_flows(world: World) -> None:
    for peer in world.peers.values():
        await install(peer)
    before = world.fleet.now
    answer(world.fleet, "traffic h1 h2 8M frame_bytes=1000 adapts=false")
    began = world.fleet.now
    leaf, far = world.peers["l0"], world.peers["l1"]
    while world.fleet.now < began + 0.5:
        await asyncio.sleep(0.01)
    least = 1000 * (world.fleet.now - began)
    ports = await leaf.ask(bodies.PortStatsRequest(), bodies.PortStatsReply)
    most = 1000 * (world.fleet.now - before)
    by_port = {port.port: port for port in ports.ports}
    assert least - 2 <= by_port[1].rx_packets <= most + 2
    assert by_port[1].rx_bytes == pytest.approx(1000 * by_port[1].rx_packets, abs=1000)
    uplinks = sum(by_port[n].tx_packets for n in (2, 3))
    assert uplinks == pytest.approx(by_port[1].rx_packets, abs=2)
    host = await far.ask(bodies.PortStatsRequest(1), bodies.PortStatsReply)
    assert host.ports[0].tx_packets >= uplinks - 2
    flows = await leaf.ask(bodies.AggregateRequest(ALL_TABLES), bodies.AggregateReply)
    assert flows.counters.packets > uplinks
    groups = await leaf.ask(bodies.GroupStatsRequest(), bodies.GroupStatsReply)
    assert max(group.packets for group in groups.groups) >= uplinks - 5


async def test_what_flows_is_shown_and_ends(world: World) -> None:
    for peer in world.peers.values():
        await install(peer)
    assert answer(world.fleet, "traffic").text == "none"
    assert answer(world.fleet, "traffic h1 h2 8M").text == "1 demand in all"
    assert answer(world.fleet, "traffic h2 h1 4M").text == "2 demands in all"
    there, back = records(answer(world.fleet, "traffic"))
    assert (there["from"], there["to"]) == ("h1/eth0", "h2/eth0")
    assert there["delivered_bps"] == pytest.approx(8e6)
    assert back["delivered_bps"] == pytest.approx(4e6)
    loads = {row["from"]: row["load_bps"] for row in records(answer(world.fleet, "links"))}
    assert loads["l0:2"] + loads["l0:3"] == pytest.approx(8e6)
    answer(world.fleet, "traffic stop")
    assert not any(row["load_bps"] for row in records(answer(world.fleet, "links")))


async def test_a_cut_between_two_switches_is_told_and_led_around(world: World) -> None:
    for peer in world.peers.values():
        await install(peer)
    answer(world.fleet, "traffic h1 h2 8M adapts=false")
    assert answer(world.fleet, "link l0 s0 down").text == "l0-s0#0 is down"
    status = await world.peers["l0"].next(messages.PortStatus)
    assert (status.port.port, status.port.state & PortState.LINK_DOWN) == (2, 1)
    (flowing,) = records(answer(world.fleet, "traffic"))
    assert flowing["delivered_bps"] == pytest.approx(8e6)
    loads = {row["from"]: row["load_bps"] for row in records(answer(world.fleet, "links"))}
    assert loads["l0:3"] == pytest.approx(8e6)
    assert answer(world.fleet, "link l0-s0#0 up").text == "l0-s0#0 is up"
    assert (await world.peers["l0"].next(messages.PortStatus)).port.port == 2


async def test_a_switch_stops_and_starts(world: World) -> None:
    answer(world.fleet, "switch s0 stop")
    await world.peers["s0"].rest()
    states = {row["switch"]: row["state"] for row in records(answer(world.fleet, "switches"))}
    assert states == {"l0": "connected", "l1": "connected", "s0": "no power", "s1": "connected"}
    assert "power of s0" in answer(world.fleet, "link l0 s0 up").text
    answer(world.fleet, "switch s0 start")
    assert (await world.controller.greeted(FABRIC)).switch == "s0"


async def test_a_fault_lasts_as_long_as_said(world: World) -> None:
    said = answer(world.fleet, "fault link-down wire=l0-s0#0 for=0.2").text
    assert said == "link-down for 0.2 s"
    began = world.fleet.now
    for down in (1, 0):
        status = await world.peers["l0"].next(messages.PortStatus)
        assert status.port.state & PortState.LINK_DOWN == down
    assert world.fleet.now >= began + 0.19


async def test_files_of_faults_and_traffic(world: World, tmp_path: Path) -> None:
    faults, traffic = tmp_path / "faults.yaml", tmp_path / "traffic.yaml"
    faults.write_text("- {fault: link-down, wire: l0-s0#0, at_s: 0}\n")
    traffic.write_text("- {from: h1, to: h2, rate: 8M, flows: 4}\n")
    assert "1 faults" in answer(world.fleet, f"faults {faults}").text
    assert not (await world.peers["l0"].next(messages.PortStatus)).port.state & PortState.LIVE
    assert answer(world.fleet, f"traffic {traffic}").text == "1 demand in all"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("lnik l0 s0 down", "there is no command 'lnik'; did you mean 'link'?"),
        ("link l0 s0", "write link leaf1 spine1 down|up or link NAME down|up"),
        ("link l0 s9 down", "there is no switch or host 's9'; there are h1, h2, l0, l1, s0, s1"),
        ("link l0 l1 down", "no cable joins l0 and l1; `links` shows all"),
        ("link l0-s0 down", "there is no link or NIC 'l0-s0'; did you mean 'l0-s0#0'?"),
        ("switch s9 stop", "there is no switch 's9'; there are l0, l1, s0, s1"),
        ("switch s0 off", "write switch spine1 stop|start"),
        ("fault silent-loss wire=l0-s0#0", "silent-loss needs `rate`"),
        ("fault silent-loss wire=l0-s0#0 rate=2", "silent-loss: a rate of 2 is not from 0 to 1"),
        ("fault x", "`fault` is 'x', not one of link-down, "),
        ("fault link-down wire", "'wire' is not KEY=VALUE; write fault KIND"),
        ("fault link-down wire=l0-s0#0 for=x", "`for` is 'x', not a number of seconds"),
        ("faults /none", "/none: No such file or directory"),
        ("traffic h1 h9 8M", "`to`: there is no host or NIC 'h9'; there are h1, "),
        ("traffic h1 h2 8", "`rate`: rate '8' has no unit"),
        ("traffic h1 h2 8M flows=0", "`flows` is 0, which goes from 1 to 65536"),
        ("traffic h1 h2 8M flow=7", "a demand has no 'flow'; did you mean 'flows'?"),
        ("ports s9", "there is no switch 's9'; there are l0, l1, s0, s1"),
    ],
)
async def test_what_cannot_be_done_is_said_and_changes_nothing(
    world: World, line: str, says: str
) -> None:
    with pytest.raises(CommandError) as error:
        answer(world.fleet, line)
    assert says in str(error.value)
    assert "prompt" not in str(error.value)
    assert all(wire.up for wire in world.fleet.network.wires.values())
    assert answer(world.fleet, "traffic").rows == []


async def test_help_shows_every_command_and_every_kind_of_fault(world: World) -> None:
    text = answer(world.fleet, "help").text
    for name in ("link", "switch", "fault", "faults", "traffic", "links", "switches", "ports"):
        assert any(line.startswith(name) for line in text.splitlines())
    assert "stalled-reader" in answer(world.fleet, "help fault").text


# ---- Files of demands ----


def test_demands_are_read_from_yaml() -> None:
    text = "- {from: h1, to: h2/eth0, rate: 10M, flows: 256, dscp: 26, adapts: false}"
    (demand,) = demand_file.parse(text, "t.yaml", FABRIC)
    assert demand == Demand("h1/eth0", "h2/eth0", 1e7, dscp=26, flows=256, adapts=False)


def test_all_that_is_wrong_with_a_file_of_demands_is_said_at_once() -> None:
    text = """
- {from: h1, rate: 10M}
- {from: h1, to: h1, rate: 10M, version: 5, dscp: 64, weight: 0}
- {from: h1, to: h2, rate: fast, flows: many}
- 7
- {from: h1, to: h2}
"""
    with pytest.raises(DemandError) as error:
        demand_file.parse(text, "t.yaml", FABRIC)
    assert str(error.value).splitlines() == [
        "t.yaml: demand 1: a demand needs `to`: a host or a NIC",
        "t.yaml: demand 2: it goes from h1/eth0 to itself",
        "t.yaml: demand 2: `version` is 5, not 4 or 6",
        "t.yaml: demand 2: `dscp` is 64, which goes from 0 to 63",
        "t.yaml: demand 2: `weight` is 0, and must be above 0",
        (
            "t.yaml: demand 3: `rate`: 'fast' is no rate: write bits per second with K, M, G or T,"
            " like 400G"
        ),
        "t.yaml: demand 4: it is not a mapping",
        "t.yaml: demand 5: a demand needs `rate`: bits per second, like 10M",
    ]


@pytest.mark.parametrize("text", ["[", "a: 1"], ids=["syntax", "mapping"])
def test_what_is_no_file_of_demands_is_refused(text: str) -> None:
    with pytest.raises(DemandError, match=r"^t\.yaml: "):
        demand_file.parse(text, "t.yaml", FABRIC)


async def test_swapped_cables_lose_carrier_and_lead_elsewhere_until_swapped_back(
    world: World,
) -> None:
    for peer in world.peers.values():
        await install(peer)
    answer(world.fleet, "traffic h1 h2 8M adapts=false")
    assert answer(world.fleet, "swap l0:2 l0:3").text == (
        "l0:2 is joined to s1:1; l0:3 is joined to s0:1"
    )
    heard = [await world.peers["l0"].next(messages.PortStatus) for _ in range(4)]
    assert sorted((s.port.port, s.port.state & PortState.LINK_DOWN) for s in heard) == [
        *((2, 0), (2, 1), (3, 0), (3, 1))
    ]
    ends = {row["from"]: row["to"] for row in records(answer(world.fleet, "links"))}
    assert (ends["l0:2"], ends["s0:1"], ends["s1:1"]) == ("s1:1", "l0:3", "l0:2")
    loads = {row["from"]: row["load_bps"] for row in records(answer(world.fleet, "links"))}
    arriving = {"s0:1": loads["l0:3"], "s1:1": loads["l0:2"]}
    assert sum(arriving.values()) == pytest.approx(8e6)
    answer(world.fleet, "swap l0:3 l0:2")
    ends = {row["from"]: row["to"] for row in records(answer(world.fleet, "links"))}
    assert (ends["l0:2"], ends["s0:1"]) == ("s0:1", "l0:2")
    (flowing,) = records(answer(world.fleet, "traffic"))
    assert flowing["delivered_bps"] == pytest.approx(8e6)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("swap l0:2", "write swap leaf2:3 leaf2:4"),
        ("swap l0:2 l0:9", "no cable at a port 'l0:9'"),
        ("swap l0:2 x", "no cable at a port 'x'"),
        ("swap l0:2 s0:1", "two ends of one cable"),
    ],
)
async def test_what_cannot_be_swapped_is_said(world: World, line: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        answer(world.fleet, line)
