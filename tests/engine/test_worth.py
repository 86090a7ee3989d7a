"""What a better plan is worth, what failures leave of one, and what a second solver says of it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from controller.engine import events as ev
from controller.engine import plan_codec
from controller.engine.accepted import Accepted
from controller.engine.commands import PlanKind, PlanRequest
from controller.engine.events import Respread
from controller.engine.judging import certified, evaluate, worth_committing
from controller.engine.planning import make_plan
from controller.engine.proving import Doubt, prove
from controller.engine.repair import Crossings
from controller.engine.single_failures import single_failures
from controller.engine.work import make
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.reservation import Protection
from controller.telemetry.link_state import LinkState
from tests.dataplane import fabrics
from tests.engine.world import World, everyone, fabric


def healthy(fabric: Fabric) -> LinkState:
    capacity = np.array([arc.capacity_bps for arc in fabric.arcs])
    none = np.zeros(len(capacity))
    return LinkState(1, capacity > 0, capacity, none, none, none, none)


def drifted(demands: Demands) -> Demands:
    """All rates a little others, one ten times what it was."""
    random = np.random.default_rng(0)
    rates = [rate * random.lognormal(0, 0.2) for rate in demands.rate_bps]
    rates[0] *= 10
    return replace(demands, version=demands.version + 1, rate_bps=tuple(rates))


def test_of_a_better_plan_no_more_is_taken_than_its_churn_is_worth() -> None:
    fabric = fabrics.asymmetric()
    before = fabrics.demands(fabric)
    running = make_plan(fabric, before, healthy(fabric), None, plan_id=1)
    asked = drifted(before)
    request = PlanRequest(
        1, PlanKind.OPTIMISE, "auto", fabric, asked, healthy(fabric), running, True, False, 0.0
    )
    made = make(request)
    certificate = made.plan.certificate
    (nothing, now), *_, (whole, best) = certificate.churn
    assert nothing == 0
    assert now == pytest.approx(evaluate(running, fabric, asked, healthy(fabric))[0])
    # It says of itself what it does, and its gain beats its churn better than the whole would.
    assert evaluate(made.plan, fabric, asked, healthy(fabric))[0] == pytest.approx(certificate.mlu)
    assert certificate.mlu + 0.05 * now * certificate.moved <= best + 0.05 * now * whole + 1e-9
    kept = sum(row == running.weights[key] for key, row in made.plan.weights.items())
    assert made.worth == (kept < len(running.weights))
    assert kept > 0
    assert plan_codec.decode(plan_codec.encode(made.plan)) == made.plan


@pytest.mark.parametrize("strategy", ["protect-link", "protect-node", "protect-srlg"])
def test_a_plan_against_failures_says_what_the_worst_one_leaves(strategy: str) -> None:
    fabric = fabrics.asymmetric()
    risky = tuple(
        replace(link, srlgs=("duct",))
        if link.name in {fabric.links[0].name, fabric.links[3].name}
        else link
        for link in fabric.links
    )
    fabric = replace(fabric, links=risky)
    asked = drifted(fabrics.demands(fabric))
    plan = make_plan(fabric, asked, None, None, strategy=strategy, plan_id=1)
    plain = make_plan(fabric, asked, None, None, plan_id=1)
    certificate = plan.certificate
    assert certificate.failed_bound <= certificate.failed_mlu < np.inf
    level = Protection[strategy.removeprefix("protect-").upper()]
    found = {f"{each.kind} {each.name}": each.arcs for each in single_failures(fabric, level)}
    assert certificate.failure in found
    assert ("srlg duct" in found) == (level is Protection.SRLG)
    worst, worst_plain = 0.0, 0.0
    for arcs in found.values():
        state = healthy(fabric)
        state.up[arcs] = False
        worst = max(worst, evaluate(plan, fabric, asked, state)[0])
        worst_plain = max(worst_plain, evaluate(plain, fabric, asked, state)[0])
    assert certificate.failed_mlu == pytest.approx(worst)
    # Buckets are rounded for the fabric as it is; by as much a worst case may be off.
    assert worst <= worst_plain * 1.1
    assert plan_codec.decode(plan_codec.encode(plan)) == plan


def test_the_bound_of_a_plan_against_failures_is_below_it_where_they_take_all_traffic() -> None:
    fabric = fabrics.leaf_spine(2, 1, 1)
    plan = make_plan(
        fabric, fabrics.demands(fabric), None, None, strategy="protect-link", plan_id=1
    )
    certificate = plan.certificate
    assert 0 < certificate.failed_bound <= certificate.failed_mlu == certificate.mlu
    assert certificate.cut_off_bps > 0


def test_a_plan_against_failures_is_worth_what_it_gains_after_them() -> None:
    fabric = fabrics.random_graph(Random(6), 7, 8)
    asked, state, random = fabrics.demands(fabric), healthy(fabric), np.random.default_rng(2)
    rates = tuple(1e9 * random.lognormal(-2, 2) for _ in asked.rate_bps)
    asked = replace(asked, rate_bps=rates)
    plain = make_plan(fabric, asked, state, None, plan_id=1)
    safe = make_plan(fabric, asked, state, plain, strategy="protect-link", plan_id=2)
    (before, _), (after, _) = (
        certified(plan, safe.certificate, fabric, asked, state) for plan in (plain, safe)
    )
    assert after == safe.certificate
    assert before.failed_mlu > 1.06 * after.failed_mlu
    assert before.mlu <= after.mlu
    assert worth_committing(plain, safe, fabric, asked, state)
    assert not worth_committing(safe, plain, fabric, asked, state)


def test_a_second_solver_tightens_the_bound_of_the_plan_it_was_asked_about_only() -> None:
    fabric = fabrics.leaf_spine(4, 3, 1)
    asked, state = drifted(fabrics.demands(fabric)), healthy(fabric)
    plan = make_plan(fabric, asked, state, None, plan_id=1)
    proof = prove(Doubt(fabric, asked, state, plan))
    assert proof.text.startswith("confirmed by PDLP")
    assert plan.certificate.bound * 0.999 <= proof.bound <= plan.certificate.mlu
    loose = replace(plan, certificate=replace(plan.certificate, bound=0.0, gap=np.inf))
    crossings = Crossings.of(loose, fabric)
    accepted = Accepted(loose, loose, crossings, 0, asked, Respread({}), fabric)
    proven = accepted.proven(proof).plan.certificate
    assert proven.proof == proof.text
    assert proven.bound == pytest.approx(plan.certificate.bound, rel=1e-3)
    older = replace(proof, made_from=(proof.made_from[0], proof.made_from[1] - 1, 1))
    assert accepted.proven(older) is accepted


def test_what_is_too_large_is_not_confirmed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = fabrics.leaf_spine(4, 3, 1)
    asked, state = fabrics.demands(fabric), healthy(fabric)
    plan = make_plan(fabric, asked, state, None, plan_id=1)
    monkeypatch.setattr("controller.engine.proving.MOST_HOPS", 1)
    proof = prove(Doubt(fabric, asked, state, plan))
    assert proof.text == "not confirmed: size"
    assert (
        Accepted(plan, plan, Crossings.of(plan, fabric), 0, asked, Respread({}), fabric)
        .proven(proof)
        .plan.certificate.bound
        == plan.certificate.bound
    )


def test_a_solve_that_was_cut_short_leaves_the_last_plan_in_force_and_is_tried_again() -> None:
    network = fabric()
    world = World(network, everyone(network))
    world.connect()
    world.pass_time(2)
    before = world.engine.plan
    assert before is not None
    world.planning = False
    world.event(ev.IntentsChanged(everyone(network, generation=2)))
    world.link(network.links[0], live=False)
    world.pass_time(2)
    repaired = world.engine.plan
    assert repaired is not None
    (request,) = world.unanswered()
    world.event(ev.PlanFailed(request.id, "BrokenProcessPool: killed"))
    assert world.engine.plan is repaired
    assert any("killed" in problem for problem in world.engine.problems())
    # An answer that comes all the same is nobody's any more.
    world.answer(request)
    assert world.engine.plan is repaired
    world.planning = True
    world.pass_time(6)
    assert world.requests[-1].id > request.id
    assert not world.unanswered()
    assert not any("killed" in problem for problem in world.engine.problems())
