"""What the engine leaves to workers: making plans, judging them and compiling them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from controller.dataplane.black_holes import black_holes
from controller.dataplane.compile import compile
from controller.dataplane.ingress import respread
from controller.engine import plan_codec
from controller.engine.commands import FindBlackHoles, PlanKind, PlanRequest
from controller.engine.events import BlackHolesFound, Compiled, Forecast, PlanMade, Respread
from controller.engine.judging import certified, used, worth_committing
from controller.engine.planning import make_plan
from controller.engine.plans import differ_in_weights_only
from controller.engine.pricing import priced
from controller.engine.protecting import PROTECTING
from controller.engine.repair import Crossings
from controller.optimizer.plan import Certificate, Plan


def make(request: PlanRequest) -> PlanMade:
    """Answer a request; pure, so that it runs in any process. Whoever takes the plan numbers it."""
    fabric, demands, link_state = request.fabric, request.demands, request.link_state
    previous = request.previous
    if request.kind is PlanKind.ADOPT and previous is not None:
        return PlanMade(request.id, previous, _compiled(request, previous))
    plan = make_plan(
        fabric,
        demands,
        link_state,
        previous,
        settled=request.settled,
        strategy=request.strategy,
        plan_id=0,
    )
    if previous is None:
        compiled = _compiled(request, plan)
        return PlanMade(request.id, plan, compiled, body=plan_codec.body(plan))
    if differ_in_weights_only(previous, plan):
        same = replace(plan, egresses=previous.egresses, trees=previous.trees)
        plan = _worth_its_churn(previous, same, request)
    worth = worth_committing(previous, plan, fabric, demands, link_state, request.least_gain)
    running = _forecast(previous, plan.certificate, request)
    if request.sticky and not worth:
        plan = running.of(replace(plan, weights=previous.weights))
    same_ways = differ_in_weights_only(previous, plan)
    if same_ways:
        plan = replace(plan, egresses=previous.egresses, trees=previous.trees)
    body = plan_codec.body(plan)
    if request.compiled and same_ways:
        changed = [key for key, row in plan.weights.items() if row != previous.weights[key]]
        groups = respread(plan, fabric.classes, changed)
        # The asker has all but the weights; to hand it over would take as long as it is large.
        plan = replace(plan, egresses=(), trees=(), zones={})
        return PlanMade(request.id, plan, Respread(groups), worth, running, body)
    return PlanMade(request.id, plan, _compiled(request, plan), worth, running, body)


def _worth_its_churn(previous: Plan, best: Plan, request: PlanRequest) -> Plan:
    """As much of ``best`` as is; all of it where it uses a link that is back, or defends against
    failures, which the price says nothing of."""
    snapshots = request.fabric, request.demands
    if request.strategy in PROTECTING:
        return best
    plan = priced(previous, best, *snapshots, request.link_state)
    if not request.least_gain and used(best, *snapshots) - used(plan, *snapshots):
        certificate = replace(plan.certificate, mlu=best.certificate.mlu, gap=best.certificate.gap)
        moved = certificate.churn[-1][0]
        return replace(best, certificate=replace(certificate, moved=moved))
    return plan


def find_black_holes(asked: FindBlackHoles) -> BlackHolesFound:
    """Pure, too."""
    down = np.flatnonzero(~asked.live).tolist()
    return BlackHolesFound(asked.plan.id, black_holes(asked.fabric, asked.plan, down))


def _compiled(request: PlanRequest, plan: Plan) -> Compiled:
    fabric = request.fabric
    return Compiled(compile(fabric, plan, request.demands), Crossings.of(plan, fabric))


def _forecast(plan: Plan, best: Certificate, request: PlanRequest) -> Forecast:
    """Loads and certificate of the plan as of the request's snapshots, for which ``best`` has a
    lower bound."""
    fabric, demands, link_state = request.fabric, request.demands, request.link_state
    certificate, load = certified(plan, best, fabric, demands, link_state)
    return Forecast(
        (fabric.version, demands.version, link_state.version),
        {
            (arc.tail.switch, arc.tail.port): bps
            for arc, bps in zip(fabric.arcs, load.tolist(), strict=True)
        },
        replace(certificate, strategy=plan.certificate.strategy),
    )
