"""Traffic classes on real switches: queues over OVSDB, shares, priority, and changes under traffic.

Shares are measured where a port of 50 Mbit/s is the bottleneck, by the counters of its queues,
which are those that OpenFlow reads.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import UdpFlow
from mininet_tests.conftest import StartLab
from mininet_tests.running import connect_everyone, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

PORT_BPS = 50e6
LOAD_BPS = 45e6
"""Of each sender; two of them are more than the port carries."""
FRAME_BYTES = 1442
SECONDS = 3.0
TOPOLOGY = """\
fabric: classes
defaults: {link: {capacity: 100M}, nic: {capacity: 50M}}
switches: {leaf1: {dpid: 1}}
hosts: {h1: leaf1:1, h2: leaf1:2, h3: leaf1:3}
classes:
  gold: {dscp: 26, queue: 3, share: 60%}
  silver: {dscp: 10, queue: 1, share: 30%}
  urgent: {dscp: 46, queue: 5, share: 2%, priority: 7}
  best-effort: {queue: 0, share: 8%}
"""
GOLD, SILVER, URGENT = 26, 10, 46
QUEUE = {GOLD: 3, SILVER: 1, URGENT: 5}


class Classes:
    """One bottleneck, the port of h3, with the classes of a topology file."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        assert lab.topology_file is not None
        self.file = lab.topology_file
        self.text = self.file.read_text(encoding="utf-8")

    def queue_bytes(self) -> Mapping[int, int]:
        text = self.lab.ovs_ofctl("queue-stats", "leaf1", "3")
        return {int(q): int(b) for q, b in re.findall(r"queue (\d+): bytes=(\d+)", text)}

    def dropped(self) -> Mapping[int, int]:
        """Packets for which a queue had no room."""
        text = self.lab.ovs_ofctl("queue-stats", "leaf1", "3")
        return {int(q): int(n) for q, n in re.findall(r"queue (\d+): .*errors=(\d+)", text)}

    def rates(self, seconds: float = SECONDS) -> Mapping[int, float]:
        """Bits per second of each queue for some time from now."""
        before, began = self.queue_bytes(), time.monotonic()
        time.sleep(seconds)  # The span that is measured.
        after, took = self.queue_bytes(), time.monotonic() - began
        return {q: (after[q] - before.get(q, 0)) * 8 / took for q in after}

    def kernel_queues(self) -> Mapping[int, tuple[int, int, int]]:
        """Queue to rate, ceiling (Mbit/s) and HTB's priority, as the kernel has them."""
        port = self.lab.interface("leaf1", 3)
        text = self.lab.exec_in_namespace(["tc", "class", "show", "dev", port]).stdout
        found = re.findall(r"htb 1:(\w+) parent 1:fffe .*prio (\d) rate (\S+) ceil (\S+)", text)
        return {int(q, 16) - 1: (_mbit(rate), _mbit(ceil), int(p)) for q, p, rate, ceil in found}

    def short_queues(self) -> int:
        """How many queues of the port the lab keeps short."""
        port = self.lab.interface("leaf1", 3)
        text = self.lab.exec_in_namespace(["tc", "qdisc", "show", "dev", port]).stdout
        return len(re.findall(r"pfifo .*parent 1:", text))

    def wait_for_queues(self, wanted: Mapping[int, tuple[int, int, int]]) -> None:
        wait_for(f"the kernel has {wanted}", lambda: self.kernel_queues() == wanted)
        wait_for("they are short", lambda: self.short_queues() == len(wanted))

    def start(self) -> None:
        self.running = LabController.start(self.lab)
        self.running.wait_ready(150.0)
        connect_everyone(self.running)

    def stop(self) -> None:
        self.running.stop()


def _mbit(rate: str) -> int:
    match = re.fullmatch(r"(\d+)([KM]?)bit", rate)
    assert match, rate
    return round(int(match[1]) * {"": 1, "K": 1e3, "M": 1e6}[match[2]] / 1e6)


def udp(lab: Lab, source: str, dscp: int, rate_bps: float = LOAD_BPS) -> UdpFlow:
    port = 5000 + dscp
    return UdpFlow(
        lab, source, "h3", rate_bps=rate_bps, size=FRAME_BYTES - 42, dscp=dscp, port=port
    )


_RECEIVE = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])))
print("listening", flush=True)
connection, _ = server.accept()
while connection.recv(65536):
    pass
"""
_SEND = """
import socket, sys
tcp = socket.socket()
tcp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[3]) << 2)
tcp.connect((sys.argv[2], int(sys.argv[1])))
while True:
    tcp.send(bytes(65536))
"""


@contextmanager
def tcp(lab: Lab, source: str, dscp: int) -> Iterator[None]:
    """A TCP connection to h3 that sends as fast as it may."""
    port = str(6000 + dscp)
    receiver = lab.popen("h3", [sys.executable, "-c", _RECEIVE, port], stdout=subprocess.PIPE)
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == b"listening\n"
    argv = [sys.executable, "-c", _SEND, port, lab.address("h3"), str(dscp)]
    sender = lab.popen(source, argv)
    try:
        yield
        assert sender.poll() is None
    finally:
        for program in (sender, receiver):
            program.kill()
            program.communicate()


WANTED = {0: (4, 50, 7), 1: (15, 50, 7), 3: (30, 50, 7), 5: (1, 50, 0)}


@pytest.fixture(scope="module")
def classes(start_lab: StartLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Classes]:
    file = tmp_path_factory.mktemp("classes") / "classes.yaml"
    file.write_text(TOPOLOGY, encoding="utf-8")
    made = Classes(start_lab(file))
    made.start()
    try:
        made.wait_for_queues(WANTED)
        yield made
    finally:
        made.stop()


@pytest.fixture
def ready(classes: Classes) -> LabController:
    return classes.running


Start = Callable[[Lab, str, int], AbstractContextManager[object]]


@pytest.mark.parametrize("gold", [udp, tcp])
@pytest.mark.parametrize("silver", [udp, tcp])
def test_a_class_gets_what_it_is_guaranteed(classes: Classes, gold: Start, silver: Start) -> None:
    with gold(classes.lab, "h1", GOLD), silver(classes.lab, "h2", SILVER):
        classes.rates(1.0)
        found = classes.rates()
    _show(f"gold {gold.__name__}, silver {silver.__name__}", found)
    assert found[QUEUE[GOLD]] > 0.9 * 0.6 * PORT_BPS
    assert found[QUEUE[SILVER]] > 0.9 * 0.3 * PORT_BPS
    # What the others do not use is divided as the guarantees are.
    assert sum(found.values()) > 0.9 * PORT_BPS


def test_the_urgent_class_goes_first(classes: Classes) -> None:
    """It is guaranteed 1 Mbit/s, and gets what it sends beside a flood. By shares it would get 3; a
    queue of 16 packets has no room for all bursts of a busy machine."""
    with udp(classes.lab, "h1", SILVER), udp(classes.lab, "h2", URGENT, 25e6):
        classes.rates(1.0)
        before = classes.dropped()
        found = classes.rates()
        dropped = {queue: n - before[queue] for queue, n in classes.dropped().items()}
    _show("urgent 25, silver 45", found)
    print(f"packets dropped by queue {dropped}")
    assert found[QUEUE[URGENT]] > 0.7 * 25e6
    assert dropped[QUEUE[URGENT]] < 0.2 * dropped[QUEUE[SILVER]]


def test_nothing_is_kept_free_for_a_class_that_sends_little(classes: Classes) -> None:
    with udp(classes.lab, "h1", GOLD, 10e6) as gold, tcp(classes.lab, "h2", SILVER):
        classes.rates(1.0)
        found = classes.rates()
    _show("gold 10, silver TCP", found)
    assert found[QUEUE[SILVER]] > 0.9 * (PORT_BPS - 10e6)
    assert gold.lost == 0


def test_the_controller_says_what_classes_there_are_and_that_queues_are_ignored(
    classes: Classes, ready: LabController
) -> None:
    with ready.client() as client:
        told = client.classes()
        (problem,) = client.status().problems
    assert {c.name: (list(c.dscps), c.queue, c.share) for c in told.classes} == {
        "best-effort": ([], 0, 0.08),
        "silver": ([SILVER], 1, 0.3),
        "gold": ([GOLD], 3, 0.6),
        "urgent": ([URGENT], 5, 0.02),
    }
    (switch,) = told.switches
    assert (switch.switch, switch.state, switch.ignores_queues) == ("leaf1", "managed", True)
    assert "leaf1 accepts set_queue" in problem


def test_queues_that_somebody_takes_away_are_made_again(classes: Classes) -> None:
    classes.lab.vsctl("clear", "port", classes.lab.interface("leaf1", 3), "qos")
    classes.wait_for_queues(WANTED)


def test_foreign_qos_is_left_alone_and_named(classes: Classes, ready: LabController) -> None:
    port = classes.lab.interface("leaf1", 2)
    before = classes.lab.vsctl("get", "port", port, "qos").strip()
    made = classes.lab.vsctl(
        *("--", "set", "port", port, "qos=@q", "--", "--id=@q", "create", "QoS", "type=linux-htb"),
        "other-config:max-rate=50000000",
    ).strip()
    with ready.client() as client:
        wait_for("it is named", lambda: any("leaf1:2" in p for p in client.status().problems))
        assert classes.lab.vsctl("get", "port", port, "qos").strip() == made
        classes.lab.vsctl("set", "port", port, f"qos={before}")
        wait_for("all is Heald's", lambda: client.classes().switches[0].state == "managed")


def test_changing_one_class_loses_no_packet_of_another(classes: Classes) -> None:
    """The file is edited while the controller runs: silver's share and ceiling change, urgent and
    its queue go, bulk and its queue come. At a rate whose bursts on a busy machine fit a queue."""
    text = classes.file.read_text(encoding="utf-8")
    edited = text.replace("share: 30%", "share: 20%, ceiling: 40%").replace(
        "urgent: {dscp: 46, queue: 5, share: 2%, priority: 7}",
        "bulk: {dscp: 8, queue: 2, share: 12%}",
    )
    assert edited.count("share") == text.count("share")
    with udp(classes.lab, "h1", GOLD, 3e6) as gold:
        wait_for("gold arrives", lambda: classes.rates(0.1)[QUEUE[GOLD]] > 1e6)
        classes.file.write_text(edited, encoding="utf-8")
        classes.wait_for_queues({0: (4, 50, 7), 1: (10, 20, 7), 2: (6, 50, 7), 3: (30, 50, 7)})
    print(f"\ngold sent {gold.sent.sent} packets while silver changed and urgent went")
    assert gold.lost == 0


def _show(what: str, found: Mapping[int, float]) -> None:
    rates = {queue: round(rate / 1e6, 1) for queue, rate in sorted(found.items())}
    print(f"\n{what}: Mbit/s by queue {rates}")
