"""The topology is edited while everything runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import pytest

from controller.dataplane.tables import SwitchTables
from controller.fabric.model import Fabric, Nic
from controller.intents.model import Connectivity, IntentSpec, IntentState, Selector
from controller.optimizer.plan import Plan
from tests.dataplane import fabrics
from tests.dataplane.fabrics import packet
from tests.world.edits import COSMETIC, KINDS, Editor, hardware_of
from tests.world.probes import Probe
from tests.world.world import CONVERGE_S, SETTLED_S, World

ALL: Mapping[str, IntentSpec] = {"all": Connectivity(Selector(all=True))}
NETWORKS: Mapping[str, Callable[[], Fabric]] = {
    "leaf-spine": lambda: fabrics.leaf_spine(3, 2, 1),
    "ring": lambda: fabrics.ring(4),
    "dual-homed": lambda: fabrics.dual_homed(4, 2),
    "random": lambda: fabrics.random_graph(random.Random(4), 5, 3),
}


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


def stay(before: Fabric, after: Fabric) -> Iterator[tuple[Nic, Nic]]:
    """Pairs that are what they were."""
    dpids = {s.name: s.dpid for f in (before,) for s in f.switches}
    later = {s.name: s.dpid for s in after.switches}

    def known(nic: Nic, names: Mapping[str, int]) -> object:
        return nic.addresses, [(names[p.switch], p.port) for p in nic.attachments]

    by_mac = {nic.mac: nic for nic in after.nics}
    kept = [
        nic
        for nic in before.nics
        if nic.mac in by_mac and known(nic, dpids) == known(by_mac[nic.mac], later)
    ]
    return permutations(kept, 2)


def watched(world: World, before: Fabric, after: Fabric) -> Callable[[], None]:
    """Follows packets of the pairs that stay; the answer fails once one of them gets lost."""
    there = {nic.mac: nic for nic in world.hardware.network.nics}
    probes = world.hardware.probes
    probes.follow(
        Probe(there[a.mac], there[b.mac], packet(a, b, version, dscp))
        for a, b in stay(before, after)
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
    world = at_rest(before, hardware)
    stored = world.stored
    world.edit(after)
    rest(world)

    fresh = at_rest(after, hardware, stored=stored)
    assert held(world) == held(fresh)
