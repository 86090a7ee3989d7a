"""Many links at once: what comes of it is right, the work has bounds, and nobody waits for a switch
that does not answer."""

from __future__ import annotations

import random
from functools import cache

import pytest

from controller.cli.bench_fabric import fat_tree
from controller.dataplane.compile import compile
from controller.engine import events as ev
from controller.engine.repair import reweigh_dead
from controller.engine.switches import SwitchState
from controller.fabric.load import load
from controller.fabric.model import Fabric, Link
from controller.optimizer.plan import Plan
from tests.engine.world import World, everyone

pytestmark = pytest.mark.once


@cache
def network(k: int) -> Fabric:
    return load(fat_tree(k).encode(), "fat-tree")


def at_rest(k: int) -> World:
    world = World(network(k), everyone(network(k)))
    world.connect()
    world.pass_time(1)
    assert world.engine.committed
    world.sent.clear()
    world.stored.clear()
    world.requests.clear()
    return world


def plan_of(world: World) -> Plan:
    assert world.engine.plan is not None
    return world.engine.plan


def assert_right(world: World, *but: str) -> None:
    """All switches, ``but`` these, hold what the links that live ask for."""
    plan = plan_of(world)
    assert reweigh_dead(plan, world.network, world.engine.link_state) is plan
    fresh = compile(world.network, plan, world.engine.demands)
    for name, tables in world.holds.items():
        assert tables == fresh[name] or name in but, name


def links_of(world: World, switch: str) -> list[Link]:
    return [li for li in world.network.links if switch in (li.a.switch, li.b.switch)]


def test_a_core_that_dies_with_all_its_links_is_one_repair_or_two() -> None:
    world = at_rest(4)
    lost = links_of(world, "core1")
    for link in lost:
        world.link(link, live=False)
    world.advance(0.1)
    assert len(world.stored) <= 2
    assert world.requests == [], "no solver before it is quiet"
    assert_right(world)
    repaired = world.messages
    world.pass_time(5)
    assert_right(world)
    assert world.engine.committed
    assert len(world.requests) == 1
    groups = sum(len(tables.groups) for tables in world.holds.values())
    assert repaired < groups / 4
    for link in lost:
        world.link(link, live=True)
    world.pass_time(5)
    assert_right(world)
    assert world.engine.committed
    assert len(world.requests) == 2


def test_a_hundred_links_in_a_second() -> None:
    world = at_rest(8)
    lost = random.Random(5).sample(world.network.links, 100)
    began = world.now
    for link in lost:
        world.link(link, live=False)
        world.advance(0.01)
    assert world.now == pytest.approx(began + 1)
    world.advance(0.05)
    assert len(world.stored) <= 1 + 1.05 / 0.02
    assert_right(world)
    assert world.requests == []
    world.pass_time(8)
    assert_right(world)
    assert world.engine.committed
    assert len(world.requests) <= 2
    for link in lost:
        world.link(link, live=True)
    world.pass_time(12)
    assert_right(world)
    assert world.engine.committed
    assert world.engine.problems() == []
    assert len(world.requests) <= 4


def test_a_link_that_flaps_is_left_alone_until_it_stays() -> None:
    world = at_rest(4)
    link = world.network.links[0]
    before = plan_of(world).weights
    for _ in range(50):  # 10 s at 5 Hz
        world.link(link, live=False)
        world.pass_time(0, 0.1)
        world.link(link, live=True)
        world.pass_time(0, 0.1)
    assert len(world.stored) <= 2, "the repair, and what is best without the link"
    assert len(world.requests) <= 1
    assert_right(world)
    during = world.messages
    world.pass_time(10)
    assert_right(world)
    assert world.engine.committed
    assert world.messages <= 2 * during
    assert plan_of(world).weights.keys() == before.keys()


@pytest.mark.parametrize("trouble", ["stalls", "refuses"])
def test_nobody_waits_for_a_switch_that(trouble: str) -> None:
    world = at_rest(4)
    bad = "edge1-1"
    (world.silent if trouble == "stalls" else world.refuse).add(bad)
    lost = random.Random(1).sample(world.network.links, 8)
    for link in lost:
        world.link(link, live=False)
        world.advance(0.05)
        # At once, not after a timeout.
        assert_right(world, bad)
    world.pass_time(2)
    assert_right(world, bad)
    assert world.engine.reconciler.records[bad].state is not SwitchState.IN_SYNC
    # What is worked out in the background does not wait for it either.
    for link in lost:
        world.link(link, live=True)
    world.pass_time(5)
    assert_right(world, bad)
    world.silent.clear()
    world.refuse.clear()
    world.pass_time(60)
    assert_right(world)
    assert world.engine.committed
    assert world.engine.problems() == []


def test_new_intents_are_planned_while_links_keep_changing() -> None:
    """A plan that was made for other links is turned to those that live, not thrown away."""
    world = at_rest(4)
    intents = everyone(world.network, generation=2)
    few = sorted(intents["all"].nics)[:9]
    world.planning = False
    world.event(ev.IntentsChanged({"all": ev.WantedIntent("all", 2, frozenset(few))}))
    (asked,) = world.requests
    world.link(world.network.links[0], live=False)
    world.advance(0.1)
    world.answer(asked)
    # What the removed pairs may still have under way is waited for.
    world.pass_time(1)
    assert_right(world)
    assert world.statuses["all"].observed_generation == 2
    assert world.engine.committed
