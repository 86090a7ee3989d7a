"""Traffic as a fluid: where it goes, what it gets, and what switches count of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.emulator import headers as h
from controller.emulator.network import Network
from controller.emulator.nodes import Node
from controller.emulator.pipeline import Walk
from controller.emulator.ports import PortEntry, QueueState
from controller.emulator.routes import Demand, Fate, headers_of
from controller.emulator.traffic import Traffic
from controller.emulator.wires import NicRef
from controller.fabric.model import Fabric, PortRef
from controller.openflow import messages
from controller.openflow.codec import encode
from controller.openflow.messages import Selection
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    Field,
    GroupType,
    Match,
    Output,
    Port,
    SetField,
    ToGroup,
)
from tests.dataplane import fabrics
from tests.emulator.networks import Controller, installed, network, with_capacity

GBPS = 1e9


def port(net: Network, switch: str, number: int) -> PortEntry:
    node = net.nodes[switch]
    assert node.switch is not None
    net.before_reading(switch)
    found = node.switch.state.ports.get(number)
    assert found is not None
    return found


def all_ports(net: Network) -> dict[PortRef, PortEntry]:
    out = {}
    for tail in net.wire_at:
        if isinstance(tail, PortRef) and net.nodes[tail.switch].switch is not None:
            out[tail] = port(net, tail.switch, tail.port)
    return out


def flow(
    net: Network,
    switch: str,
    fields: dict[Field, int | tuple[int, int]],
    *actions: object,
) -> None:
    """Into a switch whose connection is there."""
    apply = (ApplyActions(tuple(actions)),) if actions else ()  # type: ignore[arg-type]
    request = messages.FlowMod(0, 0, 1, Match.of(fields), apply)
    net.receive(switch, "c", encode(request, 6), net.now)


def group(net: Network, switch: str, number: int, kind: GroupType, *buckets: Bucket) -> None:
    chosen = Selection("dp_hash") if kind is GroupType.SELECT else None
    request = messages.GroupMod(0, kind, number, buckets, selection=chosen)
    net.receive(switch, "c", encode(request, 6), net.now)


def bare(fabric: Fabric) -> tuple[Network, Controller]:
    net = network(fabric)
    controller = Controller(net)
    for switch in fabric.switches:
        controller.connect(switch.name, 0.0)
    return net, controller


# ---- Where it goes ----


def sampled_shares(
    net: Network, demand: Demand, flows: int, rng: random.Random
) -> dict[tuple[object, ...], float]:
    """Packets of random source ports, each walked through every switch as a datapath would."""
    fabric = net.fabric
    source, target = fabric.nic_by_id[demand.source], fabric.nic_by_id[demand.target]
    counts: dict[tuple[object, ...], int] = {}
    for _ in range(flows):
        headers = headers_of(demand, source, target, fabric.gateway_mac, rng.randrange(0x10000))
        at: object = NicRef(source.id)
        way: list[object] = [at]
        while True:
            head = net.wire_at[at][1].head  # type: ignore[index]
            if isinstance(head, NicRef):
                way.append(head)
                break
            node = net.nodes[head.switch]
            assert node.switch is not None
            walk = Walk(
                node.switch.state.forwarding, headers | head.port << h.IN_PORT.shift
            ).through_tables()
            if not walk.sent:
                break
            (sent,) = walk.sent
            headers = sent.headers & ~h.PIPELINE
            at = PortRef(head.switch, sent.port)
            way.append(at)
        counts[tuple(way)] = counts.get(tuple(way), 0) + 1
    return {way: count / flows for way, count in counts.items()}


def fluid_shares(traffic: Traffic, net: Network, number: int) -> dict[tuple[object, ...], float]:
    out: dict[tuple[object, ...], float] = {}
    for path in traffic.route(number).paths:
        way = [tail for tail, _ in path.lanes]
        if path.fate is Fate.DELIVERED:
            way.append(net.wire_at[path.lanes[-1][0]][1].head)
        out[tuple(way)] = out.get(tuple(way), 0.0) + path.share
    return out


@pytest.mark.parametrize("dead", [0, 1, 3])
def test_shares_are_those_of_single_packets(dead: int) -> None:
    rng = random.Random(dead)
    fabric = fabrics.fat_tree(4, 2)
    net, _ = installed(fabric, trees=3)
    for link in rng.sample(fabric.links, dead):
        net.cut(link.name, 0.0)
    net.advance(1.0)
    traffic = Traffic(net)
    nics = [nic.id for nic in fabric.nics]
    demands = []
    for _ in range(5):
        source, target = rng.sample(nics, 2)
        demands.append(Demand(source, target, 1e6, rng.choice((0, 26)), rng.choice((4, 6)), h.UDP))
    traffic.offer(demands)
    for number, demand in enumerate(demands):
        fluid = fluid_shares(traffic, net, number)
        sampled = sampled_shares(net, demand, 800, rng)
        assert sum(fluid.values()) == pytest.approx(1.0)
        assert sampled.keys() <= fluid.keys()
        for way, share in fluid.items():
            # Five standard deviations.
            slack = 5 * (share * (1 - share) / 800) ** 0.5
            assert sampled.get(way, 0.0) == pytest.approx(share, abs=slack + 1e-9)


def test_flows_that_are_numbered_go_each_its_own_way() -> None:
    fabric = fabrics.leaf_spine(4, 4)
    net, _ = installed(fabric, trees=4)
    traffic = Traffic(net)
    demand = Demand("h1/eth0", "h3/eth0", 1e6, flows=7)
    traffic.offer([demand])
    fluid = fluid_shares(traffic, net, 0)
    source, target = fabric.nic_by_id["h1/eth0"], fabric.nic_by_id["h3/eth0"]
    expected: dict[int, int] = {}
    forwarding = net.nodes["l0"].switch.state.forwarding  # type: ignore[union-attr]
    for number in range(7):
        headers = headers_of(demand, source, target, fabric.gateway_mac, number)
        came_by = source.attachments[0].port << h.IN_PORT.shift
        (sent,) = Walk(forwarding, headers | came_by).through_tables().sent
        expected[sent.port] = expected.get(sent.port, 0) + 1
    found = {way[1].port: share * 7 for way, share in fluid.items()}  # type: ignore[attr-defined]
    assert found == pytest.approx(expected)


def test_switches_that_hash_alike_are_polarised() -> None:
    """Two switches in a row with the same SELECT: half of the second's buckets see nothing."""
    fabric = fabrics.fabric([("a", "b"), ("a", "b"), ("b", "c"), ("b", "c")], [("a",), ("c",)])
    net, controller = bare(fabric)
    up = list(fabric.arcs_from["a"])
    on = [arc for arc in fabric.arcs_from["b"] if arc.head.switch == "c"]
    for switch, arcs in (("a", up), ("b", on)):
        buckets = [
            Bucket(i, (Output(arc.tail.port),), 1, watch_port=arc.tail.port)
            for i, arc in enumerate(arcs)
        ]
        group(net, switch, 1, GroupType.SELECT, *buckets)
        flow(net, switch, {}, ToGroup(1))
    target = fabric.nic_by_id["h2/eth0"]
    flow(net, "c", {}, SetField(Field.ETH_DST, target.mac), Output(target.attachments[0].port))
    controller.run(0.0)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 1e8)])
    ways = fluid_shares(traffic, net, 0)
    assert sorted(ways.values()) == [0.5, 0.5]
    net.cut(fabric.links[0].name, 1.0)
    net.advance(2.0)
    assert sorted(fluid_shares(traffic, net, 0).values()) == [0.5, 0.5]


def test_a_dead_link_moves_traffic_at_once() -> None:
    net, _ = installed(fabrics.leaf_spine(2, 2, 1))
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 8e8, adapts=False)])
    net.advance(1.0)
    assert len(traffic.route(0).paths) == 2
    net.cut("l0-s0#0", 1.0)
    net.advance(2.0)
    assert traffic.fates(0) == {Fate.DELIVERED: pytest.approx(1.0)}
    assert {str(tail) for tail, _ in traffic.route(0).paths[0].lanes} & {"l0:2"} == set()
    net.mend("l0-s0#0", 2.0)
    net.advance(3.0)
    assert len(traffic.route(0).paths) == 2


@pytest.mark.parametrize(
    ("actions", "fate"),
    [
        ((), Fate.DROPPED),
        ((Output(Port.CONTROLLER),), Fate.PUNTED),
        ((Output(99),), Fate.DROPPED),
        ((ToGroup(1),), Fate.DROPPED),
        ((Output(2),), Fate.ANOTHER_HOST),
    ],
)
def test_what_is_not_delivered_is_accounted_for(actions: tuple[object, ...], fate: Fate) -> None:
    fabric = fabrics.fabric([("a", "b")], [("a",), ("a",), ("b",)])
    net, controller = bare(fabric)
    dead = net.fabric.arcs_from["a"][0].tail.port
    watched = Bucket(0, (Output(dead),), watch_port=dead)
    group(net, "a", 1, GroupType.FAST_FAILOVER, watched)
    flow(net, "a", {}, *actions)
    net.cut("a-b#0", 0.0)
    controller.run(0.0)
    traffic = Traffic(net)
    demands = [Demand("h1/eth0", "h3/eth0", 1e8, adapts=adapts) for adapts in (False, True)]
    traffic.offer(demands)
    assert traffic.fates(0) == {fate: 1.0}
    report = traffic.report()
    assert report.astray_bps.tolist() == pytest.approx([1e8, 0.0])
    assert report.sent_bps.tolist() == pytest.approx([1e8, 0.0])
    assert np.isnan(report.latency_s).all()


def test_a_loop_fills_its_links() -> None:
    fabric = fabrics.fabric([("a", "b"), ("b", "c"), ("a", "c")], [("a",)] * 2)
    net, controller = bare(fabric)
    ring = {"a": "b", "b": "c", "c": "a"}
    for switch, following in ring.items():
        out = next(x for x in fabric.arcs_from[switch] if x.head.switch == following)
        flow(net, switch, {}, Output(out.tail.port))
    controller.run(0.0)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 2e8, adapts=False)])
    assert traffic.fates(0) == {Fate.LOOPED: 1.0}
    full = [load for end, load in traffic.loads().items() if isinstance(end, PortRef)]
    assert max(full) == pytest.approx(1e9)
    report = traffic.report()
    assert report.sent_bps == pytest.approx(report.dropped_bps + report.astray_bps)


def test_copies_are_counted_as_made() -> None:
    fabric = fabrics.fabric([("a", "b")], [("a",), ("a",), ("b",)])
    net, controller = bare(fabric)
    flow(net, "a", {}, Output(Port.FLOOD))
    flow(net, "b", {}, Output(Port.FLOOD))
    controller.run(0.0)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h3/eth0", 1e8, adapts=False)])
    report = traffic.report()
    assert report.sent_bps[0] == pytest.approx(1e8)
    assert report.copied_bps[0] >= 1e8
    assert _in(report) == pytest.approx(_out(report))
    net.advance(1.0)
    sent = [p.tx_bytes for p in all_ports(net).values() if p.tx_bytes]
    assert sent == [12_500_000] * 3


def _in(report: object) -> np.ndarray:
    return report.sent_bps + report.copied_bps  # type: ignore[attr-defined, no-any-return]


def _out(r: object) -> np.ndarray:
    return r.delivered_bps + r.dropped_bps + r.lost_bps + r.astray_bps  # type: ignore[attr-defined, no-any-return]


# ---- What it gets, and what is counted ----


@st.composite
def offers(draw: st.DrawFn) -> list[Demand]:
    nics = [nic.id for nic in FABRIC.nics]
    found = []
    for _ in range(draw(st.integers(1, 8))):
        source, target = draw(st.permutations(nics))[:2]
        found.append(
            Demand(
                source,
                target,
                draw(st.sampled_from([1e6, 2e8, 1e9, 3e9])),
                draw(st.sampled_from([0, 26])),
                draw(st.sampled_from([4, 6])),
                flows=draw(st.sampled_from([None, 1, 5])),
                frame_bytes=draw(st.sampled_from([100, 1500, 9000])),
                adapts=draw(st.booleans()),
            )
        )
    return found


FABRIC = with_capacity(fabrics.leaf_spine(3, 2, 2), GBPS, 2 * GBPS)


@pytest.fixture(scope="module")
def leaf_spine() -> tuple[Network, Traffic]:
    net, _ = installed(FABRIC)
    return net, Traffic(net)


@given(offers(), st.lists(st.sampled_from([0.0, 0.01, 0.5]), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_nothing_is_made_and_nothing_vanishes(
    leaf_spine: tuple[Network, Traffic], demands: list[Demand], losses: list[float]
) -> None:
    """Of demands: in = out + drops. Of wires: what one end sends is what the other receives and
    what is lost. Of switches: what comes in goes out, or is dropped, or was sent astray."""
    net, traffic = leaf_spine
    for link, loss in zip(FABRIC.links, losses, strict=True):
        net.wires[link.name].directions[0].loss = loss
    net.wires_version += 1
    traffic.offer(demands)
    before = {ref: _counts(p) for ref, p in all_ports(net).items()}
    report = traffic.report()
    assert _in(report) == pytest.approx(_out(report))
    net.advance(net.now + 10.0)
    after = {ref: _counts(p) for ref, p in all_ports(net).items()}
    assert all(b >= a for ref in after for a, b in zip(before[ref], after[ref], strict=True))
    delta = {
        ref: tuple(b - a for a, b in zip(before[ref], after[ref], strict=True)) for ref in after
    }
    slack = len(demands) * 2 + 2
    for wire in net.wires.values():
        for direction in wire.directions:
            if isinstance(direction.tail, PortRef) and isinstance(direction.head, PortRef):
                arrives = delta[direction.tail][0] * (1 - direction.loss)
                assert delta[direction.head][1] == pytest.approx(arrives, abs=slack)
    for switch in FABRIC.switches:
        mine = [d for ref, d in delta.items() if ref.switch == switch.name]
        came = sum(d[3] for d in mine)
        went = sum(d[2] + d[4] for d in mine)
        assert came == pytest.approx(went, abs=slack * 5)
    for ref, d in delta.items():
        capacity = net.wire_at[ref][0].capacity_bps
        assert 8 * d[0] <= capacity * 10 * (1 + 1e-6) + 8


def _counts(p: PortEntry) -> tuple[int, ...]:
    return p.tx_bytes, p.rx_bytes, p.tx_packets, p.rx_packets, p.tx_dropped


def test_flows_groups_buckets_and_tables_count_what_passes() -> None:
    fabric = with_capacity(fabrics.leaf_spine(2, 2, 1), GBPS, GBPS)
    net, _ = installed(fabric)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 8e7, frame_bytes=1000, adapts=False)])
    net.advance(3.0)
    net.before_reading("l0")
    state = net.nodes["l0"].switch.state  # type: ignore[union-attr]
    used = [entry for table in state.tables for entry in table if entry.packets]
    assert {entry.table for entry in used} >= {0, 1}
    assert {(entry.packets, entry.bytes) for entry in used} == {(30_000, 30_000_000)}
    assert {entry.used for entry in used} == {3.0}
    assert state.tables[0].lookups == state.tables[0].matched == 30_000
    spread = [g for g in state.groups.all() if g.packets and g.type is GroupType.SELECT]
    assert [g.packets for g in spread] == [30_000]
    assert sum(b.packets for b in spread[0].buckets) == 30_000
    assert sorted(b.bytes for b in spread[0].buckets) == [15_000_000, 15_000_000]


def test_statistics_replies_say_what_has_flowed_by_then() -> None:
    net, _ = installed(with_capacity(fabrics.leaf_spine(2, 2, 1), GBPS, GBPS))
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 8e6, frame_bytes=1000)])
    controller = Controller(net)
    controller.connect("l0", 0.5)
    from controller.openflow import bodies

    for second in (1.0, 2.5):
        controller.say("l0", bodies.PortStatsRequest(Port.ANY), second)
    controller.run(3.0)
    heard = [
        (time, next(p for p in reply.ports if p.port == 1))
        for time, reply in controller.of(bodies.PortStatsReply)
    ]
    assert [(time, p.rx_bytes) for time, p in heard] == [(1.0, 1_000_000), (2.5, 2_500_000)]


def test_a_full_link_drops_and_delays() -> None:
    fabric = with_capacity(fabrics.fabric([("a", "b")], [("a",), ("b",)]), 1e8, GBPS)
    net, _ = installed(fabric, trees=1)
    traffic = Traffic(net, buffer_bytes=125_000)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 5e7, frame_bytes=1250, adapts=False)])
    assert traffic.report().latency_s[0] == pytest.approx(0.0)
    traffic.set_rates(np.array([4e8]))
    report = traffic.report()
    assert report.latency_s[0] == pytest.approx(0.01)
    assert report.delivered_bps[0] == pytest.approx(1e8)
    assert report.dropped_bps[0] == pytest.approx(3e8)
    net.advance(1.0)
    out = fabric.arcs_from["a"][0].tail.port
    assert port(net, "a", out).tx_packets == 10_000
    assert port(net, "a", out).tx_dropped == 30_000
    traffic.offer([Demand("h1/eth0", "h2/eth0", 4e8, frame_bytes=1250)])
    report = traffic.report()
    assert (report.sent_bps[0], report.dropped_bps[0]) == pytest.approx((1e8, 0.0))


def test_queues_share_a_port_by_their_rates() -> None:
    fabric = with_capacity(fabrics.fabric([("a", "b")], [("a",), ("b",)]), 1e8, GBPS)
    net, _ = installed(fabric, trees=1, queues={0: QueueState(), 3: QueueState(800, 900)})
    traffic = Traffic(net)
    demands = [Demand("h1/eth0", "h2/eth0", 4e8, dscp=dscp, frame_bytes=1250) for dscp in (0, 26)]
    traffic.offer(demands)
    assert traffic.report().delivered_bps.tolist() == pytest.approx([2e7, 8e7])
    net.advance(1.0)
    out = port(net, "a", fabric.arcs_from["a"][0].tail.port)
    assert [out.queues[q].tx_packets for q in (0, 3)] == [2_000, 8_000]
    traffic.offer(demands[1:])
    assert traffic.report().delivered_bps.tolist() == pytest.approx([9e7])


def test_one_rate_in_many_steps_counts_as_in_one() -> None:
    net, _ = installed(fabrics.leaf_spine(2, 2, 1))
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 1.234567e6)])
    for step in range(1, 101):
        net.advance(step / 10)
        net.before_reading("l0")
    assert port(net, "l0", 1).rx_bytes == pytest.approx(1.234567e6 * 10 / 8, abs=1)


def test_traffic_keeps_an_idle_flow_alive() -> None:
    fabric = fabrics.fabric([], [("a",), ("a",)])
    net, controller = bare(fabric)
    request = messages.FlowMod(0, 0, 1, Match(), (ApplyActions((Output(2),)),), idle_timeout=2)
    controller.say("a", request, 0.0)
    controller.run(0.0)
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 1e6, adapts=False)])
    controller.run(7.0)
    state = net.nodes["a"].switch.state  # type: ignore[union-attr]
    assert state.flows == 1
    traffic.offer([])
    controller.run(12.0)
    assert state.flows == 0


def test_a_nic_without_an_address_is_named() -> None:
    net, _ = installed(fabrics.leaf_spine(2, 2, 1))
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 1e6, version=5)])
    with pytest.raises(ValueError, match="h1/eth0 has no IPv5 address"):
        traffic.report()


def test_routes_not_on_a_changed_switch_are_kept() -> None:
    net, _ = installed(fabrics.fat_tree(4, 1))
    traffic = Traffic(net)
    nics = [nic.id for nic in net.fabric.nics]
    traffic.offer([Demand(nics[0], nics[1], 1e6), Demand(nics[4], nics[7], 1e6)])
    traffic.report()
    kept = traffic.route(1)
    link = net.fabric.arcs_from["e00"][0].link
    net.cut(link, 1.0)
    net.advance(2.0)
    assert traffic.route(1) is kept


def test_nodes_can_be_off(leaf_spine: tuple[Network, Traffic]) -> None:
    net, _ = installed(fabrics.leaf_spine(3, 2, 1))
    traffic = Traffic(net)
    traffic.offer([Demand("h1/eth0", "h2/eth0", 1e6), Demand("h1/eth0", "h3/eth0", 1e6)])
    net.advance(1.0)
    net.power_off("l1", 1.0)
    net.advance(2.0)
    node: Node = net.nodes["l1"]
    assert node.switch is None
    assert Fate.DELIVERED not in traffic.fates(0)
    assert traffic.fates(1) == {Fate.DELIVERED: pytest.approx(1.0)}
    net.power_on("l1", 2.0)
    net.advance(3.0)
    assert traffic.fates(0) == {Fate.DROPPED: pytest.approx(1.0)}


def test_a_host_uses_its_second_link_while_the_first_is_down_and_both_afterwards() -> None:
    net, _ = installed(fabrics.dual_homed(3, 2))
    traffic = Traffic(net)
    nic = net.fabric.nics[0]
    traffic.offer([Demand(nic.id, net.fabric.nics[-1].id, 1e6)])

    def begins() -> set[object]:
        return {path.lanes[0][0] for path in traffic.route(0).paths}

    first, second = NicRef(nic.id, 0), NicRef(nic.id, 1)
    assert begins() == {first, second}
    net.cut(str(first), 1.0)
    net.advance(2.0)
    assert begins() == {second}
    net.mend(str(first), 2.0)
    net.advance(3.0)
    assert begins() == {first, second}
