"""Swapped cables and forged probes on a real Open vSwitch."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import heald
from controller.discovery.probe import KEY_BYTES, Seal
from controller.lab.handle import Lab
from controller.lab.session import LabController
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, planned_weights, wait_for

pytestmark = pytest.mark.lab

SEND = """
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    out.send(bytes.fromhex(frame))
"""
LISTEN = """
import socket, sys
heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
heard.bind((sys.argv[1], 0))
print("listening", flush=True)
while True:
    frame = heard.recv(2048)
    if frame[12:14] == b"\\x88\\xcc" and sys.argv[2] in frame.hex():
        print(frame.hex(), flush=True)
"""
TELLTALE = b"from a host".hex()


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(LEAF_SPINE)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    controller = start_controller(lab)
    connect_everyone(controller)
    return controller


@pytest.fixture
def client(controller: LabController) -> heald.Client:
    return controller.client()


def proven(client: heald.Client) -> bool:
    return all(link.state == "ok" for link in client.wiring().links)


def states(client: heald.Client) -> dict[str, str]:
    return {link.link: link.state for link in client.wiring().links if link.state != "ok"}


def ignored(client: heald.Client, where: str) -> dict[str, int]:
    return {each.why: each.frames for each in client.wiring().ignored if each.where == where}


def send(lab: Lab, host: str, *frames: bytes) -> None:
    argv = [sys.executable, "-c", SEND, lab.nic(host).interface, *(f.hex() for f in frames)]
    lab.exec(host, argv)


def test_swapped_cables_carry_nothing_until_they_are_right(lab: Lab, client: heald.Client) -> None:
    wait_for("every link is proven", lambda: proven(client))
    assert 11 in {p for w in planned_weights(lab, "leaf2").values() for p in w}
    lab.swap_cables("spine1", 1, 2)
    try:
        wait_for("the swap is named", lambda: bool(client.wiring().swaps))
        assert [swap.text for swap in client.wiring().swaps] == [
            "spine1:1 and spine1:2 look swapped"
        ]
        assert states(client) == {
            "leaf1:11-spine1:1": "miswired",
            "leaf2:11-spine1:2": "miswired",
        }
        wait_for("only probes cross the swapped cables", lambda: _still(lab, "spine1", (1, 2)))
        argv = ["ping", "-c20", "-i0.05", "-W1", lab.address("h3")]
        assert " 0% packet loss" in lab.exec("h1", argv).stdout
    finally:
        lab.swap_cables("spine1", 1, 2)
    wait_for("every link is proven again", lambda: proven(client), timeout_s=40)
    wait_for("all is well", lambda: not client.status().problems, timeout_s=40)
    wait_for(
        "leaf2 sends by spine1 again",
        lambda: 11 in {p for w in planned_weights(lab, "leaf2").values() for p in w},
    )


def _still(lab: Lab, switch: str, ports: tuple[int, ...]) -> bool:
    """Pings among all leaves do not appear at these ports: what they send is a few probes."""
    before = lab.port_counters(switch)
    for target in ("h3", "h5", "h7"):
        lab.exec("h1", ["ping", "-c20", "-i0.02", "-W1", lab.address(target)], check=False)
        lab.exec("h4", ["ping", "-c20", "-i0.02", "-W1", lab.address(target)], check=False)
    after = lab.port_counters(switch)
    return all(after[p].tx_packets - before[p].tx_packets < 10 for p in ports)


def heard_on_the_wire(lab: Lab) -> bytes:
    """The next probe that leaves a port of the fabric."""
    interface = lab.interface("leaf1", 11)
    tap: Any = lab.popen_in_namespace(
        [sys.executable, "-c", LISTEN, interface, ""], stdout=-1, text=True
    )
    try:
        assert tap.stdout.readline() == "listening\n"
        return bytes.fromhex(tap.stdout.readline())
    finally:
        tap.kill()
        tap.wait()


def test_what_hosts_forge_and_replay_is_counted_and_ignored(lab: Lab, client: heald.Client) -> None:
    wait_for("every link is proven", lambda: proven(client))
    # Of another key; and real ones, each taken from a port of the fabric just before.
    foreign = Seal("other/default", 1, bytes(KEY_BYTES)).probe(1, 11, 1)

    def told() -> bool:
        real = heard_on_the_wire(lab)
        began = real.index(bytes.fromhex("0e484501")) + 4
        forged = bytearray(real)
        forged[began + 24 + 3] ^= 1  # the port that it says it is of
        send(lab, "h3", real, bytes(forged), foreign, real[:60])
        return {"replayed", "forged", "foreign", "other LLDP"} <= ignored(client, "leaf2:1").keys()

    wait_for("each kind is counted", told)
    assert proven(client)
    assert not client.wiring().unexpected
    assert not client.status().problems


def test_lldp_of_a_host_reaches_no_other_and_no_host_hears_probes(
    lab: Lab, client: heald.Client
) -> None:
    wait_for("every link is proven", lambda: proven(client))
    hosts = [host.name for host in lab.fabric.hosts]
    listening = [
        lab.popen(
            host,
            [sys.executable, "-c", LISTEN, lab.nic(host).interface, ""],
            stdout=-1,
            text=True,
        )
        for host in hosts
        if host != "h1"
    ]
    try:
        for each in listening:
            assert each.stdout is not None
            assert each.stdout.readline() == "listening\n"
        gateway = lab.fabric.gateway_mac.to_bytes(6, "big")
        for target in (bytes.fromhex("0180c200000e"), b"\xff" * 6, gateway):
            source = bytes.fromhex(lab.nic("h1").mac.replace(":", ""))
            send(lab, "h1", target + source + b"\x88\xcc" + bytes.fromhex(TELLTALE) + bytes(40))
        counted = ignored(client, "leaf1:1").get("other LLDP", 0)
        wait_for(
            "the controller has counted it",
            lambda: ignored(client, "leaf1:1").get("other LLDP", 0) >= max(counted, 1),
        )
        rounds = client.wiring().round_s
        assert rounds == 1.0
        wait_for("h1 reaches h8", lambda: bool(lab.exec("h1", ["ping", "-c3", lab.address("h8")])))
    finally:
        for each in listening:
            each.kill()
    for each in listening:
        assert each.stdout is not None
        assert each.stdout.read() == ""


def test_lldp_leaves_no_switch_but_to_the_controller(lab: Lab, controller: LabController) -> None:
    """As Open vSwitch itself traces it, from every port of every switch."""
    for switch, ports in (("leaf1", (1, 2, 11, 12, 77)), ("spine1", (1, 2, 3, 4, 77))):
        for number in ports:
            for target in ("01:80:c2:00:00:0e", "ff:ff:ff:ff:ff:ff", "0e:00:00:00:40:00"):
                flow = f"in_port={number},dl_type=0x88cc,dl_dst={target}"
                argv = ["ovs-appctl", "-t", f"{lab.run_dir}/ovs-vswitchd.ctl"]
                argv += ["ofproto/trace", lab.bridge(switch), flow]
                said = lab.exec_in_namespace(argv).stdout
                (actions,) = [x for x in said.splitlines() if x.startswith("Datapath actions:")]
                only = actions.removeprefix("Datapath actions:").strip()
                assert only == "drop" or only.startswith(("meter", "userspace", "push")), said
                assert "userspace" in only, said
