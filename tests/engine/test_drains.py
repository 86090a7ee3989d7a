"""Links that people have ordered to carry nothing."""

from __future__ import annotations

from controller.engine import events as ev
from controller.engine.foresight import foresee, parted
from controller.engine.judging import evaluate
from controller.fabric.model import Fabric
from controller.intents.model import Protection
from tests.engine.test_pins import named, p2p
from tests.engine.world import World, everyone, fabric


def links_of(network: Fabric, switch: str) -> frozenset[str]:
    return frozenset(x.name for x in network.links if switch in (x.a.switch, x.b.switch))


def load_of(world: World, links: frozenset[str]) -> float:
    assert world.engine.plan is not None
    load = world.engine.plan.load_bps
    return sum(
        load.get((arc.tail.switch, arc.tail.port), 0.0)
        for arc in world.network.arcs
        if arc.link in links
    )


def settled() -> World:
    network = fabric()
    world = World(network, everyone(network))
    world.connect()
    world.pass_time(2)
    return world


def test_a_drained_spine_carries_nothing_and_raises_no_alarm_until_it_is_back() -> None:
    world = settled()
    spine = links_of(world.network, "spine1")
    before = load_of(world, spine)
    assert before > 0
    world.event(ev.DrainsChanged(spine))
    world.pass_time(2)
    assert load_of(world, spine) == 0
    for link in world.network.links:
        if link.name in spine:
            world.link(link, live=False)
    world.pass_time(2)
    assert not world.engine.problems()
    for link in world.network.links:
        if link.name in spine:
            world.link(link, live=True)
    world.event(ev.DrainsChanged(frozenset()))
    world.pass_time(4)
    assert load_of(world, spine) > before / 2
    assert not world.engine.problems()


def test_what_is_foreseen_is_what_comes() -> None:
    world = settled()
    spine = links_of(world.network, "spine1")
    question = world.engine.question(spine)
    assert question is not None
    seen = foresee(question)
    assert world.engine.plan is not None
    assert seen.mlu_before == world.engine.plan.certificate.mlu
    world.event(ev.DrainsChanged(spine))
    world.pass_time(2)
    assert world.engine.plan.certificate.mlu <= seen.mlu_after * (1 + 1e-9)


def test_who_would_be_cut_off_is_named_whoever_talks() -> None:
    network = fabric()
    leaf = list(parted(network, None, links_of(network, "leaf1")))
    assert ("leaf1", "leaf2") in leaf
    assert all("leaf1" in pair for pair in leaf)
    one, other = links_of(network, "spine1"), links_of(network, "spine2")
    assert not list(parted(network, None, one))
    assert ("leaf1", "leaf2") in parted(network, None, one | other)
    # What has no way already is not the drain's doing.
    world = settled()
    for link in network.links:
        if link.name in other:
            world.link(link, live=False)
    state = world.engine.link_state
    assert ("leaf1", "leaf2") in parted(network, state, one)
    assert not list(parted(network, state, other))


def test_what_it_costs_is_told_from_how_things_are_not_how_they_were_planned() -> None:
    world = settled()
    world.planning = False
    world.link(world.network.links[0], live=False)
    world.pass_time(1)
    engine = world.engine
    question = engine.question(frozenset({world.network.links[2].name}))
    assert question is not None
    assert engine.plan is not None
    now, _ = evaluate(engine.plan, world.network, engine.demands, engine.link_state)
    assert foresee(question).mlu_before == now > engine.plan.certificate.mlu


def test_intents_that_would_lose_their_backup_are_named() -> None:
    network = fabric()
    intent = p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.NODE)
    world = World(network, named(intent))
    world.connect()
    world.pass_time(2)
    question = world.engine.question(links_of(network, "spine1"))
    assert question is not None
    assert foresee(question).degraded == ("p",)
