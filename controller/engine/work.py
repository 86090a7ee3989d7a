"""What the engine leaves to workers: making plans, judging them and compiling them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from controller.dataplane.black_holes import black_holes
from controller.dataplane.compile import compile
from controller.engine.commands import FindBlackHoles, PlanKind, PlanRequest
from controller.engine.events import BlackHolesFound, PlanMade
from controller.engine.judging import evaluate, worth_committing
from controller.engine.planning import make_plan
from controller.engine.repair import reweigh_dead
from controller.optimizer.certificate import gap
from controller.optimizer.plan import Certificate, Plan


def make(request: PlanRequest) -> PlanMade:
    """Answer a request; pure, so that it runs in any process. Whoever takes the plan numbers it."""
    fabric, demands, link_state = request.fabric, request.demands, request.link_state
    previous = request.previous
    worth, running = True, None
    if request.kind is PlanKind.OPTIMISE or previous is None:
        plan = make_plan(
            fabric,
            demands,
            link_state,
            previous,
            settled=request.settled,
            strategy=request.strategy,
            plan_id=0,
        )
        if previous is not None:
            worth = worth_committing(previous, plan, fabric, demands, link_state)
            running = _on_these_snapshots(previous, plan.certificate, request)
    elif request.kind is PlanKind.REPAIR:
        # With links gone, no placement can be better than the best was with them.
        repaired = reweigh_dead(previous, fabric, link_state)
        plan = _on_these_snapshots(repaired, previous.certificate, request)
    else:
        plan = previous
    return PlanMade(request.id, plan, compile(fabric, plan, demands), worth, running)


def find_black_holes(asked: FindBlackHoles) -> BlackHolesFound:
    """Pure, too."""
    down = np.flatnonzero(~asked.link_state.up).tolist()
    return BlackHolesFound(asked.plan.id, black_holes(asked.fabric, asked.plan, down))


def _on_these_snapshots(plan: Plan, best: Certificate, request: PlanRequest) -> Plan:
    """The plan with loads and certificate as of the request's snapshots, for which ``best`` has a
    lower bound."""
    fabric, demands, link_state = request.fabric, request.demands, request.link_state
    mlu, load = evaluate(plan, fabric, demands, link_state)
    bound = min(best.bound, mlu)
    return replace(
        plan,
        made_from=(fabric.version, demands.version, link_state.version),
        load_bps={
            (arc.tail.switch, arc.tail.port): bps
            for arc, bps in zip(fabric.arcs, load.tolist(), strict=True)
        },
        certificate=replace(
            best, strategy=plan.certificate.strategy, mlu=mlu, bound=bound, gap=gap(mlu, bound)
        ),
    )
