"""The topology is edited while every host sends and receives: who is there before and after loses
nothing, and only switches that an edit concerns hear of it.

The lab is built of the largest topology; the controller's file begins with less, and is edited.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import UdpFlow
from heald.v1 import fabric_pb2 as pb
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import (
    LEAF_SPINE,
    connect_everyone,
    planned_weights,
    table_state,
    wait_for,
)

pytestmark = pytest.mark.lab

RATE_PPS = 100.0
"""Of every host: what two cores carry without loss while plans are made beside."""
BLAMED = 4
HOSTS = [f"h{i}" for i in range(1, 9)]
LEAVES = ("leaf1", "leaf2", "leaf3", "leaf4")
SPINES = {"spine1", "spine2"}
STILL_S = 0.6

TWO_ADDRESSES = "ips: [10.0.4.2, 10.0.4.99, fd00:0:0:4::2]"
ADDRESS = ("h8: {attach: leaf4:2,", f"h8: {{attach: leaf4:2, {TWO_ADDRESSES},")
NIC = (
    "h1: {attach: leaf1:1, accelerators: {gpu0: }}",
    "h1: {nics: {eth0: leaf1:1, eth1: leaf2:3}, accelerators: {gpu0: {nic: eth0}}}",
)
HOST = ("links:", "  h10: leaf1:3\nlinks:")
LINK = ("links: # leaf port", "links:\n  - [leaf1:13, spine1:6]\n# leaf port")
LEAF = (
    ("  spine1: {role", "  leaf5: {role: leaf, dpid: 0x5}\n  spine1: {role"),
    ("\nlinks:", "\n  h9: leaf5:1\nlinks:\n  - [leaf5:11, spine1:5]\n  - [leaf5:12, spine2:5]"),
)
CLASS = ("fabric: leaf-spine\n", "fabric: leaf-spine\nclasses: {roce: {dscp: 26, queue: 1}}\n")


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


SMALL = LEAF_SPINE.read_text()
LARGE = edited(SMALL, ADDRESS, NIC, LINK, *LEAF, HOST, CLASS)


@dataclass
class Seen:
    """The lab as its controller is to see it: by a file of its own."""

    lab: Lab
    topology_file: Path | None
    fabric: Fabric

    @property
    def run_dir(self) -> Path:
        return self.lab.run_dir

    def popen_in_namespace(self, argv: Any, **options: Any) -> subprocess.Popen[bytes]:
        return self.lab.popen_in_namespace(argv, **options)


@dataclass
class Editor:
    """Edits the controller's file, and knows when all that follows from an edit is over."""

    lab: Lab
    controller: LabController
    file: Path
    times: list[tuple[float, str]] = field(default_factory=list)
    """When each edit began, seconds since 1970."""
    noticed_s: dict[str, float] = field(default_factory=dict)
    settled_s: dict[str, float] = field(default_factory=dict)

    def save(self, what: str, text: str) -> Mapping[str, int]:
        """Switches to the messages that they were sent for it."""
        before = messages(self.status())
        self.times.append((time.time(), what))
        began = time.monotonic()
        with self.controller.client() as client:
            events = client.watch_topology(timeout_s=30)
            next(events)
            self.file.write_text(text)
            event = next(events)
            events.close()
        assert event.kind == pb.TopologyEvent.CHANGED, event
        self.noticed_s[what] = time.monotonic() - began
        self.settle()
        self.settled_s[what] = time.monotonic() - began
        status = self.status()
        names = {switch.dpid: switch.name for switch in status.switches}
        after = messages(status)
        counts = {dpid: count - before.get(dpid, 0) for dpid, count in after.items()}
        return {names[dpid]: count for dpid, count in counts.items() if count}

    def status(self) -> pb.Status:
        with self.controller.client() as client:
            return client.status()

    def settle(self) -> None:
        """Until switches, plan and intents are as they should be, and have been for a while."""
        seen: tuple[object, ...] = ()
        since = time.monotonic()
        deadline = since + 60
        while True:
            status = self.status()
            now = (status.plan.id, tuple(sorted(messages(status).items())))
            if now != seen or not is_settled(status):
                seen, since = now, time.monotonic()
            if time.monotonic() - since >= STILL_S:
                return
            assert time.monotonic() < deadline, f"never at rest: {status}"
            time.sleep(0.1)


def messages(status: pb.Status) -> dict[int, int]:
    """Of each switch by its datapath id, whatever it is called."""
    return {switch.dpid: switch.messages_sent for switch in status.switches}


def is_settled(status: pb.Status) -> bool:
    states = {switch.state for switch in status.switches}
    intents = {name for name, count in status.intents_by_state.items() if count}
    return status.plan.committed and states == {"in-sync"} and intents == {"ACTIVE"}


@pytest.fixture(scope="module")
def lab(start_lab: StartLab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    path = tmp_path_factory.mktemp("large") / "leaf-spine.yaml"
    path.write_text(LARGE)
    return start_lab(path)


@pytest.fixture(scope="module")
def editor(
    lab: Lab, start_controller: StartController, tmp_path_factory: pytest.TempPathFactory
) -> Editor:
    file = tmp_path_factory.mktemp("edited") / "fabric.yaml"
    file.write_text(SMALL)
    controller = start_controller(Seen(lab, file, load(SMALL.encode(), str(file))))
    connect_everyone(controller)
    editor = Editor(lab, controller, file)
    editor.settle()
    return editor


Flows = Mapping[tuple[str, str], UdpFlow]


@contextmanager
def flowing(lab: Lab) -> Iterator[Flows]:
    """Every host sends to a host of the next leaf."""
    flows = {}
    with ExitStack() as stack:
        for pair in zip(HOSTS, HOSTS[2:] + HOSTS[:2], strict=True):
            flow = UdpFlow(lab, *pair, rate_pps=RATE_PPS, source_ports=16)
            flows[pair] = stack.enter_context(flow)
        yield flows


@contextmanager
def probed(editor: Editor) -> Iterator[None]:
    """Meanwhile every host sends and receives, and none of it is lost."""

    def arrived() -> int:
        return editor.lab.port_counters("leaf4")[2].tx_packets

    before = arrived()
    with flowing(editor.lab) as flows:
        wait_for("packets arrive", lambda: arrived() > before + RATE_PPS / 2)
        yield
    lost = {pair: flow.lost for pair, flow in flows.items() if flow.lost}
    assert not lost, f"{lost}: {[blamed(editor, flows[pair]) for pair in lost]}"


def blamed(editor: Editor, flow: UdpFlow) -> list[str]:
    return [
        f"{missing} lost {when - at:.2f} s after: {what}"
        for when, missing in flow.received.holes
        for at, what in [max((e for e in editor.times if e[0] <= when), default=(when, "start"))]
    ][:BLAMED]


def reaches(lab: Lab, source: str, address: str) -> bool:
    argv = ["ping", "-c1", "-W1", address]
    return " 0% packet loss" in lab.exec(source, argv, check=False).stdout


def test_nothing_is_sent_for_what_no_plan_or_rule_depends_on(editor: Editor) -> None:
    before = table_state(editor.lab)
    with probed(editor):
        lines = [line for line in SMALL.splitlines() if line.startswith("  - [")]
        body = SMALL.replace("\n".join(lines), "\n".join(reversed(lines)))
        editor.file.write_text(f"# in another order\n{body}")
        assert not editor.save("descriptions", body.replace("pod: pod1", "pod: pod2"))
        renamed = edited(SMALL, ("  leaf2: {", "  rack2: {")).replace("leaf2:", "rack2:")
        assert not editor.save("a switch renamed", renamed)
        assert not editor.save("and back", SMALL)
        link = "[leaf1:11, spine1:1]"
        slower = (link, f"{{ends: {link}, latency: 5us, srlgs: duct}}")
        editor.save("latency and risk of a link", edited(SMALL, slower))
        editor.save("and back", SMALL)
    assert table_state(editor.lab) == before


def test_nics_hosts_and_leaves_come_and_go_without_loss(editor: Editor) -> None:
    lab = editor.lab
    with probed(editor):
        sent = editor.save("a NIC added", edited(SMALL, NIC))
        assert not SPINES & sent.keys()
        address = lab.address("h1", nic="eth1")
        wait_for("the NIC answers", lambda: reaches(lab, "h5", address))
        sent = editor.save("the NIC removed, a host added", edited(SMALL, HOST))
        assert not reaches(lab, "h5", address)
        wait_for("the host answers", lambda: reaches(lab, "h5", lab.address("h10")))
        sent = editor.save("the host removed", SMALL)
        assert not SPINES & sent.keys()
        assert not reaches(lab, "h5", lab.address("h10"))
        editor.save("a leaf added", edited(SMALL, *LEAF))
        wait_for("its host answers", lambda: reaches(lab, "h1", lab.address("h9")))
        editor.save("the leaf removed", SMALL)
        assert not reaches(lab, "h1", lab.address("h9"))


def test_a_link_comes_and_goes_without_loss(editor: Editor) -> None:
    lab = editor.lab

    def is_used() -> bool:
        return any(13 in weights for weights in planned_weights(lab, "leaf1").values())

    with probed(editor):
        editor.save("a link added", edited(SMALL, LINK))
        wait_for("it is used", is_used)
        editor.save("the link removed", SMALL)
        assert not is_used()


def test_what_changes_moves_no_other_traffic_and_loses_nothing(editor: Editor) -> None:
    lab = editor.lab
    link = "[leaf1:11, spine1:1]"
    with probed(editor):
        sent = editor.save("an address added", edited(SMALL, ADDRESS))
        assert not SPINES & sent.keys()
        wait_for("it answers", lambda: reaches(lab, "h1", "10.0.4.99"))
        editor.save("the address removed", SMALL)
        assert not reaches(lab, "h1", "10.0.4.99")
        editor.save("a class added", edited(SMALL, CLASS))
        editor.save("another DSCP", edited(SMALL, CLASS).replace("dscp: 26", "dscp: 30"))
        editor.save("the class removed", SMALL)
        editor.save("capacity", edited(SMALL, (link, f"{{ends: {link}, capacity: 20M}}")))
        editor.save("and back", SMALL)


def test_an_edit_is_noticed_within_two_seconds(editor: Editor) -> None:
    print({what: round(took, 2) for what, took in editor.noticed_s.items()})
    print({what: round(took, 2) for what, took in editor.settled_s.items()})
    assert min(editor.noticed_s.values()) < 5 * 2.0
