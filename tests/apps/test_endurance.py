"""What many connections leave behind in the session process: nothing."""

from __future__ import annotations

import shutil
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from controller.openflow.wire import MessageType, compose
from heald.internal.v1 import session_pb2 as pb
from tests.apps.peers import (
    PEM,
    Brain,
    Controller,
    RawSwitch,
    Switch,
    eventually,
    features,
    short_directory,
    switch_tls,
)

DPID = 1
CYCLES = 500
GROWTH_LIMIT_BYTES = 1 << 20
"""The allocator may keep some pages. If the connections themselves were kept, it would be 6 MiB."""


@contextmanager
def linked(*options: str, tls: bool = False) -> Iterator[tuple[Controller, Brain]]:
    with short_directory() as directory:
        arguments = [f"--fabric-brain=unix:{directory}/b.sock", *options]
        if tls:
            for option, name in (
                ("ctl-privkey", "controller.key"),
                ("ctl-cert", "controller.pem"),
                ("ca-certs", "switches-ca.pem"),
            ):
                shutil.copy(PEM / name, directory / name)
                arguments.append(f"--{option}={directory}/{name}")
        running = Controller(directory, *arguments, listens="ssl" if tls else "tcp")
        running.await_listening()
        brain = Brain(directory / "b.sock")
        brain.accept({DPID: "leaf-1"})
        yield running, brain
        assert "Traceback" not in running.log
        assert running.stop() == 0
        brain.close()


class Process:
    """What a process holds of the system's."""

    def __init__(self, pid: int) -> None:
        self._at = Path("/proc", str(pid))

    def descriptors(self) -> int:
        return len(list((self._at / "fd").iterdir()))

    def resident_bytes(self) -> int:
        lines = (self._at / "status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


def cycle(controller: Controller, brain: Brain, tls: ssl.SSLContext | None) -> None:
    """A session from the connection to its end, as the brain sees it."""
    switch = Switch(controller.port, DPID, tls=tls)
    session = brain.next("readback").readback.session
    switch.close()
    assert brain.next("disconnected").disconnected.session == session
    brain.skipped.clear()
    brain.send(credit=pb.Credit(bytes=1 << 14))


def desert(controller: Controller, words: bytes) -> None:
    """Connect, say this, and go away in the middle of the handshake."""
    peer = RawSwitch(controller.port)
    with suppress(OSError):
        peer.send(words)
    peer.close()


def assert_nothing_is_left(tls: bool) -> None:
    context = switch_tls() if tls else None
    hello = compose(MessageType.HELLO)
    half = (b"", b"\x06", hello, hello + features(DPID), hello + features(DPID)[:20])
    with linked(tls=tls) as (controller, brain):
        process = Process(controller.process.pid)

        def run(count: int) -> tuple[int, int]:
            for number in range(count):
                cycle(controller, brain, context)
                desert(controller, half[number % len(half)])
            eventually(lambda: process.descriptors() <= descriptors, "all sockets are closed")
            return process.descriptors(), process.resident_bytes()

        descriptors = process.descriptors()
        began_s = time.monotonic()
        # The first ones fill caches and pools.
        _, before = run(CYCLES // 5)
        left, after = run(CYCLES - CYCLES // 5)
        grown = after - before
        print(
            f"{CYCLES} cycles in {time.monotonic() - began_s:.1f} s: {descriptors} descriptors, "
            f"then {left}; {before >> 10} KiB, then {grown >> 10:+} KiB"
        )
        assert left == descriptors
        assert grown < GROWTH_LIMIT_BYTES


def test_500_sessions_that_begin_and_end_leave_no_descriptor_and_no_memory() -> None:
    assert_nothing_is_left(tls=False)


def test_nor_do_500_by_tls() -> None:
    assert_nothing_is_left(tls=True)


def test_claims_to_a_datapath_id_that_is_taken_are_refused_and_the_log_says_so_once() -> None:
    with linked() as (controller, brain):
        first = Switch(controller.port, DPID)
        session = brain.next("readback").readback.session
        for _ in range(100):
            second = Switch(controller.port, DPID)
            assert second.closed.wait(10)
            # It never came as far as to be told what a switch is told.
            assert not second.modifications
            assert second.count(MessageType.MULTIPART_REQUEST) == 0
            second.close()
        brain.batch(DPID, session, [])
        assert brain.next("done").done.session == session
        assert not first.closed.is_set()
        assert not [m for m in brain.skipped if m.WhichOneof("message") == "disconnected"]
        lines = [line for line in controller.log.splitlines() if "has the datapath id" in line]
        assert len(lines) == 1
        assert " ERROR " in lines[0]
        assert "of leaf-1 at 127.0.0.1:" in lines[0]
        told = [m.refused for m in brain.skipped if m.WhichOneof("message") == "refused"]
        assert [(each.dpid, each.reason) for each in told] == [(DPID, told[0].reason)]
        assert "which stays; give each switch its own" in told[0].reason
        first.close()
