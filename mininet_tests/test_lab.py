"""The lab itself, without any controller: static flows only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest

from controller.distribution import topologies_dir
from controller.fabric.model import Fabric, Host, Link, Nic, PortRef, Switch, TrafficClass
from controller.lab import rundir
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.traffic import ForeignLoad, PathWatch, UdpFlow, tcp_throughput
from controller.lab.wiring import scaled
from mininet_tests.running import all_namespaces, namespace

StartLab = Callable[..., Lab]

LINK_BPS = 50e6
NIC_BPS = 100e6
LONG_SWITCH = "a-switch-with-a-very-long-name"


def small_fabric() -> Fabric:
    """Two switches with one link, three hosts; the third host has two NICs."""

    def nic(host: str, name: str, number: int, port: PortRef) -> Nic:
        addresses = (IPv4Address(f"10.0.0.{number}"), IPv6Address(f"fd00::{number}"))
        return Nic(host, name, 0x020000000000 + number, addresses, (port,), NIC_BPS)

    left, right = "left", LONG_SWITCH
    hosts = (
        Host("h1", (nic("h1", "eth0", 1, PortRef(left, 7)),)),
        Host("h2", (nic("h2", "eth0", 2, PortRef(right, 3)),)),
        Host(
            "h3",
            (nic("h3", "rail0", 3, PortRef(left, 8)), nic("h3", "rail1", 4, PortRef(right, 4))),
        ),
    )
    return Fabric(
        "small",
        (Switch(left, 0x11, "leaf"), Switch(right, 0xABCDEF0123456789, "leaf")),
        hosts,
        (Link("cable", PortRef(left, 60000), PortRef(right, 1), LINK_BPS, 1e-6),),
        (TrafficClass("default", None, 0), TrafficClass("storage", 26, 3)),
        0x0A00000000FE,
        IPv4Address("10.255.255.254"),
        IPv6Address("fd00:ffff::1"),
    )


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    """The small fabric, with flows by destination address; ARP and ND flood over the one link."""
    lab = start_lab(small_fabric(), controller=None)
    trunk = {"left": 60000, LONG_SWITCH: 1}
    for switch in trunk:
        flows = ["priority=1,arp,actions=flood", "priority=1,icmp6,ipv6_dst=ff00::/8,actions=flood"]
        for nic in lab.description.wiring.nics:
            out = nic.port.port if nic.port.switch == switch else trunk[switch]
            flows.append(f"priority=2,dl_dst={nic.mac},actions=output:{out}")
        for flow in flows:
            lab.ovs_ofctl("add-flow", switch, flow)
    return lab


def test_switches_have_the_dpids_and_ports_of_the_topology(lab: Lab) -> None:
    for switch in lab.fabric.switches:
        shown = lab.ovs_ofctl("show", switch.name)
        assert f"dpid:{switch.dpid:016x}" in shown
        for port in (p for p in lab.description.wiring.ports if p.switch == switch.name):
            assert f" {port.port}({lab.interface(switch.name, port.port)})" in shown
        assert set(lab.port_counters(switch.name)) == {
            p.port for p in lab.description.wiring.ports if p.switch == switch.name
        }


def test_hosts_reach_each_other_with_address_detection_on(lab: Lab) -> None:
    for nic in lab.description.wiring.nics:
        shown = lab.exec(nic.host, ["ip", "-6", "addr", "show", "dev", nic.interface]).stdout
        assert "tentative" not in shown
        assert "dadfailed" not in shown
        assert "nodad" not in shown
        for knob in ("all", nic.interface):
            path = f"/proc/sys/net/ipv6/conf/{knob}/accept_dad"
            accept = int(lab.exec(nic.host, ["cat", path]).stdout)
            assert accept == 1 or knob == "all"
    for address in ("10.0.0.2", "fd00::2"):
        lab.exec("h1", ["ping", "-c2", "-i0.1", "-W2", address])


def test_duplicate_addresses_are_really_detected(lab: Lab) -> None:
    lab.exec("h1", ["ip", "addr", "add", "fd00::2/96", "dev", "eth0"])
    try:
        shown = _wait(
            lambda: lab.exec("h1", ["ip", "-6", "addr", "show", "dadfailed"]).stdout, "fd00::2"
        )
        assert "fd00::2/" in shown
    finally:
        lab.exec("h1", ["ip", "addr", "del", "fd00::2/96", "dev", "eth0"])


def test_packets_of_a_host_with_two_nics_leave_by_the_nic_of_their_source(lab: Lab) -> None:
    for source, port in (("10.0.0.3", 8), ("fd00::3", 8), ("10.0.0.4", 4), ("fd00::4", 4)):
        switch = "left" if port == 8 else LONG_SWITCH
        before = lab.port_counters(switch)[port].rx_packets
        lab.exec("h3", ["ping", "-c3", "-i0.1", "-W2", "-I", source, _peer(source)])
        assert lab.port_counters(switch)[port].rx_packets >= before + 3


@pytest.mark.parametrize("version", [4, 6])
def test_a_link_carries_its_capacity_and_no_more(lab: Lab, version: int) -> None:
    overload = UdpFlow(
        lab, "h1", "h2", rate_bps=1.4 * LINK_BPS, size=1400, duration_s=3, version=version
    )
    with overload as flow:
        pass
    frame = 1400 + (42 if version == 4 else 62)
    rate = flow.received.bps * frame / 1400
    assert rate == pytest.approx(LINK_BPS, rel=0.15)
    assert flow.lost > 0
    queue_errors = lab.ovs_ofctl("queue-stats", "left", "60000", "0")
    assert int(queue_errors.split("errors=")[1].split(",")[0]) > 0


def test_below_capacity_nothing_is_lost(lab: Lab) -> None:
    with UdpFlow(lab, "h1", "h2", rate_bps=0.8 * LINK_BPS, size=1400, duration_s=2) as flow:
        pass
    assert flow.received.bps * 1442 / 1400 == pytest.approx(0.8 * LINK_BPS, rel=0.1)
    assert flow.lost <= flow.sent.sent * 0.001


def test_tcp_uses_the_link(lab: Lab) -> None:
    report = tcp_throughput(lab, "h1", "h2", duration_s=3)
    assert 0.7 * LINK_BPS < report.bps < 1.05 * LINK_BPS


def test_classes_have_queues_of_their_own(lab: Lab) -> None:
    for dscp, queue in ((26, 3), (0, 0), (46, 0)):
        before = _queue_packets(lab, queue)
        with UdpFlow(lab, "h1", "h2", rate_pps=1000, count=200, dscp=dscp) as flow:
            pass
        assert flow.received.dscps == {dscp: 200}
        assert _queue_packets(lab, queue) >= before + 200


def test_a_probe_counts_each_packet_and_each_source_port(lab: Lab) -> None:
    ports = [("left", 60000), (LONG_SWITCH, 3), (LONG_SWITCH, 4)]
    with (
        PathWatch(lab, ports) as paths,
        UdpFlow(lab, "h1", "h2", rate_pps=4000, count=8192, source_ports=4096) as flow,
    ):
        pass
    assert flow.sent.sent == 8192
    assert flow.lost == flow.received.missing == 0
    assert flow.received.source_ports == {20000 + i: 2 for i in range(4096)}
    assert set(paths.packets) == set(flow.received.source_ports)
    assert all(seen == {ports[0]: 2, ports[1]: 2} for seen in paths.packets.values())


def test_foreign_load_takes_its_part_of_a_link(lab: Lab) -> None:
    before = lab.port_counters("left")[60000].tx_bytes
    with (
        ForeignLoad(lab, "left", 60000, 0.6 * LINK_BPS) as foreign,
        UdpFlow(lab, "h1", "h2", rate_bps=0.7 * LINK_BPS, size=1400, duration_s=3) as flow,
    ):
        pass
    carried = (lab.port_counters("left")[60000].tx_bytes - before) * 8
    assert carried == pytest.approx(LINK_BPS * foreign.sent.duration_s, rel=0.15)
    assert 0.4 * LINK_BPS < flow.received.bps * 1442 / 1400 < 0.65 * LINK_BPS


def test_a_cut_shows_as_a_gap(lab: Lab) -> None:
    with UdpFlow(lab, "h1", "h2", rate_pps=1000) as flow:
        time.sleep(0.5)
        lab.link_down("left", LONG_SWITCH)
        time.sleep(0.5)
        lab.link_up("left", LONG_SWITCH)
        time.sleep(1.0)
    assert 400 <= flow.received.max_gap_ms <= 1500
    assert 400 <= flow.lost <= 1500


def test_two_labs_run_side_by_side_and_leave_nothing(start_lab: StartLab, lab: Lab) -> None:
    other = start_lab(small_fabric())
    assert other.run_dir != lab.run_dir
    assert namespace(other.pid) != namespace(lab.pid) != namespace(os.getpid())
    lab.exec("h1", ["ping", "-c1", "-W2", "10.0.0.2"])
    assert other.flows("left") == []
    other.close()
    assert not other.run_dir.exists()
    assert list(rundir.processes(other.run_dir)) == []
    lab.exec("h1", ["ping", "-c1", "-W2", "10.0.0.2"])


def test_nothing_is_left_of_a_lab_whose_process_was_killed(start_lab: StartLab) -> None:
    lab = start_lab(small_fabric())
    inside = lab.popen_in_namespace(["sleep", "1000"])
    in_host = lab.popen("h1", ["sleep", "1000"])
    namespaces = {namespace(lab.pid), *map(namespace, lab.description.host_pids.values())}
    os.kill(lab.pid, signal.SIGKILL)
    lab.process.popen.wait()
    assert lab.run_dir in rundir.remove_dead()
    assert not lab.run_dir.exists()
    assert inside.wait(5) == in_host.wait(5) == -signal.SIGKILL
    assert namespaces.isdisjoint(all_namespaces())
    lab.close()


def test_a_lab_goes_with_the_process_that_holds_it(start_lab: StartLab) -> None:
    lab = start_lab(small_fabric())
    lab.process.let_go()
    assert lab.process.popen.wait(20) == 0
    assert not lab.run_dir.exists()


def test_the_prompt_knows_hosts_and_links_and_leaves_nothing() -> None:
    script = (
        "h1 ping -c1 -W1 h1\n"
        "link leaf1 spine1 down\n"
        "leaf1 ip link show leaf1-eth11\n"
        "leaf1 echo the bridge is leaf1\n"
    )
    file = topologies_dir() / "leaf-spine.yaml"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from controller.cli.lab import lab; lab()",
            file,
            "--no-controller",
        ],
        input=script,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    output = done.stdout + done.stderr
    assert "1 received" in output
    assert "state DOWN" in output
    assert "the bridge is leaf1" in output
    run_dir = done.stderr.split("The lab is in ")[1].split(".")[0]
    assert run_dir.startswith("/")
    assert not Path(run_dir).exists()


def test_a_fabric_too_fast_for_a_lab_is_refused_with_the_scale(start_lab: StartLab) -> None:
    with pytest.raises(LabError, match=r"--scale 1e-0\d"):
        start_lab(scaled(small_fabric(), 4000.0))


def _peer(source: str) -> str:
    return "10.0.0.1" if "." in source else "fd00::1"


def _queue_packets(lab: Lab, queue: int) -> int:
    stats = lab.ovs_ofctl("queue-stats", "left", "60000", str(queue))
    return int(stats.split("pkts=")[1].split(",")[0])


def _wait(read: Callable[[], str], wanted: str, timeout_s: float = 5.0) -> str:
    deadline = time.monotonic() + timeout_s
    while wanted not in (text := read()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return text
