"""Links that people have ordered to carry nothing."""

from __future__ import annotations

from dataclasses import replace

from controller.engine import events as ev
from controller.engine.foresight import foresee
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
    assert not seen.cut_off
    assert world.engine.plan is not None
    assert seen.mlu_before == world.engine.plan.certificate.mlu
    world.event(ev.DrainsChanged(spine))
    world.pass_time(2)
    assert world.engine.plan.certificate.mlu <= seen.mlu_after * (1 + 1e-9)


def test_who_would_be_cut_off_is_named() -> None:
    world = settled()
    leaf = links_of(world.network, "leaf1")
    question = world.engine.question(leaf)
    assert question is not None
    seen = foresee(question)
    assert "leaf1 to leaf2" in seen.cut_off
    assert all("leaf1" in pair for pair in seen.cut_off)


def test_who_would_be_cut_off_is_named_before_anybody_talks() -> None:
    network = fabric()
    world = World(network, {})
    world.connect()
    world.pass_time(2)
    both = links_of(network, "spine1") | links_of(network, "spine2")
    question = world.engine.question(both)
    assert question is not None
    assert "leaf1 to leaf2" in foresee(question).cut_off
    assert not foresee(replace(question, links=links_of(network, "spine1"))).cut_off


def test_intents_that_would_lose_their_backup_are_named() -> None:
    network = fabric()
    intent = p2p(network, "p", "h1", "h5", rate_bps=4e6, protection=Protection.NODE)
    world = World(network, named(intent))
    world.connect()
    world.pass_time(2)
    question = world.engine.question(links_of(network, "spine1"))
    assert question is not None
    assert foresee(question).degraded == ("p",)
