"""Placing several requests of equal priority anew, together, so that one more fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from controller.optimizer import exact
from controller.optimizer.exact import Budget, Model
from controller.optimizer.ground import Ask, Ground
from controller.optimizer.ledger import Held
from controller.optimizer.problem import Floats

MOST_LITERALS = 60_000
STAY, LEAVE = 1, 16
"""Costs of an arc of the present path, and of another one."""


def place(
    ground: Ground,
    asks: Mapping[int, Ask],
    present: Mapping[int, Held],
    room: Floats,
    budget: Budget,
) -> tuple[dict[int, Held] | None, bool]:
    """Paths for all that is asked within ``room[A]``, what is ``present`` moved as little as may
    be; None if there are none. And whether that is proven."""
    if budget.left <= 0:
        return None, False
    usable = {i: exact.usable(ground, ask, room) for i, ask in asks.items()}
    if not all(usable.values()):
        return None, True
    if (
        sum(len(usable[i]) * (2 if ask.protection else 1) for i, ask in asks.items())
        > MOST_LITERALS
    ):
        return None, False
    model = Model(ground)
    load: dict[int, list[tuple[float, Any]]] = {}
    cost = []
    for i, ask in asks.items():
        paths = [model.path(ask, usable[i]) for _ in range(2 if ask.protection else 1)]
        model.passes(ask, paths[0])
        if ask.protection:
            model.apart(ask, paths, soft=False)
        if np.isfinite(ask.max_latency_s):
            for path in paths:
                model.within(path, model.ticks(ask.max_latency_s))
        held = present.get(i)
        for path, now in zip(
            paths, (held.primary, held.backup) if held else (None, None), strict=False
        ):
            for arc, literal in path.items():
                load.setdefault(arc, []).append((ask.rate_bps, literal))
                cost.append((STAY if now and arc in now else LEAVE) * literal)
                if now:
                    model.model.add_hint(literal, arc in now)
    unit = _unit([ask.rate_bps for ask in asks.values()], room[room >= 0])
    for arc, parts in load.items():
        most = int(np.floor(room[arc] / unit))
        if sum(int(rate / unit) for rate, _ in parts) > most:
            model.model.add(sum(int(rate / unit) * x for rate, x in parts) <= most)
    model.model.minimize(sum(cost))
    found, proven = model.solve(budget)
    if found is None:
        return None, proven
    ways = iter(found)
    return {
        i: Held(next(ways), next(ways) if ask.protection else None, ask.rate_bps)
        for i, ask in asks.items()
    }, True


def _unit(rates: list[float], room: Floats) -> float:
    """Bits per second where these are whole numbers that a solver can add; else a billionth of the
    widest."""
    widest = float(room.max(initial=1.0))
    if widest < 1 << 50 and all(rate == int(rate) for rate in rates):
        return 1.0
    return widest / 1e9
