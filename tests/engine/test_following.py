"""Whatever else comes in between, what follows from a change of links follows from it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from controller.engine import events as ev
from controller.engine.engine import FOLLOW_PAUSE_S
from controller.fabric.model import Link, PortRef
from tests.engine.test_wiring import SESSION
from tests.engine.world import World, everyone, fabric


def settled() -> World:
    network = fabric()
    world = World(network, everyone(network))
    world.connect()
    world.pass_time(2)
    return world


def counted(world: World) -> None:
    """A switch tells its counters, all of them nothing."""
    none = np.zeros(0, np.int64)
    ports = np.array([arc.tail.port for arc in world.network.arcs_from["leaf1"]])
    nothing = np.zeros(len(ports), np.int64)
    columns = (ports, nothing, nothing, none, none, none, none, none, none)
    world.event(ev.CountersRead("leaf1", SESSION, world.now, *columns))


def load_of(world: World, link: Link) -> float:
    assert world.engine.plan is not None
    load = world.engine.plan.load_bps
    return sum(load.get((end.switch, end.port), 0.0) for end in (link.a, link.b))


def weight_of(world: World, link: Link) -> int:
    """Of all trees over the link, at their ingresses."""
    plan = world.engine.plan
    assert plan is not None
    members = {egress.id: egress.members for egress in plan.egresses}
    ends = {link.a, link.b}
    return sum(
        weights.get(tree.id, 0)
        for tree in plan.trees
        for key, weights in plan.weights.items()
        if key.egress == members[tree.egress]
        and any(
            end.switch == key.ingress and tree.next_port.get(end.switch) == end.port for end in ends
        )
    )


@pytest.mark.parametrize("live", [False, True])
def test_a_measurement_between_the_news_and_what_follows_from_it_swallows_neither(
    live: bool,
) -> None:
    world = settled()
    link = world.network.links[0]
    if live:
        world.link(link, live=False)
        world.pass_time(4)
        assert weight_of(world, link) == 0
        # From here on every tick measures, also the one that lets the link be used again.
        world.planning = False
        world.log.clear()
        world.link(link, live=True)
        for _ in range(8):
            counted(world)
            world.advance(0.25)
            world.engine._measured_s = world.now - 1.0
            world.event(ev.Tick())
        serial = world.engine._serial
        world.pass_time(1)
        assert world.engine._serial == serial, "nothing is left to follow"
        assert weight_of(world, link) > 0
        return
    # Something was followed just now, so this has to wait for a moment.
    other = next(x for x in world.network.links if x.b == PortRef(link.b.switch, 2))
    world.port(other.a, False)
    world.port(link.a, False)
    assert weight_of(world, link) > 0
    world.planning = False
    counted(world)
    world.engine._measured_s = world.now - 1.0
    world.event(ev.Tick())
    world.advance(FOLLOW_PAUSE_S)
    assert weight_of(world, link) == 0


def test_a_drain_that_no_plan_knows_yet_is_followed_after_a_restart() -> None:
    before = settled()
    link = before.network.links[0]
    assert load_of(before, link) > 0
    after = World(
        before.network,
        everyone(before.network),
        stored_plan=before.engine.plan,
        holds=before.holds,
        drained=frozenset({link.name}),
    )
    # Without a plan that somebody else might ask for.
    after.planning = False
    after.connect()
    after.pass_time(3)
    assert weight_of(after, link) == 0
    assert load_of(after, link) == 0


def test_drained_links_are_no_failures_that_lose_packets() -> None:
    for pair in itertools.combinations([link.name for link in fabric().links], 2):
        world = settled()
        world.event(ev.DrainsChanged(frozenset(pair)))
        world.pass_time(3)
        assert not [line for line in world.log if "are lost" in line]


def test_a_link_that_is_back_is_foreseen_to_carry_what_it_carried() -> None:
    world = settled()
    link = world.network.links[0]
    before = load_of(world, link)
    world.planning = False
    world.link(link, live=False)
    world.pass_time(1)
    assert load_of(world, link) == 0
    world.link(link, live=True)
    world.pass_time(2)
    assert load_of(world, link) == before > 0
