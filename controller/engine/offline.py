"""Plans without a network: what each strategy would make of demands, and why nothing is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from controller.engine.pinned import left, reserved
from controller.engine.planning import make_plan
from controller.engine.plans import unroutable
from controller.engine.protecting import solve
from controller.engine.view import demand_of, network_of, units_of, view_of
from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey, Demands
from controller.optimizer import buckets, portfolio, strategies
from controller.optimizer.baselines import BASELINES
from controller.optimizer.certificate import dual_bound, finish, gap
from controller.optimizer.fairness import fair_rates
from controller.optimizer.paths import trace
from controller.optimizer.plan import Plan
from controller.optimizer.problem import Floats
from controller.optimizer.reasons import Reasons, reasons


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A strategy, its weights as buckets would have them.

    ``load_bps[A]`` of the fabric's arcs, with what flows have reserved. ``mlu``, ``bound`` and
    ``gap`` are of everything else on what these leave; ``seconds`` of the method alone.
    """

    strategy: str
    solver: str
    mlu: float
    bound: float
    gap: float
    seconds: float
    load_bps: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """``outcomes`` in the order of the strategies, the first of ``plan``. No weights over its trees
    have an MLU below that of ``reasons``. ``fair_bps[D]``: max-min fair rates, where not all
    demands fit whatever the weights. ``unroutable`` have no way."""

    plan: Plan
    outcomes: tuple[Outcome, ...]
    reasons: Reasons
    fair_bps: Floats | None
    unroutable: tuple[DemandKey, ...]


def study(
    fabric: Fabric, demands: Demands, names: Sequence[str], tell: Callable[[str], None]
) -> Study:
    """Plan by the first of the strategies ``names``, as the controller would, and weigh the same
    trees by the others; ``tell`` is called as each stage begins.

    Equal inputs give equal answers, but for seconds. Raises ValueError as ``make_plan`` does.
    """
    plan = make_plan(fabric, demands, None, None, strategy=names[0], plan_id=0, tell=tell)
    tell("proving the bound")
    pinned = reserved(plan, fabric)
    view = view_of(plan, fabric, None)
    network = left(network_of(fabric, None), pinned)
    demand = demand_of(fabric, demands.keys, demands.rate_bps, view.egresses)
    paths = trace(network, view.forest, demand)
    best = portfolio.optimum(network, demand, paths)
    bound = max(plan.certificate.bound, dual_bound(network, demand, paths, best.price))

    outcomes = []
    for name in names:
        if name == names[0]:
            solver, seconds = plan.certificate.solver, plan.certificate.seconds
            units = units_of(plan, demands.keys, view.forest, paths)
        else:
            tell(f"comparing with {name}")
            if name in BASELINES:
                solution = strategies.baseline(name, network, demand, paths, best)
            else:
                solution = solve(name, fabric, network, demand, paths).solution
            solver, seconds = solution.solver, solution.seconds
            units = buckets.quantise(paths, solution.share, demand, network)
        load, mlu = buckets.evaluate(paths, units, demand, network)
        load = load[: len(fabric.arcs)] + pinned
        outcomes.append(Outcome(name, solver, mlu, min(bound, mlu), gap(mlu, bound), seconds, load))

    fair = None
    if finish(network, demand, paths, best.share, best, best.solver).mlu > 1:
        tell("sharing what there is")
        granted = fair_rates(network, demand, paths)
        fair = np.bincount(paths.demand, granted, len(demands.keys)).astype(np.float64)
    why = reasons(network, demand, paths, best.price)
    return Study(plan, tuple(outcomes), why, fair, unroutable(plan, demands))


def intents_between(
    fabric: Fabric, demands: Demands, keys: Sequence[DemandKey]
) -> list[tuple[str, ...]]:
    """Of each of the keys, the intents that let NICs of its two ends talk."""
    sides = []
    for reach in demands.reaches:
        for side in reach.sides:
            near = {s for nic in side.nics for s in fabric.nic_by_id[nic].attachment_set}
            far = {fabric.nic_by_id[nic].attachment_set for nic in side.peers}
            sides.append((reach.intent, near, far))
    return [
        tuple(
            dict.fromkeys(
                intent for intent, near, far in sides if key.ingress in near and key.egress in far
            )
        )
        for key in keys
    ]
