"""Plans as they are made, in switches as they are compiled, while things fail and nobody acts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from functools import cache

import networkx as nx
import pytest

from controller.dataplane.compile import compile
from controller.dataplane.walk import Fate, Outcome, Walker, dead_ports
from controller.engine.pinned import Ways
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric, Nic, PortRef
from controller.intents.demands import Reach
from controller.intents.expand import connectivity, demands_of
from controller.intents.kinds import expand
from controller.intents.model import OnShortage, PointToPoint, Selector
from controller.openflow.model import Field
from controller.optimizer.plan import Plan
from tests.dataplane import fabrics
from tests.engine import world

FABRICS: dict[str, Callable[[], Fabric]] = {
    "leaf-spine": lambda: fabrics.leaf_spine(4, 2, 1),
    "asymmetric": lambda: world.fabric("leaf-spine-asymmetric"),
    "fat-tree": fabrics.fat_tree,
    "ring": fabrics.ring,
    "dual-homed": fabrics.dual_homed,
}


@cache
def planned(name: str) -> tuple[Fabric, Plan, Walker]:
    net = FABRICS[name]()
    demands = connectivity(net, {"all": frozenset(net.nic_by_id)})
    plan = make_plan(net, demands, None, None, plan_id=1)
    return net, plan, Walker(net, compile(net, plan, demands))


def outcomes(name: str, dead: frozenset[PortRef]) -> Iterable[tuple[Nic, Nic, Outcome]]:
    """Of packets from every live access port to every NIC that has one; one NIC of each edge."""
    net, _, walker = planned(name)
    walker = walker.with_dead(dead)
    nics = list({nic.attachment_set: nic for nic in net.nics}.values())
    for a, b in itertools.permutations(nics, 2):
        packet = fabrics.packet(a, b) | {Field.ETH_DST: net.gateway_mac}
        for port in a.attachments:
            if port not in dead and not dead.issuperset(b.attachments):
                ends = walker.walk(port, packet)
                assert ends
                yield from ((a, b, end) for end in ends)


@pytest.mark.parametrize("name", FABRICS)
def test_everything_arrives_after_any_single_failure(name: str) -> None:
    net, _, _ = planned(name)
    transit = [switch for switch, nics in net.nics_on.items() if not nics]
    for dead in [
        frozenset[PortRef](),
        *(dead_ports(net, links=[link.name]) for link in net.links),
        *(dead_ports(net, switches=[switch]) for switch in transit),
    ]:
        for a, b, end in outcomes(name, dead):
            assert end.reached(b), (a.id, b.id, sorted(map(str, dead)), end)


@pytest.mark.parametrize("name", FABRICS)
def test_several_failures_lose_packets_at_worst(name: str) -> None:
    net, _, _ = planned(name)
    things = [*((link.name, "") for link in net.links), *(("", s) for s in net.switch_by_name)]
    rng = random.Random(1)
    for _ in range(10 if name == "fat-tree" else 40):
        failed = rng.sample(things, rng.choice([2, 3]))
        dead = dead_ports(net, [link for link, _ in failed], [switch for _, switch in failed])
        for a, b, end in outcomes(name, dead):
            assert end.reached(b) or end.fate is Fate.DROPPED, (a.id, b.id, failed, end)


def test_repair_takes_no_trees_where_the_spines_are_enough() -> None:
    _, plan, _ = planned("leaf-spine")
    assert len(plan.trees) == 2 * len(plan.egresses)


@pytest.mark.parametrize("name", FABRICS)
def test_pinned_packets_arrive_after_any_single_failure_however_long_their_path(name: str) -> None:
    net, rng = FABRICS[name](), random.Random(7)
    reach = Reach("all", frozenset(net.nic_by_id))
    flows = []
    for number in range(8):
        a, b = rng.sample(net.nics, 2)
        by = rng.choice(sorted(net.switch_by_name))
        spec = PointToPoint(
            Selector(nics=(a.id,)),
            Selector(nics=(b.id,)),
            include=(by,),
            udp_source_ports=(50000 + number,),
            on_shortage=OnShortage.DEGRADE,
        )
        flows += expand(f"p{number}", spec, net).flows
    demands = demands_of(net, [reach], flows)
    plan = make_plan(net, demands, None, None, plan_id=1)
    assert sum(pin.primary is not None for pin in plan.pins.values()) > 3
    whole = Walker(net, compile(net, plan, demands))
    for dead in [frozenset[PortRef](), *(dead_ports(net, links=[x.name]) for x in net.links)]:
        walker = whole.with_dead(dead)
        for flow, pin in plan.pins.items():
            a, b = net.nic_by_id[flow.source], net.nic_by_id[flow.destination]
            sent = fabrics.packet(a, b) | {
                Field.ETH_DST: net.gateway_mac,
                Field.UDP_SRC: flow.udp_source_port,
            }
            entry = next(port for port in a.attachments if port.switch == flow.ingress)
            for end in walker.walk(entry, sent):
                assert end.reached(b), (flow, pin, sorted(map(str, dead)), end)


@pytest.mark.parametrize(("seed", "switches", "extra"), [(1, 10, 3), (24, 10, 5)])
def test_where_only_pins_go_there_are_detours_too(seed: int, switches: int, extra: int) -> None:
    """On these graphs the forest alone has none for some link of a long path."""
    rng = random.Random(seed)
    net = fabrics.random_graph(rng, switches, extra)
    flows = []
    for number in range(6):
        a, b = rng.sample(net.nics, 2)
        by, port = rng.choice(sorted(net.switch_by_name)), 50000 + number
        spec = PointToPoint(
            Selector(nics=(a.id,)),
            Selector(nics=(b.id,)),
            include=(by,),
            udp_source_ports=(port,),
            on_shortage=OnShortage.DEGRADE,
        )
        flows += expand(f"p{number}", spec, net).flows
    demands = demands_of(net, [Reach("all", frozenset(net.nic_by_id))], flows)
    plan = make_plan(net, demands, None, None, strategy="ecmp", plan_id=1)
    whole, ways = Walker(net, compile(net, plan, demands)), Ways(plan, net)
    cables = nx.MultiGraph((x.a.switch, x.b.switch, x.name) for x in net.links)
    cut = 0
    for flow, pin in plan.pins.items():
        for index in ways.of(flow.ingress, pin.egress, pin.primary) or ():
            arc = net.arcs[index]
            around = cables.copy()
            around.remove_node(arc.tail.switch)
            others = {a.head.switch for a in net.arcs_from[arc.tail.switch] if a.link != arc.link}
            if not any(nx.has_path(around, x, end) for x in others for end in pin.egress):
                continue
            a, b = net.nic_by_id[flow.source], net.nic_by_id[flow.destination]
            sent = fabrics.packet(a, b) | {Field.UDP_SRC: flow.udp_source_port}
            walker = whole.with_dead(dead_ports(net, [arc.link]))
            assert all(end.reached(b) for end in walker.walk(a.attachments[0], sent)), (flow, arc)
            cut += 1
    assert cut > 0
