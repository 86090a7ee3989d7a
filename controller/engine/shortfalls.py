"""What intents do not get under a plan, remembered for as long as nothing that it follows from
changes: it is asked for after every event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller.engine.events import WantedIntent
from controller.engine.plans import unroutable
from controller.engine.shortages import Lack, lacks
from controller.fabric.model import Fabric
from controller.intents.demands import Demands, PinnedFlow
from controller.optimizer.plan import Plan

Intents = Mapping[str, WantedIntent]


class Shortfalls:
    """Arguments are compared by identity: they are immutable, or replaced when they change."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._unroutable: tuple[tuple[object, ...], Mapping[str, list[str]]] | None = None
        self._lacks: tuple[tuple[object, ...], Mapping[str, Lack]] | None = None

    def unroutable(self, plan: Plan, demands: Demands, intents: Intents) -> Mapping[str, list[str]]:
        """Of each intent that has any, the pairs that the plan has no path for."""
        of = plan.weights, demands, intents
        if self._unroutable is None or not _same(of, self._unroutable[0]):
            pairs: dict[str, list[str]] = {}
            for key in unroutable(plan, demands):
                for intent in self._intents_between(intents, key.ingress, key.egress):
                    pairs.setdefault(intent, []).append(f"{key.ingress} to {', '.join(key.egress)}")
            self._unroutable = of, pairs
        return self._unroutable[1]

    def lacks(self, plan: Plan, flows: tuple[PinnedFlow, ...]) -> Mapping[str, Lack]:
        """What flows with paths of their own were to have and have not, by intent."""
        of = plan.pins, plan.refused, flows
        if self._lacks is None or not _same(of, self._lacks[0]):
            self._lacks = of, lacks(plan, flows)
        return self._lacks[1]

    def _intents_between(
        self, intents: Intents, ingress: str, egress: tuple[str, ...]
    ) -> Iterable[str]:
        for name, intent in intents.items():
            sets = {self._fabric.nic_by_id[n].attachment_set for n in intent.endpoints}
            if egress in sets and any(ingress in s for s in sets):
                yield name


def _same(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))
