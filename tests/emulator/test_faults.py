"""Each fault as a controller sees it: by what switches say, when, or no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.emulator import fault_script
from controller.emulator import faults as injection
from controller.emulator.fault_kinds import (
    KINDS,
    ClockSkew,
    DelayedReplies,
    Disconnect,
    Fault,
    FaultError,
    Flapping,
    Latency,
    LinkDown,
    LostReplies,
    PowerLoss,
    SilentLoss,
    StalledReader,
    TableFull,
    WrongCounters,
)
from controller.emulator.network import Network
from controller.emulator.routes import Demand
from controller.emulator.traffic import Traffic
from controller.openflow import bodies, messages
from controller.openflow.messages import PortState
from controller.openflow.model import ALL_TABLES, ApplyActions, Match, Output
from tests.dataplane import fabrics
from tests.emulator.networks import Controller, installed, network, with_capacity

FABRIC = with_capacity(fabrics.leaf_spine(2, 2, 1), 1e9, 1e9)
LINK = FABRIC.links[0]


def world(*script: Fault, seed: int = 0) -> Controller:
    """Connected to all switches before anything fails."""
    controller = Controller(network(FABRIC))
    injection.install(controller.net, script, seed)
    for switch in FABRIC.switches:
        controller.connect(switch.name, 0.0)
    return controller


def carried(*script: Fault) -> tuple[Controller, Traffic]:
    """8 Mb/s in packets of 1,000 octets, 1,000 a second, go from h1 on l0 to h2 on l1."""
    net, _ = installed(FABRIC)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 8e6, frame_bytes=1000, adapts=False)])
    injection.install(net, script)
    controller = Controller(net)
    for switch in FABRIC.switches:
        controller.connect(switch.name, 0.0)
    return controller, traffic


def port_states(controller: Controller) -> list[tuple[float, str, int, bool]]:
    return [
        (time, switch, m.port.port, m.port.state != PortState.LINK_DOWN)
        for time, switch, _, m in controller.heard
        if isinstance(m, messages.PortStatus)
    ]


def received(controller: Controller, switch: str, port: int, *times: float) -> list[int]:
    """Packets that a port says it has received, at these times."""
    for time in times:
        controller.say(switch, bodies.PortStatsRequest(port), time, xid=77)
    controller.run(times[-1] + 2)
    return [
        p.rx_packets
        for _, name, xid, m in controller.heard
        if name == switch and xid == 77 and isinstance(m, bodies.PortStatsReply)
        for p in m.ports
    ]


def test_link_down_is_told_by_both_ends() -> None:
    controller = world(LinkDown(wire=LINK.name, at_s=1.0, until_s=2.0))
    controller.run(5.0)
    ends = [(LINK.a.switch, LINK.a.port), (LINK.b.switch, LINK.b.port)]
    assert port_states(controller) == [
        *((1.0, *end, False) for end in ends),
        *((2.0, *end, True) for end in ends),
    ]


def test_flapping_is_told_each_time_and_ends_up() -> None:
    controller = world(
        Flapping(wire=LINK.name, at_s=1.0, until_s=2.0, period_s=0.5, down_share=0.4)
    )
    controller.run(5.0)
    seen = [(t, up) for t, switch, _, up in port_states(controller) if switch == LINK.a.switch]
    times = [t for t, _ in seen]
    assert times == pytest.approx([1.0, 1.2, 1.5, 1.7])
    assert [up for _, up in seen] == [False, True, False, True]


def test_silent_loss_shows_in_nobodys_port_states_but_in_what_arrives() -> None:
    loss = SilentLoss(wire="h2/eth0", rate=0.25, towards="h2/eth0", at_s=1.0)
    controller, traffic = carried(loss)
    controller.run(2.0)
    report = traffic.report()
    assert report.delivered_bps[0] == pytest.approx(6e6)
    assert report.lost_bps[0] == pytest.approx(2e6)
    assert port_states(controller) == []


def test_silent_loss_on_a_link_is_a_difference_of_two_counters() -> None:
    faults = [SilentLoss(wire=link.name, rate=0.1, at_s=0.0) for link in FABRIC.links]
    controller, _ = carried(*faults)
    spine_ports = {link.name: link for link in FABRIC.links if link.a.switch == "l0"}
    got = 0
    for link in spine_ports.values():
        got += received(controller, link.b.switch, link.b.port, controller.net.now + 1.0)[-1]
        controller.heard.clear()
    assert got < 0.95 * received(controller, "l0", 1, controller.net.now)[-1]


def test_latency_is_in_what_frames_and_traffic_take() -> None:
    faults = [Latency(wire=link.name, extra_s=0.25, at_s=1.0, until_s=3.0) for link in FABRIC.links]
    controller, traffic = carried(*faults)
    controller.run(2.0)
    assert traffic.report().latency_s[0] == pytest.approx(0.5)
    controller.run(4.0)
    assert traffic.report().latency_s[0] == pytest.approx(0.0)


def test_power_loss_ends_connections_downs_neighbours_and_empties_tables() -> None:
    controller, _ = carried(PowerLoss(switch="s0", at_s=1.0, until_s=2.0))
    controller.run(1.5)
    assert controller.closed == [("s0", "c")]
    assert {switch for _, switch, _, up in port_states(controller) if not up} == {"l0", "l1"}
    controller.connect("s0", 1.6)
    controller.run(1.7)
    assert controller.closed == [("s0", "c")] * 2
    controller.connect("s0", 3.0)
    controller.say("s0", bodies.AggregateRequest(ALL_TABLES), 3.0)
    controller.run(4.0)
    assert {switch for _, switch, _, up in port_states(controller) if up} == {"l0", "l1"}
    ((_, reply),) = controller.of(bodies.AggregateReply)
    assert reply.counters.flows == 0


def test_a_stalled_reader_answers_late_and_in_order() -> None:
    controller = world(StalledReader(switch="l0", at_s=1.0, until_s=5.0))
    for time in (2.0, 3.0):
        controller.say("l0", messages.EchoRequest(str(time).encode()), time)
    controller.say("l1", messages.EchoRequest(b"other"), 2.0)
    controller.run(4.0)
    assert controller.of(messages.EchoReply, "l0") == []
    assert controller.net.unread_bytes("l0", "c") == 2 * (8 + 3)
    controller.run(6.0)
    heard = controller.of(messages.EchoReply)
    assert [(time, m.data) for time, m in heard] == [(2.0, b"other"), (5.0, b"2.0"), (5.0, b"3.0")]


def test_delayed_replies_are_in_order_on_a_connection_but_not_across() -> None:
    names = [switch.name for switch in FABRIC.switches]
    controller = world(
        *(DelayedReplies(switch=name, most_s=1.0, at_s=0.5, until_s=50.0) for name in names)
    )
    for number in range(20):
        for name in names:
            controller.say(name, messages.BarrierRequest(), 1.0 + number / 10, xid=number)
    controller.run(60.0)
    by_switch: dict[str, list[int]] = {name: [] for name in names}
    across = []
    for time, switch, xid, message in controller.heard:
        if isinstance(message, messages.BarrierReply):
            by_switch[switch].append(xid)
            across.append(xid)
            assert 0 <= time - (1.0 + xid / 10) <= 1.0 + 1e-9
    assert all(xids == list(range(20)) for xids in by_switch.values())
    assert across != sorted(across)


def test_lost_replies_never_come() -> None:
    controller = world(LostReplies(switch="l0", rate=0.5, at_s=0.5))
    for number in range(200):
        controller.say("l0", messages.BarrierRequest(), 1.0, xid=number)
        controller.say("l1", messages.BarrierRequest(), 1.0, xid=number)
    controller.run(2.0)
    assert 60 < len(controller.of(messages.BarrierReply, "l0")) < 140
    assert len(controller.of(messages.BarrierReply, "l1")) == 200


def test_a_full_table_refuses_what_is_new() -> None:
    controller = world(TableFull(switch="l0", room=2, at_s=1.0, until_s=3.0))
    for number in range(4):
        request = messages.FlowMod(0, 0, number, Match(), (ApplyActions((Output(1),)),))
        controller.say("l0", request, 2.0, xid=100 + number)
    again = messages.FlowMod(0, 0, 9, Match(), (ApplyActions((Output(1),)),))
    controller.say("l0", again, 4.0, xid=109)
    controller.run(5.0)
    errors = [
        (x, m.type, m.code) for _, _, x, m in controller.heard if isinstance(m, messages.Error)
    ]
    assert errors == [(102, 5, 1), (103, 5, 1)]


def test_wrong_counters_stand_still_run_fast_or_start_again() -> None:
    controller, _ = carried(
        WrongCounters(switch="l0", factor=0.0, at_s=2.0, until_s=3.0),
        WrongCounters(switch="l0", factor=2.0, at_s=3.0, until_s=4.0),
        WrongCounters(switch="l0", reset=True, at_s=5.0),
    )
    times = [1.0, 2.0, 3.0, 4.0, 4.5, 5.5]
    assert received(controller, "l0", 1, *times) == [1000, 2000, 2000, 4000, 4500, 500]


def test_counters_only_count_up_without_that_fault() -> None:
    script = [
        fault
        for fault in fault_script.draw(FABRIC, 3, 10.0, 40)
        if not isinstance(fault, WrongCounters | PowerLoss | Disconnect | LostReplies)
    ]
    assert len(script) > 10
    controller, _ = carried(*script)
    counts = received(controller, "l0", 1, *(i / 4 for i in range(1, 44)))
    assert len(counts) == 43
    assert counts == sorted(counts)


def test_clock_skew_is_in_the_age_of_what_is_there() -> None:
    controller = world(ClockSkew(switch="l0", offset_s=100.0, drift=0.5, at_s=10.0, until_s=30.0))
    for name in ("l0", "l1"):
        for time in (5.0, 20.0, 40.0):
            controller.say(name, bodies.PortStatsRequest(1), time)
    controller.run(50.0)
    ages = {
        name: [
            p.duration.seconds
            for _, m in controller.of(bodies.PortStatsReply, name)
            for p in m.ports
        ]
        for name in ("l0", "l1")
    }
    assert ages == {"l0": [5, 125, 40], "l1": [5, 20, 40]}


@pytest.mark.parametrize("after", [0, 1, 7, 8, 9, 50])
def test_a_connection_ends_at_any_byte(after: int) -> None:
    controller = world(Disconnect(switch="l0", after_bytes=after, at_s=1.0))
    controller.say("l0", messages.EchoRequest(b"x" * 60), 2.0)
    controller.run(3.0)
    assert controller.closed == [("l0", "c")]
    assert len(controller.received["l0", "c"]) == after
    assert controller.of(messages.EchoReply) == []
    controller.received.clear()
    controller.connect("l0", 4.0)
    controller.say("l0", messages.EchoRequest(b"again"), 4.0)
    controller.run(5.0)
    assert [m.data for _, m in controller.of(messages.EchoReply)] == [b"again"]


def test_a_controller_cut_off_within_a_request_has_asked_nothing() -> None:
    controller = world(Disconnect(switch="l0", after_bytes=9, by="controller", at_s=1.0))
    controller.say("l0", messages.EchoRequest(b"x" * 60), 2.0)
    controller.run(3.0)
    assert controller.closed == [("l0", "c")]
    assert controller.of(messages.EchoReply) == []


def test_the_same_script_and_seed_give_the_same_run() -> None:
    def run(seed: int) -> list[object]:
        controller = world(*fault_script.draw(FABRIC, 11, 10.0, 30), seed=seed)
        for number in range(100):
            for switch in FABRIC.switches:
                controller.say(switch.name, messages.BarrierRequest(), number / 10, xid=number)
        controller.run(20.0)
        return list(controller.heard)

    assert run(1) == run(1)
    assert run(1) != run(2)


# ---- Scripts ----


def test_a_script_is_read_from_yaml() -> None:
    text = """
- {fault: link-down, wire: l0-s0#0, at_s: 1, until_s: 2.5}
- fault: silent-loss
  wire: l0-s0#0
  at_s: 3
  rate: 0.01
  towards: s0
"""
    assert fault_script.parse(text, "faults.yaml") == (
        LinkDown(wire="l0-s0#0", at_s=1, until_s=2.5),
        SilentLoss(wire="l0-s0#0", at_s=3, rate=0.01, towards="s0"),
    )


def test_all_that_is_wrong_with_a_script_is_said_at_once() -> None:
    text = """
- {fault: link-up, wire: x, at_s: 1}
- {fault: latency, wire: x, at_s: soon, more: 1}
- 7
"""
    with pytest.raises(FaultError) as error:
        fault_script.parse(text, "faults.yaml")
    lines = str(error.value).splitlines()
    assert [line.split(":")[1].strip() for line in lines] == [
        "fault 1",
        "fault 2",
        "fault 2",
        "fault 2",
        "fault 3",
    ]
    assert "'link-up', not one of link-down, flapping" in lines[0]
    assert any("needs `extra_s`" in line for line in lines)
    assert any("`at_s` is 'soon', not a float" in line for line in lines)


@pytest.mark.parametrize(
    "text", ["faults: [", "a: 1", "- {fault: [], at_s: 1}"], ids=["syntax", "mapping", "kind"]
)
def test_what_is_no_script_is_refused(text: str) -> None:
    with pytest.raises(FaultError, match=r"^faults\.yaml: "):
        fault_script.parse(text, "faults.yaml")


def test_places_that_are_not_there_are_named() -> None:
    net = network(FABRIC)
    script: list[Fault] = [
        LinkDown(wire="l0-s9", at_s=1.0),
        PowerLoss(switch="s9", at_s=1.0),
        SilentLoss(wire=LINK.name, rate=2.0, towards="l1", at_s=1.0),
    ]
    with pytest.raises(FaultError) as error:
        injection.install(net, script)
    assert str(error.value).splitlines() == [
        "link-down: there is no wire 'l0-s9'; did you mean 'l0-s1#1'?",
        "power-loss: there is no switch 's9'; there are l0, l1, s0, s1",
        f"silent-loss: wire '{LINK.name}' leads to s0 and l0, not 'l1'",
        "silent-loss: a rate of 2.0 is not from 0 to 1",
    ]


def test_random_scripts_have_every_kind_and_end_in_time() -> None:
    script = fault_script.draw(FABRIC, 5, 60.0, 400)
    assert {fault.kind for fault in script} == set(KINDS)
    assert all(0 <= f.at_s <= (f.until_s or 0) <= 60.0 for f in script)
    assert fault_script.draw(FABRIC, 5, 60.0, 400) == script
    injection.install(network(FABRIC), script)


def test_all_is_well_again_after_a_random_script() -> None:
    """Power cycles aside, tables and links are as before."""
    script = [
        fault
        for fault in fault_script.draw(FABRIC, 8, 20.0, 60)
        if not isinstance(fault, PowerLoss)
    ]
    controller, traffic = carried(*script)
    controller.run(30.0)
    net: Network = controller.net
    assert all(wire.up and not wire.extra_s for wire in net.wires.values())
    assert all(not d.loss for wire in net.wires.values() for d in wire.directions)
    for node in net.nodes.values():
        plain = replace(node, connections={}, wakes_s=0.0)
        assert (plain.stalled, plain.delay, plain.loses, plain.clock) == (False, None, None, None)
        assert plain.count_factor == 1.0
        assert plain.cuts_after == [None, None]
    assert traffic.report().delivered_bps[0] == pytest.approx(8e6)
