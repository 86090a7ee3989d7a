"""Hosts of an intent reach each other: IPv4 and IPv6, ping and TCP; hosts of none reach nobody."""

from __future__ import annotations

import signal
from itertools import permutations

import pytest

import heald
from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import tcp_throughput
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, wait_for

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(LEAF_SPINE)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    controller = start_controller(lab)
    connect_everyone(controller)
    return controller


def reaches(lab: Lab, source: str, destination: str, version: int, count: int = 1) -> bool:
    argv = ["ping", f"-{version}", f"-c{count}", "-i0.2", "-W1"]
    argv.append(lab.address(destination, version))
    return lab.exec(source, argv, check=False).returncode == 0


@pytest.mark.parametrize("version", [4, 6])
def test_all_pairs_ping(lab: Lab, controller: LabController, version: int) -> None:
    pairs = list(permutations([h.name for h in lab.fabric.hosts], 2))
    failed = [f"{a} to {b}" for a, b in pairs if not reaches(lab, a, b, version)]
    assert failed == []


@pytest.mark.parametrize("version", [4, 6])
def test_tcp_fills_a_good_part_of_the_link(
    lab: Lab, controller: LabController, version: int
) -> None:
    report = tcp_throughput(lab, "h1", "h8", duration_s=3.0, version=version)
    assert report.bps > 0.6 * 50e6


@pytest.mark.parametrize("version", [4, 6])
def test_fragments_arrive(lab: Lab, controller: LabController, version: int) -> None:
    argv = ["ping", f"-{version}", "-c3", "-i0.2", "-W1", "-s4000", lab.address("h5", version)]
    assert " 0% packet loss" in lab.exec("h2", argv).stdout


def test_duplicate_address_detection_is_on_and_finds_none(
    lab: Lab, controller: LabController
) -> None:
    """Also with the responder in the switches: an address set anew passes the detection."""
    for host in ("h1", "h6"):
        address, device = lab.address(host, 6), lab.nic(host).interface
        conf = f"/proc/sys/net/ipv6/conf/{device}/"
        assert int(lab.exec(host, ["cat", conf + "accept_dad"]).stdout) >= 1
        prefix = next(a for a in lab.nic(host).addresses if ":" in a)
        lab.exec(host, ["ip", "-6", "addr", "del", prefix, "dev", device])
        shown = lab.exec(host, ["ip", "-6", "addr", "show", "dev", device]).stdout
        assert address not in shown
        lab.exec(host, ["ip", "-6", "addr", "add", prefix, "dev", device])
        wait_for(
            "the address is no longer tentative",
            lambda h=host, d=device: (
                "tentative" not in lab.exec(h, ["ip", "-6", "addr", "show", "dev", d]).stdout
            ),
        )
        shown = lab.exec(host, ["ip", "-6", "addr", "show", "dev", device]).stdout
        assert address in shown
        assert "dadfailed" not in shown
    assert reaches(lab, "h1", "h6", 6, count=2)


def test_neighbours_stay_reachable_without_a_controller(
    lab: Lab, controller: LabController
) -> None:
    """ARP and ND are answered by flows, so hosts do not notice that the controller stands still."""
    lab.exec("h3", ["ip", "neigh", "flush", "all"])
    controller.process.send_signal(signal.SIGSTOP)
    try:
        assert reaches(lab, "h3", "h7", 4)
        assert reaches(lab, "h3", "h7", 6)
        assert reaches(lab, "h3", "h4", 4)
    finally:
        controller.process.send_signal(signal.SIGCONT)


def test_a_host_reaches_only_those_it_shares_an_intent_with(
    lab: Lab, controller: LabController
) -> None:
    with controller.client() as client:
        client.apply(
            [
                heald.connectivity("left", hosts=["h1", "h3"]),
                heald.connectivity("right", hosts=["h3", "h5", "h6"]),
            ]
        )
        client.wait_active(["left", "right"], timeout_s=20)
        client.delete("everyone")
        wait_for("everyone is gone", lambda: len(list(client.list())) == 2)
        friends = {("h1", "h3"), ("h3", "h5"), ("h3", "h6"), ("h5", "h6")}
        for a, b in permutations(["h1", "h2", "h3", "h5", "h6"], 2):
            expected = (a, b) in friends or (b, a) in friends
            assert reaches(lab, a, b, 4) is expected, f"{a} to {b}"
        assert reaches(lab, "h5", "h6", 6)
        assert not reaches(lab, "h1", "h5", 6)
    connect_everyone(controller)


def test_rules_deleted_by_another_hand_come_back(lab: Lab, controller: LabController) -> None:
    assert reaches(lab, "h1", "h8", 4)
    lab.ovs_ofctl("del-flows", "leaf1")
    assert not reaches(lab, "h1", "h8", 4)
    wait_for("h1 reaches h8", lambda: reaches(lab, "h1", "h8", 4), timeout_s=60)


def test_a_host_cannot_pretend_to_be_another(lab: Lab, controller: LabController) -> None:
    device = lab.nic("h1").interface
    address, other = lab.address("h1"), "10.0.2.1"
    assert other == lab.address("h3")
    lab.exec("h1", ["ip", "addr", "add", f"{other}/32", "dev", device])
    try:
        argv = ["ping", "-c2", "-i0.2", "-W1", "-I", other, lab.address("h5")]
        assert lab.exec("h1", argv, check=False).returncode != 0
        argv[5] = address
        assert lab.exec("h1", argv, check=False).returncode == 0
    finally:
        lab.exec("h1", ["ip", "addr", "del", f"{other}/32", "dev", device])
