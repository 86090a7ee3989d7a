"""The engine as its users see it: what is sent when, and what intents are told."""

from __future__ import annotations

from itertools import pairwise, permutations

from controller.dataplane.tables import Phase, SwitchTables
from controller.dataplane.walk import Walker, dead_ports
from controller.engine import events as ev
from controller.engine.commands import PlanKind
from controller.engine.reconciler import READING_S
from controller.engine.switches import SwitchState
from controller.intents.model import IntentState
from controller.openflow.decode import Description
from controller.openflow.model import Field
from tests.dataplane.fabrics import packet
from tests.engine.world import World, everyone, fabric


def test_an_intent_goes_through_its_states_to_active() -> None:
    world = World(network := fabric(), everyone(network))
    assert world.states["all"][-1] is IntentState.PLANNED
    world.connect()
    world.pass_time(1)
    states = world.states["all"]
    assert states[-1] is IntentState.ACTIVE
    assert IntentState.INSTALLING in states
    assert world.engine.committed


def test_a_plan_is_stored_before_its_first_message_is_sent() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.event(ev.IntentsChanged(everyone(network)))
    ids = {batch.plan_id for batch in world.sent if batch.messages}
    assert ids <= {plan.id for plan in world.stored}
    assert world.messages > 0


def test_no_switch_starts_a_phase_before_all_have_finished_the_last() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.sent.clear()
    world.silent = {"leaf3"}
    world.event(ev.IntentsChanged(everyone(network)))
    held = [batch for batch in world.sent if batch.switch == "leaf3"]
    assert len(held) == 1
    assert {batch.phase for batch in world.sent} == {held[0].phase}
    world.silent = set()
    world.event(ev.BatchDone("leaf3", held[0].session, held[0].batch))
    phases = [batch.phase for batch in world.sent]
    assert all(a <= b for a, b in pairwise(phases))
    assert phases[-1] >= Phase.GUARD_FLOWS
    assert world.engine.committed


def test_a_restart_adopts_the_stored_plan_and_sends_nothing() -> None:
    before = World(network := fabric(), everyone(network))
    before.connect()
    before.pass_time(3)
    after = World(
        network,
        everyone(network),
        stored_plan=before.stored[-1],
        holds=before.holds,
        statuses=before.statuses,
    )
    after.connect()
    after.pass_time(3)
    assert after.messages == 0
    assert after.stored == []
    assert after.engine.committed
    assert after.states == {}, "nothing has changed for the owner of the intent"


def test_a_switch_missing_after_a_restart_degrades_the_intent() -> None:
    before = World(network := fabric(), everyone(network))
    before.connect()
    after = World(
        network,
        everyone(network),
        stored_plan=before.stored[-1],
        holds=before.holds,
        statuses=before.statuses,
    )
    after.connect("leaf1", "leaf2", "leaf3", "spine1", "spine2")
    after.pass_time(3)
    assert after.states == {}
    after.pass_time(10)
    assert after.states["all"] == [IntentState.DEGRADED]


def test_a_switch_that_never_connects_is_planned_around_until_it_does() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect("leaf1", "leaf2", "leaf3", "leaf4", "spine1")
    world.pass_time(3)
    assert world.states["all"][-1] is IntentState.PLANNED
    assert world.statuses["all"].message == "waiting for spine2 to connect"
    world.pass_time(10)
    assert world.states["all"][-1] is IntentState.ACTIVE
    assert load_through(world, "spine2") == 0
    assert not any("link" in problem for problem in world.engine.problems())
    # A restart has not seen it either.
    after = World(
        network,
        everyone(network),
        stored_plan=world.stored[-1],
        holds=world.holds,
        statuses=world.statuses,
    )
    after.connect("leaf1", "leaf2", "leaf3", "leaf4", "spine1")
    after.pass_time(20)
    assert after.states == {}
    assert load_through(after, "spine2") == 0
    after.connect("spine2")
    after.pass_time(5)
    assert load_through(after, "spine2") > 0


def load_through(world: World, switch: str) -> float:
    assert world.engine.plan is not None
    load = world.engine.plan.load_bps
    return sum(load[arc.tail.switch, arc.tail.port] for arc in world.network.arcs_from[switch])


def test_a_controller_without_a_past_leaves_rules_of_another_alone() -> None:
    """Started with the wrong state directory, say."""
    before = World(network := fabric(), everyone(network))
    before.connect()
    after = World(network, {}, holds=before.holds)
    after.connect()
    after.pass_time(3)
    assert after.messages == 0
    assert any("state directory" in problem for problem in after.engine.problems())
    after.event(ev.IntentsChanged(everyone(network)))
    assert after.states["all"][-1] is IntentState.ACTIVE
    assert after.engine.problems() == []


def test_a_reconnected_switch_gets_only_what_it_lacks() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.sent.clear()
    world.disconnect("leaf2")
    world.connect("leaf2")
    assert world.messages == 0
    world.disconnect("leaf2")
    world.holds.pop("leaf2")
    world.connect("leaf2")
    assert {batch.switch for batch in world.sent} == {"leaf2"}


def test_a_refused_change_is_tried_again_and_the_intent_says_so() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.refuse = {"spine1"}
    world.event(ev.IntentsChanged(everyone(network)))
    assert world.engine.reconciler.records["spine1"].state is SwitchState.FAILED
    assert any("OFPFMFC_TABLE_FULL" in problem for problem in world.engine.problems())
    world.refuse = set()
    world.pass_time(3)
    assert world.states["all"][-1] is IntentState.ACTIVE
    assert world.engine.problems() == []


def test_others_do_not_build_on_what_a_switch_has_just_refused() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.sent.clear()
    world.refuse = {"spine1"}
    world.event(ev.IntentsChanged(everyone(network)))

    def is_led_in() -> bool:
        return any(batch.phase >= Phase.INGRESS_GROUPS for batch in world.sent)

    world.pass_time(0.75)
    assert not is_led_in()
    world.pass_time(READING_S)
    # One that goes on refusing holds up nobody.
    assert is_led_in()
    assert world.engine.reconciler.records["spine1"].state is SwitchState.FAILED


def test_others_do_not_build_on_a_switch_that_has_just_lost_its_session() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.pass_time(1)
    world.disconnect("spine1")
    world.sent.clear()
    world.event(ev.IntentsChanged(everyone(network)))
    world.pass_time(1)
    assert not world.sent
    world.connect("spine1")
    assert world.engine.committed


def test_a_dead_link_loses_its_weight_without_a_solver() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.pass_time(1)
    world.planning = False
    world.requests.clear()
    world.link(network.links[0], live=False)
    assert world.requests == []
    plan = world.engine.plan
    assert plan is not None
    leaf = network.links[0].a if "leaf" in network.links[0].a.switch else network.links[0].b
    dead = {
        (tree.egress, tree.id)
        for tree in plan.trees
        if tree.next_port.get(leaf.switch) == leaf.port
    }
    assert dead
    egress = {e.members: e.id for e in plan.egresses}
    for key, weights in plan.weights.items():
        if key.ingress == leaf.switch:
            assert not {(egress[key.egress], tree) for tree in weights} & dead
    assert f"link {network.links[0].name} is down" in world.engine.problems()


def test_traffic_returns_to_a_link_that_stays_up() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.pass_time(1)
    assert world.engine.plan is not None
    before = world.engine.plan.weights
    world.link(network.links[0], live=False)
    world.pass_time(2)
    assert world.engine.plan.weights != before
    world.link(network.links[0], live=True)
    world.pass_time(3)
    assert world.engine.plan.weights == before


def test_answers_of_an_ended_session_change_nothing() -> None:
    world = World(network := fabric(), everyone(network))
    world.silent = {"leaf1"}
    world.connect()
    stale = next(batch for batch in world.sent if batch.switch == "leaf1")
    world.disconnect("leaf1")
    world.silent = set()
    world.connect("leaf1")
    state = world.engine.reconciler.records["leaf1"].state
    world.event(ev.BatchFailed("leaf1", stale.session, stale.batch, "late"))
    assert world.engine.reconciler.records["leaf1"].state is state is SwitchState.IN_SYNC


def test_a_silent_switch_does_not_hold_the_others_for_ever() -> None:
    world = World(network := fabric(), {})
    world.connect()
    world.silent = {"spine2"}
    world.event(ev.IntentsChanged(everyone(network)))
    assert not world.engine.committed
    world.pass_time(25)
    world.silent = set()
    world.pass_time(25)
    assert world.engine.committed


def test_a_withdrawn_intent_is_gone_once_its_rules_are() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.pass_time(1)
    world.event(ev.IntentsChanged({}))
    assert world.states["all"][-1] is IntentState.GONE
    assert all(not tables.groups for tables in world.holds.values())


def test_one_host_alone_is_rejected_with_the_cure() -> None:
    network = fabric()
    nic = network.nics[0].id
    world = World(network, {"one": ev.WantedIntent("one", 1, frozenset({nic}))})
    assert world.states["one"] == [IntentState.REJECTED]


def test_a_host_that_joins_beside_another_is_let_in() -> None:
    """Neither the demands between switches nor the zones change with it."""
    network = fabric()
    first, second, *_ = (nic for nic in network.nics if nic.attachment_set == ("leaf1",))
    far = next(nic for nic in network.nics if nic.attachment_set == ("leaf2",))
    pair = frozenset({first.id, far.id})
    world = World(network, {"a": ev.WantedIntent("a", 1, pair)})
    world.connect()
    world.sent.clear()
    world.event(ev.IntentsChanged({"a": ev.WantedIntent("a", 2, pair | {second.id})}))
    assert "leaf1" in {batch.switch for batch in world.sent}


def test_a_switch_that_cannot_be_read_is_read_again() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.disconnect("spine2")
    world.readable = False
    world.connect("spine2")
    assert any("no OpenFlow" in problem for problem in world.engine.problems())
    world.readable = True
    world.pass_time(2)
    assert world.engine.problems() == []
    assert world.engine.committed


def test_rules_that_vanish_are_noticed_and_restored() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    world.sent.clear()
    world.pass_time(200)
    assert world.sent == [], "reading alone changes nothing"
    world.meddle("leaf2")
    world.pass_time(200)
    assert {batch.switch for batch in world.sent} == {"leaf2"}
    assert any("leaf2 has lost or changed" in line for line in world.log)
    assert world.engine.committed


def test_a_link_fails_while_a_new_intent_is_being_planned() -> None:
    """The repair serves what is installed, and neither waits for the other."""
    network = fabric()
    nics = [nic.id for nic in network.nics]
    one = {"a": ev.WantedIntent("a", 1, frozenset(nics[:4]))}
    world = World(network, one)
    world.connect()
    world.pass_time(1)
    world.planning = False
    world.requests.clear()
    world.event(ev.IntentsChanged({**one, "b": ev.WantedIntent("b", 1, frozenset(nics[4:]))}))
    world.link(network.links[0], live=False)
    assert any("turns to the links that live" in line for line in world.log)
    assert world.states["a"][-1] is IntentState.ACTIVE
    assert world.states["b"][-1] is IntentState.PENDING
    world.planning = True
    for request in world.requests:
        if request.kind is PlanKind.OPTIMISE:
            world.answer(request)
    world.pass_time(0.25)
    assert world.states["b"][-1] is IntentState.ACTIVE
    assert world.engine.problems() == [f"link {network.links[0].name} is down"]


def test_what_ended_the_last_session_and_what_a_switch_is_are_remembered() -> None:
    world = World(network := fabric(), everyone(network))
    world.connect()
    said = Description("Maker", "box", "1.2", "", "")
    world.event(ev.SwitchDescribed("leaf2", 1, said))
    record = world.engine.reconciler.records["leaf2"]
    assert record.description == said
    world.disconnect("leaf2")
    assert record.description == said
    world.connect("leaf2")
    assert (record.state, record.trouble, record.last_error) == (SwitchState.IN_SYNC, "", "test")
    # Another switch may stand there by now; and the old one's words come late.
    assert record.description is None
    world.event(ev.SwitchDescribed("leaf2", 1, said))
    assert record.description is None


def test_a_switch_that_comes_back_without_rules_is_sent_nothing_before_it_has_them() -> None:
    """spine1 loses power; its links are live again long before it finds its controller."""
    net = fabric()
    it = World(net, everyone(net))
    it.connect()
    it.pass_time(1)

    def arrives() -> bool:
        dead = dead_ports(net, switches=["spine1"] if off else [])
        walker = Walker(net, it.holds, dead)
        return all(
            end.reached(b)
            for a, b in permutations(net.nics, 2)
            for end in walker.walk(
                a.attachments[0], packet(a, b) | {Field.ETH_DST: net.gateway_mac}
            )
        )

    off = True
    its = [link for link in net.links if "spine1" in (link.a.switch, link.b.switch)]
    it.disconnect("spine1")
    for link in its:
        it.port(link.a, False)
    it.pass_time(1)
    assert arrives()
    it.holds["spine1"] = SwitchTables()
    off = False
    for link in its:
        it.port(link.a, True)
    for _ in range(5):
        it.pass_time(1)
        assert arrives()
    assert not it.engine.link_state.up.all()
    it.connect("spine1")
    for _ in range(5):
        it.pass_time(1)
        assert arrives()
    assert it.engine.link_state.up.all()
