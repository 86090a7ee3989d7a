"""A spine is drained and used again while traffic flows: nothing is lost, then nothing is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import UdpFlow
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, planned_weights, wait_for

pytestmark = pytest.mark.lab

LEAVES = ("leaf1", "leaf2", "leaf3", "leaf4")
TO_SPINE1 = 11


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(LEAF_SPINE)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    controller = start_controller(lab)
    connect_everyone(controller)
    return controller


def heald(controller: LabController, *arguments: str) -> str:
    with controller.client() as client:
        command = [sys.executable, "-m", "heald", "--server", client.server, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def is_used(lab: Lab) -> bool:
    return any(TO_SPINE1 in w for leaf in LEAVES for w in planned_weights(lab, leaf).values())


def test_draining_a_spine_and_using_it_again_loses_nothing(
    lab: Lab, controller: LabController
) -> None:
    assert is_used(lab)
    with UdpFlow(lab, "h1", "h8", rate_pps=1000, source_ports=64) as flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf4")[2].tx_packets > 500)
        said = heald(controller, "drain", "spine1", "--reason", "fan", "--wait")
        assert "no plan uses what is drained" in said
        assert not is_used(lab)
        before = sum(c.tx_packets for p, c in lab.port_counters("spine1").items())
        at = lab.port_counters("leaf4")[2].tx_packets
        wait_for("more packets", lambda: lab.port_counters("leaf4")[2].tx_packets > at + 2000)
        # Probes of the wiring still go: some packets a second for each port.
        sent = sum(c.tx_packets for p, c in lab.port_counters("spine1").items()) - before
        assert sent < 100
        assert "spine1" in heald(controller, "drain")
        heald(controller, "undrain", "spine1")
        wait_for("spine1 is used again", lambda: is_used(lab))
        at = lab.port_counters("leaf4")[2].tx_packets
        wait_for("more packets", lambda: lab.port_counters("leaf4")[2].tx_packets > at + 1000)
    assert flow.lost == 0
    assert "nothing is drained" in heald(controller, "drain")
