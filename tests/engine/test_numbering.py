"""Numbers: nobody gets one that rules in some switch may still stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.dataplane.compile import compile
from controller.engine import events as ev
from controller.engine.numbering import numbered
from controller.engine.planning import make_plan
from controller.engine.reconciler import READING_S
from controller.engine.repair import reweigh_dead
from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey
from controller.intents.expand import connectivity
from controller.optimizer.plan import Plan, Retired
from tests.engine.test_planning import state
from tests.engine.world import World, everyone
from tests.engine.world import fabric as shipped
from tests.telemetry.fabrics import leaf_spine


def assert_means_the_same(old: Plan, new: Plan) -> None:
    """Whatever has a number in both is the same thing; a tree may have got switches, or lost some,
    but leads on by the same port from those that it has in both."""
    members = {e.id: e.members for e in old.egresses}
    for egress in new.egresses:
        assert members.get(egress.id, egress.members) == egress.members
    ways = {(t.egress, t.id): t.next_port for t in old.trees}
    for tree in new.trees:
        before = ways.get((tree.egress, tree.id), {})
        for switch in before.keys() & tree.next_port.keys():
            assert before[switch] == tree.next_port[switch], (tree.egress, tree.id, switch)
    zones = {number: names for names, number in old.zones.items()}
    for names, number in new.zones.items():
        assert zones.get(number, names) == names


INTENTS = {
    "a": frozenset({"h1/eth0", "h2/eth0"}),
    "b": frozenset({"h2/eth0", "h3/eth0"}),
    "c": frozenset({"h1/eth0", "h3/eth0"}),
    "d": frozenset({"h1/eth0", "h2/eth0", "h3/eth0"}),
}


def without(network: Fabric, links: Iterable[str]) -> Fabric:
    gone = set(links)
    return replace(network, links=tuple(li for li in network.links if li.name not in gone))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_number_gets_another_meaning_before_all_switches_are_known_to_have_forgotten_it(
    data: st.DataObject,
) -> None:
    full = leaf_spine(3, 3)
    names = st.sets(st.sampled_from([link.name for link in full.links]), max_size=4)
    remembered: list[Plan] = []
    previous: Plan | None = None
    for step in range(1, 7):
        network = without(full, data.draw(names, "links taken out of the topology"))
        down = data.draw(names, "links down") & {link.name for link in network.links}
        intents = data.draw(st.sets(st.sampled_from(sorted(INTENTS))), "intents")
        settled = data.draw(st.booleans(), "settled")
        demands = connectivity(network, {name: INTENTS[name] for name in intents})
        if settled:
            remembered = remembered[-1:]
        plan = make_plan(
            network, demands, state(network, down), previous, settled=settled, plan_id=step
        )
        for old in remembered:
            assert_means_the_same(old, plan)
        assert not plan.retired.egresses & {e.id for e in plan.egresses}
        assert not plan.retired.trees & {(t.egress, t.id) for t in plan.trees}
        assert not plan.retired.zones & set(plan.zones.values())
        remembered.append(plan)
        previous = plan


def test_numbers_come_back_one_plan_after_all_switches_have_forgotten_them() -> None:
    network = leaf_spine(3, 2)
    a, b = (connectivity(network, {name: INTENTS[name]}) for name in "ab")
    none = connectivity(network, {})
    first = make_plan(network, a, None, None, plan_id=1)
    assert first.retired == Retired()
    second = make_plan(network, none, None, first, settled=True, plan_id=2)
    trees = frozenset({(0, 0), (0, 1), (1, 0), (1, 1)})
    assert second.retired == Retired(frozenset({0, 1}), trees, frozenset({1}))
    waiting = make_plan(network, b, None, second, settled=False, plan_id=3)
    assert [e.id for e in waiting.egresses] == [2, 3]
    assert set(waiting.zones.values()) == {2}
    free = make_plan(network, b, None, second, settled=True, plan_id=3)
    assert [e.id for e in free.egresses] == [0, 1]
    assert set(free.zones.values()) == {1}
    assert free.retired == Retired()


def test_running_out_of_numbers_says_what_brings_them_back() -> None:
    with pytest.raises(ValueError, match="once every switch is connected"):
        numbered(["new"], {}, {1, 2}, range(1, 3), "zone")


def intents(network: Fabric, *leaves: str) -> dict[str, ev.WantedIntent]:
    """One intent between all hosts of these leaves, named after them."""
    nics = frozenset(nic.id for nic in network.nics if nic.attachment_set[0] in leaves)
    name = "-".join(leaves)
    return {name: ev.WantedIntent(name, 1, nics)}


def test_a_switch_that_missed_plans_never_sees_its_numbers_mean_something_else() -> None:
    network = shipped()
    world = World(network, intents(network, "leaf1", "leaf2"))
    world.connect()
    world.pass_time(1)
    missed = world.engine.plan
    assert missed is not None
    world.disconnect("leaf2")
    # One that has just gone may be back: changes wait for it so long.
    world.pass_time(READING_S)
    later = []
    for wanted in (
        intents(network, "leaf1", "leaf4"),
        intents(network, "leaf3", "leaf4"),
        {},
        everyone(network),
    ):
        world.event(ev.IntentsChanged(wanted))
        world.pass_time(1)
        assert world.engine.committed
        assert world.engine.plan is not None
        later.append(world.engine.plan)
        assert_means_the_same(missed, world.engine.plan)
    assert len({plan.id for plan in later}) == 4
    assert missed.zones.keys().isdisjoint(later[-1].zones)
    assert later[-1].retired != Retired()

    world.connect("leaf2")
    world.pass_time(1)
    world.event(ev.IntentsChanged(intents(network, "leaf1", "leaf2")))
    world.pass_time(1)
    assert world.engine.plan is not None
    # What the plan before had is all that may not be given again yet.
    assert world.engine.plan.zones == {frozenset({"leaf1-leaf2"}): 1}


def test_a_switch_that_never_connected_keeps_numbers_from_coming_back() -> None:
    network = shipped()
    world = World(network, intents(network, "leaf1", "leaf2"))
    world.connect("leaf1", "leaf2", "spine1", "spine2")
    given = set()
    for wanted in (intents(network, "leaf1", "leaf4"), intents(network, "leaf1", "leaf3"), {}):
        assert world.engine.plan is not None
        zones = set(world.engine.plan.zones.values())
        assert not zones & given
        given |= zones
        world.event(ev.IntentsChanged(wanted))
        world.pass_time(1)
    assert given == {1, 2, 3}


def test_a_link_fails_while_a_plan_with_new_trees_is_made() -> None:
    """The plan for new intents is taken all the same, turned to the links that live."""
    network = shipped()
    intents = everyone(network)
    few = {"all": replace(intents["all"], nics=frozenset(sorted(intents["all"].nics)[:6]))}
    world = World(network, few)
    world.connect()
    world.pass_time(1)
    world.planning = False
    world.requests.clear()
    world.event(ev.IntentsChanged(intents))
    (asked,) = world.requests
    link = next(li for li in network.links if {li.a.switch, li.b.switch} == {"leaf1", "spine1"})
    world.link(link, live=False)
    world.answer(asked)
    plan = world.engine.plan
    assert plan is not None
    assert world.engine.committed
    assert world.engine.demands.keys == tuple(DemandKey(*key) for key in plan.weights)
    assert reweigh_dead(plan, network, world.engine.link_state) is plan
    assert world.holds == compile(network, plan, world.engine.demands)
    # What is best over the links that are left is still to be found.
    world.pass_time(1)
    assert len(world.requests) == 2
