"""What dead links and switches do to packets, before anybody acts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.dataplane.compile import compile
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import Table
from controller.dataplane.tables import SwitchTables
from controller.dataplane.walk import Fate, Outcome, Walker, dead_ports
from controller.fabric.model import Arc, Fabric, Nic, PortRef
from controller.openflow.model import (
    Action,
    ApplyActions,
    Field,
    Flow,
    GroupType,
    Instruction,
    Output,
    SetField,
    ToGroup,
)
from tests.dataplane import fabrics
from tests.dataplane.fabrics import packet

FABRICS: dict[str, tuple[Callable[[], Fabric], int]] = {
    "leaf-spine": (lambda: fabrics.leaf_spine(4, 2, 1), 2),
    "asymmetric": (fabrics.asymmetric, 3),
    "fat-tree": (fabrics.fat_tree, 4),
    "ring": (fabrics.ring, 2),
    "dual-homed": (fabrics.dual_homed, 2),
}


@cache
def compiled(name: str) -> tuple[Fabric, Walker]:
    make, trees = FABRICS[name]
    net = make()
    asked = fabrics.demands(net)
    return net, Walker(net, compile(net, fabrics.plan(net, asked, trees), asked))


def walks(
    net: Fabric, walker: Walker, dead: frozenset[PortRef], version: int = 4
) -> Iterable[tuple[Nic, Nic, frozenset[Outcome]]]:
    """From every live access port to NICs that still have one: all, or a third of many."""
    walker = walker.with_dead(dead)
    targets = net.nics[:: 3 if len(net.nics) > 6 else 1]
    for a, b in itertools.product(net.nics, targets):
        for port in a.attachments:
            if a is not b and port not in dead and not dead.issuperset(b.attachments):
                yield a, b, walker.walk(port, packet(a, b, version))


def assert_all_delivered(
    net: Fabric, walker: Walker, dead: frozenset[PortRef], version: int = 4
) -> None:
    for a, b, outcomes in walks(net, walker, dead, version):
        assert outcomes
        for outcome in outcomes:
            assert outcome.reached(b), (a.id, b.id, sorted(map(str, dead)), outcome)


def assert_harmless(net: Fabric, walker: Walker, dead: frozenset[PortRef]) -> None:
    for a, b, outcomes in walks(net, walker, dead):
        for outcome in outcomes:
            assert outcome.reached(b) or outcome.fate is Fate.DROPPED, (a.id, b.id, outcome)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("name", FABRICS)
def test_all_reach_all(name: str, version: int) -> None:
    assert_all_delivered(*compiled(name), frozenset(), version)


@pytest.mark.parametrize("name", FABRICS)
def test_any_one_link_may_fail(name: str) -> None:
    net, walker = compiled(name)
    for link in net.links:
        assert_all_delivered(net, walker, dead_ports(net, [link.name]))


@pytest.mark.parametrize("name", ["leaf-spine", "fat-tree"])
def test_any_one_switch_without_hosts_may_fail(name: str) -> None:
    net, walker = compiled(name)
    for switch, nics in net.nics_on.items():
        if not nics:
            assert_all_delivered(net, walker, dead_ports(net, switches=[switch]))


def test_a_host_on_two_leaves_survives_either_leaf_and_either_cable() -> None:
    net, walker = compiled("dual-homed")
    for nic in net.nics:
        if len(nic.attachments) == 2:
            for port in nic.attachments:
                assert_all_delivered(net, walker, frozenset({port}))
    for switch in ("l1", "l3"):
        assert_all_delivered(net, walker, dead_ports(net, switches=[switch]))


@pytest.mark.parametrize("name", FABRICS)
def test_no_failures_loop_multiply_or_misdeliver(name: str) -> None:
    net, walker = compiled(name)
    links = [link.name for link in net.links]
    sets = [c for n in (2, 3) for c in itertools.combinations(links, n)]
    random.Random(1).shuffle(sets)
    for broken in sets[: 15 if name == "fat-tree" else 60]:
        assert_harmless(net, walker, dead_ports(net, broken))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(0, 3))
def test_no_graph_and_no_failures_make_a_loop(seed: int, failures: int) -> None:
    rng = random.Random(seed)
    net = fabrics.random_graph(rng)
    asked = fabrics.demands(net)
    walker = Walker(net, compile(net, fabrics.plan(net, asked, 3, rng), asked))
    assert_all_delivered(net, walker, frozenset())
    broken = rng.sample([link.name for link in net.links], failures)
    access = [port for nic in net.nics for port in nic.attachments]
    dead = dead_ports(net, broken) | set(rng.sample(access, min(1, failures)))
    assert_harmless(net, walker, frozenset(dead))


def test_where_the_planned_trees_are_dead_the_others_take_over() -> None:
    net = fabrics.leaf_spine(3, 2, 1)
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked)
    plan = replace(plan, weights={key: {0: 4} for key in plan.weights})
    walker = Walker(net, compile(net, plan, asked))
    for link in net.links:
        assert_all_delivered(net, walker, dead_ports(net, [link.name]))


def test_detours_are_shared_by_up_to_four_neighbours_and_all_egresses_of_a_port() -> None:
    """A spine whose cable to a leaf is dead hands packets back to other leaves."""
    net = fabrics.leaf_spine(7, 2, 1)
    asked = fabrics.demands(net)
    spine = compile(net, fabrics.plan(net, asked), asked)["s0"]
    shared = [group for group in spine.groups.values() if group.type is GroupType.SELECT]
    assert shared and {len(group.buckets) for group in shared} == {4}
    for group in shared:
        for bucket in group.buckets:
            relabel, forget, out = bucket.actions
            assert isinstance(relabel, SetField) and relabel.mask is not None
            assert forget == SetField(Field.NXM_IN_PORT, 0xFFFF)
            assert out == Output(bucket.watch_port or 0)


@pytest.mark.parametrize("name", FABRICS)
def test_no_switch_is_handed_a_label_that_it_does_not_know(name: str) -> None:
    """Whatever fails: follows primaries and all detours, of all generations."""
    net, _ = compiled(name)
    asked = fabrics.demands(net)
    tables = compile(net, fabrics.plan(net, asked, FABRICS[name][1]), asked)
    known: dict[str, list[tuple[int, int, Flow]]] = {}
    for switch, holds in tables.items():
        known[switch] = [
            (entry.value, entry.field.all_ones if entry.mask is None else entry.mask, flow)
            for flow in sorted(holds.flows.values(), key=lambda flow: -flow.priority)
            if flow.table == Table.TRANSIT
            for entry in flow.match.fields
        ]
    pending = [
        (arc.head.switch, mac)
        for switch, holds in tables.items()
        for flow in holds.flows.values()
        if flow.table in (Table.CLASSIFY, Table.DELIVER)
        for arc, mac in handed(net, switch, holds, flow.instructions, None)
    ]
    seen = set()
    generations = set()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        switch, mac = at
        label = Label.unpack(mac)
        assert label is not None
        generations.add(label.generation)
        flow = next((f for value, mask, f in known[switch] if mac & mask == value), None)
        assert flow is not None, (switch, label)
        pending += [
            (arc.head.switch, out)
            for arc, out in handed(net, switch, tables[switch], flow.instructions, mac)
        ]
    assert generations == {0, 1, 2, 3}


def handed(
    net: Fabric,
    switch: str,
    holds: SwitchTables,
    instructions: tuple[Instruction, ...],
    mac: int | None,
) -> Iterable[tuple[Arc, int]]:
    """Every cable and label by which a packet of label ``mac`` may go on to another switch."""

    def actions(what: tuple[Action, ...], mac: int | None) -> Iterable[tuple[Arc, int]]:
        for action in what:
            if isinstance(action, SetField) and action.field is Field.ETH_DST:
                mask = action.field.all_ones if action.mask is None else action.mask
                mac = (mac or 0) & ~mask | action.value
            elif isinstance(action, ToGroup):
                for bucket in holds.groups[action.group_id].buckets:
                    yield from actions(bucket.actions, mac)
            elif isinstance(action, Output):
                arc = net.arc_by_tail.get(PortRef(switch, action.port))
                if arc is not None:
                    assert mac is not None
                    yield arc, mac

    for instruction in instructions:
        if isinstance(instruction, ApplyActions):
            yield from actions(instruction.actions, mac)


def test_the_last_generation_is_not_repaired() -> None:
    net, _ = compiled("fat-tree")
    asked = fabrics.demands(net)
    for tables in compile(net, fabrics.plan(net, asked, 4), asked).values():
        for flow in tables.flows.values():
            for entry in flow.match.fields:
                label = Label.unpack(entry.value) if entry.field is Field.ETH_DST else None
                if label is not None and label.generation == 3:
                    (apply,) = flow.instructions
                    assert isinstance(apply, ApplyActions)
                    assert not any(isinstance(action, ToGroup) for action in apply.actions)
