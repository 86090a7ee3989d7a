"""The whole session process over loopback: a scripted switch below, a scripted brain above."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from apps.quarantine import LAST_S
from controller.openflow import encode
from controller.openflow.model import Group, GroupType
from controller.openflow.wire import MessageType, compose, header
from heald.internal.v1 import session_pb2 as pb
from tests.apps.peers import (
    LIVE,
    SAYS,
    SILENCE,
    Brain,
    Controller,
    RawSwitch,
    Switch,
    description,
    eventually,
    features,
    hello_of,
    port_desc,
    port_status,
    ports_reply,
    short_directory,
)

_dpids = count(0x100)


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(scope="module")
def controller(directory: Path) -> Iterator[Controller]:
    running = Controller(directory, f"--fabric-brain=unix:{directory}/b.sock")
    running.await_listening()
    yield running
    began_s = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - began_s < 2


@pytest.fixture
def brain(controller: Controller, directory: Path) -> Iterator[Brain]:
    listening = Brain(directory / "b.sock")
    yield listening
    listening.close()


@pytest.fixture
def connect(controller: Controller) -> Iterator[Callable[..., Switch]]:
    switches: list[Switch] = []

    def opened(dpid: int, hello: bytes | None = None, says: bytes | None = SAYS) -> Switch:
        switches.append(Switch(controller.port, dpid, hello, says=says))
        return switches[-1]

    yield opened
    for switch in switches:
        switch.close()


@pytest.fixture
def dpid() -> int:
    return next(_dpids)


def group(number: int) -> bytes:
    return encode.group_add(Group(0x48000000 + number, GroupType.ALL, ()))


def test_a_switch_is_announced_with_its_ports_and_all_that_it_holds(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    switch.flows = [bytes(40), bytes(80)]
    connected = brain.next("connected").connected
    assert (connected.dpid, connected.openflow_version) == (dpid, 6)
    assert {(p.port, p.name, p.live) for p in connected.ports} == {
        (1, "p1", True),
        (2, "p2", False),
    }
    read = brain.next("readback").readback
    assert read.session == connected.session
    assert [len(part) for part in read.flows] == [16 + 40, 16 + 80]
    assert (len(read.groups), len(read.meters)) == (1, 1)
    # Nothing that changes a switch is sent on connect.
    assert not switch.modifications


def test_a_switch_says_what_it_is_and_keeps_its_session_if_it_does_not(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid, says=description("Maker", "Box\x1b[2J", "1.2"))
    described = brain.next("described").described
    assert (described.manufacturer, described.hardware, described.software) == (
        "Maker",
        "Box?[2J",
        "1.2",
    )
    session = brain.next("readback").readback.session
    assert described.session == session
    for answer in (b"", b"short", SILENCE, None):
        switch.close()
        brain.next("disconnected")
        switch = connect(dpid, says=answer)
        session = brain.next("readback").readback.session
        brain.batch(dpid, session, [group(1)])
        brain.next("done")
        assert not switch.closed.is_set()
    controller.await_log("leaf-1: does not say what it is: description of 5 bytes")
    assert not [m for m in brain.skipped if m.WhichOneof("message") == "described"]


def test_a_batch_is_numbered_sent_in_order_and_done_after_its_barrier(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    messages = [group(n) for n in range(5000)]
    brain.batch(dpid, session, messages, number=7)
    done = brain.next("done").done
    assert (done.batch_id, done.phase, done.session) == (7, 2, session)
    xids = [header(message).xid for message in switch.modifications]
    assert xids == list(range(xids[0], xids[0] + 5000))
    assert [m[8:] for m in switch.modifications] == [m[8:] for m in messages]


def test_a_refused_message_fails_its_batch_with_its_own_index(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    switch.errors = {4: (6, 8), 5: (6, 1)}
    brain.batch(dpid, session, [group(n) for n in range(3)], number=1)
    brain.batch(dpid, session, [group(n) for n in range(3)], number=2)
    brain.batch(dpid, session, [group(n) for n in range(3)], number=3)
    assert brain.next("done").done.batch_id == 1
    failed = brain.next("failed").failed
    assert (failed.batch_id, failed.index, failed.error_type, failed.error_code) == (2, 1, 6, 8)
    assert "no such group" in failed.error
    assert "1 more error" in failed.error
    assert brain.next("done").done.batch_id == 3


def test_a_batch_that_is_not_openflow_is_refused_unsent(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    brain.batch(dpid, session, [group(1), b"\x06\x0f\x00\x20"])
    assert brain.next("failed").failed.index == 1
    assert not switch.modifications


def test_orders_of_an_older_session_or_epoch_are_not_carried_out(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    brain.batch(dpid, session - 1, [group(1)], number=1)
    stale = pb.Batch(dpid=dpid, session=session, epoch=0, batch_id=2, messages=[group(2)])
    brain.send(batch=stale)
    failed = brain.next("failed").failed
    assert failed.batch_id == 2
    assert "epoch 0" in failed.error
    assert not switch.modifications


def test_counters_come_at_the_interval_and_without_what_a_switch_lacks(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    connect(dpid)
    brain.next("readback")
    began_s = time.monotonic()
    brain.send(poll=pb.Poll(interval_s=0.2))
    samples = [brain.next("sample").sample for _ in range(4)]
    assert time.monotonic() - began_s >= 0.55
    assert list(samples[0].port) == [1, 2]
    assert list(samples[0].tx_bytes) == [1000, 2000]
    assert list(samples[0].bucket_group) == [0x48000001, 0x48000001]
    assert list(samples[0].bucket_index) == [0, 1]
    assert list(samples[0].bucket_bytes) == [7, 9]
    assert not samples[0].queue_id
    assert samples[0].time_s < samples[1].time_s < time.monotonic()
    brain.send(poll=pb.Poll(interval_s=0))


def test_port_changes_are_told(brain: Brain, connect: Callable[..., Switch], dpid: int) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    brain.next("readback")
    switch.send(port_status(1, 1))
    state = brain.next("port_state").port_state
    assert (state.port, state.live, state.removed) == (1, False, False)
    switch.send(port_status(1, LIVE, deleted=True))
    state = brain.next("port_state").port_state
    assert (state.port, state.live, state.removed) == (1, False, True)


def test_without_a_brain_switches_stay_and_a_new_one_learns_all_anew(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    switch.reads.clear()
    brain.batch(dpid, session, [group(1)])
    brain.hang_up()
    brain.accept({dpid: "leaf-1"})
    connected = brain.next("connected").connected
    assert connected.session > session
    switch.reads.set()
    assert brain.next("readback").readback.session == connected.session
    # The answer to the old link's batch is not for the new one.
    assert not [m for m in brain.skipped if m.WhichOneof("message") in ("done", "failed")]
    assert len(switch.modifications) == 1
    assert not switch.closed.is_set()


def test_read_back_on_demand(brain: Brain, connect: Callable[..., Switch], dpid: int) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    switch.flows = [bytes(40)]
    brain.send(read_back=pb.ReadBack(dpid=dpid, session=session))
    assert [len(part) for part in brain.next("readback").readback.flows] == [16 + 40]


def test_a_port_change_that_was_not_told_is_found_when_the_switch_is_read_back(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    session = brain.next("readback").readback.session
    switch.ports = port_desc(1, 1) + port_desc(3, LIVE)
    brain.send(read_back=pb.ReadBack(dpid=dpid, session=session))
    told = [brain.next("port_state").port_state for _ in range(3)]
    assert [(p.port, p.live, p.removed) for p in told] == [
        (1, False, False),
        (2, False, True),
        (3, True, False),
    ]
    brain.next("readback")
    brain.send(read_back=pb.ReadBack(dpid=dpid, session=session))
    brain.next("readback")
    assert not [m for m in brain.skipped if m.WhichOneof("message") == "port_state"]


def test_a_switch_that_is_not_in_the_topology_is_refused(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid + 0x10000: "leaf-1"})
    switch = connect(dpid)
    assert switch.closed.wait(10)
    controller.await_log(f"datapath id {dpid:#018x} is not in the topology")


def test_the_second_switch_of_the_same_datapath_id_is_refused(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    first = connect(dpid)
    session = brain.next("readback").readback.session
    second = connect(dpid)
    assert second.closed.wait(10)
    controller.await_log("has the datapath id")
    brain.batch(dpid, session, [group(1)])
    brain.next("done")
    assert not first.closed.is_set()


def test_a_switch_without_openflow_1_5_is_told_the_cure(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid, hello_of(4, 1 << 4))
    assert switch.closed.wait(10)
    controller.await_log("speaks OpenFlow 1.3, Heald needs 1.5")
    controller.await_log("protocols=OpenFlow15")
    assert switch.count(MessageType.ERROR) == 1


@pytest.mark.parametrize(
    "element",
    [b"\0\1\0\0", b"\0\1\0\4", b"\0\2\0\1", b"\0\1", b"\0\1\xff\xff\0\0\0\0", b"\0\2\0\0" * 8],
)
def test_a_malformed_hello_ends_that_session_and_delays_no_other(
    brain: Brain, connect: Callable[..., Switch], dpid: int, element: bytes
) -> None:
    brain.accept({dpid: "leaf-1"})
    healthy = connect(dpid)
    session = brain.next("readback").readback.session
    assert connect(dpid, compose(MessageType.HELLO, element)).closed.wait(10)
    began_s = time.monotonic()
    brain.batch(dpid, session, [group(1)])
    brain.next("done")
    assert time.monotonic() - began_s < 2
    assert not healthy.closed.is_set()


def test_a_malformed_message_ends_the_session_naming_switch_and_offset(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-77"})
    switch = connect(dpid)
    brain.next("readback")
    broken = bytearray(port_status(1, LIVE))
    broken[20:22] = b"\0\0"  # the length of the port in it
    switch.send(bytes(broken))
    disconnected = brain.next("disconnected").disconnected
    assert disconnected.dpid == dpid
    assert "malformed" in disconnected.reason
    assert switch.closed.wait(10)
    controller.await_log("leaf-77: disconnected: malformed message: type 12")
    assert "at offset 16" in controller.log.split("leaf-77: disconnected: malformed")[1]


def test_who_comes_back_with_malformed_messages_costs_a_few_lines_of_log(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-78"})
    broken = bytearray(port_status(1, LIVE))
    broken[20:22] = b"\0\0"  # the length of the port in it
    for _ in range(50):
        switch = connect(dpid)
        while not switch.closed.is_set():
            # The first asks for its ports, the others are of the session.
            if switch.count(MessageType.MULTIPART_REQUEST) > 1:
                with suppress(OSError):
                    switch.send(bytes(broken))
            switch.closed.wait(0.01)
    controller.await_log("leaf-78 sent what is malformed; it may come back in a while")
    lines = [line for line in controller.log.splitlines() if "leaf-78" in line]
    assert len(lines) < 20
    assert brain.next("refused").refused.dpid == dpid
    sessions = sum(m.WhichOneof("message") == "connected" for m in brain.skipped)
    assert 1 <= sessions < 8
    began_s = time.monotonic()
    while connect(dpid).closed.wait(0.5):
        assert time.monotonic() - began_s < 5 * LAST_S


def test_a_switch_that_does_not_read_delays_no_other_and_is_dropped(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    other = next(_dpids)
    brain.accept({dpid: "leaf-1", other: "leaf-2"})
    stalled = connect(dpid)
    stalled_session = brain.next("readback").readback.session
    connect(other)
    session = brain.next("readback").readback.session
    stalled.reads.clear()
    filler = [compose(MessageType.FLOW_MOD, bytes(60_000))] * 200
    brain.batch(dpid, stalled_session, filler)
    slowest_s = 0.0
    for number in range(20):
        began_s = time.monotonic()
        brain.batch(other, session, [group(1)], number=number)
        assert brain.next("done").done.batch_id == number
        slowest_s = max(slowest_s, time.monotonic() - began_s)
    assert slowest_s < 1
    began_s = time.monotonic()
    assert brain.next("disconnected").disconnected.dpid == dpid
    assert time.monotonic() - began_s < 7


def test_a_dead_peer_is_found_within_five_seconds(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = connect(dpid)
    brain.next("readback")
    switch.reads.clear()
    began_s = time.monotonic()
    reason = brain.next("disconnected").disconnected.reason
    assert 2 < time.monotonic() - began_s < 6
    assert "silent" in reason


def test_acknowledgements_wait_for_credit_and_old_samples_do_not(
    brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"}, credit=0)
    switch = connect(dpid)
    brain.send(poll=pb.Poll(interval_s=0.1))
    eventually(lambda: switch.count(MessageType.MULTIPART_REQUEST) > 20, "polls")
    brain.send(credit=pb.Credit(bytes=1 << 20))
    order = []
    while "sample" not in order:
        order.append(brain.take().WhichOneof("message"))
    assert order == ["connected", "described", "readback", "sample"]
    brain.send(poll=pb.Poll(interval_s=0))


def test_ctrl_c_stops_it_within_two_seconds(directory: Path) -> None:
    brain = Brain(directory / "i.sock")
    running = Controller(directory / "second", f"--fabric-brain=unix:{directory}/i.sock")
    running.await_listening()
    brain.accept({1: "leaf-1"})
    switch = Switch(running.port, 1)
    brain.next("readback")
    began_s = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(5) == 0, running.log
    assert time.monotonic() - began_s < 2
    assert "Traceback" not in running.log
    switch.close()
    brain.close()


def test_a_port_in_use_is_one_clear_sentence(controller: Controller, directory: Path) -> None:
    port = f"--ofp-tcp-listen-port={controller.port}"
    second = Controller(directory / "third", "--fabric-brain=unix:b.sock", port)
    assert second.process.wait(20) == 3
    assert f"cannot listen for switches on 127.0.0.1:{controller.port}" in second.log
    assert "Traceback" not in second.log


def test_ports_before_a_datapath_id_end_that_connection_and_no_other_is_hindered(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    # Before the brain is linked, so that nothing is expected yet.
    hasty = RawSwitch(controller.port)
    hasty.send(compose(MessageType.HELLO) + ports_reply(port_desc(1, LIVE)))
    assert hasty.ended(within_s=5)
    controller.await_log("a PORT_DESC reply before the FEATURES_REPLY")
    brain.accept({dpid: "leaf-1"})
    connect(dpid)
    assert brain.next("connected").connected.dpid == dpid


def test_a_switch_cannot_take_another_datapath_id(
    controller: Controller, brain: Brain, dpid: int
) -> None:
    brain.accept({dpid: "leaf-1", dpid + 0x10000: "leaf-2"})
    fickle = RawSwitch(controller.port)
    fickle.send(compose(MessageType.HELLO) + features(dpid) + features(dpid + 0x10000))
    assert fickle.ended(within_s=5)
    controller.await_log("a second FEATURES_REPLY")


def test_a_port_that_is_none_is_one_clear_sentence(directory: Path) -> None:
    running = Controller(
        directory / "none", "--fabric-brain=unix:b.sock", "--ofp-tcp-listen-port=99999"
    )
    assert running.process.wait(20) == 3
    assert "--ofp-tcp-listen-port 99999: give a port from 1 to 65535" in running.log
    assert "Traceback" not in running.log


def test_an_unlisted_switch_is_refused_before_it_tells_its_ports(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    unlisted = dpid + 0x20000
    brain.accept({dpid: "leaf-1"})
    connect(dpid)
    brain.next("readback")
    switch = RawSwitch(controller.port)
    switch.send(compose(MessageType.HELLO) + features(unlisted))
    assert switch.ended(within_s=2)
    controller.await_log(f"datapath id {unlisted:#018x} is not in the topology")


@pytest.mark.parametrize(
    ("first", "step", "reason"),
    [(1, 1, "more than 8192 ports"), (1, 0, "more than 2 MiB before the end of the handshake")],
)
def test_ports_without_end_are_refused(
    controller: Controller, brain: Brain, dpid: int, first: int, step: int, reason: str
) -> None:
    brain.accept({dpid: "leaf-1"})
    switch = RawSwitch(controller.port)
    switch.send(compose(MessageType.HELLO) + features(dpid))
    with suppress(ConnectionError):
        for part in range(60):
            numbers = range(1000 * part, 1000 * part + 1000)
            ports = b"".join(port_desc(first + step * number, LIVE) for number in numbers)
            switch.send(ports_reply(ports, more=True))
    assert switch.ended(within_s=5)
    controller.await_log(reason)


def test_a_handshake_that_takes_too_long_ends_whatever_is_sent(
    controller: Controller, brain: Brain, dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    began_s = time.monotonic()
    switch = RawSwitch(controller.port)
    switch.send(compose(MessageType.HELLO) + features(dpid))
    with suppress(ConnectionError):
        while time.monotonic() - began_s < 14:
            switch.send(compose(MessageType.ECHO_REQUEST))
            time.sleep(0.2)
    assert 9 < time.monotonic() - began_s < 12
    switch.close()
    controller.await_log("no handshake within 10 s")


def test_unfinished_handshakes_do_not_keep_a_switch_out(
    controller: Controller, brain: Brain, connect: Callable[..., Switch], dpid: int
) -> None:
    brain.accept({dpid: "leaf-1"})
    idle = [RawSwitch(controller.port) for _ in range(300)]
    controller.await_log("gave way to a newer connection")
    connect(dpid)
    assert brain.next("connected").connected.dpid == dpid
    assert idle[0].ended(within_s=1)
    for each in idle:
        each.close()


def test_without_descriptors_it_waits_for_better_times(directory: Path) -> None:
    brain = Brain(directory / "d.sock")
    running = Controller(
        directory / "descriptors",
        f"--fabric-brain=unix:{directory}/d.sock",
        descriptors=(100, 160),
    )
    running.await_listening()
    assert resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE) == (160, 160)
    brain.accept({1: "leaf-1"})
    idle = [RawSwitch(running.port) for _ in range(200)]
    running.await_log("refuses connections")
    # Even with nothing in reserve.
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (20, 160))
    late = RawSwitch(running.port)
    running.await_log("cannot accept")
    for each in (late, *idle):
        each.close()
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (160, 160))
    switch = Switch(running.port, 1)
    assert brain.next("connected").connected.dpid == 1
    assert running.stop() == 0
    switch.close()
    brain.close()
