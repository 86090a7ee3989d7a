from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.emulator.ports import PortEntry
from controller.emulator.switch import (
    Connected,
    Disconnected,
    FrameReceived,
    LinkChanged,
    PortAdded,
    PortRemoved,
)
from controller.openflow import bodies
from controller.openflow import messages as m
from controller.openflow.codec import decode, encode
from controller.openflow.model import (
    Bucket,
    Field,
    GroupType,
    Match,
    Metered,
    Output,
    Port,
    SetField,
    ToGroup,
)
from controller.openflow.wire import split
from tests.emulator.bench import Bench, delete, flow, heard

FRAME = bytes.fromhex("02000000000202000000000108060001080006040001") + bytes(38)


@pytest.mark.parametrize(("offered", "agreed"), [((4,), 4), ((4, 5), 5), ((1, 4, 6), 6)])
def test_the_highest_common_version_is_spoken(offered: tuple[int, ...], agreed: int) -> None:
    bench = Bench()
    bench.switch.event(Connected("d"), 0.0)
    bench.switch.receive("d", encode(m.Hello(offered), max(offered)), 0.0)
    said = bench.switch.receive("d", encode(m.EchoRequest(b"x"), agreed, 7), 0.0)
    assert decode(said.messages["d"]) == (7, agreed, m.EchoReply(b"x"))


def test_without_a_common_version_the_connection_ends_with_the_reason() -> None:
    bench = Bench(persona="ofp13-strict", version=4)
    bench.switch.event(Connected("d"), 0.0)
    effects = bench.switch.receive("d", encode(m.Hello((6,)), 6), 0.0)
    assert effects.closed == ["d"]
    (error,) = heard(effects, "d")
    assert (error.type, error.code) == (0, 0)
    assert b"1.3" in error.data


@given(st.lists(st.integers(1, 400), max_size=8))
def test_messages_may_be_cut_anywhere(cuts: list[int]) -> None:
    bench = Bench()
    data = b"".join(encode(m.EchoRequest(bytes([n])), 6, n) for n in range(30))
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    got = b"".join(
        bench.switch.receive("c", data[a:b], 0.0).messages.get("c", b"")
        for a, b in pairwise(places)
    )
    assert [decode(x).xid for x in split(got)[0]] == list(range(30))


def test_a_length_that_cannot_be_ends_the_connection() -> None:
    bench = Bench()
    assert bench.switch.receive("c", b"\x06\x02\x00\x03\0\0\0\1", 0.0).closed == ["c"]


@settings(max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 40), st.sampled_from([4, 6]))
def test_no_bytes_break_a_switch(body: bytes, kind: int, version: int) -> None:
    bench = Bench(version=version)
    message = bytes([version, kind]) + (8 + len(body)).to_bytes(2, "big") + b"\0\0\0\5" + body
    effects = bench.switch.receive("c", message, 0.0)
    for reply in split(effects.messages.get("c", b""))[0]:
        assert decode(reply).xid == 5


def test_what_was_removed_is_told_to_whoever_asked() -> None:
    bench = Bench()
    bench.connect("d")
    told = flow({Field.ETH_DST: 1}, priority=9, cookie=5, idle_timeout=10, flags=1)
    bench.say(told, flow({Field.ETH_DST: 2}, hard_timeout=3, flags=1), flow({}, hard_timeout=3))
    assert bench.switch.next_deadline() == 3.0
    (removed,) = heard(bench.pass_time(3.0), "d")
    assert (removed.match, removed.reason) == (Match.of({Field.ETH_DST: 2}), 1)
    bench.clock = 8.0
    bench.happen(FrameReceived(1, bytes(5) + b"\1" + FRAME[6:]))
    assert not heard(bench.pass_time(17.9))
    (removed,) = heard(bench.pass_time(18.0))
    assert (removed.cookie, removed.reason, removed.counters.packets) == (5, 0, 1)
    bench.say(told)
    (removed,) = heard(bench.say(delete()), "d")
    assert removed.reason == m.RemovedReason.DELETE


def test_adding_a_flow_again_keeps_its_counters_unless_told_otherwise() -> None:
    bench = Bench()
    bench.say(flow({}, Output(2)))
    bench.happen(FrameReceived(1, FRAME))

    def packets() -> int:
        (reply,) = bench.ask(bodies.FlowDescRequest())
        return reply.flows[0].counters.packets  # type: ignore[no-any-return]

    bench.say(flow({}, Output(3)))
    assert packets() == 1
    bench.say(flow({}, Output(2), flags=m.FlowFlag.RESET_COUNTS))
    assert packets() == 0


def test_frames_pass_and_are_punted_with_what_was_set() -> None:
    bench = Bench(persona="ofp13-strict", version=4)
    actions = SetField(Field.ETH_DST, 7), Output(2), Output(Port.CONTROLLER, 20)
    bench.say(flow({}, *actions, priority=0))
    effects = bench.happen(FrameReceived(1, FRAME))
    rewritten = bytes(5) + b"\7" + FRAME[6:]
    assert [(e.port, e.data) for e in effects.frames] == [(2, rewritten)]
    (told,) = heard(effects)
    assert (told.total_len, told.data) == (len(FRAME), rewritten[:20])
    assert told.match == Match.of({Field.IN_PORT: 1})
    assert told.reason == m.PacketInReason.TABLE_MISS
    bench.say(flow({}, *actions, priority=1))
    (told,) = heard(bench.happen(FrameReceived(1, FRAME)))
    assert told.reason == m.PacketInReason.APPLY_ACTION


def test_open_vswitch_sends_controllers_whole_packets() -> None:
    bench = Bench()
    bench.say(flow({}, Output(Port.CONTROLLER, 0)))
    (told,) = heard(bench.happen(FrameReceived(1, FRAME)))
    assert told.data == FRAME


def test_packets_sent_out_go_through_groups_or_tables() -> None:
    bench = Bench()
    bench.say(
        m.GroupMod(0, GroupType.INDIRECT, 1, (Bucket(0, (Output(4),)),)),
        flow({Field.IN_PORT: 2}, Output(3)),
    )
    origin = Match.of({Field.IN_PORT: 2})
    effects = bench.say(m.PacketOut(origin, (ToGroup(1), Output(Port.TABLE), Output(2)), FRAME))
    assert [e.port for e in effects.frames] == [4, 3]


def test_ports_are_told_of_and_configured() -> None:
    bench = Bench()
    (status,) = heard(bench.happen(LinkChanged(2, False)))
    assert (status.reason, status.port.state) == (m.PortReason.MODIFY, m.PortState.LINK_DOWN)
    assert not heard(bench.happen(LinkChanged(2, False)))
    bench.say(flow({}, Output(3)))
    (status,) = bench.ask(m.PortMod(3, 0x203, 1, 1))
    assert status.port.config == m.PortConfig.PORT_DOWN
    assert not bench.happen(FrameReceived(1, FRAME)).frames
    assert bench.errors(m.PortMod(3, 9, 1, 1), m.PortMod(77, 9, 1, 1)) == [(7, 1), (7, 0)]
    (status,) = heard(bench.happen(PortAdded(PortEntry(20, "p20", 1))))
    assert (status.reason, status.port.port) == (m.PortReason.ADD, 20)
    (status,) = heard(bench.happen(PortRemoved(20)))
    assert status.reason == m.PortReason.DELETE


def test_a_secondary_controller_reads_hears_of_ports_and_changes_nothing() -> None:
    bench = Bench()
    bench.connect("d")
    bench.ask(m.RoleRequest(m.Role.PRIMARY, 4), to="d")
    bench.ask(m.RoleRequest(m.Role.SECONDARY, 4))
    assert bench.errors(flow({})) == [(1, 10)]
    bench.say(flow({}, Output(Port.CONTROLLER, 99)), to="d")
    assert not heard(bench.happen(FrameReceived(1, FRAME)))
    assert heard(bench.happen(LinkChanged(1, False)))
    assert bench.ask(bodies.DescRequest())
    assert bench.errors(m.RoleRequest(m.Role.PRIMARY, 3)) == [(11, 0)]
    effects = bench.say(m.RoleRequest(m.Role.PRIMARY, 5))
    assert heard(effects) == [m.RoleReply(m.Role.PRIMARY, 5)]
    assert heard(effects, "d") == [m.RoleStatus(m.Role.SECONDARY, 0, 5)]


def test_what_is_told_can_be_chosen() -> None:
    bench = Bench()
    bench.say(flow({}, Output(Port.CONTROLLER, 99), priority=5))
    chosen = m.AsyncMask(m.AsyncEvent.PACKET_IN_PRIMARY, 0)
    bench.say(m.SetAsync((chosen,)))
    assert not heard(bench.happen(FrameReceived(1, FRAME)))
    (reply,) = bench.ask(m.GetAsyncRequest())
    assert chosen in reply.masks


def test_flows_and_groups_of_a_session_outlive_it() -> None:
    bench = Bench()
    bench.say(flow({}, Output(2)))
    bench.happen(Disconnected("c"))
    assert bench.ports_of({Field.IN_PORT: 1}) == [2]
    with pytest.raises(KeyError):
        bench.say(m.BarrierRequest())


def test_long_answers_come_in_parts() -> None:
    bench = Bench()
    bench.say(*(flow({Field.ETH_DST: n}, Output(2)) for n in range(1000)))
    parts = bench.ask(bodies.FlowDescRequest(), m.BarrierRequest())
    assert isinstance(parts.pop(), m.BarrierReply)
    assert [part.more for part in parts] == [True] * (len(parts) - 1) + [False]
    assert len({f.match for part in parts for f in part.flows}) == 1000


def test_a_meter_lets_a_rate_and_a_burst_pass() -> None:
    bench = Bench()
    packets = m.MeterFlag.PKTPS | m.MeterFlag.BURST
    bench.say(
        m.MeterMod(m.MeterCommand.ADD, packets, 1, (m.DropBand(10, 5),)),
        flow({}, Metered(1), Output(2)),
    )

    def passed(count: int, at: float) -> int:
        bench.clock = at
        return sum(len(bench.happen(FrameReceived(1, FRAME)).frames) for _ in range(count))

    assert [passed(9, 0.0), passed(9, 0.31), passed(9, 100.0)] == [5, 3, 5]
    (stats,) = bench.ask(bodies.MeterStatsRequest())
    assert (stats.meters[0].packets, stats.meters[0].bands[0].packets) == (27, 14)
    bench.say(m.MeterMod(m.MeterCommand.DELETE, 0, 1))
    assert bench.ports_of({Field.IN_PORT: 1}) == []


def bundled(bench: Bench, *requests: object, flags: int = 3) -> list[object]:
    """Replies to a bundle with these requests, as soon as all are added."""
    said = [encode(m.BundleControl(1, m.BundleCommand.OPEN_REQUEST, flags), 6, 1)]
    for xid, request in enumerate(requests, 2):
        said.append(encode(m.BundleAdd(1, encode(request, 6, xid), flags), 6, xid))
    said.append(encode(m.BundleControl(1, m.BundleCommand.COMMIT_REQUEST, flags), 6, 99))
    return heard(bench.switch.receive("c", b"".join(said), bench.clock))


def test_a_bundle_is_applied_whole_or_not_at_all() -> None:
    bench = Bench()
    bench.say(
        m.GroupMod(0, GroupType.INDIRECT, 1, (Bucket(0, (Output(4),)),)),
        flow({Field.ETH_DST: 1}, ToGroup(1)),
    )
    good = flow({Field.ETH_DST: 2}, Output(3))
    replies = bundled(
        bench, m.GroupMod(2, 0, 1), good, delete(), flow({}, ToGroup(9)), flow({}, Output(7))
    )
    kinds = [(r.type, r.code) for r in replies if isinstance(r, m.Error)]
    assert kinds == [(2, 9), (17, 13)]
    assert bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 1}) == [4]
    assert bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 2}) == []
    assert not [r for r in bundled(bench, m.GroupMod(2, 0, 1), good) if isinstance(r, m.Error)]
    assert bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 1}) == []
    assert bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 2}) == [3]


def test_a_bundle_goes_on_without_what_was_refused_when_it_was_added() -> None:
    bench = Bench()
    replies = bundled(bench, flow({}, Output(Port.ANY)), flow({Field.ETH_DST: 2}, Output(3)))
    assert [(r.type, r.code) for r in replies if isinstance(r, m.Error)] == [(2, 4)]
    assert bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 2}) == [3]


def test_an_idle_bundle_is_given_up() -> None:
    bench = Bench()
    bench.say(m.BundleControl(1, m.BundleCommand.OPEN_REQUEST, 3))
    assert bench.switch.next_deadline() == 10.0
    (error,) = heard(bench.pass_time(10.0))
    assert (error.type, error.code) == (17, 14)


def test_a_full_switch_refuses_or_makes_room() -> None:
    bench = Bench(persona="ofp13-strict", version=4)
    assert not bench.errors(*(flow({Field.ETH_DST: n}) for n in range(2000)))
    assert bench.errors(flow({Field.ETH_DST: 2000}), flow({Field.ETH_DST: 5}, Output(1))) == [
        (5, 1)
    ]
    roomy = Bench()
    state = roomy.switch.state
    state.persona = dataclasses.replace(state.persona, max_flows=3)
    roomy.say(
        m.TableMod(0, m.TableConfig.EVICTION),
        flow({Field.ETH_DST: 1}, hard_timeout=5, importance=9),
        flow({Field.ETH_DST: 2}, hard_timeout=9, importance=1, flags=1),
        flow({Field.ETH_DST: 3}),
    )
    (removed,) = roomy.ask(flow({Field.ETH_DST: 4}))
    assert (removed.reason, removed.match) == (5, Match.of({Field.ETH_DST: 2}))
    assert not roomy.errors(flow({Field.ETH_DST: 5}))
    assert roomy.errors(flow({Field.ETH_DST: 6})) == [(5, 1)]


def test_a_strict_switch_has_few_groups_and_no_masks_of_ports() -> None:
    bench = Bench(persona="ofp13-strict", version=4)
    bucket = (Bucket(0, (Output(1),)),)
    groups = [m.GroupMod(0, GroupType.INDIRECT, n, bucket) for n in range(257)]
    assert bench.errors(*groups) == [(6, 3)]
    udp: dict[Field, int | tuple[int, int]] = {Field.ETH_TYPE: 0x0800, Field.IP_PROTO: 17}
    assert bench.errors(flow(udp | {Field.UDP_SRC: (1, 3)})) == [(4, 8)]
    assert not bench.errors(flow(udp | {Field.UDP_SRC: 1, Field.IPV4_SRC: (1, 3)}))
    assert bench.errors(flow({}, SetField(Field.NXM_IN_PORT, 0xFFFF))) == [(2, 13)]


def test_deleting_a_group_deletes_the_flows_that_use_it() -> None:
    bench = Bench()
    bench.say(
        m.GroupMod(0, GroupType.INDIRECT, 1, (Bucket(0, (Output(4),)),)),
        flow({Field.ETH_DST: 1}, ToGroup(1), flags=1),
        flow({Field.ETH_DST: 2}, Output(1)),
    )
    (removed,) = bench.ask(m.GroupMod(m.GroupCommand.DELETE, 0, 1))
    assert removed.reason == m.RemovedReason.GROUP_DELETE
    assert bench.switch.state.flows == 1
