"""Making room for a request by moving others of its priority, none of which loses anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from controller.optimizer import joint
from controller.optimizer.exact import Budget
from controller.optimizer.ground import Ask, Ground
from controller.optimizer.ledger import Held, Ledger
from controller.optimizer.problem import Floats
from controller.optimizer.reservation import Protection
from controller.optimizer.routes import Routes

NEIGHBOURS = 10
"""So many of those who are in the way are placed anew together; or all, if they are no more than
``COMPANY``."""
COMPANY = 24
TRIALS = 32


def protection(ground: Ground, held: Held) -> Protection:
    """What the paths give."""
    return ground.apart(held.primary, held.backup) if held.backup else Protection.NONE


def rearrange(
    routes: Routes,
    ledger: Ledger,
    asks: Sequence[Ask],
    index: int,
    binding: Sequence[int],
    budget: Budget,
) -> tuple[dict[int, Held] | None, bool]:
    """Paths for a request that nothing is held for, and for those that have to move, where juniors
    give way; None if there are none. And whether that is proven.

    ``binding`` are the arcs that lack room.
    """
    ground, ask = routes.ground, asks[index]
    room = ledger.room + ledger.junior
    emptied = room + ledger.peer
    found = routes.find(ask, emptied, ledger.cost)
    if found.primary is None:
        return None, found.proven
    if _overbooked(ground, ledger, asks, ask, emptied):
        return None, True
    wanted = found.primary + (found.backup or ())
    near = _peers(ledger, ledger.rivals({*binding, *(a for a in wanted if room[a] < ask.rate_bps)}))
    for j in near[:TRIALS] if budget.trial() else []:
        if moved := _swap(routes, ledger, asks, index, j, room):
            return moved, True
    company = _peers(ledger, set(ledger.held))
    groups = [near[:NEIGHBOURS]]
    if len(company) <= COMPANY and company != groups[0]:
        groups.append(company)
    proven = False
    for group in groups:
        present = {j: ledger.held[j] for j in group}
        free = room.copy()
        for held in present.values():
            free[list(held.arcs)] += held.rate_bps
        now = {j: _as_held(ground, asks[j], held) for j, held in present.items()}
        placed, proven = joint.place(ground, {index: ask, **now}, present, free, budget)
        if placed is not None:
            return placed, True
    return None, proven and len(groups[-1]) == len(company)


def _peers(ledger: Ledger, among: set[int]) -> list[int]:
    """Those of the priority in turn that hold something, the latest first."""
    return sorted(
        (j for j in among if ledger.priorities[j] == ledger.level and ledger.held[j].rate_bps > 0),
        reverse=True,
    )


def _as_held(ground: Ground, ask: Ask, held: Held) -> Ask:
    """What one who has to move must be given again."""
    level = min(ask.protection, protection(ground, held))
    return replace(ask, rate_bps=held.rate_bps, protection=level)


def _swap(
    routes: Routes, ledger: Ledger, asks: Sequence[Ask], index: int, other: int, room: Floats
) -> dict[int, Held] | None:
    """Both, when one goes elsewhere."""
    held, ask = ledger.held[other], asks[index]
    free = room.copy()
    free[list(held.arcs)] += held.rate_bps
    first = routes.fast(ask, free, ledger.cost)
    if first is None or first.primary is None:
        return None
    ours = Held(first.primary, first.backup, ask.rate_bps)
    free[list(ours.arcs)] -= ask.rate_bps
    then = routes.fast(_as_held(routes.ground, asks[other], held), free, ledger.cost)
    if then is None or then.primary is None:
        return None
    return {index: ours, other: Held(then.primary, then.backup, held.rate_bps)}


def _overbooked(
    ground: Ground, ledger: Ledger, asks: Sequence[Ask], ask: Ask, emptied: Floats
) -> bool:
    """Whether all those from the same source, or to the same egress, need more than its links."""
    leaving = (ground.tail == ask.source) & ~ground.dead
    arriving = ask.inside[ground.head] & ~ask.inside[ground.tail] & ~ground.dead
    for cut, forced in (
        (leaving, lambda other: other.source == ask.source),
        (arriving, lambda other: other.inside is ask.inside),
    ):
        arcs = np.flatnonzero(cut)
        need = ask.rate_bps * (2 if ask.protection else 1)
        for j in _peers(ledger, ledger.rivals(arcs.tolist())):
            if forced(asks[j]):
                held = ledger.held[j]
                need += held.rate_bps * (2 if held.backup else 1)
        if need > emptied[arcs].sum() * (1 + 1e-9):
            return True
    return False
