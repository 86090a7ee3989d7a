"""Flows with paths of their own: where their packets go, and when something dies."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.dataplane import ids
from controller.dataplane.compile import compile
from controller.dataplane.diff import changes
from controller.dataplane.pipeline import Table
from controller.dataplane.policy import StalePlanError
from controller.dataplane.tables import Phase
from controller.dataplane.walk import Fate, Outcome, Walker, dead_ports
from controller.fabric.model import Arc, Fabric, Nic, PortRef
from controller.intents.demands import Demands, FlowId, PinnedFlow
from controller.openflow.model import Field, Flow, Group
from controller.optimizer.plan import PATH_TREES, Pin, PlacedFlow, Plan, PlannedTree
from tests.dataplane import fabrics
from tests.dataplane.fabrics import packet
from tests.dataplane.test_diff import steps

QUEUE_PAIR = 49152
Way = tuple[Arc, ...]


@dataclass(frozen=True)
class Pinned:
    """One flow of a case: ``primary`` and ``backup`` are its ways."""

    flow: PinnedFlow
    source: Nic
    target: Nic
    primary: Way
    backup: Way | None

    def packet(self, version: int = 4, dscp: int = 0) -> dict[Field, int]:
        port = self.flow.id.udp_source_port or 1
        return {**packet(self.source, self.target, version, dscp), Field.UDP_SRC: port}


@dataclass(frozen=True)
class Case:
    net: Fabric
    demands: Demands
    plan: Plan
    pinned: tuple[Pinned, ...]

    def walker(self) -> Walker:
        return Walker(self.net, compile(self.net, self.plan, self.demands))


def ways(rng: random.Random, net: Fabric, start: str, ends: Sequence[str], count: int) -> list[Way]:
    """Random simple ways that end where they first can."""
    found: set[Way] = set()
    for _ in range(20 * count):
        at, seen, way = start, {start}, []
        while at not in ends:
            onward = [a for a in net.arcs_from[at] if a.head.switch not in seen]
            if not onward:
                break
            way.append(rng.choice(onward))
            at = way[-1].head.switch
            seen.add(at)
        if at in ends:
            found.add(tuple(way))
    return sorted(found, key=lambda way: [arc.index for arc in way])[:count]


def case(rng: random.Random, net: Fabric, flows: int = 4, trees: int = 3) -> Case:
    """Flows at random, each with a way and perhaps a backup, every way a tree of its own."""
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked, trees, rng)
    number = {egress.members: egress.id for egress in plan.egresses}
    free = {egress: iter(PATH_TREES) for egress in number}
    pinned: dict[FlowId, Pinned] = {}
    pins: dict[PlacedFlow, Pin] = {}
    planned = list(plan.trees)

    def tree(egress: tuple[str, ...], way: Way) -> int:
        made = next(free[egress])
        hops = {arc.tail.switch: arc.tail.port for arc in way}
        planned.append(PlannedTree(number[egress], made, hops))
        return made

    for _ in range(flows):
        a, b = rng.sample(net.nics, 2)
        ingress, egress = rng.choice(a.attachments).switch, b.attachment_set
        if ingress in egress:
            continue
        port = rng.choice((0, QUEUE_PAIR, QUEUE_PAIR + 1))
        traffic_class = rng.choice(net.classes).name
        flow = PinnedFlow(FlowId("p", a.id, b.id, ingress, port), egress, traffic_class, 1e6)
        primary, *others = ways(rng, net, ingress, egress, 3)
        backup = rng.choice(others) if others and rng.random() < 0.8 else None
        pinned[flow.id] = Pinned(flow, a, b, primary, backup)
        pins[PlacedFlow(*flow.id)] = Pin(
            egress, tree(egress, primary), tree(egress, backup) if backup else None, 1e6
        )
    found = tuple(pinned[i] for i in sorted(pinned))
    known = {(e.flow.egress, pins[PlacedFlow(*e.flow.id)].primary) for e in found}
    assert len(known) == len(found)
    return Case(
        net,
        replace(asked, flows=tuple(e.flow for e in found)),
        replace(
            plan, trees=tuple(planned), pins={PlacedFlow(*i): pins[PlacedFlow(*i)] for i in pinned}
        ),
        found,
    )


def any_fabric(rng: random.Random) -> Fabric:
    return rng.choice(
        (
            lambda: fabrics.random_graph(rng),
            fabrics.leaf_spine,
            fabrics.ring,
            fabrics.dual_homed,
            fabrics.asymmetric,
        )
    )()


def entry(each: Pinned) -> PortRef:
    return next(p for p in each.source.attachments if p.switch == each.flow.id.ingress)


def switches(way: Way) -> tuple[str, ...]:
    return (way[0].tail.switch, *(arc.head.switch for arc in way))


def only(outcomes: frozenset[Outcome]) -> Outcome:
    (outcome,) = outcomes
    return outcome


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30))
def test_pinned_packets_take_exactly_their_path(seed: int) -> None:
    rng = random.Random(seed)
    made = case(rng, any_fabric(rng))
    walker = made.walker()
    for each in made.pinned:
        for version in (4, 6):
            end = only(walker.walk(entry(each), each.packet(version)))
            assert end.reached(each.target)
            assert end.path == switches(each.primary)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30))
def test_they_take_their_backup_when_the_first_link_dies_and_any_way_when_both_do(
    seed: int,
) -> None:
    rng = random.Random(seed)
    made = case(rng, any_fabric(rng))
    walker = made.walker()
    for each in made.pinned:
        first = each.primary[0].link
        broken = {first}
        if each.backup is not None and each.backup[0].link != first:
            end = only(
                walker.with_dead(dead_ports(made.net, broken)).walk(entry(each), each.packet())
            )
            if first not in {arc.link for arc in each.backup}:
                assert end.reached(each.target)
                assert end.path == switches(each.backup)
            broken.add(each.backup[0].link)
        after = walker.with_dead(dead_ports(made.net, broken))
        # Packets of the same two that nothing pins.
        other = {**each.packet(), Field.UDP_SRC: 7}
        unpinned = after.walk(entry(each), other)
        if each.flow.id.udp_source_port and not any(
            e.flow.id[1:4] == each.flow.id[1:4] and not e.flow.id.udp_source_port
            for e in made.pinned
        ):
            like = after.walk(entry(each), each.packet())
            assert {(o.fate, o.at) for o in like} == {(o.fate, o.at) for o in unpinned}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 4))
def test_no_failures_make_pinned_packets_loop_or_stray(seed: int, failures: int) -> None:
    rng = random.Random(seed)
    made = case(rng, any_fabric(rng))
    links = [link.name for link in made.net.links]
    broken = rng.sample(links, min(failures, len(links)))
    walker = made.walker().with_dead(dead_ports(made.net, broken))
    for each in made.pinned:
        for outcome in walker.walk(entry(each), each.packet()):
            assert outcome.reached(each.target) or outcome.fate is Fate.DROPPED


def test_any_one_link_of_a_path_may_die_on_the_way() -> None:
    """Where the dead link is not the first, the switch before it sends the packet around."""
    for make, trees in ((fabrics.leaf_spine, 2), (fabrics.fat_tree, 4), (fabrics.ring, 2)):
        made = case(random.Random(3), make(), flows=12, trees=trees)
        walker = made.walker()
        for each in made.pinned:
            for arc in each.primary:
                after = walker.with_dead(dead_ports(made.net, [arc.link]))
                ends = after.walk(entry(each), each.packet())
                assert ends and all(end.reached(each.target) for end in ends)


@pytest.mark.parametrize("version", [4, 6])
def test_packets_are_marked_once_with_their_intents_class(version: int) -> None:
    made = case(random.Random(5), fabrics.leaf_spine(), flows=12)
    walker = made.walker()
    classes = {c.name: c.dscp for c in made.net.classes}
    seen = set()
    for each in made.pinned:
        sent = each.packet(version, dscp=8)
        end = only(walker.walk(entry(each), sent))
        dscp = classes[each.flow.traffic_class]
        assert dict(end.headers)[Field.IP_DSCP] == (8 if dscp is None else dscp)
        seen.add(dscp)
    assert seen == {None, 26}


def test_what_stays_on_one_switch_needs_no_path() -> None:
    net = fabrics.leaf_spine()
    a, b = (nic for _, nic in net.nics_on["l0"])
    flow = PinnedFlow(FlowId("p", a.id, b.id, "l0", 0), ("l0",), "roce", 1e6)
    asked = replace(fabrics.demands(net), flows=(flow,))
    plan = fabrics.plan(net, asked)
    plan = replace(plan, pins={PlacedFlow(*flow.id): Pin(("l0",), None)})
    walker = Walker(net, compile(net, plan, asked))
    end = only(walker.walk(a.attachments[0], packet(a, b)))
    assert end.reached(b) and dict(end.headers)[Field.IP_DSCP] == 26


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_while_pins_move_and_go_no_packet_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    made = case(rng, any_fabric(rng))
    pins = {
        flow: replace(pin, primary=pin.backup, backup=pin.primary)
        if pin.backup is not None and rng.random() < 0.7
        else pin
        for flow, pin in made.plan.pins.items()
    }
    number = {e.members: e.id for e in made.plan.egresses}
    # A tree that only the new plan has: a moved pin's old way, under another number.
    trees = list(made.plan.trees)
    for flow, pin in pins.items():
        if pin.backup is not None and rng.random() < 0.5:
            old = next(t for t in trees if (t.egress, t.id) == (number[pin.egress], pin.backup))
            trees.remove(old)
            trees.append(replace(old, id=old.id + 100))
            pins[flow] = replace(pin, backup=old.id + 100)
    gone = {flow for flow in pins if rng.random() < 0.3}
    for flow in gone:
        pin = pins.pop(flow)
        unused = {(number[pin.egress], pin.primary), (number[pin.egress], pin.backup)}
        trees = [t for t in trees if (t.egress, t.id) not in unused]
    flows = tuple(f for f in made.demands.flows if PlacedFlow(*f.id) not in gone)
    after = replace(made.plan, id=2, trees=tuple(trees), pins=pins)
    before_tables = compile(made.net, made.plan, made.demands)
    after_tables = compile(made.net, after, replace(made.demands, flows=flows))
    allowed = {
        each.flow.id: {switches(each.primary)} | ({switches(each.backup)} if each.backup else set())
        for each in made.pinned
    }
    for _, holding in steps(before_tables, after_tables, rng):
        tables = {name: switch.tables() for name, switch in holding.items()}
        walker = Walker(made.net, tables)
        for each in made.pinned:
            for end in walker.walk(entry(each), each.packet()):
                assert end.reached(each.target)
                if PlacedFlow(*each.flow.id) not in gone:
                    assert end.path in allowed[each.flow.id]


def test_a_path_that_changes_is_one_flow_and_a_group_beside_the_one_in_use() -> None:
    made = case(random.Random(5), fabrics.leaf_spine(), flows=12)
    flow, pin = next((f, p) for f, p in made.plan.pins.items() if p.backup is not None)
    swapped = {**made.plan.pins, flow: replace(pin, primary=pin.backup, backup=pin.primary)}
    before = compile(made.net, made.plan, made.demands)
    after = compile(made.net, replace(made.plan, pins=swapped), made.demands)
    update = changes(before, after)
    assert set(update) <= {Phase.INGRESS_GROUPS, Phase.CLASSIFY_FLOWS, Phase.REMOVE_GROUPS}
    assert all(set(batches) == {flow.ingress} for batches in update.values())
    (added,) = update[Phase.INGRESS_GROUPS][flow.ingress]
    assert isinstance(added.entry, Group) and ids.is_pin_group(added.entry.id)
    for change in update[Phase.CLASSIFY_FLOWS][flow.ingress]:
        assert isinstance(change.entry, Flow)
        assert change.entry.cookie >> 32 & 0xFF == ids.Kind.PIN
    assert len(update[Phase.CLASSIFY_FLOWS][flow.ingress]) == 2  # IPv4 and IPv6


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30))
def test_no_switch_is_handed_a_pinned_label_that_it_does_not_know(seed: int) -> None:
    rng = random.Random(seed)
    made = case(rng, any_fabric(rng))
    tables = compile(made.net, made.plan, made.demands)
    number = {e.members: e.id for e in made.plan.egresses}
    for each in made.pinned:
        pin = made.plan.pins[PlacedFlow(*each.flow.id)]
        for tree, way in ((pin.primary, each.primary), (pin.backup, each.backup)):
            for arc in (way or ())[:-1]:
                subject = number[pin.egress] << 10 | (tree or 0)
                cookie = ids.cookie(ids.Kind.TRANSIT, subject)
                flows = tables[arc.head.switch].flows.values()
                assert any(f.cookie == cookie and f.table == Table.TRANSIT for f in flows)


def test_refused_intents_leave_nothing_in_switches() -> None:
    net = fabrics.leaf_spine()
    made = case(random.Random(5), net, flows=6)
    none = replace(made.demands, flows=())
    refused = replace(made.plan, refused=frozenset({"p"}))
    assert compile(net, refused, made.demands) == compile(
        net,
        replace(
            made.plan, pins={}, trees=tuple(t for t in made.plan.trees if t.id not in PATH_TREES)
        ),
        none,
    )


def test_a_plan_without_a_flow_is_not_compiled_for_it() -> None:
    made = case(random.Random(5), fabrics.leaf_spine())
    with pytest.raises(StalePlanError, match="has not placed"):
        compile(made.net, replace(made.plan, pins={}), made.demands)


def test_ids_of_pin_groups_are_no_others() -> None:
    for group in itertools.islice(
        (ids.pin_group_number(str(i), 0) for i in itertools.count()), 500
    ):
        assert ids.is_pin_group(group)
        assert ids.ingress_group(group) is None and not ids.is_transit_group(group)
