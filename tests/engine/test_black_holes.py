"""Traffic that several failures leave without a repair is said, and gone once there is a plan."""

from __future__ import annotations

import itertools
import random

import pytest

from controller.dataplane.black_holes import black_holes
from controller.dataplane.walk import Walker, dead_ports
from controller.engine.commands import PlanKind
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric
from controller.intents.expand import connectivity
from controller.openflow.model import Field
from tests.dataplane import fabrics
from tests.engine import world
from tests.engine.test_every_failure import SMALL, compiled, lost, pairs, things

SAMPLED = 150


def down(net: Fabric, failed: tuple[str, ...]) -> list[int]:
    return [
        arc.index for arc in net.arcs if {arc.link, arc.tail.switch, arc.head.switch} & set(failed)
    ]


@pytest.mark.parametrize("name", [n for n in SMALL if n != "dual-homed"])
def test_they_are_those_that_the_tables_have(name: str) -> None:
    """But for pairs that nothing joins any more: those are no black holes."""
    net, _ = compiled(name)
    demands = connectivity(net, {"all": frozenset(net.nic_by_id)})
    plan = make_plan(net, demands, None, None, plan_id=1)
    rng = random.Random(2)
    sets = [tuple(rng.sample(things(net), rng.choice((1, 2, 3)))) for _ in range(SAMPLED)]
    by_tables = lost(name, sets)
    switch_of = {nic.id: nic.attachments[0].switch for nic in net.nics}
    some = 0
    for row, failed in enumerate(sets):
        found = set(black_holes(net, plan, down(net, failed)))
        for a, b in pairs(net):
            ends = switch_of[a.id], switch_of[b.id]
            if set(ends) & set(failed):
                continue
            loses = bool(by_tables[a.id, b.id] >> row & 1)
            if (ends[0], (ends[1],)) in found:
                assert loses, (ends, failed)
                some += 1
            elif loses:
                assert not joined(net, failed, *ends), (ends, failed)
    assert some or name == "ring"  # What is left of a ring is a line, and packets find its way.


def joined(net: Fabric, failed: tuple[str, ...], a: str, b: str) -> bool:
    seen, at = {a}, [a]
    while at:
        for arc in net.arcs_from[at.pop()]:
            if not {arc.link, arc.head.switch} & {*failed, *seen}:
                seen.add(arc.head.switch)
                at.append(arc.head.switch)
    return b in seen


def arriving(net: Fabric, it: world.World, failed: list[str]) -> dict[tuple[str, str], bool]:
    walker = Walker(net, it.holds, dead_ports(net, links=failed))
    return {
        (a.attachments[0].switch, b.attachments[0].switch): all(
            end.reached(b)
            for end in walker.walk(
                a.attachments[0], fabrics.packet(a, b) | {Field.ETH_DST: net.gateway_mac}
            )
        )
        for a, b in itertools.permutations({n.attachment_set: n for n in net.nics}.values(), 2)
    }


def test_they_are_said_and_gone_once_the_controller_has_acted() -> None:
    """Every two links of a leaf-spine."""
    net = world.fabric()
    it = world.World(net, world.everyone(net))
    it.connect()
    it.pass_time(1)
    holes = 0
    for cut in itertools.combinations(net.links, 2):
        failed = [link.name for link in cut]
        it.planning = False
        for link in cut:
            it.link(link, False)
        it.pass_time(0.25)
        # What nothing joins any more is no black hole, and no plan helps it.
        can = {pair for pair in arriving(net, it, failed) if joined(net, tuple(failed), *pair)}
        lose = [pair for pair, ok in arriving(net, it, failed).items() if pair in can and not ok]
        said = [p for p in it.engine.problems() if "several failures" in p]
        assert bool(said) == bool(lose), (failed, lose, said)
        for a, b in lose[:5]:
            assert f"{a} to {b}" in said[0]
        holes += bool(lose)
        it.planning = True
        for request in it.unanswered():
            it.answer(request)
        it.pass_time(3)
        assert all(ok for pair, ok in arriving(net, it, failed).items() if pair in can), failed
        assert not any("several failures" in p for p in it.engine.problems()), failed
        for link in cut:
            it.link(link, True)
        it.pass_time(5)
    assert holes
    assert PlanKind.OPTIMISE in {r.kind for r in it.requests}
