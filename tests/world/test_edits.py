"""The topology is edited while everything runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations

import pytest

from controller.dataplane.tables import SwitchTables
from controller.engine.repair import reweigh_dead
from controller.fabric.model import Fabric, Link, Nic
from controller.intents.model import (
    Connectivity,
    IntentSpec,
    IntentState,
    OnShortage,
    PointToPoint,
    Protection,
    Selector,
)
from controller.optimizer.plan import Plan
from tests.dataplane import fabrics
from tests.dataplane.fabrics import packet
from tests.world.edits import COSMETIC, KINDS, Editor, hardware_of
from tests.world.probes import Probe
from tests.world.world import CONVERGE_S, SETTLED_S, World

pytestmark = pytest.mark.once

ALL: Mapping[str, IntentSpec] = {"all": Connectivity(Selector(all=True))}
NETWORKS: Mapping[str, Callable[[], Fabric]] = {
    "leaf-spine": lambda: fabrics.leaf_spine(3, 2, 1),
    "ring": lambda: fabrics.ring(4),
    "dual-homed": lambda: fabrics.dual_homed(4, 2),
    "random": lambda: fabrics.random_graph(random.Random(4), 5, 3),
}


def mixed(fabric: Fabric, chance: random.Random) -> Mapping[str, IntentSpec]:
    """Besides connectivity, flows with paths of their own, some of which will lose their ends."""
    hosts = sorted(fabric.host_by_name)
    out = dict(ALL)
    for name in ("p", "q"):
        source, destination = chance.sample(hosts, 2)
        out[name] = PointToPoint(
            Selector(hosts=(source,)),
            Selector(hosts=(destination,)),
            rate_bps=chance.choice((0.0, 3e8)),
            protection=chance.choice(tuple(Protection)),
            bidirectional=chance.random() < 0.5,
            on_shortage=chance.choice(tuple(OnShortage)),
        )
    return out


def rest(world: World, each_step: Callable[[], None] = lambda: None) -> None:
    """Until nothing has happened for a while."""
    deadline = world.now + CONVERGE_S
    since, batches = world.now, world.batches
    while True:
        if world.scheduler.idle:
            if not world.is_settled() or batches != world.batches:
                since, batches = world.now, world.batches
            elif world.now >= since + SETTLED_S:
                return
            assert world.now < deadline, f"no rest: {world.engine.problems()}, {world.statuses}"
        world.step()
        each_step()


def at_rest(
    network: Fabric,
    hardware: Fabric,
    stored: Plan | None = None,
    intents: Mapping[str, IntentSpec] = ALL,
) -> World:
    world = World(network, 1, metrics=False, hardware=hardware, stored=stored, intents=intents)
    rest(world)
    return world


def held(world: World) -> dict[int, SwitchTables]:
    """What the switches of the topology hold, by datapath id."""
    known, holds = world.network.switch_by_dpid, world.hardware.holds
    return {s.dpid: holds[name] for name, s in world.hardware.switches.items() if s.dpid in known}


def stay(*versions: Fabric) -> Iterator[tuple[Nic, Nic]]:
    """Pairs that are the same all along."""
    nics = [{_known(nic, fabric): nic for nic in fabric.nics} for fabric in versions]
    same = set(nics[0]).intersection(*nics)
    return permutations((nic for known, nic in nics[0].items() if known in same), 2)


def _known(nic: Nic, fabric: Fabric) -> object:
    ports = tuple((fabric.switch_by_name[p.switch].dpid, p.port) for p in nic.attachments)
    return nic.mac, nic.addresses, ports


def watched(world: World, *versions: Fabric) -> Callable[[], None]:
    """Follows packets of the pairs that stay; the answer fails once one of them gets lost."""
    there = {nic.mac: nic for nic in world.hardware.network.nics}
    probes = world.hardware.probes
    probes.follow(
        Probe(there[a.mac], there[b.mac], packet(a, b, version, dscp))
        for a, b in stay(*versions)
        for version, dscp in ((4, 0), (6, 26))
    )
    lost = [str(probe) for probe in probes if not probe.arrives]
    assert not lost, f"before the edit: {lost[:5]}"

    def look() -> None:
        for probe in probes.changed():
            assert probe.arrives, f"lost: {probe}"
            assert not probe.strays, f"where it must not: {probe}"

    return look


def is_whole(fabric: Fabric) -> bool:
    """Every switch reaches every other."""
    seen, at = set[str](), [fabric.switches[0].name]
    while at:
        name = at.pop()
        if name not in seen:
            seen.add(name)
            at += [arc.head.switch for arc in fabric.arcs_from[name]]
    return len(seen) == len(fabric.switches)


def edited(kind: str, network: Fabric, seed: int) -> Fabric:
    """By one edit that leaves the fabric in one piece."""
    while True:
        editor = Editor(network, random.Random(seed))
        getattr(editor, kind)()
        if is_whole(editor.fabric):
            return editor.fabric
        seed += 1000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_no_pair_that_stays_loses_a_packet(name: str, kind: str) -> None:
    before = NETWORKS[name]()
    after = edited(kind, before, seed=1)
    hardware = hardware_of(before, after)
    world = at_rest(before, hardware)
    look = watched(world, before, after)
    batches, plan = world.batches, world.engine.plan
    world.edit(after)
    look()
    rest(world, look)

    desired = {after.switch_by_name[n].dpid: t for n, t in world.desired().items()}
    assert held(world) == desired
    assert world.statuses["all"].state is IntentState.ACTIVE
    if kind in COSMETIC:
        assert world.batches == batches
        assert plan is not None and world.engine.plan is not None
        assert world.engine.plan.id == plan.id


@pytest.mark.parametrize("seed", range(12))
def test_an_edit_leaves_what_a_start_would(seed: int) -> None:
    before = NETWORKS[list(NETWORKS)[seed % len(NETWORKS)]]()
    editor = Editor(before, random.Random(seed))
    for _ in range(editor.random.randint(1, 6)):
        getattr(editor, editor.random.choice(KINDS))()
    after = editor.fabric
    hardware = hardware_of(before, after)
    intents = mixed(before, editor.random) if seed % 2 else ALL
    world = at_rest(before, hardware, intents=intents)
    stored = world.stored
    world.edit(after)
    rest(world)

    fresh = at_rest(after, hardware, stored, intents)
    assert held(world) == held(fresh)


@pytest.mark.parametrize("seed", range(6))
def test_edits_in_quick_succession(seed: int) -> None:
    """While the last one is still being planned or rolled out, links fail and the brain crashes."""
    before = NETWORKS[list(NETWORKS)[seed % len(NETWORKS)]]()
    editor = Editor(before, random.Random(seed))
    versions = [before]
    while len(versions) < 6:
        getattr(editor, editor.random.choice(KINDS))()
        if is_whole(editor.fabric):
            versions.append(editor.fabric)
        else:
            editor.fabric = versions[-1]
    world = at_rest(before, hardware_of(*versions), intents=mixed(before, editor.random))
    look = watched(world, *versions)
    calm = editor.random.random() < 0.5
    for after in versions[1:]:
        world.edit(after)
        look()
        for _ in range(editor.random.randrange(600)):
            world.step()
            if calm:
                look()
        if not calm:
            happen = editor.random.choice((world.crash_brain, lambda: flap(world, editor.random)))
            happen()
    rest(world, look if calm else lambda: None)

    after = versions[-1]
    assert held(world) == {after.switch_by_name[n].dpid: t for n, t in world.desired().items()}
    lost = [str(probe) for probe in world.hardware.probes if not probe.arrives or probe.strays]
    assert not lost, lost[:5]


def flap(world: World, chance: random.Random) -> None:
    link = chance.choice(world.hardware.network.links).name
    world.hardware.set_link(link, False)
    for _ in range(chance.randrange(200)):
        world.step()
    world.hardware.set_link(link, True)


def test_an_intent_that_loses_an_end_says_which_and_gets_it_back() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    after = replace(before, hosts=before.hosts[:-1])
    intents: Mapping[str, IntentSpec] = {
        "three": Connectivity(Selector(hosts=("h1", "h2", "h3"))),
        "two": Connectivity(Selector(hosts=("h1", "h3"))),
    }
    world = at_rest(before, before, intents=intents)
    world.edit(after)
    rest(world)
    three, two = world.statuses["three"], world.statuses["two"]
    assert three.state is IntentState.DEGRADED
    assert "no host 'h3'" in three.message
    assert two.state is IntentState.REJECTED
    assert "no host 'h3'" in two.message
    assert held(world) == {
        after.switch_by_name[n].dpid: tables for n, tables in world.desired().items()
    }
    world.edit(before)
    rest(world)
    assert {status.state for status in world.statuses.values()} == {IntentState.ACTIVE}


def test_what_is_known_of_links_stays_through_new_names_and_another_order() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    editor = Editor(before, random.Random(1))
    for kind in ("reorder", "swap_names", "describe", "turn_link"):
        getattr(editor, kind)()
    after = editor.fabric
    world = at_rest(before, before)
    cut = before.links[0]
    world.hardware.set_link(cut.name, False)
    rest(world)
    batches = world.batches
    world.edit(after)
    rest(world)
    assert world.batches == batches
    dpids = {before.switch_by_name[end.switch].dpid for end in (cut.a, cut.b)}
    down = [arc for arc in after.arcs if not world.engine.link_state.up[arc.index]]
    assert len(down) == 2
    for arc in down:
        ends = {after.switch_by_name[end.switch].dpid for end in (arc.tail, arc.head)}
        assert ends == dpids
    # What the repair has taken away comes back with the link.
    world.hardware.set_link(cut.name, True)
    rest(world)
    assert world.engine.link_state.up.all()
    assert world.batches > batches
    # And without a new plan nothing goes where another has died.
    world.queues["proof"].hold(1e6)
    world.hardware.set_link(before.links[-1].name, False)
    until = world.now + 2.0
    while world.now < until:
        world.step()
    plan, state = world.engine.plan, world.engine.link_state
    assert plan is not None
    assert not state.up.all()
    assert reweigh_dead(plan, after, state) is plan


def test_traffic_moves_for_more_capacity_only_where_it_is_worth_it() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    hardware = before

    def with_first(bps: float) -> Fabric:
        first, *others = before.links
        return replace(before, links=(replace(first, capacity_bps=bps), *others))

    world = World(before, 1, strategy="auto", metrics=False, hardware=hardware, intents=ALL)
    rest(world)
    batches = world.batches
    world.edit(with_first(0.99e9))
    rest(world)
    assert world.batches == batches
    world.edit(with_first(1e8))
    rest(world)
    assert world.batches > batches


def test_a_switch_of_a_new_name_is_known_after_a_restart() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    world = at_rest(before, before)
    after = edited("swap_names", before, seed=1)
    again = at_rest(after, before, stored=world.stored)
    assert again.engine.plan is not None
    assert world.stored is not None
    assert again.engine.plan.id == world.stored.id
    assert held(again) == held(world)


def test_what_is_stored_for_a_switch_that_goes_meanwhile_is_sent_to_nobody() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    gone = before.links[-1].a.switch
    after = replace(
        before,
        switches=tuple(s for s in before.switches if s.name != gone),
        links=tuple(link for link in before.links if gone not in (link.a.switch, link.b.switch)),
        hosts=before.hosts[:-1],
    )
    world = at_rest(before, before)
    world.queues["store"].hold(3.0)
    world.want({**ALL, "two": Connectivity(Selector(hosts=("h1", "h2")))})
    pause(world, 1.0)
    world.edit(after)
    world.queues["proof"].hold(10.0)
    pause(world, 4.0)
    plan = world.engine.plan
    assert plan is not None and gone in {key.ingress for key in plan.weights}
    world.hardware.set_link(before.links[0].name, False)
    rest(world)
    assert held(world) == {
        after.switch_by_name[n].dpid: tables for n, tables in world.desired().items()
    }


def pause(world: World, seconds: float) -> None:
    until = world.now + seconds
    while world.now < until:
        world.step()


def test_a_link_that_has_come_is_used() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    editor = Editor(before, random.Random(1))
    editor.fabric = replace(
        before, links=(*before.links, Link("new", editor.port("l0"), editor.port("l1"), 1e9, 0.0))
    )
    after = editor.fabric
    world = at_rest(before, hardware_of(before, after))
    world.edit(after)
    rest(world)
    plan = world.engine.plan
    assert plan is not None
    port = after.links[-1].a
    trees = {(t.egress, t.id) for t in plan.trees if t.next_port.get("l0") == port.port}
    number = {e.members: e.id for e in plan.egresses}
    row = {key: w for key, w in plan.weights.items() if key.ingress == "l0"}
    assert any((number[key.egress], tree) in trees for key, w in row.items() for tree in w)


def test_another_strategy_in_the_file_is_planned_by() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    first, *others = before.links
    network = replace(before, links=(replace(first, capacity_bps=1e8), *others))
    world = at_rest(network, network)
    world.edit(network, strategy="auto")
    rest(world)
    assert world.engine.plan is not None
    assert world.engine.plan.certificate.strategy == "auto"
