"""BFD over OVSDB, as the topology file says: set up under traffic, kept, taken away again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import UdpFlow
from mininet_tests.conftest import StartLab
from mininet_tests.running import connect_everyone, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.timeout(200)]

BFD = "bfd: {interval: 100ms, multiplier: 5}"
TOPOLOGY = f"""\
fabric: bfd
defaults: {{link: {{capacity: 50M, {BFD}}}, nic: {{capacity: 50M}}}}
switches: {{leaf1: {{dpid: 1}}, leaf2: {{dpid: 2}}, spine1: {{dpid: 11}}, spine2: {{dpid: 12}}}}
hosts: {{h1: leaf1:1, h2: leaf2:1}}
links: [[leaf1:11, spine1:1], [leaf1:12, spine2:1], [leaf2:11, spine1:2], [leaf2:12, spine2:2]]
"""
RATE_PPS = 1000
MOST_LOST = 5 * 4 * 2 * 15
"""Five times what four links cost that go and come back, at some 15 ms and 1 packet a ms."""


def bfd(lab: Lab) -> list[str]:
    """The state of each interface that has BFD; all of them are marked as Heald's."""
    found = lab.vsctl(
        "--columns=bfd_status,external_ids", "--format=csv", "--no-headings",
        "find", "interface", "bfd:enable=true",
    )  # fmt: skip
    lines = found.splitlines()
    assert all("heald" in line for line in lines)
    return [m[1] if (m := re.search(r"\bstate=\"*(\w+)", line)) else "" for line in lines]


def test_bfd_follows_the_topology_while_traffic_runs(start_lab: StartLab, tmp_path: Path) -> None:
    file = tmp_path / "bfd.yaml"
    file.write_text(TOPOLOGY, encoding="utf-8")
    lab = start_lab(file)
    given = lab.topology_file
    assert given is not None
    text = given.read_text(encoding="utf-8")
    assert f"unix:{lab.run_dir}/db.sock" in text
    without = text.replace(f", {BFD}", "")
    given.write_text(without, encoding="utf-8")
    with LabController.start(lab) as controller:
        controller.wait_ready()
        connect_everyone(controller)
    assert bfd(lab) == []
    with UdpFlow(lab, "h1", "h2", rate_pps=RATE_PPS, source_ports=16) as flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf2")[1].tx_packets > 500)
        given.write_text(text, encoding="utf-8")
        with LabController.start(lab) as controller:
            controller.wait_ready()
            wait_for("BFD is up", lambda: bfd(lab) == ["up"] * 8, timeout_s=60)
            with controller.client() as client:
                wait_for("all is well", lambda: not client.status().problems)
        assert bfd(lab) == ["up"] * 8
        given.write_text(without, encoding="utf-8")
        with LabController.start(lab) as controller:
            controller.wait_ready()
            wait_for("BFD is gone", lambda: bfd(lab) == [], timeout_s=60)
            with controller.client() as client:
                wait_for("all is well", lambda: not client.status().problems)
    print(f"\nlost of {flow.sent.sent} at 1 kHz while BFD came and went: {flow.lost}")
    assert flow.lost < MOST_LOST
