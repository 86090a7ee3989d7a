"""What would become of the traffic if some links carried nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import networkx
import numpy as np

from controller.engine.judging import evaluate
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import Bools, LinkState


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
    kept = _kept(fabric, question.links)
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
    these links; whether or not somebody asks for it."""
    up = np.ones(len(fabric.arcs), np.bool_) if link_state is None else link_state.up
    was, becomes = _islands(fabric, up), _islands(fabric, up & _kept(fabric, drained))
    edges = [switch for switch, nics in fabric.nics_on.items() if nics]
    for a, b in permutations(edges, 2):
        if was[a] == was[b] and becomes[a] != becomes[b]:
            yield a, b


def _kept(fabric: Fabric, drained: frozenset[str]) -> Bools:
    return np.array([arc.link not in drained for arc in fabric.arcs], np.bool_)


def _islands(fabric: Fabric, up: Bools) -> dict[str, int]:
    joined: networkx.Graph[str] = networkx.Graph()
    joined.add_nodes_from(fabric.switch_by_name)
    joined.add_edges_from((a.tail.switch, a.head.switch) for a in fabric.arcs if up[a.index])
    found = networkx.connected_components(joined)
    return {switch: number for number, island in enumerate(found) for switch in island}


def _lacking(plan: Plan) -> set[str]:
    short = {flow.intent for flow, pin in plan.pins.items() if pin.shortage != "NOTHING"}
    return short | set(plan.refused)
