"""Turning plans away from dead links: the same as if everything were compiled anew, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cli.bench_fabric import fat_tree
from controller.dataplane.compile import compile
from controller.dataplane.ingress import respread
from controller.dataplane.tables import Phase, Tables, with_groups
from controller.engine import plan_codec
from controller.engine.planning import make_plan
from controller.engine.repair import Crossings
from controller.fabric.load import load
from controller.fabric.model import Fabric, TrafficClass
from controller.intents.demands import Demands
from controller.optimizer.plan import PlacementKey, Plan
from controller.telemetry.link_state import Bools
from tests.dataplane import fabrics
from tests.engine.world import World, everyone

FABRICS: dict[str, Callable[[], Fabric]] = {
    "leaf-spine": lambda: fabrics.leaf_spine(4, 3, 1),
    "asymmetric": fabrics.asymmetric,
    "fat-tree": fabrics.fat_tree,
    "ring": fabrics.ring,
    "dual-homed": fabrics.dual_homed,
}
UNPLACED = TrafficClass("bulk", 10, 0)
"""A class without a demand: it goes by the weights of everything else."""


@cache
def planned(name: str) -> tuple[Fabric, Demands, Plan, Crossings, Tables]:
    network = FABRICS[name]()
    network = replace(network, classes=(*network.classes, UNPLACED))
    asked = fabrics.demands(network)
    keys = [n for n, key in enumerate(asked.keys) if key.traffic_class != UNPLACED.name]
    asked = replace(
        asked,
        keys=tuple(asked.keys[n] for n in keys),
        rate_bps=tuple(asked.rate_bps[n] for n in keys),
    )
    plan = make_plan(network, asked, None, None, plan_id=1)
    return network, asked, plan, Crossings.of(plan, network), compile(network, plan, asked)


def up_without(network: Fabric, links: set[str]) -> Bools:
    return np.array([arc.link not in links for arc in network.arcs])


@pytest.mark.parametrize("name", FABRICS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_is_changed_step_by_step_is_what_a_compile_says(
    name: str, data: st.DataObject
) -> None:
    network, asked, base, crossings, tables = planned(name)
    plan, last = base, None
    names = sorted(link.name for link in network.links)
    for _ in range(data.draw(st.integers(1, 4))):
        dead = data.draw(st.sets(st.sampled_from(names), max_size=5))
        up = up_without(network, dead)
        last = crossings.repaired(base, up, last)
        assert last.weights == crossings.repaired(base, up).weights
        after = replace(plan, weights={**base.weights, **last.weights})
        changed = [key for key, row in after.weights.items() if row != plan.weights[key]]
        plan, tables = after, with_groups(tables, respread(after, network.classes, changed))
        fresh = compile(network, plan, asked)
        assert tables == fresh
        for switch, made in tables.items():
            assert list(made.groups.messages.items()) == list(fresh[switch].groups.messages.items())
            assert made.groups.packed == fresh[switch].groups.packed
        again = plan_codec.decode_change(base, plan_codec.encode_change(base, plan))
        assert again == plan
        for key, row in plan.weights.items():
            assert sum(row.values()) == sum(base.weights[key].values())
            assert lives(network, plan, key, up) or row == base.weights[key]


def lives(network: Fabric, plan: Plan, key: PlacementKey, up: Bools) -> bool:
    """Whether none of the trees that the placement uses is dead."""
    number = {egress.members: egress.id for egress in plan.egresses}[key.egress]
    ports = {(arc.tail.switch, arc.tail.port): arc for arc in network.arcs}
    for tree in plan.trees:
        if tree.egress == number and tree.id in plan.weights[key]:
            at = key.ingress
            while at not in key.egress:
                arc = ports[at, tree.next_port[at]]
                if not up[arc.index]:
                    return False
                at = arc.head.switch
    return True


def test_a_link_that_returns_moves_back_what_it_had_and_nothing_else() -> None:
    network = load(fat_tree(4).encode(), "fat-tree")
    world = World(network, everyone(network))
    world.connect()
    world.pass_time(1)
    world.planning = False
    assert world.engine.plan is not None
    before, holds = world.engine.plan, dict(world.holds)
    link = network.links[3]
    world.sent.clear()
    world.link(link, live=False)
    during = world.engine.plan
    lost = {key for key, row in during.weights.items() if row != before.weights[key]}
    assert 0 < len(lost) < len(before.weights) / 2
    told = {(batch.switch, batch.phase) for batch in world.sent}
    assert told == {(key.ingress, Phase.INGRESS_GROUPS) for key in lost}
    assert world.messages == len(lost) * len(network.classes)
    there = world.messages
    world.link(link, live=True)
    world.pass_time(0.75)
    assert world.messages == there, "one that comes and goes is not used at once"
    world.pass_time(0.75)
    assert world.engine.plan.weights == before.weights
    assert world.messages == 2 * there
    assert {batch.phase for batch in world.sent} == {Phase.INGRESS_GROUPS}
    assert world.holds == holds
    assert world.engine.committed


def test_what_is_best_after_a_link_returned_is_installed_only_if_it_is_worth_it() -> None:
    network = load(fat_tree(4).encode(), "fat-tree")
    world = World(network, everyone(network))
    world.connect()
    world.pass_time(1)
    assert world.engine.plan is not None
    before = world.engine.plan.weights
    link = network.links[3]
    world.link(link, live=False)
    world.pass_time(5)
    assert world.engine.committed
    world.requests.clear()
    world.link(link, live=True)
    world.pass_time(1.25)
    moved = world.messages
    world.pass_time(10)
    assert world.requests, "it is worked out"
    assert world.engine.plan.certificate.mlu <= 1.05 * world.engine.plan.certificate.bound + 0.02
    rows = world.engine.plan.weights
    same = [key for key, row in rows.items() if row == before[key]]
    assert len(same) == len(rows) or world.messages > moved
