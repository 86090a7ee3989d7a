"""Work that was done once is not done again: plans and tables are functions of their inputs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from operator import itemgetter
from typing import Generic, TypeVar

from controller.dataplane.compile import compile
from controller.dataplane.tables import Tables
from controller.engine.commands import PlanRequest
from controller.engine.events import PlanMade
from controller.engine.work import make
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan

T = TypeVar("T")
ENTRIES = 2000


class _Memory(Generic[T]):
    """Forgets what was not asked for the longest."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        if key in self._found:
            self._found.move_to_end(key)
            return self._found[key]
        found = self._found[key] = make()
        if len(self._found) > ENTRIES:
            self._found.popitem(last=False)
        return found


_made = _Memory[tuple[Fabric, PlanMade]]()
_compiled = _Memory[tuple[Fabric, Tables]]()
_contents = _Memory[tuple[object, str]]()


def remembered(request: PlanRequest) -> PlanMade:
    """What ``make`` answers; the versions and numbers of snapshots are in no decision of it."""
    state = request.link_state
    key = (
        id(request.fabric),
        request.kind,
        request.strategy,
        request.settled,
        _of_demands(request.demands),
        state.up.tobytes(),
        state.usable_bps.tobytes(),
        _of_plan(request.previous),
        request.compiled,
    )
    made = _made.get(key, lambda: (request.fabric, make(request)))[1]
    from_ = request.fabric.version, request.demands.version, state.version
    plan, running = made.plan, made.running
    previous = request.previous
    if plan.made_from != from_:
        plan = replace(plan, made_from=from_)
    if running is not None:
        running = replace(running, made_from=from_)
    if previous is not None and request.kind.value == "adopt":
        plan = previous
    return PlanMade(request.id, plan, made.means, made.worth, running)


def compiled(fabric: Fabric, plan: Plan, demands: Demands) -> Tables:
    """A compile of its own, none that a request was answered with."""
    key = id(fabric), _of_plan(plan), _of_demands(demands)
    return _compiled.get(key, lambda: (fabric, compile(fabric, plan, demands)))[1]


def _of_demands(demands: Demands) -> Hashable:
    return demands.reaches, demands.keys, demands.rate_bps, demands.flows


def _of_plan(plan: Plan | None) -> str:
    """What of a plan the next one, and tables, depend on."""
    if plan is None:
        return ""
    pinned = plan.pins, plan.asked, plan.refused
    parts = plan.egresses, plan.trees, plan.weights, plan.zones, plan.retired, *pinned
    key = tuple(map(id, parts)), plan.certificate.strategy

    def content() -> tuple[object, str]:
        words = (
            plan.egresses,
            [(t.egress, t.id, sorted(t.next_port.items())) for t in plan.trees],
            sorted((k, sorted(w.items())) for k, w in plan.weights.items()),
            sorted((sorted(z), n) for z, n in plan.zones.items()),
            [sorted(s) for s in (plan.retired.egresses, plan.retired.trees, plan.retired.zones)],
            sorted(plan.pins.items(), key=itemgetter(0)),
            sorted(plan.asked.items()),
            sorted(plan.refused),
            plan.certificate.strategy,
        )
        return parts, repr(words)

    return _contents.get(key, content)[1]
