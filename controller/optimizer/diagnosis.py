"""Why a request cannot have what it asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from controller.optimizer import exact, obstacles
from controller.optimizer.exact import Goal
from controller.optimizer.ground import Ask, Ground
from controller.optimizer.problem import Bools, Floats
from controller.optimizer.reservation import Protection, Shortage
from controller.optimizer.routes import Found, Routes


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """See ``reservation.Grant``."""

    shortage: Shortage
    binding: tuple[int, ...] = ()
    best_latency_s: float = 0.0
    proven: bool = True


def of_the_network(routes: Routes, ask: Ask) -> Diagnosis | None:
    """What is in the way however little were asked for and however little reserved; None: nothing.

    Conditions come one by one, and the first that cannot be met is what is lacking.
    """
    ground = routes.ground
    alone = replace(ask, rate_bps=0.0, protection=Protection.NONE, max_latency_s=np.inf)
    plain = replace(alone, barred=ground.none, passing=ground.nothing, wanted=0)
    found = _at_all(routes, plain)
    if found.primary is None:
        dead = obstacles.obstacles(ground, plain, ~ground.none, ground.dead)
        return _diagnosis(Shortage.UNREACHABLE, dead)
    found = _at_all(routes, alone)
    if found.primary is None:
        return _diagnosis(Shortage.CONSTRAINED, _constraints(routes, alone), found)
    quick = replace(alone, max_latency_s=ask.max_latency_s)
    found = _at_all(routes, quick)
    if found.primary is None:
        return _too_slow(routes, quick, found)
    if not ask.protection:
        return None
    both = replace(alone, protection=ask.protection)
    found = _at_all(routes, both)
    if found.primary is None:
        return _diagnosis(Shortage.NOT_DISJOINT, _in_common(routes, both), found)
    quick = replace(both, max_latency_s=ask.max_latency_s)
    found = _at_all(routes, quick)
    return _too_slow(routes, quick, found) if found.primary is None else None


def of_capacity(routes: Routes, ask: Ask, room: Floats) -> Diagnosis:
    """Which arcs lack room where the network itself has what is asked."""
    ground = routes.ground
    full = room < ask.rate_bps
    open_ = ~ground.dead & ~ask.barred
    binding = obstacles.obstacles(ground, ask, open_, full)
    if ask.wanted or np.isfinite(ask.max_latency_s) or ask.protection == Protection.SRLG:
        widened = np.where(ground.mask(binding), np.inf, room)
        if not binding or routes.find(ask, widened, ground.base).primary is None:
            *paths, _ = exact.decide(ground, ask, room, ground.base, routes.budget, Goal.ROOM)
            more = {arc for path in paths for arc in path or () if full[arc]}
            binding = more or binding
    return _diagnosis(Shortage.NO_CAPACITY, binding)


def _at_all(routes: Routes, ask: Ask) -> Found:
    return routes.find(ask, routes.ground.open, routes.ground.base)


def _diagnosis(shortage: Shortage, binding: Iterable[int], found: Found | None = None) -> Diagnosis:
    return Diagnosis(shortage, tuple(sorted(binding)), proven=found is None or found.proven)


def _constraints(routes: Routes, ask: Ask) -> set[int]:
    """Arcs that are avoided though they are needed; or those of the vias that cannot be passed."""
    ground = routes.ground
    free = replace(ask, barred=ground.none)
    if ask.barred.any() and _at_all(routes, free).primary is not None:
        room = np.where(ask.barred, 0.0, ground.open)
        return set(of_capacity(routes, replace(free, rate_bps=1.0), room).binding)
    vias = [ask.passing >> bit & 1 for bit in range(ask.wanted.bit_length())]
    unmet = [
        via for via in vias if _at_all(routes, replace(ask, passing=via, wanted=1)).primary is None
    ]
    return {int(arc) for via in unmet or vias for arc in np.flatnonzero(via)}


def _too_slow(routes: Routes, ask: Ask, found: Found) -> Diagnosis:
    """With the least latency that there is (of the slower path)."""
    ground = routes.ground
    free = replace(ask, max_latency_s=np.inf, least=ground.unguided)
    quickest = routes.find(free, ground.open, ground.delay)
    if ask.protection or ask.wanted:
        primary, backup, _ = exact.decide(
            ground, free, ground.open, ground.base, routes.budget, Goal.LATENCY
        )
        if primary is not None:
            quickest = Found(primary, backup)
    ways = [path for path in (quickest.primary, quickest.backup) if path is not None]
    best = max((ground.latency(path) for path in ways), default=0.0)
    return Diagnosis(Shortage.TOO_SLOW, (), best, found.proven)


def _in_common(routes: Routes, ask: Ask) -> set[int]:
    """Arcs that any two paths share; of the least entangled two if there is no such."""
    ground = routes.ground
    open_: Bools = ~ground.dead & ~ask.barred
    if cut := obstacles.bottleneck(ground, ask, open_):
        return cut
    one, other, _ = exact.decide(ground, ask, ground.open, ground.base, routes.budget, Goal.APART)
    if one is None or other is None:
        return set()
    return shared(ground, one, other, ask.protection)


def shared(
    ground: Ground, one: tuple[int, ...], other: tuple[int, ...], protection: Protection
) -> set[int]:
    """Arcs of two paths in links, nodes or risks of both."""
    out = set()
    nodes = ground.between(one) & ground.between(other)
    risks = ground.risks_of(one) & ground.risks_of(other)
    for path, beside in ((one, other), (other, one)):
        links = {int(ground.link[arc]) for arc in beside}
        for arc in path:
            link = int(ground.link[arc])
            common = link in links
            common |= protection >= Protection.NODE and int(ground.head[arc]) in nodes
            common |= protection >= Protection.SRLG and not risks.isdisjoint(ground.risks[link])
            if common:
                out.add(arc)
    return out
