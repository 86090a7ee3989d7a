"""Wires and hosts between switches, and their connections to controllers."""

from __future__ import annotations

from controller.emulator.wires import NicRef
from controller.openflow import bodies, messages
from controller.openflow.codec import encode
from controller.openflow.messages import PortReason, PortState
from controller.openflow.model import ApplyActions, Field, Match, Output, Port
from tests.dataplane import fabrics
from tests.emulator.networks import Controller, network

LINE = fabrics.fabric([("a", "b"), ("b", "c")], [("a",), ("c",)])
FRAME = bytes.fromhex("0200000000020200000000010800") + bytes(46)


def forward(controller: Controller, switch: str, out: int, now: float = 0.0) -> None:
    request = messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(out),)),))
    controller.say(switch, request, now)


def through(controller: Controller) -> None:
    """Everything from a to c."""
    for switch, following in (("a", "b"), ("b", "c")):
        arcs = LINE.arcs_from[switch]
        forward(controller, switch, next(x for x in arcs if x.head.switch == following).tail.port)
    forward(controller, "c", LINE.nic_by_id["h2/eth0"].attachments[0].port)


def connected(**options: int) -> Controller:
    controller = Controller(network(LINE, **options))
    for switch in LINE.switches:
        controller.connect(switch.name, 0.0)
    controller.run(0.0)
    return controller


def test_a_frame_crosses_switches_and_takes_its_time() -> None:
    controller = connected()
    through(controller)
    for link in LINE.links:
        controller.net.wires[link.name].latency_s = 0.25
    controller.net.send(NicRef("h1/eth0"), FRAME, 1.0)
    assert controller.run(1.4).frames == []
    (frame,) = controller.net.advance(2.0).frames
    assert (frame.nic, frame.data) == (NicRef("h2/eth0"), FRAME)
    assert 1.5 <= frame.time_s < 1.51


def test_a_probe_sent_out_by_one_switch_is_heard_by_its_neighbour() -> None:
    controller = connected()
    a, b = LINE.links[0].a, LINE.links[0].b
    forward(controller, b.switch, Port.CONTROLLER)
    out = messages.PacketOut(Match.of({Field.IN_PORT: Port.CONTROLLER}), (Output(a.port),), FRAME)
    controller.say(a.switch, out, 1.0)
    controller.run(2.0)
    ((_, heard),) = controller.of(messages.PacketIn)
    assert heard.data == FRAME
    assert heard.match == Match.of({Field.IN_PORT: b.port})


def test_both_ends_tell_of_a_link_that_is_cut_and_mended() -> None:
    controller = connected()
    link = LINE.links[0]
    controller.net.cut(link.name, 1.0)
    controller.net.mend(link.name, 2.0)
    controller.run(3.0)
    told = [
        (time, switch, status.reason, status.port.port, status.port.state)
        for time, switch, _, status in controller.heard
        if isinstance(status, messages.PortStatus)
    ]
    both = [(link.a.switch, link.a.port), (link.b.switch, link.b.port)]
    assert told == [
        *((1.0, *end, PortState.LINK_DOWN) for end in _with(both, PortReason.MODIFY)),
        *((2.0, *end, PortState.LIVE) for end in _with(both, PortReason.MODIFY)),
    ]


def _with(ends: list[tuple[str, int]], reason: PortReason) -> list[tuple[str, PortReason, int]]:
    return [(switch, reason, port) for switch, port in ends]


def test_a_link_cut_twice_is_down_until_both_reasons_are_gone() -> None:
    net = connected().net
    name = LINE.links[0].name
    net.cut(name, 1.0, "one")
    net.cut(name, 1.0, "two")
    net.mend(name, 2.0, "one")
    net.advance(2.0)
    assert not net.wires[name].up
    net.mend(name, 3.0, "two")
    net.advance(3.0)
    assert net.wires[name].up


def test_a_frame_on_a_wire_that_is_cut_is_lost() -> None:
    controller = connected()
    through(controller)
    controller.net.wires[LINE.links[1].name].latency_s = 0.5
    controller.net.send(NicRef("h1/eth0"), FRAME, 1.0)
    controller.net.cut(LINE.links[1].name, 1.2)
    assert controller.run(3.0).frames == []


def test_a_looping_frame_does_not_stop_the_clock() -> None:
    triangle = fabrics.fabric([("a", "b"), ("b", "c"), ("a", "c")], [("a",)])
    controller = Controller(network(triangle))
    for switch, following in (("a", "b"), ("b", "c"), ("c", "a")):
        controller.connect(switch, 0.0)
        arcs = triangle.arcs_from[switch]
        forward(controller, switch, next(x for x in arcs if x.head.switch == following).tail.port)
    controller.net.send(NicRef("h1/eth0"), FRAME, 0.0)
    controller.run(0.001)
    assert controller.net.now == 0.001


def test_flows_expire_without_anyone_asking() -> None:
    controller = connected()
    request = messages.FlowMod(
        0, 0, 1, Match(), (), hard_timeout=2, flags=messages.FlowFlag.SEND_FLOW_REM
    )
    controller.say("a", request, 1.0)
    controller.run(10.0)
    ((time, removed),) = controller.of(messages.FlowRemoved)
    assert 3.0 <= time < 3.01
    assert removed.reason == messages.RemovedReason.HARD_TIMEOUT


def test_the_same_events_give_the_same_bytes() -> None:
    def said() -> list[object]:
        controller = connected(seed=7)
        through(controller)
        controller.net.wires[LINE.links[0].name].directions[0].loss = 0.5
        for i in range(20):
            controller.net.send(NicRef("h1/eth0"), FRAME, 1.0 + i)
        controller.say("c", bodies.PortStatsRequest(Port.ANY), 30.0, xid=5)
        controller.run(40.0)
        return list(controller.heard)

    assert said() == said()


def test_requests_cut_anywhere_are_answered_alike() -> None:
    controller = connected()
    data = encode(messages.EchoRequest(b"abc"), 6, 9)
    for octet in data:
        controller.net.receive("a", "c", bytes([octet]), 1.0)
    controller.run(1.0)
    assert [m.data for _, m in controller.of(messages.EchoReply)] == [b"abc"]


def test_events_can_be_taken_a_few_at_a_time_in_their_order() -> None:
    controller = connected()
    at_once = connected()
    link = LINE.links[0].name
    for each in (controller, at_once):
        for number in range(10):
            act = each.net.mend if number % 2 else each.net.cut
            act(link, 1.0 + number)
    all_of_it = at_once.net.advance(20.0).messages
    in_parts = []
    while (due := controller.net.next_deadline()) is not None:
        in_parts += controller.net.advance(20.0, most=3).messages
        assert due <= controller.net.now <= 20.0
    assert in_parts == all_of_it
    assert len(in_parts) == 20
    assert controller.net.advance(20.0).messages == []
    assert controller.net.now == 20.0


def test_frames_that_multiply_in_a_loop_are_lost_beyond_a_number() -> None:
    net = network(fabrics.leaf_spine(4, 4, 1))
    controller = Controller(net)
    flood = messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(Port.FLOOD),)),))
    for switch in net.nodes:
        controller.connect(switch, 0.0)
        controller.say(switch, flood, 0.0)
    net.send(NicRef("h1/eth0"), FRAME, 1.0)
    net.advance(1.0)
    taken = 0
    while not net.frames_dropped:
        net.advance(2.0, most=100)
        taken += 100
        assert taken < 1_000_000
    assert net.frames_dropped < taken
