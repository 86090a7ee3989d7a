"""What would become of the traffic if some links carried nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from controller.engine.judging import evaluate
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric
from controller.fabric.reach import parts
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
    """Worst utilisation now and then, and which intents get all they ask for now but would not."""

    mlu_before: float
    mlu_after: float
    degraded: tuple[str, ...]


def foresee(question: Question) -> Foresight:
    """Plans as it would be planned; pure, so that it runs in any process."""
    fabric, demands, plan = question.fabric, question.demands, question.plan
    kept = np.array([arc.link not in question.links for arc in fabric.arcs], np.bool_)
    state = replace(question.link_state, up=question.link_state.up & kept)
    after = make_plan(fabric, demands, state, plan, strategy=question.strategy, plan_id=0)
    before, _ = evaluate(plan, fabric, demands, question.link_state)
    # An intent that no plan has yet loses nothing.
    hurt = (_lacking(after) - _lacking(plan)) & plan.asked.keys()
    return Foresight(before, after.certificate.mlu, tuple(sorted(hurt)))


def parted(
    fabric: Fabric, link_state: LinkState | None, drained: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of switches with hosts between which there is a way now, but would be none without
    these links, each once; whether or not somebody asks for it."""
    up = link_state.up if link_state is not None else np.ones(len(fabric.arcs), np.bool_)
    down = {arc.link for arc in fabric.arcs if not up[arc.index]}
    was, becomes = parts(fabric, down), parts(fabric, down | drained)
    edges = [switch for switch, nics in fabric.nics_on.items() if nics]
    for a, b in combinations(edges, 2):
        if was[a] == was[b] and becomes[a] != becomes[b]:
            yield a, b


def _lacking(plan: Plan) -> set[str]:
    short = {flow.intent for flow, pin in plan.pins.items() if pin.shortage != "NOTHING"}
    return short | set(plan.refused)
