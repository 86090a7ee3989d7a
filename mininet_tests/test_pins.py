"""Point-to-point intents on Open vSwitch: pinned queue pairs take their paths, and move whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest

import heald
from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from heald.v1 import intents_pb2 as pb
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, wait_for

pytestmark = pytest.mark.lab

UPLINKS = (("leaf1", 11), ("leaf1", 12))
QUEUE_PAIRS = tuple(range(50000, 50008))
PACKETS = 800
SPINE = {11: "spine1", 12: "spine2"}


@pytest.fixture(scope="module")
def lab(start_lab: StartLab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The leaf-spine with a class of its own for RoCE."""
    path = tmp_path_factory.mktemp("topology") / "leaf-spine.yaml"
    classes = "\nclasses:\n  roce: {dscp: 26, queue: 1}\n  rest: {queue: 0}\n"
    path.write_text(LEAF_SPINE.read_text() + classes)
    return start_lab(path)


@pytest.fixture(scope="module")
def controller(lab: Lab, start_controller: StartController) -> LabController:
    controller = start_controller(lab)
    connect_everyone(controller)
    return controller


def apply(controller: LabController, name: str, **spec: object) -> None:
    asked = pb.PointToPoint(
        source=pb.Selector(hosts=["h1"]),
        destination=pb.Selector(hosts=["h5"]),
        **spec,  # type: ignore[arg-type]
    )
    with controller.client() as client:
        intent = pb.Intent(name=heald.intent_name(name), spec=pb.IntentSpec(point_to_point=asked))
        client.apply([intent])
        client.wait_active([name], timeout_s=30)


def remove(controller: LabController, name: str) -> None:
    with controller.client() as client:
        client.delete(name)
        wait_for(
            "it is gone", lambda: heald.intent_name(name) not in {i.name for i in client.list()}
        )


def pinned(lab: Lab, backup: bool = False) -> Mapping[int, int]:
    """UDP source port to the uplink of leaf1 that its first (or second) bucket leads to."""
    # A flow may move to another group meanwhile.
    before, flows = lab.groups("leaf1"), lab.flows("leaf1")
    groups = {}
    for line in (*before, *lab.groups("leaf1")):
        number = re.search(r"group_id=(\d+)", line)
        assert number
        groups[number[1]] = re.findall(r"output:\"?(\d+)", line)
    out = {}
    for line in flows:
        found = re.search(r",udp,.*tp_src=(\d+).*actions=.*group:(\d+)", line)
        if found:
            out[int(found[1])] = int(groups[found[2]][backup])
    return out


def marked(lab: Lab) -> int:
    """Packets of the class that spines have put into its queue."""
    wanted = re.compile(r"table=2,.*n_packets=(\d+).*nw_tos=104")
    lines = [line for spine in SPINE.values() for line in lab.flows(spine)]
    return sum(int(found[1]) for line in lines if (found := wanted.search(line)))


def taken(lab: Lab, ports: Iterable[int], version: int) -> Mapping[int, int]:
    """UDP source port to the uplink of leaf1 that its packets leave by."""
    first, *_, last = sorted(ports)
    flow = UdpFlow(
        lab,
        "h1",
        "h5",
        rate_pps=800,
        count=PACKETS,
        source_ports=last - first + 1,
        first_source_port=first,
        version=version,
    )
    with PathWatch(lab, UPLINKS) as watch, flow:
        pass
    assert flow.lost == 0
    out = {}
    for port, seen in watch.packets.items():
        ((_, uplink),) = seen  # one path each
        out[port] = uplink
    return out


@pytest.mark.parametrize("version", [4, 6])
def test_each_queue_pair_takes_its_planned_path(
    lab: Lab, controller: LabController, version: int
) -> None:
    ports, roce = QUEUE_PAIRS, "roce"
    apply(controller, "qps", rate_bps=40e6, udp_source_ports=ports, traffic_class=roce)
    plan = pinned(lab)
    assert set(plan) == set(QUEUE_PAIRS)
    before = marked(lab)
    assert taken(lab, QUEUE_PAIRS, version) == plan
    # Their sender did not set it.
    wait_for("all are in their class", lambda: marked(lab) - before == PACKETS)
    remove(controller, "qps")
    assert pinned(lab) == {}


def test_a_pin_moves_without_losing_a_packet(lab: Lab, controller: LabController) -> None:
    port = QUEUE_PAIRS[0]
    spec = {"rate_bps": 1e6, "udp_source_ports": [port]}
    apply(controller, "moved", **spec)
    before = pinned(lab)[port]
    flow = UdpFlow(lab, "h1", "h5", rate_pps=1000, first_source_port=port)
    with flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf3")[1].tx_packets > 500)
        for uplink in (before, 23 - before, before):
            apply(controller, "moved", **spec, avoid=[SPINE[uplink]])
            wait_for("it is elsewhere", lambda to=23 - uplink: pinned(lab)[port] == to)
            assert taken_by(lab, port) == {23 - uplink}
    assert flow.sent.sent > 1000
    assert flow.lost == 0
    remove(controller, "moved")


def taken_by(lab: Lab, port: int) -> set[int]:
    """Uplinks of leaf1 by which packets of the running flow leave, for a while."""
    with PathWatch(lab, UPLINKS) as watch:
        before = lab.port_counters("leaf3")[1].tx_packets
        wait_for("more come", lambda: lab.port_counters("leaf3")[1].tx_packets > before + 300)
    return {uplink for _, uplink in watch.packets[port]}


@pytest.mark.parametrize("far", [False, True])
def test_when_a_link_of_the_path_is_cut_packets_take_the_planned_backup(
    lab: Lab, controller: LabController, far: bool
) -> None:
    port = QUEUE_PAIRS[0]
    apply(controller, "cut", rate_bps=1e6, udp_source_ports=[port], protection="LINK")
    path, backup = pinned(lab)[port], pinned(lab, backup=True)[port]
    assert {path, backup} == {11, 12}
    flow = UdpFlow(lab, "h1", "h5", rate_pps=1000, first_source_port=port)
    with flow:
        wait_for("packets arrive", lambda: lab.port_counters("leaf3")[1].tx_packets > 500)
        assert taken_by(lab, port) == {path}
        lab.link_down("leaf3" if far else "leaf1", SPINE[path])
        wait_for("it is on its backup", lambda: pinned(lab)[port] == backup)
        assert taken_by(lab, port) == {backup}
        lab.link_up("leaf3" if far else "leaf1", SPINE[path])
        with controller.client() as client:
            client.wait_active(["cut"], timeout_s=30)
        wait_for("it has a backup again", lambda: pinned(lab, backup=True)[port] == path)
        assert taken_by(lab, port) == {backup}, "nothing moves back"
    # Some 30 ms at worst until switches have seen it (docs/operations.md), times five.
    assert flow.received.max_gap_ms < 150
    assert flow.lost < 150
    remove(controller, "cut")
