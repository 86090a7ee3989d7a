"""When to look for traffic that several failures leave without a repair, and what to say."""

from __future__ import annotations

import numpy as np

from controller.dataplane.black_holes import Pair
from controller.engine.commands import Command, FindBlackHoles, Log
from controller.engine.events import BlackHolesFound
from controller.fabric.model import Fabric
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import Bools

_NAMED = 5


class BlackHoleBook:
    """Looked for whenever links or the plan that switches hold change, while more than one link is
    down; one link alone always has a repair. One search at a time, the next is of what is then."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._pairs: tuple[Pair, ...] = ()
        self._asked: tuple[int, Bools] | None = None
        self._searching = False

    def edited(self, fabric: Fabric) -> None:
        """Looked for anew on this fabric."""
        self._fabric, self._asked = fabric, None

    def due(self, held: Plan | None, live: Bools) -> list[Command]:
        """``held`` is the plan that switches have, ``live`` the arcs that they would use."""
        if self._searching or held is None:
            return []
        links_down = np.count_nonzero(~live) // 2
        if links_down < 2 and not self._pairs:
            return []
        if self._asked is not None:
            plan_id, known = self._asked
            if plan_id == held.id and np.array_equal(known, live):
                return []
        self._asked = held.id, live
        self._searching = True
        return [FindBlackHoles(self._fabric, held, live)]

    def found(self, event: BlackHolesFound) -> list[Command]:
        self._searching = False
        if event.error:
            return []
        before, self._pairs = self._pairs, event.pairs
        if event.pairs and event.pairs != before:
            return [Log("warning", self._said(event.pairs))]
        if before and not event.pairs:
            return [Log("info", f"plan {event.plan_id} has a way for all packets again")]
        return []

    def problems(self) -> list[str]:
        return [self._said(self._pairs)] if self._pairs else []

    @staticmethod
    def _said(pairs: tuple[Pair, ...]) -> str:
        named = ", ".join(f"{a} to {'/'.join(b)}" for a, b in pairs[:_NAMED])
        more = f" and {len(pairs) - _NAMED} more pairs" if len(pairs) > _NAMED else ""
        return (
            f"several failures at once: packets from {named}{more} are lost, all or some, until "
            "the next plan is installed"
        )
