"""What hosts may send, whom it reaches, and who answers for the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller.dataplane import ids
from controller.dataplane.compile import compile
from controller.dataplane.labels import Label
from controller.dataplane.policy import StalePlanError
from controller.dataplane.walk import Fate, Walker
from controller.fabric.model import Fabric, Nic, PortRef
from controller.intents.demands import Reach
from controller.openflow.model import ApplyActions, Field, Metered
from controller.optimizer.plan import PlannedTree
from tests.dataplane import fabrics
from tests.dataplane.fabrics import GATEWAY, packet

ARP = {Field.ETH_TYPE: 0x0806, Field.ETH_DST: 0xFFFFFFFFFFFF}
NS = {
    Field.ETH_TYPE: 0x86DD,
    Field.IP_PROTO: 58,
    Field.ICMPV6_TYPE: 135,
    Field.ICMPV6_CODE: 0,
    Field.ETH_DST: 0x3333FF000001,
}


@pytest.fixture(scope="module")
def net() -> Fabric:
    return fabrics.leaf_spine(3, 2, 2)


@pytest.fixture(scope="module")
def walker(net: Fabric) -> Walker:
    """h1, h3 and h5 talk in one intent, h3 and h4 in another; h6 is in none."""
    asked = fabrics.demands(
        net,
        {"a": ["h1/eth0", "h3/eth0", "h5/eth0"], "b": ["h3/eth0", "h4/eth0", "h2/eth0"]},
    )
    return Walker(net, compile(net, fabrics.plan(net, asked), asked))


ALLOWED = {
    *[(x, y) for x in ("h1", "h3", "h5") for y in ("h1", "h3", "h5") if x != y],
    *[(x, y) for x in ("h2", "h3", "h4") for y in ("h2", "h3", "h4") if x != y],
}


def v4(nic: Nic) -> int:
    return int(nic.addresses[0])


def v6(nic: Nic) -> int:
    return int(nic.addresses[1])


def fates(walker: Walker, at: PortRef, headers: Mapping[Field, int]) -> set[Fate]:
    return {outcome.fate for outcome in walker.walk(at, headers)}


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("dscp", [0, 26, 8])
def test_intents_say_who_reaches_whom(net: Fabric, walker: Walker, version: int, dscp: int) -> None:
    for a in net.nics:
        for b in net.nics:
            if a is b:
                continue
            outcomes = walker.walk(a.attachments[0], packet(a, b, version, dscp))
            if (a.host, b.host) in ALLOWED:
                assert outcomes and all(o.reached(b) for o in outcomes), (a.id, b.id)
            else:
                assert {o.fate for o in outcomes} == {Fate.DROPPED}, (a.id, b.id)


def test_delivered_packets_come_from_the_gateway(net: Fabric, walker: Walker) -> None:
    a, b = net.nics[0], net.nics[4]
    for outcome in walker.walk(a.attachments[0], packet(a, b)):
        assert dict(outcome.headers)[Field.ETH_SRC] == GATEWAY


def test_unknown_addresses_under_a_permitted_prefix_end_at_the_last_switch(
    net: Fabric, walker: Walker
) -> None:
    a = net.nics[0]
    stranger = {**packet(a, net.nics[4]), Field.IPV4_DST: v4(net.nics[4]) ^ 0x80}
    assert fates(walker, a.attachments[0], stranger) == {Fate.DROPPED}


@pytest.mark.parametrize("version", [4, 6])
def test_nobody_sends_to_himself(net: Fabric, walker: Walker, version: int) -> None:
    for a in net.nics:
        assert fates(walker, a.attachments[0], packet(a, a, version)) == {Fate.DROPPED}


def test_what_is_spoofed_stops_at_the_first_switch(net: Fabric, walker: Walker) -> None:
    h1, h3, h5 = net.nics[0], net.nics[2], net.nics[4]
    good = packet(h1, h3)
    at = h1.attachments[0]
    for change in (
        {Field.IPV4_SRC: v4(h5)},
        {Field.ETH_SRC: h5.mac},
        {Field.ETH_SRC: h5.mac, Field.IPV4_SRC: v4(h5)},
        {Field.ETH_DST: Label(0, 0, 11).pack()},
        {Field.ETH_DST: h3.mac},
        {Field.ETH_TYPE: 0x1234},
    ):
        for outcome in walker.walk(at, {**good, **change}):
            assert outcome.fate is Fate.DROPPED and outcome.path == (at.switch,), change


def test_a_port_without_a_host_admits_nothing(net: Fabric, walker: Walker) -> None:
    h1, h3 = net.nics[0], net.nics[2]
    assert fates(walker, PortRef("l0", 77), packet(h1, h3)) == {Fate.DROPPED}


def arp(nic: Nic, target: int, **other: int) -> dict[Field, int]:
    return {
        **ARP,
        Field.ETH_SRC: nic.mac,
        Field.ARP_OP: 1,
        Field.ARP_SHA: nic.mac,
        Field.ARP_SPA: other.get("spa", v4(nic)),
        Field.ARP_THA: 0,
        Field.ARP_TPA: target,
    }


def test_arp_gives_the_gateways_mac_for_any_other_address(net: Fabric, walker: Walker) -> None:
    h1, h3 = net.nics[0], net.nics[2]
    for target in (int(net.gateway_ipv4), v4(h3), 0x01020304):
        for destination in (0xFFFFFFFFFFFF, GATEWAY):
            request = {**arp(h1, target), Field.ETH_DST: destination}
            (outcome,) = walker.walk(h1.attachments[0], request)
            assert outcome.reached(h1)
            reply = dict(outcome.headers)
            assert reply == {
                Field.ETH_TYPE: 0x0806,
                Field.ETH_DST: h1.mac,
                Field.ETH_SRC: GATEWAY,
                Field.ARP_OP: 2,
                Field.ARP_SHA: GATEWAY,
                Field.ARP_SPA: target,
                Field.ARP_THA: h1.mac,
                Field.ARP_TPA: v4(h1),
            }


def test_announcements_and_probes_get_no_answer(net: Fabric, walker: Walker) -> None:
    h1 = net.nics[0]
    at = h1.attachments[0]
    for request in (arp(h1, v4(h1)), arp(h1, v4(h1), spa=0), arp(h1, v4(net.nics[2]), spa=0)):
        assert fates(walker, at, request) == {Fate.DROPPED}
    probe = {**NS, Field.ETH_SRC: h1.mac, Field.IPV6_SRC: 0, Field.IPV6_DST: 1}
    for target in (v6(h1), v6(net.nics[2])):
        assert fates(walker, at, {**probe, Field.IPV6_ND_TARGET: target}) == {Fate.DROPPED}
    own = solicitation(h1, v6(h1))
    assert fates(walker, at, own) == {Fate.DROPPED}


def test_a_spoofed_arp_request_is_not_answered_but_reported(net: Fabric, walker: Walker) -> None:
    h1, h3 = net.nics[0], net.nics[2]
    spoofed = arp(h1, int(net.gateway_ipv4), spa=v4(h3))
    assert fates(walker, h1.attachments[0], spoofed) == {Fate.PUNTED}


def solicitation(nic: Nic, target: int, source: int | None = None) -> dict[Field, int]:
    return {
        **NS,
        Field.ETH_SRC: nic.mac,
        Field.IPV6_SRC: v6(nic) if source is None else source,
        Field.IPV6_DST: 0xFF02 << 112 | 1,
        Field.IPV6_ND_TARGET: target,
        Field.IPV6_ND_SLL: nic.mac,
        Field.ND_RESERVED: 0,
        Field.ND_OPTIONS_TYPE: 1,
    }


def test_nd_gives_the_gateways_mac_multicast_and_unicast(net: Fabric, walker: Walker) -> None:
    h1 = net.nics[0]
    link_local = 0xFE80 << 112 | 5
    for target in (int(net.gateway_ipv6), v6(net.nics[2])):
        for source in (v6(h1), link_local):
            for mac in (0x3333FF000001, GATEWAY):
                asked = {**solicitation(h1, target, source), Field.ETH_DST: mac}
                (outcome,) = walker.walk(h1.attachments[0], asked)
                assert outcome.reached(h1)
                reply = dict(outcome.headers)
                assert reply[Field.ETH_SRC] == reply[Field.IPV6_ND_TLL] == GATEWAY
                assert reply[Field.IPV6_SRC] == reply[Field.IPV6_ND_TARGET] == target
                assert reply[Field.IPV6_DST] == source
                assert reply[Field.ICMPV6_TYPE] == 136
                assert reply[Field.ND_RESERVED] == 0xE0000000
                assert reply[Field.ND_OPTIONS_TYPE] == 2


def test_a_solicitation_that_does_not_say_its_mac_is_left_to_the_controller(
    net: Fabric, walker: Walker
) -> None:
    """There is no option in it that an answer could be made of."""
    h1 = net.nics[0]
    asked = solicitation(h1, int(net.gateway_ipv6))
    del asked[Field.IPV6_ND_SLL], asked[Field.ND_OPTIONS_TYPE]
    assert fates(walker, h1.attachments[0], asked) == {Fate.PUNTED}


def test_hosts_of_no_intent_are_not_served(net: Fabric, walker: Walker) -> None:
    h6 = net.nics[5]
    for headers in (arp(h6, int(net.gateway_ipv4)), solicitation(h6, int(net.gateway_ipv6))):
        assert fates(walker, h6.attachments[0], headers) == {Fate.DROPPED}


def test_link_probes_go_to_the_controller_from_any_port(net: Fabric, walker: Walker) -> None:
    lldp = {Field.ETH_TYPE: 0x88CC, Field.ETH_DST: 0x0180C200000E, Field.ETH_SRC: 5}
    for port in (net.nics[0].attachments[0], net.arcs[0].tail, net.arcs[0].head, PortRef("l1", 99)):
        assert fates(walker, port, lldp) == {Fate.PUNTED}


def test_a_plan_for_other_demands_is_refused_with_all_reasons(net: Fabric) -> None:
    asked = fabrics.demands(net, {"a": ["h1/eth0", "h3/eth0"]})
    plan = fabrics.plan(net, asked)
    wider = replace(asked, reaches=(Reach("b", frozenset({"h2/eth0", "h9/eth0"})),))
    with pytest.raises(StalePlanError) as raised:
        compile(net, plan, wider)
    assert "no zone for NICs of intents b" in str(raised.value)
    assert "intent b names NIC h9/eth0" in str(raised.value)


def test_a_plan_for_another_fabric_is_refused_with_all_reasons(net: Fabric) -> None:
    larger = fabrics.leaf_spine(4, 3, 2)
    asked = fabrics.demands(larger, {"a": ["h1/eth0", "h3/eth0"]})
    with pytest.raises(StalePlanError, match="egress 13 ends at switch l3, not in the fabric"):
        compile(net, fabrics.plan(larger, asked, 3), asked)


def test_trees_in_a_circle_and_weights_on_trees_that_lead_elsewhere_are_refused(
    net: Fabric,
) -> None:
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked)
    back = {arc.tail.switch: arc.tail.port for arc in net.arcs if "l1" in arc.link}
    circle = PlannedTree(plan.egresses[0].id, 5, {"l1": back["l1"], "s1": back["s1"]})
    with pytest.raises(StalePlanError, match="tree 5 of egress 10 runs in a circle"):
        compile(net, replace(plan, trees=(*plan.trees, circle)), asked)
    weights = {**plan.weights, next(iter(plan.weights)): {0: 1, 9: 1}}
    with pytest.raises(StalePlanError, match=r"on trees \[9\], which do not lead there"):
        compile(net, replace(plan, weights=weights), asked)


def test_an_egress_that_no_tree_reaches_is_not_sent_to(net: Fabric) -> None:
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked)
    lost = plan.egresses[0].id
    plan = replace(
        plan,
        trees=tuple(tree for tree in plan.trees if tree.egress != lost),
        weights={k: w for k, w in plan.weights.items() if k.egress != plan.egresses[0].members},
    )
    walker = Walker(net, compile(net, plan, asked))
    h1, h3, h5 = net.nics[0], net.nics[2], net.nics[4]
    assert fates(walker, h3.attachments[0], packet(h3, h1)) == {Fate.DROPPED}
    assert all(o.reached(h5) for o in walker.walk(h3.attachments[0], packet(h3, h5)))


LLDP_TARGETS = (0x0180C200000E, 0xFFFFFFFFFFFF, GATEWAY, Label(0, 0, 1).pack(), 0x020000000001)


@pytest.mark.parametrize("target", LLDP_TARGETS)
def test_lldp_goes_to_the_controller_from_wherever_it_comes_and_nowhere_else(
    net: Fabric, walker: Walker, target: int
) -> None:
    ports = {arc.tail for arc in net.arcs} | {p for nic in net.nics for p in nic.attachments}
    ports |= {PortRef(switch.name, 77) for switch in net.switches}
    for at in sorted(ports):
        frame = {Field.ETH_TYPE: 0x88CC, Field.ETH_DST: target, Field.ETH_SRC: net.nics[0].mac}
        for outcome in walker.walk(at, frame):
            assert outcome.fate is Fate.PUNTED and outcome.path == (at.switch,), at


def test_probes_are_metered_apart_from_what_hosts_send(net: Fabric) -> None:
    asked = fabrics.demands(net)
    tables = compile(net, fabrics.plan(net, asked), asked)["l0"]
    meters: dict[int | None, set[int]] = {}
    for flow in tables.flows.values():
        fields = {f.field: f.value for f in flow.match.fields}
        if fields.get(Field.ETH_TYPE) == 0x88CC:
            (apply,) = flow.instructions
            assert isinstance(apply, ApplyActions)
            metered = apply.actions[0]
            assert isinstance(metered, Metered)
            meters.setdefault(fields.get(Field.IN_PORT), set()).add(metered.meter_id)
    uplinks = {arc.tail.port for arc in net.arcs_from["l0"]}
    assert meters == {
        None: {ids.METER_STRAY_LLDP},
        **{port: {ids.METER_LLDP} for port in uplinks},
    }
    assert {ids.METER_STRAY_LLDP, ids.METER_LLDP} <= set(tables.meters)
