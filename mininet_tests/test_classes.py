"""Traffic classes on real switches: queues over OVSDB, shares, priority, and changes under traffic.

Shares are measured where a port of 50 Mbit/s is the bottleneck, by the counters of its queues, which
are those that OpenFlow reads.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

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

    def rates(self, seconds: float = SECONDS) -> Mapping[int, float]:
        """Bits per second of each queue for some time from now."""
        before, began = self.queue_bytes(), time.monotonic()
        time.sleep(seconds)  # The span that is measured.
        after, took = self.queue_bytes(), time.monotonic() - began
        return {q: (after[q] - before.get(q, 0)) * 8 / took for q in after}

    def kernel_queues(self) -> Mapping[int, tuple[int, int, int]]:
        """Queue to rate, ceiling (Mbit/s) and HTB's priority, as the kernel has them on the port."""
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

    @contextmanager
    def controller(self) -> Iterator[LabController]:
        with LabController.start(self.lab) as controller:
            controller.wait_ready()
            connect_everyone(controller)
            yield controller


def _mbit(rate: str) -> int:
    match = re.fullmatch(r"(\d+)([KM]?)bit", rate)
    assert match, rate
    return round(int(match[1]) * {"": 1, "K": 1e3, "M": 1e6}[match[2]] / 1e6)


def udp(lab: Lab, source: str, dscp: int, rate_bps: float = LOAD_BPS) -> UdpFlow:
    port = 5000 + dscp
    return UdpFlow(lab, source, "h3", rate_bps=rate_bps, size=1400, dscp=dscp, port=port)


@contextmanager
def tcp(lab: Lab, source: str, dscp: int) -> Iterator[None]:
    """A TCP connection to h3 that sends as fast as it may."""
    port = str(6000 + dscp)
    code = "import socket, sys; s = socket.socket(); {}"
    receive = "s.bind(('', int(sys.argv[1]))); s.listen(); print('listening', flush=True); c, _ = s.accept()\nwhile c.recv(65536): pass"
    send = (
        "s.setsockopt(0, 1, int(sys.argv[3]) << 2); s.connect((sys.argv[2], int(sys.argv[1])))\n"
        "while True: s.send(bytes(65536))"
    )
    receiver = lab.popen(
        "h3", [sys.executable, "-c", code.format(receive), port], stdout=-1, stderr=-3, text=True
    )
    assert receiver.stdout is not None and receiver.stdout.readline() == "listening\n"
    argv = [sys.executable, "-c", code.format(send), port, lab.address("h3"), str(dscp)]
    sender = lab.popen(source, argv, stderr=-3)
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
    with made.controller():
        made.wait_for_queues(WANTED)
        yield made


Start = Callable[[Lab, str, int], object]


@pytest.mark.parametrize("gold", [udp, tcp])
@pytest.mark.parametrize("silver", [udp, tcp])
def test_a_class_gets_what_it_is_guaranteed(classes: Classes, gold: Start, silver: Start) -> None:
    with ExitStack() as running:
        running.enter_context(gold(classes.lab, "h1", GOLD))  # type: ignore[arg-type]
        running.enter_context(silver(classes.lab, "h2", SILVER))  # type: ignore[arg-type]
        classes.rates(1.0)
        found = classes.rates()
    shown = {queue: round(rate / 1e6, 1) for queue, rate in found.items()}
    print(f"\ngold {gold.__name__}, silver {silver.__name__}: Mbit/s by queue {shown}")
    assert found[QUEUE[GOLD]] > 0.9 * 0.6 * PORT_BPS
    assert found[QUEUE[SILVER]] > 0.9 * 0.3 * PORT_BPS
    # What nobody else uses is divided as the guarantees are.
    assert sum(found.values()) > 0.9 * PORT_BPS
