"""A spine is lost: the switches move its traffic at once, then the controller moves the weights."""

from __future__ import annotations

import time

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, planned_weights, wait_for

pytestmark = pytest.mark.lab

LEAVES = ("leaf1", "leaf2", "leaf3", "leaf4")


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(LEAF_SPINE)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    controller = start_controller(lab)
    connect_everyone(controller)
    return controller


def uses(lab: Lab, port: int) -> bool:
    """Whether any leaf gives weight to its uplink ``port``."""
    return any(port in w for leaf in LEAVES for w in planned_weights(lab, leaf).values())


def test_the_loss_of_a_spine_moves_traffic_and_weights_follow(
    lab: Lab, controller: LabController
) -> None:
    assert uses(lab, 11)
    assert uses(lab, 12)
    uplinks = [(leaf, port) for leaf in LEAVES for port in (11, 12)]
    with UdpFlow(lab, "h1", "h8", rate_pps=1000, source_ports=64) as flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf4")[2].tx_packets > 500)
        lab.switch_down("spine1")
        wait_for("no leaf uses spine1", lambda: not uses(lab, 11), timeout_s=5)
        with PathWatch(lab, uplinks) as watch:
            before = lab.port_counters("leaf4")[2].tx_packets
            wait_for(
                "packets still arrive",
                lambda: lab.port_counters("leaf4")[2].tx_packets > before + 1000,
            )
        taken = {hop for seen in watch.packets.values() for hop in seen}
        assert ("leaf1", 12) in taken
        assert ("leaf1", 11) not in taken
        with controller.client() as client:
            assert any("spine1" in problem for problem in client.status().problems)
        lab.switch_up("spine1")
        wait_for("spine1 is used again", lambda: uses(lab, 11), timeout_s=10)
    # What was in the cut cables is lost; the rest is moved within the switches' own detection time,
    # some ten milliseconds each way. This allows five times that.
    assert flow.received.max_gap_ms < 500
    assert flow.lost < 500


def test_traffic_flows_over_what_is_left_of_two_cuts(lab: Lab, controller: LabController) -> None:
    """leaf1 has lost spine2, leaf4 spine1: every path turns once, until a new tree is there."""
    lab.link_down("leaf1", "spine2")
    lab.link_down("leaf4", "spine1")
    try:
        argv = ["ping", "-c5", "-i0.2", "-W1", lab.address("h8")]
        wait_for(
            "h1 reaches h8 over another leaf",
            lambda: " 0% packet loss" in lab.exec("h1", argv, check=False).stdout,
        )
    finally:
        lab.link_up("leaf1", "spine2")
        lab.link_up("leaf4", "spine1")


def test_a_switch_that_comes_back_without_rules_costs_nothing(
    lab: Lab, controller: LabController
) -> None:
    wait_for("spine1 is used", lambda: uses(lab, 11))
    with UdpFlow(lab, "h1", "h8", rate_pps=1000, source_ports=64) as flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf4")[2].tx_packets > 500)
        lab.switch_off("spine1")
        wait_for("no leaf uses spine1", lambda: not uses(lab, 11), timeout_s=10)
        back = time.time()
        lab.switch_on("spine1")
        wait_for("spine1 is used again", lambda: uses(lab, 11), timeout_s=10)
    lost = [missing for when, missing in flow.received.holes if when >= back]
    assert sum(lost) == 0
