"""RoCE spreads by weight: UDP to port 4791 from 4,096 source ports, as planned buckets say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import ASYMMETRIC, connect_everyone, planned_weights

pytestmark = pytest.mark.lab

FLOWS = 4096
TOLERANCE = 0.15
UPLINKS = (("leaf1", 11), ("leaf1", 12))


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(ASYMMETRIC)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    # Measurements would move the weights while the shares are being counted.
    controller = start_controller(lab, options=["--fabric-nometrics"])
    connect_everyone(controller)
    return controller


def shares(lab: Lab, version: int) -> Mapping[int, float]:
    """Uplink port of leaf1 to its share of the flows from h1 to h8."""
    with PathWatch(lab, UPLINKS) as watch:
        flow = UdpFlow(
            lab, "h1", "h8", rate_pps=2000, count=FLOWS, source_ports=FLOWS, version=version
        )
        with flow:
            pass
    assert len(flow.received.source_ports) == FLOWS
    taken = [port for seen in watch.packets.values() for _, port in seen]
    assert len(taken) == FLOWS, "a flow took two paths"
    return {port: taken.count(port) / FLOWS for _, port in UPLINKS}


@pytest.mark.parametrize("version", [4, 6])
def test_every_bucket_gets_its_weight(lab: Lab, controller: LabController, version: int) -> None:
    groups = planned_weights(lab, "leaf1")
    assert groups
    assert all(sum(weights.values()) == 16 for weights in groups.values())
    # The half-rate link makes the shares of at least one destination unequal.
    assert any(len(set(weights.values())) > 1 for weights in groups.values())
    with controller.client() as client:
        placement = next(
            p for p in client.plan().placements if p.ingress == "leaf1" and p.egress == ["leaf4"]
        )
    port = {"spine1": 11, "spine2": 12}
    expected: dict[int, float] = {}
    for tree in placement.trees:
        expected[port[tree.path[1]]] = expected.get(port[tree.path[1]], 0) + tree.weight / 16
    measured = shares(lab, version)
    for uplink, share in expected.items():
        assert measured[uplink] == pytest.approx(share, rel=TOLERANCE), (expected, measured)
