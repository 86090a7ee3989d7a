"""What point-to-point intents hold of each link, and what they leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from heapq import heappop, heappush
from math import inf

from controller.engine.pinned import Ways
from controller.fabric.model import Arc, AttachmentSet, Fabric
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import Bools


class Holdings:
    """``on(arc)`` has the rate that each intent has reserved on it, for primaries and backups.

    Links that are not ``up`` (by arc; None: not known) have nothing left.
    """

    def __init__(self, plan: Plan, fabric: Fabric, up: Bools | None = None) -> None:
        self._fabric = fabric
        self._up = up
        self.widest_bps = lru_cache(maxsize=None)(self._widest_bps)
        self.ways = Ways(plan, fabric)
        self._on: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for flow, pin in plan.pins.items():
            primary = self.ways.of(flow.ingress, pin.egress, pin.primary) or ()
            backup = self.ways.of(flow.ingress, pin.egress, pin.backup) or ()
            for arc in {*primary, *backup} if pin.rate_bps else ():
                self._on[arc][flow.intent] += pin.rate_bps

    def on(self, arc: int) -> Mapping[str, float]:
        return self._on.get(arc, {})

    def total_bps(self, arc: int) -> float:
        return sum(self.on(arc).values())

    def left_bps(self, arc: Arc) -> float:
        if self._up is not None and not self._up[arc.index]:
            return 0.0
        return max(0.0, arc.capacity_bps - self.total_bps(arc.index))

    def _widest_bps(self, ingress: str, egress: AttachmentSet, avoid: tuple[str, ...]) -> float:
        """The most that one more flow could have that avoids these names.

        Dijkstra's algorithm, with the narrowest arc in place of the sum.
        """
        avoided = frozenset(avoid)
        risks = {link.name: link.srlgs for link in self._fabric.links}
        width = {ingress: inf}
        heap = [(-inf, ingress)]
        while heap:
            negative, at = heappop(heap)
            if at in egress:
                return -negative
            for arc in self._fabric.arcs_from[at]:
                far = arc.head.switch
                found = min(-negative, self.left_bps(arc))
                if found > width.get(far, 0.0) and avoided.isdisjoint(
                    (far, arc.link, *risks[arc.link])
                ):
                    width[far] = found
                    heappush(heap, (-found, far))
        return 0.0
