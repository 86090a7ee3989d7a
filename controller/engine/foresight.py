"""What would become of the traffic if some links carried nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from controller.engine.planning import make_plan
from controller.engine.plans import unroutable
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState


@dataclass(frozen=True, slots=True)
class Question:
    """The newest snapshots, the running plan, and the ``links`` (all that would be drained)."""

    fabric: Fabric
    demands: Demands
    link_state: LinkState
    plan: Plan
    strategy: str
    links: frozenset[str]


@dataclass(frozen=True, slots=True)
class Foresight:
    """Worst utilisation now and then, and who has a way now but would have none: in words."""

    mlu_before: float
    mlu_after: float
    cut_off: tuple[str, ...]


def foresee(question: Question) -> Foresight:
    """Plans as it would be planned; pure, so that it runs in any process."""
    fabric, demands, plan = question.fabric, question.demands, question.plan
    kept = np.array([arc.link not in question.links for arc in fabric.arcs], np.bool_)
    state = replace(question.link_state, up=question.link_state.up & kept)
    after = make_plan(fabric, demands, state, plan, strategy=question.strategy, plan_id=0)
    lost = set(unroutable(after, demands)) - set(unroutable(plan, demands))
    pairs = sorted({(key.ingress, key.egress) for key in lost})
    return Foresight(
        plan.certificate.mlu,
        after.certificate.mlu,
        tuple(f"{ingress} to {', '.join(egress)}" for ingress, egress in pairs),
    )
