"""Processes of the controller are killed and come back; switches and hosts do not notice."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

import heald
from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from mininet_tests.conftest import StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, table_state, wait_for

pytestmark = pytest.mark.lab

UPLINKS = [(f"leaf{leaf}", port) for leaf in (1, 2, 3, 4) for port in (11, 12)]


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    return start_lab(LEAF_SPINE)


@pytest.fixture
def controller(lab: Lab) -> Iterator[LabController]:
    with LabController.start(lab) as controller:
        controller.wait_ready()
        connect_everyone(controller)
        yield controller


def messages_sent(controller: LabController) -> int:
    """Table changes that this brain has sent to switches since it began."""
    with controller.client() as client:
        return sum(switch.messages_sent for switch in client.status().switches)


def process_id(controller: LabController, name: str) -> int:
    """Of the brain or of one of its workers, once it is ready."""
    wait_for(f"{name} is ready", lambda: process_id_or_none(controller, name) is not None)
    found = process_id_or_none(controller, name)
    assert found is not None
    return found


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_in_sync(controller: LabController) -> bool:
    try:
        with controller.client(timeout_s=2.0) as client:
            return all(switch.state == "in-sync" for switch in client.status().switches)
    except heald.HealdError:
        return False


@contextmanager
def undisturbed(lab: Lab) -> Iterator[None]:
    """What happens inside costs a 1 kHz probe no packet, moves no flow and changes no table."""
    before = table_state(lab)
    with PathWatch(lab, UPLINKS) as watch:
        flow = UdpFlow(lab, "h1", "h8", rate_pps=1000, source_ports=16)
        with flow:
            wait_for("packets arrive", lambda: lab.port_counters("leaf4")[2].tx_packets > 100)
            yield
            # The probe goes on for as long as a late message would take to arrive.
            end = time.monotonic() + 2.0
            wait_for("the probe has gone on", lambda: time.monotonic() >= end)
    assert flow.lost == 0
    assert flow.received.received > 2000
    for source_port, hops in watch.packets.items():
        assert len(hops) == 1, f"the flow from port {source_port} changed path: {hops}"
    assert table_state(lab) == before


def test_kill_ryu_manager_and_start_it_again(lab: Lab, controller: LabController) -> None:
    children = [process_id(controller, name) for name in ("brain", "worker fast", "worker proof")]
    with undisturbed(lab):
        controller.process.kill()
        controller.process.wait()
        wait_for(
            "nothing of the embedded mode is left",
            lambda: not any(map(is_running, children)),
            timeout_s=3,
        )
        with LabController.start(lab) as second:
            second.wait_ready()
            with second.client() as client:
                client.wait_active(["everyone"], timeout_s=20)
            assert messages_sent(second) == 0
            end = time.monotonic() + 3.0
            wait_for("samples have come in", lambda: time.monotonic() >= end)
            assert messages_sent(second) == 0


def test_kill_the_brain(lab: Lab, controller: LabController) -> None:
    brain = process_id(controller, "brain")
    workers = [process_id(controller, name) for name in ("worker fast", "worker proof")]
    with undisturbed(lab):
        os.kill(brain, signal.SIGKILL)
        wait_for(
            "the brain and its workers are gone",
            lambda: not any(map(is_running, [brain, *workers])),
            timeout_s=3,
        )
        wait_for("another brain has all switches", lambda: all_in_sync(controller), timeout_s=30)
        assert process_id(controller, "brain") != brain
        assert messages_sent(controller) == 0


@pytest.mark.parametrize("worker", ["worker fast", "worker proof"])
def test_kill_a_worker(lab: Lab, controller: LabController, worker: str) -> None:
    victim = process_id(controller, worker)
    sent = messages_sent(controller)
    with undisturbed(lab):
        os.kill(victim, signal.SIGKILL)
        wait_for(
            "another worker has its place",
            lambda: process_id_or_none(controller, worker) not in (None, victim),
            timeout_s=20,
        )
        assert messages_sent(controller) == sent
    # It works: what a new intent needs is made again.
    with controller.client() as client:
        client.apply([heald.connectivity("pair", hosts=["h1", "h8"])])
        client.wait_active(["pair"], timeout_s=20)
        client.delete("pair")
        wait_for("pair is gone", lambda: len(list(client.list())) == 1)


def process_id_or_none(controller: LabController, name: str) -> int | None:
    with controller.client() as client:
        match = re.search(r"pid (\d+)", client.status().processes[name])
    return int(match[1]) if match else None


def test_an_acknowledged_intent_survives_the_death_of_the_brain(
    lab: Lab, controller: LabController
) -> None:
    for attempt in range(3):
        brain = process_id(controller, "brain")
        name = f"acknowledged-{attempt}"
        with controller.client() as client:
            client.apply([heald.connectivity(name, hosts=["h2", "h7"])])
            os.kill(brain, signal.SIGKILL)
        wait_for("another brain has all switches", lambda: all_in_sync(controller), timeout_s=30)
        with controller.client() as client:
            client.wait_active([name], timeout_s=20)
            client.delete(name)


def test_it_listens_on_loopback_only(lab: Lab) -> None:
    """With every default: OpenFlow and gRPC on 127.0.0.1, everything else on unix sockets."""
    with LabController.start(lab, options=["--fabric-northbound=127.0.0.1:50051"]) as controller:
        wait_for("both listen", lambda: len(listening(controller.process.pid)) == 2)
        assert listening(controller.process.pid) == {("127.0.0.1", 6653), ("127.0.0.1", 50051)}


def listening(pid: int) -> set[tuple[str, int]]:
    """TCP sockets that anything listens on in the network namespace of a process."""
    found = set()
    for version in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{version}").read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == "0A":
                words, port = local.split(":")
                # The kernel prints an address as words of the machine's byte order.
                packed = b"".join(
                    int(words[i : i + 8], 16).to_bytes(4, sys.byteorder)
                    for i in range(0, len(words), 8)
                )
                address = ip_address(packed)
                address = getattr(address, "ipv4_mapped", None) or address
                found.add((str(address), int(port, 16)))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_everything_within_two_seconds(lab: Lab, number: signal.Signals) -> None:
    with LabController.start(lab) as controller:
        controller.wait_ready()
        children = [
            process_id(controller, name) for name in ("brain", "worker fast", "worker proof")
        ]
        began = time.monotonic()
        controller.process.send_signal(number)
        # Five times the two seconds, since this machine may be busy with something else.
        assert controller.process.wait(10) == 0
        assert not any(map(is_running, children))
        assert time.monotonic() - began < 10
