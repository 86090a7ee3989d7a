"""Updates: exact, ordered, and without a moment in which anything is lost."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.dataplane.compile import compile
from controller.dataplane.diff import Change, Verb, changes, children, diff
from controller.dataplane.ids import ingress_group, is_transit_group
from controller.dataplane.tables import Phase, SwitchTables, Tables
from controller.dataplane.walk import Fate, Walker
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.openflow.encode import flow_key
from controller.openflow.model import (
    ApplyActions,
    Field,
    Flow,
    Group,
    GroupType,
    Meter,
    Metered,
    OpaqueFlow,
    ToGroup,
)
from controller.optimizer.plan import Plan
from tests.dataplane import fabrics
from tests.dataplane.fabrics import packet

EMPTY = SwitchTables()


class Switch:
    """A switch that holds what it was told, and refuses what a switch refuses."""

    def __init__(self, has: SwitchTables) -> None:
        self.flows = {**has.flows, **has.spoiled_flows}
        self.groups = {**has.groups, **dict.fromkeys(has.spoiled_groups)}
        self.meters = {**has.meters, **dict.fromkeys(has.spoiled_meters)}

    def apply(self, change: Change) -> None:
        entry, verb = change.entry, change.verb
        if isinstance(entry, Flow | OpaqueFlow):
            if isinstance(entry, Flow):
                key = flow_key(entry)
            else:
                (key,) = (k for k, flow in self.flows.items() if flow is entry)
            if verb is Verb.DELETE:
                del self.flows[key]
            else:
                assert verb is Verb.ADD and isinstance(entry, Flow)
                self.flows[key] = entry
        else:
            ours = self.meters if "Meter" in type(entry).__name__ else self.groups
            assert (entry.id in ours) == (verb is not Verb.ADD), (verb, entry)
            if verb is Verb.DELETE:
                del ours[entry.id]
            else:
                ours[entry.id] = entry
        self.check()

    def check(self) -> None:
        """Nothing refers to what is not there."""
        for group in self.groups.values():
            if group is not None:
                assert all(child in self.groups for child in children(group)), hex(group.id)
        for flow in self.flows.values():
            if not isinstance(flow, Flow):
                continue
            for instruction in flow.instructions:
                if isinstance(instruction, ApplyActions):
                    for action in instruction.actions:
                        assert not isinstance(action, ToGroup) or action.group_id in self.groups
                        assert not isinstance(action, Metered) or action.meter_id in self.meters

    def tables(self) -> SwitchTables:
        return SwitchTables(self.flows, self.groups, self.meters)  # type: ignore[arg-type]


def steps(
    installed: Tables, desired: Tables, rng: random.Random
) -> Iterator[tuple[Phase, dict[str, Switch]]]:
    """Applies the update; in each phase switches take their messages at their own pace."""
    switches = {name: Switch(has) for name, has in installed.items()}
    for phase, batches in changes(installed, desired).items():
        turns = [name for name, batch in batches.items() for _ in batch]
        rng.shuffle(turns)
        todo = {name: iter(batch) for name, batch in batches.items()}
        for name in turns:
            switches[name].apply(next(todo[name]))
            yield phase, switches
    assert {name: switch.tables() for name, switch in switches.items()} == {
        name: desired.get(name, EMPTY) for name in installed
    }


def two_plans(rng: random.Random, net: Fabric) -> tuple[tuple[Plan, Demands], tuple[Plan, Demands]]:
    """Any two plans over one fabric: other trees beside a kept one, other weights, other
    intents."""
    nics = [nic.id for nic in net.nics]
    first = fabrics.demands(net, {"a": nics[: len(nics) // 2 + 1], "b": nics[len(nics) // 2 :]})
    before = fabrics.plan(net, first, 2, rng)
    second = first
    if rng.random() < 0.5:
        second = fabrics.demands(net, {"a": nics[: len(nics) // 2 + 1], "c": nics})
    after = fabrics.plan(net, second, 2, rng, first_tree=2)
    kept = [tree for tree in before.trees if tree.id == rng.randrange(2)]
    weights = {
        key: {**shares, **{t.id: 1 for t in kept if before_has(before, t.egress, key, net)}}
        for key, shares in after.weights.items()
    }
    zones = dict(before.zones)
    for zone in after.zones:
        zones.setdefault(zone, 100 + len(zones))
    return (before, first), (
        replace(after, trees=(*kept, *after.trees), weights=weights, zones=zones),
        second,
    )


def before_has(plan: Plan, egress: int, key: tuple[str, tuple[str, ...], str], net: Fabric) -> bool:
    return any(e.id == egress and e.members == key[1] for e in plan.egresses)


def permitted(net: Fabric, *demands: Demands) -> set[tuple[str, str]]:
    """Pairs that may talk under all of these demands."""
    out = [
        {pair for reach in asked.reaches for pair in itertools.permutations(reach.nics, 2)}
        for asked in demands
    ]
    return set.intersection(*out)


@pytest.mark.parametrize("make", [fabrics.leaf_spine, fabrics.ring, fabrics.dual_homed])
def test_an_update_to_itself_is_empty(make: Callable[[], Fabric]) -> None:
    net = make()
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked)
    tables = compile(net, plan, asked)
    again = compile(net, plan, asked)
    assert tables == again
    assert diff(tables, again).count == 0


def test_the_order_of_reaches_classes_and_trees_changes_nothing() -> None:
    net = fabrics.leaf_spine()
    asked = fabrics.demands(net, {"a": ["h1/eth0", "h3/eth0"], "b": ["h3/eth0", "h5/eth0"]})
    plan = fabrics.plan(net, asked)
    tables = compile(net, plan, asked)
    other = compile(
        replace(net, classes=net.classes[::-1]),
        replace(plan, trees=plan.trees[::-1], egresses=plan.egresses[::-1], id=99),
        replace(asked, reaches=asked.reaches[::-1], version=99),
    )
    assert diff(tables, other).count == 0


def test_new_weights_change_ingress_groups_alone() -> None:
    net = fabrics.leaf_spine()
    asked = fabrics.demands(net)
    plan = fabrics.plan(net, asked)
    tilted = replace(plan, weights={key: {0: 1, 1: 3} for key in plan.weights})
    update = changes(compile(net, plan, asked), compile(net, tilted, asked))
    assert set(update) == {Phase.INGRESS_GROUPS}
    for batch in update[Phase.INGRESS_GROUPS].values():
        for change in batch:
            assert change.verb is Verb.MODIFY
            assert isinstance(change.entry, Group)
            assert ingress_group(change.entry.id) is not None


def test_what_is_not_installed_is_skipped_and_what_is_not_desired_removed() -> None:
    net = fabrics.leaf_spine()
    asked = fabrics.demands(net)
    tables = compile(net, fabrics.plan(net, asked), asked)
    update = changes({"l0": EMPTY, "gone": tables["s0"]}, tables)
    assert {name for batches in update.values() for name in batches} == {"l0", "gone"}
    for _ in steps({"l0": EMPTY, "gone": tables["s0"]}, tables, random.Random(0)):
        pass


def test_every_entry_can_be_encoded() -> None:
    for make, trees in ((fabrics.dual_homed, 2), (fabrics.asymmetric, 3)):
        net = make()
        asked = fabrics.demands(net)
        tables = compile(net, fabrics.plan(net, asked, trees), asked)
        update = diff(dict.fromkeys(tables, EMPTY), tables)
        entries = sum(len(t.flows) + len(t.groups) + len(t.meters) for t in tables.values())
        assert update.count == entries


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_any_state_becomes_the_desired_one(seed: int) -> None:
    """From tables of another plan from which a foreign hand has taken and spoiled entries."""
    rng = random.Random(seed)
    net = fabrics.random_graph(rng, 4, 2)
    (before, first), (after, second) = two_plans(rng, net)
    installed = {name: _spoil(has, rng) for name, has in compile(net, before, first).items()}
    for _ in steps(installed, compile(net, after, second), rng):
        pass


def _spoil(has: SwitchTables, rng: random.Random) -> SwitchTables:
    flows = {key: flow for key, flow in has.flows.items() if rng.random() < 0.8}
    spoiled = {k: OpaqueFlow(k.table, k.priority, k.match_key, 0x4845 << 48, b"") for k in flows}
    spoiled = {key: flow for key, flow in spoiled.items() if rng.random() < 0.1}
    used = {
        action.group_id
        for flow in flows.values()
        for instruction in flow.instructions
        if isinstance(instruction, ApplyActions)
        for action in instruction.actions
        if isinstance(action, ToGroup)
    }
    groups = {g.id: g for g in has.groups.values() if g.id not in used or rng.random() < 0.8}
    tampered = frozenset(group for group in has.groups if group not in groups)
    stray = Group(0x48FF0000 + rng.randrange(0xFFFF), GroupType.SELECT, ())
    groups.setdefault(stray.id, stray)
    return SwitchTables(
        {key: flow for key, flow in flows.items() if key not in spoiled},
        groups,
        {**has.meters, 0x2FFFF: Meter(0x2FFFF, 1, 1)},
        spoiled,
        tampered,
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["leaf-spine", "ring", "dual-homed", "random"]))
def test_every_permitted_pair_is_served_throughout(seed: int, shape: str) -> None:
    rng = random.Random(seed)
    net = {
        "leaf-spine": lambda: fabrics.leaf_spine(3, 2, 1),
        "ring": lambda: fabrics.ring(4),
        "dual-homed": lambda: fabrics.dual_homed(2, 2),
        "random": lambda: fabrics.random_graph(rng, 5, 2),
    }[shape]()
    (before, first), (after, second) = two_plans(rng, net)
    installed, desired = compile(net, before, first), compile(net, after, second)
    both = permitted(net, first, second)
    either = permitted(net, first) | permitted(net, second)
    for phase, switches in steps(installed, desired, rng):
        if rng.random() < 0.7:
            continue
        now = {name: switch.tables() for name, switch in switches.items()}
        walker = Walker(net, now)
        for a, b in itertools.permutations(net.nics, 2):
            for port in a.attachments:
                for outcome in walker.walk(port, packet(a, b)):
                    if (a.id, b.id) in both:
                        assert outcome.reached(b), (phase.name, a.id, b.id, outcome)
                    elif outcome.reached(b):
                        assert (a.id, b.id) in either, (phase.name, a.id, b.id)


def test_transit_groups_never_change() -> None:
    rng = random.Random(3)
    net = fabrics.fat_tree()
    (before, first), (after, second) = two_plans(rng, net)
    update = changes(compile(net, before, first), compile(net, after, second))
    for batch in update[Phase.TRANSIT_GROUPS].values():
        for change in batch:
            assert change.verb is Verb.ADD
            assert isinstance(change.entry, Group) and is_transit_group(change.entry.id)


def test_a_host_is_never_told_that_its_own_address_is_taken() -> None:
    """Not even while the answers to its requests are installed or removed."""
    net = fabrics.leaf_spine(2, 1, 1)
    asked = fabrics.demands(net)
    tables = compile(net, fabrics.plan(net, asked, 1), asked)
    nic = net.nics[0]
    announcement = {
        Field.ETH_TYPE: 0x0806,
        Field.ETH_DST: 0xFFFFFFFFFFFF,
        Field.ETH_SRC: nic.mac,
        Field.ARP_OP: 1,
        Field.ARP_SHA: nic.mac,
        Field.ARP_SPA: int(nic.addresses[0]),
        Field.ARP_TPA: int(nic.addresses[0]),
    }
    nothing = dict.fromkeys(tables, EMPTY)
    for installed, desired in ((nothing, tables), (tables, nothing)):
        for _, switches in steps(installed, desired, random.Random(0)):
            now = {name: switch.tables() for name, switch in switches.items()}
            for outcome in Walker(net, now).walk(nic.attachments[0], announcement):
                assert outcome.fate is not Fate.ARRIVED


def test_an_address_that_moves_under_another_prefix_is_reached_before_the_old_prefix_goes() -> None:
    """The old, shorter prefix would lead to the other leaf."""
    old = fabrics.leaf_spine(3, 2, 3)
    mover, sender = old.nics[8], old.nics[0]
    inside = IPv4Address("10.1.0.7")
    assert [str(nic.addresses[0]) for nic in old.nics[3:6]] == ["10.1.0.4", "10.1.0.5", "10.1.0.6"]
    moved = replace(mover, addresses=(inside, mover.addresses[1]))
    hosts = [replace(h, nics=(moved,)) if h.nics[0] == mover else h for h in old.hosts]
    new = replace(old, hosts=tuple(hosts))
    asked = fabrics.demands(old)
    plan = fabrics.plan(old, asked)
    seen = set()
    update = steps(compile(old, plan, asked), compile(new, plan, asked), random.Random(5))
    for phase, switches in update:
        seen.add(phase)
        if phase is Phase.REMOVE_FLOWS:
            walker = Walker(new, {name: switch.tables() for name, switch in switches.items()})
            for outcome in walker.walk(sender.attachments[0], packet(sender, moved)):
                assert outcome.reached(moved)
    assert Phase.REMOVE_FLOWS in seen


@pytest.mark.parametrize("make", [fabrics.dual_homed, fabrics.asymmetric])
def test_no_two_flows_contend(make: Callable[[], Fabric]) -> None:
    """Of flows that overlap at one priority, a switch may take either."""
    net = make()
    asked = fabrics.demands(net, {"a": ["h1/eth0", "h2/eth0"], "b": ["h2/eth0", "h3/eth0"]})
    for tables in compile(net, fabrics.plan(net, asked), asked).values():
        for one, other in itertools.combinations(tables.flows.values(), 2):
            if (one.table, one.priority) == (other.table, other.priority) and overlap(one, other):
                assert one.instructions == other.instructions, (one, other)


def overlap(one: Flow, other: Flow) -> bool:
    mine = {f.field: f for f in one.match.fields}
    for theirs in other.match.fields:
        ours = mine.get(theirs.field)
        if ours is not None:
            ones = theirs.field.all_ones
            both = (ours.mask or ones) & (theirs.mask or ones)
            if (ours.value ^ theirs.value) & both:
                return False
    return True
