"""Switches that lie, and those beside them that do not notice."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from controller.openflow.wire import MessageType, compose
from tests.apps.crowd import Crowd, percentile
from tests.apps.liars import GUISES
from tests.apps.peers import (
    DEADLINE_S,
    ROOT,
    Brain,
    Controller,
    Switch,
    environment,
    short_directory,
)
from tests.apps.test_endurance import Process

HONEST = range(1, 201)
LIARS = {1001: "before", 1002: "before", 10_000: "after", 20_000: "after"}
FLOOD, STALLED = 2001, 2002
SECONDS = 6.0
ECHO_INTERVAL_S = 0.5
P99_S = 0.020
MARGIN = 5
MEMORY_LIMIT_BYTES = 300 << 20
"""Of the session process, which has some 80 MiB when nobody is connected; a switch that does not
read may have 64 MiB of it."""


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def controller(directory: Path) -> Iterator[Controller]:
    running = Controller(directory, f"--fabric-brain=unix:{directory}/b.sock")
    running.await_listening()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log


@pytest.fixture
def brain(controller: Controller, directory: Path) -> Iterator[Brain]:
    listening = Brain(directory / "b.sock")
    guises = [first + n for first, kind in LIARS.items() if kind == "after" for n in range(GUISES)]
    names = {dpid: f"s{dpid}" for dpid in (*HONEST, *LIARS, *guises, FLOOD, STALLED)}
    listening.accept(names, credit=1 << 40)
    yield listening
    listening.close()


@pytest.fixture
def crowd(controller: Controller, brain: Brain) -> Iterator[Crowd]:
    honest = Crowd(controller.port, HONEST)
    for _ in HONEST:
        brain.next("readback")
    yield honest
    honest.close()


def said(what: str, trips_s: list[float]) -> str:
    p50, p99, worst = (1e3 * percentile(trips_s, share) for share in (0.5, 0.99, 1.0))
    load = os.getloadavg()[0]
    return (
        f"{what}: {len(trips_s)} echoes of {len(HONEST)} switches: median {p50:.1f} ms, "
        f"p99 {p99:.1f} ms, worst {worst:.1f} ms (load average {load:.1f})"
    )


def liar(controller: Controller, directory: Path, dpid: int, kind: str) -> subprocess.Popen[str]:
    options = [str(controller.port), str(dpid), str(SECONDS), kind]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.apps.liars", *options],
        env=environment(directory),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_liars_before_and_after_the_handshake_delay_no_honest_switch(
    controller: Controller, brain: Brain, crowd: Crowd, directory: Path
) -> None:
    print(said("alone", crowd.echoes(2.0, ECHO_INTERVAL_S)))
    with listening_to(brain):
        liars = [liar(controller, directory, dpid, kind) for dpid, kind in LIARS.items()]
        trips_s = crowd.echoes(SECONDS, ECHO_INTERVAL_S)
        print(said("beside liars", trips_s))
        for each in liars:
            told, _ = each.communicate(timeout=30)
            print("liar {}: {} connections, {} messages".format(*told.split()))
            assert each.returncode == 0
            # It was turned away many times, and came again.
            assert int(told.split()[1]) > 10
    check_unharmed(controller, crowd, trips_s)
    for complaint in ("refused: malformed message", "disconnected: malformed message"):
        assert complaint in controller.log


def test_who_asks_without_end_and_who_does_not_read_delay_no_honest_switch(
    controller: Controller, brain: Brain, crowd: Crowd, directory: Path
) -> None:
    stalled = Switch(controller.port, STALLED)
    session = brain.next("readback", STALLED).readback.session
    stalled.reads.clear()
    brain.batch(STALLED, session, [compose(MessageType.FLOW_MOD, bytes(60_000))] * 200)
    # Until what is not read has been taken up: other orders come after it.
    other = brain_session(brain, HONEST[0])
    brain.batch(HONEST[0], other, [])
    brain.next("done", HONEST[0])
    with listening_to(brain):
        flood = liar(controller, directory, FLOOD, "flood")
        trips_s = crowd.echoes(SECONDS, ECHO_INTERVAL_S)
        print(said("beside a flood and a stalled reader", trips_s))
        told, _ = flood.communicate(timeout=30)
        print("{}: {} connections, {} messages".format(*told.split()))
        controller.await_log(f"s{STALLED}: disconnected: ")
    check_unharmed(controller, crowd, trips_s)
    stalled.close()


def brain_session(brain: Brain, dpid: int) -> int:
    told = [m.connected for m in brain.skipped if m.WhichOneof("message") == "connected"]
    return next(connected.session for connected in told if connected.dpid == dpid)


def check_unharmed(controller: Controller, crowd: Crowd, trips_s: list[float]) -> None:
    held_bytes = Process(controller.process.pid).resident_bytes()
    print(f"the session process holds {held_bytes >> 20} MiB")
    assert held_bytes < MEMORY_LIMIT_BYTES
    assert not [switch.dpid for switch in crowd.switches if switch.is_lost]
    assert all(len(switch.round_trips_s) == switch.asked for switch in crowd.switches)
    assert percentile(trips_s, 0.99) < MARGIN * P99_S
    assert "internal error" not in controller.log


@contextmanager
def listening_to(brain: Brain) -> Iterator[None]:
    """Take what the session process tells, so that nothing waits for room; hangs up in the end."""
    listener = threading.Thread(target=listen_to_the_end, args=[brain], daemon=True)
    listener.start()
    yield
    brain.shut_down()
    listener.join(DEADLINE_S)


def listen_to_the_end(brain: Brain) -> None:
    with suppress(AssertionError, OSError):
        while True:
            brain.take()
