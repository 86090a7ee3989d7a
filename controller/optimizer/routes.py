"""One path for a request, or two that are disjoint: the fast way where its answer is right, else an
exact model.

Two paths are always sought together: a search for the second one beside a given first would call
feasible requests infeasible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from controller.optimizer import exact
from controller.optimizer.exact import Budget
from controller.optimizer.ground import Ask, Ground
from controller.optimizer.kernels import pairs
from controller.optimizer.problem import Floats, Indices, Ints
from controller.optimizer.reservation import Protection

DRAWN = 4
"""Rounds of pushing two paths away from the risks that they share, before the exact model."""
MOST_VIAS = 5
"""The search has a state for each set of them."""


class Found(NamedTuple):
    """``primary`` None: there is none, and that is ``proven`` or a limit was hit."""

    primary: tuple[int, ...] | None
    backup: tuple[int, ...] | None = None
    proven: bool = True


NONE = Found(None)


class Routes:
    """Searches on one ground, over arcs with ``room[A]`` of at least the rate, at ``cost[A]``."""

    def __init__(self, ground: Ground, budget: Budget) -> None:
        self.ground, self.budget = ground, budget

    def find(self, ask: Ask, room: Floats, cost: Indices) -> Found:
        """What is asked, of least cost (of least latency where that of least cost is too slow; any
        where the exact model has to decide)."""
        found = self.fast(ask, room, cost)
        if found is not None:
            return found
        return Found(*exact.decide(self.ground, ask, room, cost, self.budget))

    def fast(self, ask: Ask, room: Floats, cost: Indices) -> Found | None:
        """The same; None where it is for the exact model to decide."""
        if ask.inside[ask.source]:
            return Found(())
        return self._pair(ask, room, cost) if ask.protection else self._single(ask, room, cost)

    def beside(self, ask: Ask, fixed: tuple[int, ...], room: Floats, cost: Indices) -> Found:
        """A backup for a primary that stays where it is."""
        ground = self.ground
        barred = ask.barred.copy()
        barred |= np.isin(ground.link, ground.link[list(fixed)])
        if ask.protection >= Protection.NODE:
            barred |= np.isin(ground.head, list(ground.between(fixed)))
        if ask.protection >= Protection.SRLG:
            risks = ground.risks_of(fixed)
            clash = np.array([not risks.isdisjoint(r) for r in ground.risks], np.bool_)
            barred |= clash[ground.link]
        alone = replace(
            ask, protection=Protection.NONE, passing=ground.nothing, wanted=0, barred=barred
        )
        found = self.find(alone, room, cost)
        return Found(fixed, found.primary, found.proven) if found.primary is not None else found

    def _single(self, ask: Ask, room: Floats, cost: Indices) -> Found | None:
        ground = self.ground
        if ask.wanted >= 1 << MOST_VIAS:
            return None
        for by, least in ((cost, ask.least), (ground.delay, ground.unguided)):
            walk, _, total = self._walk(ask, room, by, least, ask.wanted)
            if total < 0:
                return NONE
            path = tuple(walk.tolist())
            if ground.suits(ask, path, primary=True):
                return Found(path)
        # The quickest walk is a bound even if it meets itself.
        return None if ground.in_time(ask, path) else NONE

    def _pair(self, ask: Ask, room: Floats, cost: Indices) -> Found | None:
        ground = self.ground
        two = self._disjoint(ask, room, cost, ask.least)
        if two is None:
            return NONE
        if found := self._arranged(ask, *two):
            return found
        if np.isfinite(ask.max_latency_s):
            two = self._disjoint(ask, room, ground.delay, ground.unguided)
            assert two is not None, "there were two at another cost"
            if found := self._arranged(ask, *two):
                return found
            if ground.latency(two[0] + two[1]) > 2 * ask.max_latency_s * (1 + 1e-9):
                return NONE
        if ask.wanted or ask.protection == Protection.SRLG:
            return self._drawn(ask, room, cost)
        return None

    def _drawn(self, ask: Ask, room: Floats, cost: Indices) -> Found | None:
        """Pairs of least cost when what must be passed costs next to nothing, and more the risks
        that were shared."""
        ground = self.ground
        cost = np.where(ask.passing > 0, 1, cost)
        for _ in range(DRAWN):
            two = self._disjoint(ask, room, cost, ground.unguided)
            assert two is not None, "there were two at another cost"
            if found := self._arranged(ask, *two):
                return found
            if ask.protection < Protection.SRLG:
                break
            shared = ground.risks_of(two[0]) & ground.risks_of(two[1])
            for arc in two[1]:
                if not shared.isdisjoint(ground.risks[ground.link[arc]]):
                    cost[arc] += 4 * ground.unit
        return None

    def _arranged(self, ask: Ask, one: tuple[int, ...], other: tuple[int, ...]) -> Found | None:
        """The two as primary and backup, the quicker one first if it may be, if they are right."""
        ground = self.ground
        if ground.apart(one, other) < ask.protection:
            return None
        for primary, backup in ((one, other), (other, one)):
            if ground.suits(ask, primary, True) and ground.suits(ask, backup, False):
                return Found(primary, backup)
        return None

    def _walk(
        self, ask: Ask, room: Floats, cost: Indices, least: Indices, wanted: int
    ) -> tuple[Ints, Indices, int]:
        ground = self.ground
        walk: tuple[Ints, Indices, int] = pairs.cheapest(
            ask.source,
            ask.inside,
            cost,
            least,
            room,
            ask.rate_bps,
            ask.barred,
            ask.passing if wanted else ground.nothing,
            wanted,
            ground.first,
            ground.arcs,
            ground.head,
        )
        return walk

    def _disjoint(
        self, ask: Ask, room: Floats, cost: Indices, least: Indices
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Two of least sum, without shared links, and without shared nodes if asked."""
        ground = self.ground
        walk, best, total = self._walk(ask, room, cost, least, 0)
        if total < 0:
            return None
        one, other = pairs.second(
            ask.source,
            ask.inside,
            cost,
            least,
            room,
            ask.rate_bps,
            ask.barred,
            ground.first,
            ground.arcs,
            ground.tail,
            ground.head,
            walk,
            best,
            total,
            ask.protection >= Protection.NODE,
        )
        if not len(one):
            return None
        if cost[other].sum() < cost[one].sum():
            one, other = other, one
        return tuple(one.tolist()), tuple(other.tolist())
