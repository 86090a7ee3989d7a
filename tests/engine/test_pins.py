"""Point-to-point intents as their owners see them, from the plan to what switches hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from controller.dataplane import ids
from controller.dataplane.compile import compile
from controller.dataplane.walk import Outcome, Walker, dead_ports
from controller.engine import events as ev
from controller.engine import plan_codec
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric, Link
from controller.intents.expand import demands_of
from controller.intents.kinds import expand
from controller.intents.lifecycle import Reason
from controller.intents.model import IntentState, OnShortage, PointToPoint, Protection, Selector
from controller.openflow.model import Field
from controller.optimizer.plan import Pin, PlacedFlow, Plan
from tests.dataplane.fabrics import packet
from tests.engine.world import World, everyone, fabric


def hosts(*names: str) -> Selector:
    return Selector(hosts=names)


def p2p(
    network: Fabric, name: str, source: str, destination: str, **spec: object
) -> ev.WantedIntent:
    sources, destinations = hosts(*source.split()), hosts(*destination.split())
    found = expand(name, PointToPoint(sources, destinations, **spec), network)  # type: ignore[arg-type]
    return ev.WantedIntent(name, 1, found.reach.nics, None, found.reach.peers, found.flows)


def named(*intents: ev.WantedIntent) -> dict[str, ev.WantedIntent]:
    return {intent.name: intent for intent in intents}


def settled(network: Fabric, intents: dict[str, ev.WantedIntent]) -> World:
    world = World(network, intents)
    world.connect()
    world.pass_time(2)
    return world


def want(world: World, *intents: ev.WantedIntent) -> None:
    world.event(ev.IntentsChanged(named(*intents)))
    world.pass_time(2)


def plan_of(world: World) -> Plan:
    assert world.engine.plan is not None
    return world.engine.plan


def pin_of(world: World, intent: str) -> Pin:
    (pin,) = (pin for flow, pin in plan_of(world).pins.items() if flow.intent == intent)
    return pin


def through(
    world: World, source: str, target: str, *dead: Link, port: int = 1
) -> set[tuple[str, ...]]:
    """Ways that a packet can take; empty where it cannot get there."""
    network = world.network
    a, b = (network.nic_by_id[f"{host}/eth0"] for host in (source, target))
    walker = Walker(network, world.holds, dead_ports(network, [link.name for link in dead]))
    sent = {**packet(a, b), Field.UDP_SRC: port, Field.ETH_DST: network.gateway_mac}
    ends: Iterable[Outcome] = walker.walk(a.attachments[0], sent)
    return {end.path for end in ends if end.reached(b)}


def pinning(world: World, switch: str) -> dict[object, object]:
    """The flows of pins, and their groups."""
    holds = world.holds[switch]
    flows = {k: f for k, f in holds.flows.items() if f.cookie >> 32 & 0xFF == ids.Kind.PIN}
    return {**flows, **{i: g for i, g in holds.groups.items() if ids.is_pin_group(i)}}


def link(network: Fabric, leaf: str, spine: str) -> Link:
    return next(x for x in network.links if {x.a.switch, x.b.switch} == {leaf, spine})


def other(spine: str) -> str:
    return "spine1" if spine == "spine2" else "spine2"


def test_a_flow_gets_a_path_and_a_backup_that_shares_nothing_with_it() -> None:
    network = fabric()
    world = settled(
        network, named(p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.NODE))
    )
    assert world.states["p"][-1] is IntentState.ACTIVE
    ((_, spine, _),) = through(world, "h1", "h5")
    broken = link(network, "leaf1", spine)
    assert through(world, "h1", "h5", broken) == {("leaf1", other(spine), "leaf3")}
    assert (
        plan_of(world).load_bps[
            "leaf1", broken.a.port if broken.a.switch == "leaf1" else broken.b.port
        ]
        >= 4e6
    )
    # Packets back need no pin, but may go.
    assert through(world, "h5", "h1")
    assert not through(world, "h1", "h6")


def test_queue_pairs_of_one_pair_of_nics_each_get_a_path() -> None:
    network = fabric()
    ports = (50001, 50002, 50003)
    world = settled(
        network, named(p2p(network, "p", "h1", "h5", rate_bps=45e6, udp_source_ports=ports))
    )
    assert world.states["p"][-1] is IntentState.ACTIVE
    assert {sum(len(through(world, "h1", "h5", port=p)) for p in ports)} == {3}


def test_what_cannot_be_had_is_rejected_with_the_links_and_the_intents_on_them() -> None:
    network = fabric()
    first = p2p(network, "a", "h1", "h5", rate_bps=40e6)
    second = p2p(network, "b", "h2", "h5", rate_bps=40e6)
    third = p2p(network, "c", "h2", "h6", rate_bps=40e6)
    world = settled(network, named(first, second))
    assert world.states["b"][-1] is IntentState.ACTIVE
    want(world, first, second, third)
    status = world.statuses["c"]
    assert (status.state, status.reason) == (IntentState.REJECTED, Reason.NO_CAPACITY.value)
    assert "40 Mbit/s" in status.message
    assert "leaf1" in status.message and "a" in status.message.split("where ")[1]
    assert not through(world, "h2", "h6"), "nothing of it is installed"
    assert through(world, "h2", "h5"), "others are not concerned"
    want(world, first, third)
    assert world.states["c"][-1] is IntentState.ACTIVE
    assert through(world, "h2", "h6")


def test_all_flows_of_an_intent_or_none() -> None:
    network = fabric()
    taken = p2p(network, "a", "h1", "h5", rate_bps=50e6)
    greedy = p2p(network, "b", "h2 h3", "h6 h7", rate_bps=120e6)
    modest = p2p(network, "c", "h2", "h6", rate_bps=50e6)
    world = settled(network, named(taken))
    want(world, taken, greedy, modest)
    assert world.states["b"][-1] is IntentState.REJECTED
    assert not through(world, "h3", "h7")
    assert world.states["c"][-1] is IntentState.ACTIVE, "what b held in part is free for others"


def test_one_that_may_be_degraded_takes_what_there_is() -> None:
    network = fabric()
    taken = [p2p(network, f"t{i}", "h1", f"h{5 + i}", rate_bps=20e6) for i in range(2)]
    more = p2p(network, "b", "h2", "h5", rate_bps=40e6, on_shortage=OnShortage.DEGRADE)
    world = settled(network, named(*taken))
    want(world, *taken, more)
    status = world.statuses["b"]
    if status.state is not IntentState.ACTIVE:
        assert (status.state, status.reason) == (IntentState.DEGRADED, Reason.NO_CAPACITY.value)
    assert through(world, "h2", "h5")


def test_an_admitted_intent_is_not_refused_for_what_fails_later() -> None:
    network = fabric()
    intent = p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.LINK)
    world = settled(network, named(intent))
    ((_, spine, _),) = through(world, "h1", "h5")
    world.link(link(network, "leaf1", spine), live=False)
    world.pass_time(2)
    status = world.statuses["p"]
    assert (status.state, status.reason) == (IntentState.DEGRADED, Reason.NOT_DISJOINT.value)
    assert through(world, "h1", "h5", link(network, "leaf1", spine))
    # Asked for anew, it would be.
    new = p2p(network, "q", "h2", "h5", rate_bps=4e6, protection=Protection.LINK)
    want(world, intent, new)
    assert world.states["q"][-1] is IntentState.REJECTED
    world.link(link(network, "leaf1", spine), live=True)
    world.pass_time(3)
    assert world.states["p"][-1] is IntentState.ACTIVE
    assert world.states["q"][-1] is IntentState.ACTIVE


def test_a_pin_is_on_its_backup_at_once_and_stays_there_when_the_link_is_back() -> None:
    network = fabric()
    world = settled(
        network, named(p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.LINK))
    )
    before = pin_of(world, "p")
    ((_, spine, _),) = through(world, "h1", "h5")
    broken = link(network, "leaf3", spine)
    world.link(broken, live=False)
    # No time has passed: the plan was not put off until links are quiet.
    after = pin_of(world, "p")
    assert (after.primary, after.backup) == (before.backup, None)
    world.pass_time(0.75)
    assert through(world, "h1", "h5", broken) == {("leaf1", other(spine), "leaf3")}
    world.link(broken, live=True)
    world.pass_time(3)
    assert world.states["p"][-1] is IntentState.ACTIVE
    assert through(world, "h1", "h5") == {("leaf1", other(spine), "leaf3")}


def test_without_any_path_a_pin_goes_like_everything_else_until_there_is_one() -> None:
    network = fabric()
    world = settled(
        network, named(p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.LINK))
    )
    uplinks = [link(network, "leaf1", spine) for spine in ("spine1", "spine2")]
    for each in uplinks:
        world.link(each, live=False)
    world.pass_time(2)
    status = world.statuses["p"]
    assert (status.state, status.reason) == (IntentState.DEGRADED, Reason.UNROUTABLE.value)
    for each in uplinks:
        world.link(each, live=True)
    world.pass_time(3)
    assert world.states["p"][-1] is IntentState.ACTIVE
    assert pin_of(world, "p").backup is not None


def test_other_intents_come_and_go_without_a_change_for_a_pin() -> None:
    network = fabric()
    mine = p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.LINK)
    world = settled(network, named(mine))
    pins, held = dict(plan_of(world).pins), pinning(world, "leaf1")
    theirs = p2p(network, "a", "h3", "h7", rate_bps=30e6, protection=Protection.LINK)
    for intents in ([theirs, everyone(network)["all"]], [theirs], []):
        want(world, mine, *intents)
        assert pins.items() <= plan_of(world).pins.items()
        assert pinning(world, "leaf1") == held
    assert plan_of(world).pins == pins


def test_another_rate_over_the_same_path_is_nothing_for_switches() -> None:
    network = fabric()
    world = settled(network, named(p2p(network, "p", "h1", "h5", rate_bps=4e6)))
    world.sent.clear()
    want(world, p2p(network, "p", "h1", "h5", rate_bps=5e6))
    assert pin_of(world, "p").rate_bps == 5e6
    assert world.sent == []
    assert world.states["p"][-1] is IntentState.ACTIVE


def test_two_intents_for_the_same_packets_are_told_so() -> None:
    network = fabric()
    first = p2p(network, "a", "h1", "h5", rate_bps=1e6)
    second = p2p(network, "b", "h1", "h5", rate_bps=1e6)
    world = settled(network, named(first))
    want(world, first, second)
    assert world.states["a"][-1] is IntentState.ACTIVE
    status = world.statuses["b"]
    assert (status.state, status.reason) == (IntentState.REJECTED, Reason.CONSTRAINED.value)
    assert "intent a pins the same packets" in status.message
    ports = p2p(network, "b", "h1", "h5", rate_bps=1e6, udp_source_ports=(50000,))
    want(world, first, ports)
    assert world.states["b"][-1] is IntentState.ACTIVE


def test_a_restart_adopts_a_plan_with_pins_and_sends_nothing() -> None:
    network = fabric()
    wanted = named(
        p2p(network, "p", "h1", "h5", rate_bps=40e6, protection=Protection.LINK),
        p2p(network, "q", "h2", "h5", rate_bps=40e6),
    )
    before = settled(network, wanted)
    assert before.states["q"][-1] is IntentState.REJECTED
    stored = plan_codec.decode(plan_codec.encode(before.stored[-1]))
    after = World(network, wanted, stored_plan=stored, holds=before.holds, statuses=before.statuses)
    after.connect()
    after.pass_time(3)
    assert (after.messages, after.stored, after.states) == (0, [], {})


def test_best_effort_traffic_keeps_off_what_is_reserved() -> None:
    network = fabric()
    everybody = everyone(network)["all"]
    flow = p2p(network, "p", "h1", "h5", rate_bps=45e6)
    demands = demands_of(network, [everybody.reach, flow.reach], flow.flows)
    demands = replace(demands, rate_bps=tuple(r / 4 for r in demands.rate_bps))
    plan = make_plan(network, demands, None, None, plan_id=1)
    (pin,) = plan.pins.values()
    tree = next(
        t
        for t in plan.trees
        if t.id == pin.primary and {e.id: e.members for e in plan.egresses}[t.egress] == pin.egress
    )
    mine = tree.next_port["leaf1"]
    load = {port: plan.load_bps["leaf1", port] for port in (11, 12)}
    beside = load[mine] - 45e6
    assert 0 <= beside < load[23 - mine] / 4
    assert plan.certificate.bound <= plan.certificate.mlu <= plan.certificate.bound * 1.1 + 0.05


def test_plans_of_before_pins_are_read() -> None:
    network = fabric()
    plan = make_plan(
        network, demands_of(network, [everyone(network)["all"].reach]), None, None, plan_id=1
    )
    data = plan_codec.encode(plan)
    old = data.replace(b'"asked":{},', b"").replace(b'"format":3', b'"format":2')
    old = old.replace(b'"pins":[],', b"").replace(b'"refused":[],', b"")
    assert len(old) < len(data)
    assert plan_codec.decode(old) == plan


@pytest.mark.parametrize("names", [("include", ("spine2",)), ("avoid", ("spine1",))])
def test_paths_keep_to_what_they_include_and_avoid(names: tuple[str, tuple[str, ...]]) -> None:
    network = fabric()
    spec = {names[0]: names[1]}
    world = settled(network, named(p2p(network, "p", "h1", "h5", rate_bps=1e6, **spec)))
    assert through(world, "h1", "h5") == {("leaf1", "spine2", "leaf3")}


def test_pins_of_a_plan_are_a_flow_each() -> None:
    network = fabric()
    world = settled(
        network, named(p2p(network, "p", "h1 h2", "h5 h6", rate_bps=4e6, bidirectional=True))
    )
    assert len(plan_of(world).pins) == 8
    assert {pin.rate_bps for pin in plan_of(world).pins.values()} == {1e6}
    assert all(isinstance(flow, PlacedFlow) for flow in plan_of(world).pins)


def test_links_fail_between_switches_that_only_a_refused_intent_would_join() -> None:
    """It asks for more than there is; what its best effort would take is in plans all the same."""
    network = fabric()
    greedy = p2p(network, "greedy", "h1", "h5", rate_bps=1e12)
    world = settled(network, named(greedy, p2p(network, "modest", "h3", "h7", rate_bps=1e6)))
    assert world.states["greedy"][-1] is IntentState.REJECTED
    assert world.states["modest"][-1] is IntentState.ACTIVE
    for spine in ("spine1", "spine2"):
        broken = link(network, "leaf1", spine)
        world.link(broken, live=False)
        world.pass_time(2)
        world.link(broken, live=True)
        world.pass_time(3)
    assert world.states["modest"][-1] is IntentState.ACTIVE
    assert world.engine.plan is not None
    assert world.holds == compile(network, world.engine.plan, world.engine.demands)
