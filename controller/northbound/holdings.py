"""What point-to-point intents hold of each link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from controller.engine.pinned import Ways
from controller.fabric.model import Fabric
from controller.optimizer.plan import Plan


class Holdings:
    """``on(arc)`` has the rate that each intent has reserved on it, for primaries and backups."""

    def __init__(self, plan: Plan, fabric: Fabric) -> None:
        self.ways = Ways(plan, fabric)
        self._on: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for flow, pin in plan.pins.items():
            primary = self.ways.of(flow.ingress, pin.egress, pin.primary) or ()
            backup = self.ways.of(flow.ingress, pin.egress, pin.backup) or ()
            for arc in {*primary, *backup}:
                self._on[arc][flow.intent] += pin.rate_bps

    def on(self, arc: int) -> Mapping[str, float]:
        return self._on.get(arc, {})

    def total_bps(self, arc: int) -> float:
        return sum(self.on(arc).values())
