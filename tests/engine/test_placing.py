"""Who gets a path of its own, over any sequence of wishes and failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from controller.dataplane.compile import compile
from controller.dataplane.walk import Walker, dead_ports
from controller.engine.judging import evaluate
from controller.engine.pinned import Ways, left, reserved
from controller.engine.placing import digests
from controller.engine.planning import make_plan
from controller.engine.plans import covers
from controller.engine.repair import reweigh_dead
from controller.engine.view import network_of
from controller.fabric.model import Fabric
from controller.intents.demands import Demands, Reach
from controller.intents.expand import demands_of
from controller.intents.kinds import expand
from controller.intents.model import OnShortage, PointToPoint, Protection, Selector
from controller.openflow.model import Field
from controller.optimizer.plan import PATH_TREES, PlacedFlow, Plan
from tests.dataplane.fabrics import leaf_spine, packet
from tests.engine.test_numbering import assert_means_the_same
from tests.engine.test_planning import state, timeless

NO_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Plans take long enough without making a failure smaller."""

SPEC = st.builds(
    PointToPoint,
    source=st.sampled_from(["h1", "h2", "h3"]).map(lambda h: Selector(hosts=(h,))),
    destination=st.sampled_from([("h2",), ("h3",), ("h1", "h3")]).map(lambda h: Selector(hosts=h)),
    rate_bps=st.sampled_from([0.0, 2e8, 6e8]),
    protection=st.sampled_from(Protection),
    udp_source_ports=st.sampled_from([(), (50000,), (50000, 50001)]),
    bidirectional=st.booleans(),
    priority=st.sampled_from([0, 0, 1]),
    on_shortage=st.sampled_from(OnShortage),
    avoid=st.sampled_from([(), (), ("s0",)]),
)


def asked_of(network: Fabric, specs: Mapping[str, PointToPoint]) -> Demands:
    found = [expand(name, spec, network) for name, spec in sorted(specs.items())]
    served = [each for each in found if each.reach.nics]
    return demands_of(network, [e.reach for e in served], [f for e in served for f in e.flows])


@settings(max_examples=25, deadline=None, phases=NO_SHRINK)
@given(st.data())
def test_plans_keep_what_they_promise(data: st.DataObject) -> None:
    network = leaf_spine(3, 3, 1)
    links = [link.name for link in network.links]
    plan: Plan | None = None
    for number in range(1, 4):
        specs = data.draw(st.dictionaries(st.sampled_from("abcd"), SPEC, max_size=4))
        down = data.draw(st.sets(st.sampled_from(links), max_size=2))
        asked, links_now = asked_of(network, specs), state(network, down)
        before, plan = (
            plan,
            make_plan(network, asked, links_now, plan, strategy="ecmp", plan_id=number),
        )
        assert covers(plan, network, asked)
        if before is not None:
            assert_means_the_same(before, plan)
        assert_within_capacity(plan, network)
        assert_all_or_nothing(before, plan, asked)
        assert_pins_take_their_ways(plan, network, asked, down)
        assert reweigh_dead(plan, network, links_now).pins is plan.pins
        again = make_plan(network, asked, links_now, plan, strategy="ecmp", plan_id=number)
        assert again.refused <= plan.refused
        if again.refused == plan.refused:
            assert ways_of(again) == ways_of(plan), "nothing has changed"


def ways_of(plan: Plan) -> dict[PlacedFlow, tuple[int | None, int | None, float]]:
    return {flow: (pin.primary, pin.backup, pin.rate_bps) for flow, pin in plan.pins.items()}


def assert_within_capacity(plan: Plan, network: Fabric) -> None:
    """Primaries and backups together, as backups must have room when they are needed."""
    ways, total = Ways(plan, network), np.zeros(len(network.arcs))
    for flow, pin in plan.pins.items():
        both = [ways.of(flow.ingress, pin.egress, tree) or () for tree in (pin.primary, pin.backup)]
        for arc in {*both[0], *both[1]}:
            total[arc] += pin.rate_bps
    assert (total <= np.array([arc.capacity_bps for arc in network.arcs]) * (1 + 1e-6)).all()


def assert_all_or_nothing(before: Plan | None, plan: Plan, asked: Demands) -> None:
    admitted = {
        intent
        for intent, digest in digests(asked.flows).items()
        if before is not None
        and before.asked.get(intent) == digest
        and intent not in before.refused
    }
    assert not admitted & plan.refused
    for flow in asked.flows:
        intent, pin = flow.id.intent, plan.pins[PlacedFlow(*flow.id)]
        if intent in plan.refused:
            assert flow.on_shortage is OnShortage.REJECT
            assert (pin.primary, pin.backup, pin.rate_bps) == (None, None, 0.0)
        elif flow.on_shortage is OnShortage.REJECT and intent not in admitted:
            assert pin.shortage == "NOTHING"
    for intent in plan.refused:
        assert any(f.intent == intent and p.shortage != "NOTHING" for f, p in plan.pins.items())


def assert_pins_take_their_ways(
    plan: Plan, network: Fabric, asked: Demands, down: set[str]
) -> None:
    ways = Ways(plan, network)
    walker = Walker(network, compile(network, plan, asked), dead_ports(network, down))
    for flow, pin in plan.pins.items():
        way = ways.of(flow.ingress, pin.egress, pin.primary)
        if way is None:
            continue
        a, b = network.nic_by_id[flow.source], network.nic_by_id[flow.destination]
        sent = {
            **packet(a, b),
            Field.UDP_SRC: flow.udp_source_port or 1,
        }
        (end,) = walker.walk(a.attachments[0], sent)
        assert end.reached(b)
        assert end.path == (flow.ingress, *(network.arcs[arc].head.switch for arc in way))


def test_paths_that_agree_share_a_tree_and_equal_ones_the_forests() -> None:
    network = leaf_spine(3, 3, 1)
    spec = PointToPoint(Selector(hosts=("h1", "h2")), Selector(hosts=("h3",)), rate_bps=2e7)
    plan = make_plan(network, asked_of(network, {"a": spec}), state(network), None, plan_id=1)
    assert not any(tree.id in PATH_TREES for tree in plan.trees), "they are the forest's"
    # Through another leaf no tree of the forest leads.
    around = replace(spec, source=Selector(hosts=("h1",)), include=("l1",))
    asked = asked_of(network, {"b": around})
    plan = make_plan(network, asked, state(network), None, plan_id=1)
    if any(pin.primary is not None for pin in plan.pins.values()):
        assert {tree.id for tree in plan.trees if tree.id in PATH_TREES} == {PATH_TREES.start}
        assert_pins_take_their_ways(plan, network, asked, set())


def test_measured_load_moves_no_pin() -> None:
    network = leaf_spine(3, 3, 1)
    asked = asked_of(
        network, {"a": PointToPoint(Selector(hosts=("h1",)), Selector(hosts=("h3",)), 6e8)}
    )
    quiet = make_plan(network, asked, state(network), None, plan_id=1)
    busy = state(network, foreign={("l0", arc.tail.port): 9e8 for arc in network.arcs_from["l0"]})
    assert make_plan(network, asked, busy, quiet, plan_id=2).pins == quiet.pins
    assert make_plan(network, asked, busy, None, plan_id=2).refused == frozenset()


def test_the_certificate_is_of_what_pins_leave() -> None:
    network = leaf_spine(3, 2, 1)
    everyone = Reach("all", frozenset(network.nic_by_id))
    flow = expand("p", PointToPoint(Selector(hosts=("h1",)), Selector(hosts=("h3",)), 8e8), network)
    demands = demands_of(network, [everyone, flow.reach], flow.flows)
    plan = make_plan(network, demands, None, None, plan_id=1)
    pinned = reserved(plan, network)
    assert sorted(pinned[pinned > 0]) == [8e8, 8e8]
    rest = left(network_of(network, None), pinned).capacity_bps[:-1]
    load = np.array([plan.load_bps[arc.tail.switch, arc.tail.port] for arc in network.arcs])
    assert plan.certificate.mlu == pytest.approx(((load - pinned) / rest).max())
    assert plan.certificate.bound <= plan.certificate.mlu
    mlu, again = evaluate(plan, network, demands, None)
    assert mlu == pytest.approx(plan.certificate.mlu)
    assert again.tolist() == pytest.approx(load.tolist())
    assert timeless(plan) == timeless(make_plan(network, demands, None, None, plan_id=1))
