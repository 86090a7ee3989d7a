"""Paths with reserved capacity for requests in the order of their priority.

What was granted and still can be stays where it is. A request that does not fit displaces lower
priorities, then has its equals moved, then takes less if it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from controller.optimizer import diagnosis
from controller.optimizer.diagnosis import Diagnosis
from controller.optimizer.exact import Budget
from controller.optimizer.ground import Ask, Ground, check_request
from controller.optimizer.ledger import Held, Ledger
from controller.optimizer.problem import Floats
from controller.optimizer.rearrange import protection, rearrange
from controller.optimizer.reservation import Grant, Protection, Request, Shortage, Terrain
from controller.optimizer.routes import Found, Routes

LEAST = 1e-6
"""Of an arc's capacity: rates below are not worth a reservation."""


def reserve(
    terrain: Terrain, requests: Sequence[Request], kept: Sequence[Grant | None]
) -> list[Grant]:
    """A grant for each request, given those that it is to keep if it can.

    Equal inputs give equal grants. Raises ValueError for arrays that make no sense.
    """
    ground = Ground(terrain)
    if len(kept) != len(requests):
        raise ValueError(f"{len(requests)} requests but {len(kept)} kept grants: give one for each")
    for index, request in enumerate(requests):
        check_request(ground, index, request)
    for index, grant in enumerate(kept):
        for path in (grant.primary, grant.backup) if grant is not None else ():
            if path and not 0 <= min(path) <= max(path) < len(ground.tail):
                raise ValueError(
                    f"kept grant {index} has arcs beyond {len(ground.tail)}: {sorted(path)}"
                )
    return _Reservations(ground, requests).run(kept)


class _Reservations:
    def __init__(self, ground: Ground, requests: Sequence[Request]) -> None:
        self.ground, self.requests = ground, requests
        self.asks = [ground.ask(request) for request in requests]
        self.ledger = Ledger(ground, [request.priority for request in requests])
        self.routes = Routes(ground, Budget(1.0, 10.0))
        self.joint = Budget(0.3, 1.0)
        self.why: dict[int, tuple[Diagnosis, tuple[int, ...]]] = {}
        self.impossible: dict[tuple[object, ...], Diagnosis | None] = {}
        # Room only shrinks while nothing is freed, so an equal request is refused too.
        self.freed = 0
        self.refused: dict[tuple[object, ...], tuple[int, Diagnosis]] = {}

    def run(self, kept: Sequence[Grant | None]) -> list[Grant]:
        order = sorted(range(len(self.asks)), key=lambda i: (-self.requests[i].priority, i))
        for i in order:
            grant = kept[i]
            if grant is not None and grant.primary is not None:
                self._hold(i, Held(grant.primary, grant.backup, grant.rate_bps))
        for i in order:
            if self.requests[i].priority != self.ledger.level:
                self.ledger.descend(self.requests[i].priority)
            if not self._is_whole(i):
                self._serve(i)
        return [self._grant(i) for i in range(len(self.asks))]

    def _hold(self, i: int, held: Held) -> None:
        """As much as can stay: both paths, or the one that is left."""
        ask, ground = self.asks[i], self.ground
        rate = min(held.rate_bps, ask.rate_bps)
        backup = held.backup if ask.protection else None
        first = ground.suits(ask, held.primary, True) and self.ledger.fits([held.primary], rate)
        second = bool(
            backup and ground.suits(ask, backup, False) and self.ledger.fits([backup], rate)
        )
        if first and not (second and ground.apart(held.primary, backup or ())):
            self.ledger.take(i, Held(held.primary, None, rate))
        elif first:
            self.ledger.take(i, Held(held.primary, backup, rate))
        elif second and backup and ground.suits(ask, backup, True):
            self.ledger.take(i, Held(backup, None, rate))

    def _serve(self, i: int) -> None:
        ask = self.asks[i]
        held = self.ledger.release(i)
        key = (self._kind(i), ask.rate_bps, self.requests[i].priority)
        freed, lacks = self.refused.get(key, (-1, None))
        if held is not None or freed != self.freed or lacks is None:
            if self._take(i, ask, held):
                return
            lacks = self._impossible(i)
            if lacks is None:
                if self._displace(i, ask):
                    return
                room = self._room(ask) + self.ledger.junior
                lacks = diagnosis.of_capacity(self.routes, ask, room)
                moved, proven = rearrange(
                    self.routes, self.ledger, self.asks, i, lacks.binding, self.joint
                )
                if moved is not None and self._move(moved):
                    return
                lacks = replace(lacks, proven=lacks.proven and proven and moved is None)
        self.refused[key] = self.freed, lacks
        could = [a for a in lacks.binding if self.ground.capacity[a] >= ask.rate_bps]
        rivals = self.ledger.rivals(could) if lacks.shortage == Shortage.NO_CAPACITY else set()
        level = self.requests[i].priority
        self.why[i] = (
            lacks,
            tuple(sorted(j for j in rivals if self.requests[j].priority >= level)),
        )
        self._take_less(i, held)

    def _take_less(self, i: int, held: Held | None) -> None:
        """Less protection, else less rate; no less than was held."""
        ask, degrade = self.asks[i], self.requests[i].degrade
        had = self._worth(i, held)
        for level in range(ask.protection - 1, -1, -1) if degrade or held else ():
            if (ask.rate_bps, level) <= had:
                break
            less = replace(ask, protection=Protection(level))
            if self._take(i, less, held) or self._displace(i, less):
                return
        if degrade and had[0] < ask.rate_bps:
            rate = self._widest(ask)
            for level in range(ask.protection, -1, -1):
                if (rate, level) <= had:
                    break
                less = replace(ask, rate_bps=rate, protection=Protection(level))
                if self._take(i, less, held) or self._displace(i, less):
                    return
        if held is not None:
            self.ledger.take(i, held)

    def _take(self, i: int, ask: Ask, held: Held | None) -> bool:
        """What is asked, with as little moved of what was held as can be."""
        ledger, room = self.ledger, self._room(ask)
        if held is not None and ledger.fits([held.primary], ask.rate_bps):
            if not ask.protection:
                return self._accept(i, ask, Found(held.primary))
            backup = held.backup
            apart = protection(self.ground, held) >= ask.protection
            if backup and apart and ledger.fits([backup], ask.rate_bps):
                return self._accept(i, ask, Found(held.primary, backup))
            if self._accept(i, ask, self.routes.beside(ask, held.primary, room, ledger.cost)):
                return True
        return self._accept(i, ask, self.routes.find(ask, room, ledger.cost))

    def _accept(self, i: int, ask: Ask, found: Found) -> bool:
        if found.primary is not None:
            self.ledger.take(i, Held(found.primary, found.backup, ask.rate_bps))
        return found.primary is not None

    def _displace(self, i: int, ask: Ask) -> bool:
        """Take what is asked from juniors, who then keep what they can until it is their turn."""
        if not ask.rate_bps or not (self.ledger.junior > 0).any():
            return False
        found = self.routes.find(ask, *self.ledger.displacing(ask.rate_bps))
        if not self._accept(i, ask, found):
            return False
        self._settle(i)
        return True

    def _settle(self, i: int) -> None:
        """Release juniors until the paths of this one fit."""
        ledger = self.ledger
        before: dict[int, Held] = {}
        for arc in ledger.held[i].arcs:
            for j in sorted(ledger.on[arc], key=lambda j: (self.requests[j].priority, -j)):
                if ledger.room[arc] >= 0 or self.requests[j].priority >= ledger.level:
                    break
                if ledger.held[j].rate_bps and (held := ledger.release(j)):
                    before[j] = held
        for j in sorted(before, key=lambda j: (-self.requests[j].priority, j)):
            self._hold(j, before[j])
        self.freed += bool(before)

    def _move(self, placed: dict[int, Held]) -> bool:
        """Hold these instead of what they held; nothing happens if they do not fit."""
        ledger = self.ledger
        before = {j: held for j in placed if (held := ledger.release(j)) is not None}
        for j, held in placed.items():
            ledger.take(j, held)
        arcs = list({arc for held in placed.values() for arc in held.arcs})
        if (ledger.room + ledger.junior)[arcs].min(initial=0.0) < 0:
            for j in placed:
                ledger.release(j)
            for j, held in before.items():
                ledger.take(j, held)
            return False
        for j in placed:
            self._settle(j)
        self.freed += 1
        return True

    def _widest(self, ask: Ask) -> float:
        """The most that a path has room for when juniors give way."""
        ground, ledger = self.ground, self.ledger
        room = ground.capacity - ledger.reserved + ledger.junior
        useful = ~ground.dead & ~ask.barred & (room > LEAST * ground.capacity)
        rates = np.unique(room[useful & (room < ask.rate_bps)])
        free = ledger.room + ledger.junior
        low, high = 0, len(rates)
        while low < high:
            middle = (low + high) // 2
            one = replace(ask, rate_bps=float(rates[middle]), protection=Protection.NONE)
            if self.routes.find(one, free, ledger.cost).primary is None:
                high = middle
            else:
                low = middle + 1
        return float(rates[low - 1]) if low else 0.0

    def _impossible(self, i: int) -> Diagnosis | None:
        kind = self._kind(i)
        if kind not in self.impossible:
            self.impossible[kind] = diagnosis.of_the_network(self.routes, self.asks[i])
        return self.impossible[kind]

    def _kind(self, i: int) -> tuple[object, ...]:
        r = self.requests[i]
        return r.source, r.members, r.protection, r.max_latency_s, r.via, r.avoid

    def _room(self, ask: Ask) -> Floats:
        return self.ledger.room if ask.rate_bps else self.ground.open

    def _level(self, i: int, held: Held) -> Protection:
        asked = self.asks[i].protection
        return min(asked, protection(self.ground, held)) if held.primary else asked

    def _worth(self, i: int, held: Held | None) -> tuple[float, int]:
        return (held.rate_bps, self._level(i, held)) if held is not None else (-1.0, 0)

    def _is_whole(self, i: int) -> bool:
        ask, held = self.asks[i], self.ledger.held.get(i)
        return self._worth(i, held) >= (ask.rate_bps, ask.protection)

    def _grant(self, i: int) -> Grant:
        held = self.ledger.held.get(i)
        grant = Grant(None)
        if held is not None:
            grant = Grant(held.primary, held.backup, held.rate_bps, self._level(i, held))
        if self._is_whole(i):
            return grant
        why, rivals = self.why[i]
        return replace(
            grant,
            shortage=why.shortage,
            binding=why.binding,
            rivals=rivals,
            best_latency_s=why.best_latency_s,
            proven=why.proven,
        )
