from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.emulator import headers as h
from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.groups import hash_slots
from controller.emulator.pipeline import Walk, outcomes
from controller.emulator.program import Program
from controller.emulator.switch import LinkChanged, LivenessChanged
from controller.openflow import messages as m
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    ClearActions,
    DecTtl,
    Field,
    GotoTable,
    GroupType,
    Match,
    Output,
    Port,
    PushVlan,
    SetField,
    SetQueue,
    ToGroup,
    WriteActions,
    WriteMetadata,
)
from tests.emulator.bench import Bench, flow

UDP = {
    Field.IN_PORT: 1,
    Field.ETH_TYPE: 0x0800,
    Field.IP_PROTO: 17,
    Field.IPV4_SRC: 0x0A000001,
    Field.IPV4_DST: 0x0A000002,
    Field.UDP_SRC: 1000,
    Field.UDP_DST: 4791,
}


def group(number: int, kind: GroupType, *buckets: Bucket, **more: object) -> m.GroupMod:
    return m.GroupMod(m.GroupCommand.ADD, kind, number, buckets, **more)  # type: ignore[arg-type]


_MASKS = st.sampled_from([0, 1, 2, 3, 6, 12, 15])


@settings(max_examples=200)
@given(
    st.lists(st.tuples(_MASKS, st.integers(0, 15)), max_size=30),
    st.lists(st.integers(0, 29), max_size=15),
)
def test_a_lookup_finds_what_a_search_of_all_entries_finds(
    flows: list[tuple[int, int]], removed: list[int]
) -> None:
    table = FlowTable()
    entries = []
    for priority, (mask, value) in enumerate(flows):
        entry = Entry(0, priority, value & mask, mask, Match(), (), Program(), 0.0)
        table.insert(entry)
        entries.append(entry)
    for number in removed:
        if number < len(entries) and not entries[number].removed:
            table.remove(entries[number])
    left = [entry for entry in entries if not entry.removed]
    assert sorted(table, key=lambda e: e.priority) == left
    for headers in range(16):
        matching = [e for e in left if headers & e.mask == e.value]
        assert table.find(headers) is max(matching, key=lambda e: e.priority, default=None)


def test_tables_pass_on_metadata_and_what_they_have_changed() -> None:
    bench = Bench()
    second = {Field.METADATA: (7, 0xFF), Field.ETH_DST: 9}
    assert not bench.ask(
        flow(
            {Field.IN_PORT: 1},
            ApplyActions((SetField(Field.ETH_DST, 9),)),
            WriteMetadata(7, 0xFF),
            GotoTable(4),
        ),
        flow(second, Output(3), table=4),
    )
    assert bench.ports_of({Field.IN_PORT: 1}) == [3]
    assert bench.ports_of({Field.IN_PORT: 2}) == []


def test_the_last_output_of_an_action_set_counts_and_a_group_more() -> None:
    bench = Bench()
    bench.ask(
        group(1, GroupType.INDIRECT, Bucket(0, (Output(5),))),
        flow({Field.IN_PORT: 1}, WriteActions((Output(2), Output(3))), GotoTable(1)),
        flow({Field.IN_PORT: 2}, WriteActions((ToGroup(1), Output(3))), GotoTable(1)),
        flow({Field.IN_PORT: 3}, WriteActions((Output(2),)), GotoTable(2)),
        flow({}, table=1),
        flow({}, ClearActions(), table=2),
    )
    ports = [bench.ports_of({Field.IN_PORT: n}) for n in (1, 2, 3)]
    assert ports == [[3], [5], []]


def test_a_packet_leaves_by_its_own_port_only_when_told_so() -> None:
    bench = Bench()
    bench.ask(
        flow({Field.ETH_DST: 1}, Output(1)),
        flow({Field.ETH_DST: 2}, Output(Port.IN_PORT)),
        flow({Field.ETH_DST: 3}, SetField(Field.NXM_IN_PORT, 0xFFFF), Output(1)),
        flow({Field.ETH_DST: 4}, Output(Port.ALL)),
    )
    got = [bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: n}) for n in (1, 2, 3)]
    assert got == [[], [1], [1]]
    flooded = bench.ports_of({Field.IN_PORT: 1, Field.ETH_DST: 4})
    assert sorted(flooded) == [*range(2, 9), Port.LOCAL]


def test_buckets_work_on_copies_of_the_packet() -> None:
    bench = Bench()
    bench.ask(
        group(
            1,
            GroupType.ALL,
            Bucket(0, (SetField(Field.ETH_DST, 7), SetQueue(2), Output(2))),
            Bucket(1, (Output(3),)),
        ),
        flow({}, ToGroup(1), Output(4)),
    )
    headers = h.of({Field.IN_PORT: 1, Field.ETH_DST: 5})
    walk = Walk(bench.switch.state.forwarding, headers).through_tables()
    seen = [(s.port, h.ETH_DST.get(s.headers), s.queue) for s in walk.sent]
    assert seen == [(2, 7, 2), (3, 5, None), (4, 5, None)]


def test_failover_takes_the_first_live_bucket_by_port_and_by_group() -> None:
    bench = Bench()
    bench.ask(
        group(1, GroupType.FAST_FAILOVER, Bucket(0, (Output(2),), watch_port=2)),
        group(
            2,
            GroupType.FAST_FAILOVER,
            Bucket(0, (ToGroup(1),), watch_group=1),
            Bucket(1, (Output(3),), watch_port=3),
        ),
        flow({}, ToGroup(2)),
    )
    assert bench.ports_of(UDP) == [2]
    bench.happen(LinkChanged(2, False))
    assert bench.ports_of(UDP) == [3]
    bench.happen(LivenessChanged(3, False))
    assert bench.ports_of(UDP) == []
    bench.happen(LinkChanged(2, True))
    assert bench.ports_of(UDP) == [2]


def test_groups_that_form_a_loop_drop_the_packet_altogether() -> None:
    bench = Bench()
    assert not bench.ask(
        group(1, GroupType.ALL, Bucket(0, (Output(2),))),
        flow({}, Output(3), ToGroup(1)),
        m.GroupMod(
            m.GroupCommand.MODIFY,
            GroupType.ALL,
            1,
            (Bucket(0, (ToGroup(1),)), Bucket(1, (ToGroup(1),))),
        ),
    )
    assert bench.ports_of(UDP) == []


@given(st.lists(st.integers(0, 200), min_size=1, max_size=12))
def test_slots_are_shared_by_weight(weights: list[int]) -> None:
    slots = hash_slots(tuple(weights))
    if slots is None:
        assert not any(weights) or max(weights) >= 100
        return
    assert len(slots) >= 16 and len(slots) & len(slots) - 1 == 0
    for position, weight in enumerate(weights):
        share = weight * len(slots) / sum(weights)
        assert abs(slots.count(position) - share) < 2 + len(weights) / 2
        assert bool(weight) == (position in slots)


def test_a_dead_bucket_hands_its_slots_on_and_the_others_keep_theirs() -> None:
    bench = Bench()
    buckets = [Bucket(n, (Output(n + 2),), weight=1 + n, watch_port=n + 2) for n in range(3)]
    method = m.Selection("dp_hash")
    bench.ask(group(1, GroupType.SELECT, *buckets, selection=method), flow({}, ToGroup(1)))
    before = {slot: bench.ports_of(UDP, slot + 64) for slot in range(64)}
    bench.happen(LinkChanged(3, False))
    after = {slot: bench.ports_of(UDP, slot + 64) for slot in range(64)}
    moved = {slot for slot in before if before[slot] != after[slot]}
    assert moved == {slot for slot, ports in before.items() if ports == [3]}
    assert {port for slot in moved for port in after[slot]} == {2, 4}


def test_outcomes_are_shares_of_one_hash_for_all_groups_of_a_switch() -> None:
    bench = Bench()
    method = m.Selection("dp_hash")
    even = [Bucket(n, (SetField(Field.ETH_DST, n + 1), Output(n + 2)), 1) for n in range(2)]
    bench.ask(
        group(1, GroupType.SELECT, *even, selection=method),
        group(2, GroupType.SELECT, *even, selection=method),
        flow({}, ToGroup(1), ToGroup(2)),
    )
    ways = outcomes(bench.switch.state.forwarding, h.of(UDP))
    assert sorted((way.share, [s.port for s in way.walk.sent]) for way in ways) == [
        (0.5, [2, 2]),
        (0.5, [3, 3]),
    ]


def test_without_a_method_udp_ports_do_not_spread_but_with_dp_hash_they_do() -> None:
    bench = Bench()
    even = [Bucket(n, (Output(n + 2),), 1) for n in range(4)]
    bench.ask(
        group(1, GroupType.SELECT, *even),
        group(2, GroupType.SELECT, *even, selection=m.Selection("dp_hash")),
        flow({Field.ETH_DST: 1}, ToGroup(1)),
        flow({Field.ETH_DST: 2}, ToGroup(2)),
    )
    used = {
        which: {
            port
            for source in range(200)
            for port in bench.ports_of(UDP | {Field.UDP_SRC: source, Field.ETH_DST: which})
        }
        for which in (1, 2)
    }
    assert [len(used[1]), used[2]] == [1, {2, 3, 4, 5}]


@pytest.mark.parametrize(("ttl", "ports"), [(2, [3]), (1, []), (0, [])])
def test_a_packet_whose_time_is_over_goes_no_further(ttl: int, ports: list[int]) -> None:
    bench = Bench()
    bench.ask(flow({Field.ETH_TYPE: 0x0800}, DecTtl(), Output(3)))
    headers = h.IP_TTL.put(h.of(UDP), ttl)
    walk = Walk(bench.switch.state.forwarding, headers).through_tables()
    assert [sent.port for sent in walk.sent] == ports
    assert [p.reason for p in walk.punted] == [m.PacketInReason.INVALID_TTL] * (not ports)


def test_fields_that_a_packet_has_not_are_not_set() -> None:
    bench = Bench()
    set_port = SetField(Field.UDP_DST, 5)
    bench.ask(
        group(1, GroupType.INDIRECT, Bucket(0, (set_port, PushVlan(0x8100), Output(2)))),
        flow({}, ToGroup(1)),
    )
    tcp = h.of({Field.ETH_TYPE: 0x0800, Field.IP_PROTO: 6, Field.TCP_DST: 80})
    (sent,) = Walk(bench.switch.state.forwarding, tcp).through_tables().sent
    assert h.TP_DST.get(sent.headers) == 80
    assert h.VLANS[0].get(sent.headers) == h.VLAN_PRESENT


def test_counters_count_once_for_each_packet() -> None:
    bench = Bench()
    bench.ask(
        group(1, GroupType.SELECT, Bucket(0, (Output(2),), 1), Bucket(1, (Output(3),), 0)),
        flow({}, ToGroup(1)),
    )
    walk = Walk(bench.switch.state.forwarding, h.of(UDP)).through_tables()
    walk.account(10, 5000, 3.0)
    (entry,) = bench.switch.state.tables[0]
    counted = bench.switch.state.groups.get(1)
    assert counted is not None
    assert (entry.packets, entry.bytes, entry.used) == (10, 5000, 3.0)
    assert [(b.packets, b.bytes) for b in counted.buckets] == [(10, 5000), (0, 0)]
    assert (bench.switch.state.tables[0].lookups, counted.packets) == (10, 10)
