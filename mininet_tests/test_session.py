"""The session process against a real Open vSwitch, with a scripted brain."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest

from controller.fabric.model import Fabric, Host, Link, Nic, PortRef, Switch, TrafficClass
from controller.lab.handle import Lab
from controller.openflow import decode, encode
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    Field,
    Flow,
    Group,
    GroupType,
    Match,
    Output,
    Port,
    ToGroup,
)
from heald.internal.v1 import session_pb2 as pb
from mininet_tests.conftest import StartLab
from tests.apps.peers import Brain, environment, short_directory

COOKIE = 0x4845 << 48
GATEWAY = 0x0A00000000FE
HOST_PORT, UPLINK = 7, 60000
SWITCHES = {0x11: "s1", 0x12: "s2"}
TO_S2 = Group(0x48000001, GroupType.INDIRECT, (Bucket(0, (Output(UPLINK),)),))
SPREAD = Group(
    0x48000002, GroupType.SELECT, (Bucket(0, (Output(UPLINK),), weight=1, watch_port=UPLINK),)
)


def fabric() -> Fabric:
    def host(name: str, number: int, port: PortRef) -> Host:
        addresses = (ip_address(f"10.0.0.{number}"), ip_address(f"fd00::{number}"))
        return Host(name, (Nic(name, "eth0", 0x020000000000 + number, addresses, (port,), 1e8),))

    return Fabric(
        "session",
        tuple(Switch(name, dpid, "leaf") for dpid, name in SWITCHES.items()),
        (host("h1", 1, PortRef("s1", HOST_PORT)), host("h2", 2, PortRef("s2", HOST_PORT))),
        (Link("a", PortRef("s1", UPLINK), PortRef("s2", UPLINK), 5e7, 1e-6),),
        (TrafficClass("default", None, 0),),
        GATEWAY,
        IPv4Address("10.255.255.254"),
        IPv6Address("fd00:ffff::1"),
    )


def flow(match: dict[Field, int], *actions: object) -> Flow:
    return Flow(0, 10, Match.of(match), (ApplyActions(actions),), COOKIE)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(fabric())


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(scope="module")
def _process(lab: Lab, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A session process in the lab's namespace, for all tests of this module."""
    running = lab.popen_in_namespace(
        [
            str(Path(sys.executable).with_name("ryu-manager")),
            "apps.fabric",
            f"--fabric-brain=unix:{directory}/b.sock",
        ],
        env=environment(directory),
    )
    yield running
    running.terminate()
    assert running.wait(5) == 0


@pytest.fixture
def brain(_process: subprocess.Popen[bytes], lab: Lab, directory: Path) -> Iterator[Brain]:
    """Linked, with both switches connected; their flows, groups and meters are gone."""
    for switch in SWITCHES.values():
        for kind in ("flows", "groups", "meters"):
            lab.ovs_ofctl(f"del-{kind}", switch)
    listening = Brain(directory / "b.sock")
    listening.accept(SWITCHES)
    yield listening
    listening.close()


def first_read_backs(brain: Brain) -> dict[int, pb.Readback]:
    """Of all switches, which come in any order."""
    found: dict[int, pb.Readback] = {}
    while len(found) < len(SWITCHES):
        read = brain.next("readback").readback
        found[read.dpid] = read
    return found


def read_back(brain: Brain, dpid: int, session: int) -> pb.Readback:
    brain.send(read_back=pb.ReadBack(dpid=dpid, session=session))
    return brain.next("readback", dpid).readback


def done(brain: Brain, dpid: int, session: int, messages: list[bytes]) -> None:
    brain.batch(dpid, session, messages)
    brain.next("done", dpid)


def test_switches_connect_with_their_ports(brain: Brain) -> None:
    connected = brain.next("connected", 0x11).connected
    assert connected.openflow_version == 6
    assert {port.port: port.live for port in connected.ports} == {HOST_PORT: True, UPLINK: True}


def test_a_batch_is_installed_and_reads_back_equal(brain: Brain, lab: Lab) -> None:
    read = first_read_backs(brain)[0x11]
    assert [f for part in read.flows for f in decode.flow_descs(part)] == []
    wanted = flow({Field.IN_PORT: HOST_PORT}, ToGroup(TO_S2.id))
    groups = [encode.group_add(TO_S2), encode.group_add(SPREAD)]
    done(brain, 0x11, read.session, [*groups, encode.flow_add(wanted)])
    assert "in_port=7" in "".join(lab.flows("s1"))
    read = read_back(brain, 0x11, read.session)
    assert [f for part in read.flows for f in decode.flow_descs(part)] == [wanted]
    found = [g for part in read.groups for g in decode.group_descs(part)]
    assert {g.id: g for g in found} == {TO_S2.id: TO_S2, SPREAD.id: SPREAD}


def test_a_refused_message_fails_with_its_index(brain: Brain, lab: Lab) -> None:
    session = first_read_backs(brain)[0x11].session
    good = encode.flow_add(flow({Field.IN_PORT: HOST_PORT}, Output(UPLINK)))
    no_group = encode.flow_add(flow({Field.IN_PORT: UPLINK}, ToGroup(0x48000099)))
    brain.batch(0x11, session, [good, no_group, good])
    failed = brain.next("failed", 0x11).failed
    assert failed.index == 1
    assert "group" in failed.error
    # What came before and after it is in place.
    assert len(lab.flows("s1")) == 1


def test_ten_thousand_flows_in_one_batch(brain: Brain, lab: Lab) -> None:
    session = first_read_backs(brain)[0x12].session
    match = {Field.IN_PORT: HOST_PORT, Field.ETH_TYPE: 0x0800}
    flows = [flow({**match, Field.IPV4_DST: n}, Output(UPLINK)) for n in range(1, 10_001)]
    done(brain, 0x12, session, [encode.flow_add(f) for f in flows])
    read = read_back(brain, 0x12, session)
    found = {f for part in read.flows for f in decode.flow_descs(part)}
    assert found == set(flows)
    assert not [m for m in brain.skipped if m.WhichOneof("message") == "disconnected"]


def test_a_cut_link_is_told_by_both_ends(brain: Brain, lab: Lab) -> None:
    first_read_backs(brain)
    is_live = dict.fromkeys(SWITCHES, True)

    def follow(until: bool) -> None:
        while set(is_live.values()) != {until}:
            state = brain.next("port_state").port_state
            assert state.port == UPLINK
            is_live[state.dpid] = state.live

    lab.link_down("s1", "s2")
    follow(until=False)
    lab.link_up("s1", "s2")
    follow(until=True)


def test_counters_agree_with_what_was_sent(brain: Brain, lab: Lab) -> None:
    session = first_read_backs(brain)[0x11].session
    messages = [encode.group_add(SPREAD)]
    messages += [encode.flow_add(flow({Field.IN_PORT: HOST_PORT}, ToGroup(SPREAD.id)))]
    done(brain, 0x11, session, messages)
    brain.send(poll=pb.Poll(interval_s=0.2))

    def sample() -> pb.Sample:
        return brain.next("sample", 0x11).sample

    def tx_bytes(of: pb.Sample) -> int:
        return int(of.tx_bytes[list(of.port).index(UPLINK)])

    before = sample()
    assert sorted(before.port) == [HOST_PORT, UPLINK]
    neighbour = ["10.0.0.2", "dev", lab.nic("h1").interface]
    lab.exec("h1", ["ip", "neigh", "replace", *neighbour, "lladdr", "0a:00:00:00:00:fe"])
    lab.exec("h1", ["ping", "-c5", "-i0.02", "-s1000", "-W1", "10.0.0.2"], check=False)
    lab.exec("h1", ["ip", "neigh", "del", *neighbour])
    sent_bytes = 5 * 1042
    deadline_s = time.monotonic() + 10
    after = sample()
    # Open vSwitch credits its groups half a second after its ports.
    while min(tx_bytes(after) - tx_bytes(before), after.bucket_bytes[0]) < sent_bytes:
        assert time.monotonic() < deadline_s, (before, after)
        after = sample()
    assert after.time_s > before.time_s
    assert (after.bucket_group[0], after.bucket_index[0]) == (SPREAD.id, 0)
    brain.send(poll=pb.Poll(interval_s=0))


def test_hosts_find_the_gateway_through_the_controller(brain: Brain, lab: Lab) -> None:
    session = first_read_backs(brain)[0x11].session
    known = [ip_address(text).packed for text in ("10.0.0.2", "fd00::2")]
    brain.send(addresses=pb.Addresses(gateway_mac=GATEWAY, addresses=known))
    to_controller = Output(Port.CONTROLLER, 0xFFFF)
    solicitation = {Field.ETH_TYPE: 0x86DD, Field.IP_PROTO: 58, Field.ICMPV6_TYPE: 135}
    flows = [
        flow({Field.IN_PORT: HOST_PORT, Field.ETH_TYPE: 0x0806}, to_controller),
        flow({Field.IN_PORT: HOST_PORT, **solicitation}, to_controller),
    ]
    done(brain, 0x11, session, [encode.flow_add(f) for f in flows])
    lab.exec("h1", ["ip", "neigh", "flush", "all"])
    for version, address, unknown in ((4, "10.0.0.2", "10.0.0.3"), (6, "fd00::2", "fd00::3")):
        for target in (address, unknown):
            lab.exec("h1", ["ping", f"-{version}", "-c1", "-W1", target], check=False)
        found = lab.exec("h1", ["ip", f"-{version}", "neigh", "show"]).stdout
        entries = {line.split()[0]: line for line in found.splitlines()}
        assert "0a:00:00:00:00:fe" in entries[address]
        assert "lladdr" not in entries.get(unknown, "")
