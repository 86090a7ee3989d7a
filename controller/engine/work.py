"""What the engine leaves to workers: making a plan and compiling it."""

from __future__ import annotations

from dataclasses import replace

from controller.dataplane.compile import compile
from controller.dataplane.tables import Tables
from controller.engine.commands import PlanKind, PlanRequest
from controller.engine.planning import make_plan, reweigh_dead
from controller.optimizer.plan import Plan


def make(request: PlanRequest) -> tuple[Plan, Tables]:
    """Answer a request; pure, so that it runs in any process. Whoever takes the plan numbers it."""
    fabric, demands = request.fabric, request.demands
    if request.kind is PlanKind.OPTIMISE or request.previous is None:
        plan = make_plan(
            fabric,
            demands,
            request.link_state,
            request.previous,
            strategy=request.strategy,
            plan_id=0,
        )
    elif request.kind is PlanKind.REPAIR:
        plan = replace(
            reweigh_dead(request.previous, fabric, request.link_state),
            made_from=(fabric.version, demands.version, request.link_state.version),
        )
    else:
        plan = request.previous
    return plan, compile(fabric, plan, demands)
