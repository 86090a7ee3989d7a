"""Exact models of paths, for CP-SAT: what no fast way decides.

Each path is a circuit over nodes and arcs that is closed from the egress to the source, so that it
never meets itself and has no loop beside it. Limits are in the solver's deterministic time and it
has one worker, so equal inputs give equal answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from controller.optimizer.ground import TICK_S, Ask, Ground
from controller.optimizer.problem import Floats, Indices
from controller.optimizer.reservation import Protection

Paths = tuple[tuple[int, ...], ...]


class Goal(Enum):
    """What is to be least, and so is no condition."""

    COST = "cost"
    LATENCY = "latency"  # of the slower path
    ROOM = "room"  # arcs without room
    APART = "apart"  # links, nodes and risks that both paths share


class Budget:
    """Deterministic time: what one model may take, and all together; and trials of other kinds."""

    def __init__(self, one: float, total: float, trials: int = 100) -> None:
        self.one, self.left, self.trials = one, total, trials

    def trial(self) -> bool:
        """Whether there may be one more."""
        self.trials -= 1
        return self.trials >= 0


class Model:
    """Paths of requests on a ground."""

    def __init__(self, ground: Ground) -> None:
        # With it comes pandas, and most runs never need it.
        from ortools.sat.python import cp_model

        self.sat: Any = cp_model
        self.ground = ground
        self.model: Any = cp_model.CpModel()
        self.paths: list[tuple[Ask, dict[int, Any]]] = []

    def path(self, ask: Ask, usable: Sequence[int]) -> dict[int, Any]:
        """Literals of the arcs of a path for the request, over the usable ones."""
        ground, sink = self.ground, self.ground.nodes
        literals = {arc: self.model.new_bool_var("") for arc in usable}
        edges = [(sink, ask.source, True)]
        met = {ask.source, sink}
        for arc, literal in literals.items():
            a, b = int(ground.tail[arc]), int(ground.head[arc])
            b = sink if ask.inside[b] else b
            met |= {a, b}
            edges.append((a, b, literal))
        edges += [(n, n, self.model.new_bool_var("")) for n in sorted(met - {ask.source, sink})]
        self.model.add_circuit(edges)
        self.paths.append((ask, literals))
        return literals

    def passes(self, ask: Ask, path: dict[int, Any]) -> None:
        for bit in range(ask.wanted.bit_length()):
            self.model.add_bool_or([x for a, x in path.items() if int(ask.passing[a]) >> bit & 1])

    def within(self, path: dict[int, Any], most: Any) -> None:
        """The path's latency in ticks is at most this."""
        ticks = np.rint(self.ground.latency_s / TICK_S).astype(np.int64)
        self.model.add(sum(int(ticks[a]) * x for a, x in path.items()) <= most)

    @staticmethod
    def ticks(bound_s: float) -> int:
        """A latency bound for ``within``."""
        return int(np.floor(bound_s * (1 + 1e-9) / TICK_S + 0.5))

    def apart(self, ask: Ask, paths: Sequence[dict[int, Any]], soft: bool) -> list[Any]:
        """As disjoint as asked; the literals of what is shared all the same if ``soft``."""
        ground = self.ground
        groups: dict[tuple[str, int], tuple[list[Any], list[Any]]] = {}
        for side, path in enumerate(paths):
            for arc, literal in path.items():
                link, head = int(ground.link[arc]), int(ground.head[arc])
                keys = [("link", link)]
                if ask.protection >= Protection.NODE and not ask.inside[head]:
                    keys.append(("node", head))
                if ask.protection >= Protection.SRLG:
                    keys += [("risk", risk) for risk in sorted(ground.risks[link])]
                for key in keys:
                    groups.setdefault(key, ([], []))[side].append(literal)
        shared = []
        for ours, theirs in groups.values():
            if not ours or not theirs:
                continue
            mine = self.model.new_bool_var("")
            for literal in ours:
                self.model.add_implication(literal, mine)
            if soft:
                both = self.model.new_bool_var("")
                for literal in theirs:
                    self.model.add_bool_or([~literal, ~mine, both])
                shared.append(both)
            else:
                for literal in theirs:
                    self.model.add_implication(literal, ~mine)
        return shared

    def solve(self, budget: Budget) -> tuple[Paths | None, bool]:
        """Arcs of each path in order, or None; and whether that is proven."""
        if budget.left <= 0:
            return None, False
        solver = self.sat.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = min(budget.one, budget.left)
        status = solver.solve(self.model)
        budget.left -= solver.response_proto.deterministic_time
        if status not in (self.sat.OPTIMAL, self.sat.FEASIBLE):
            return None, status == self.sat.INFEASIBLE
        found = []
        for ask, literals in self.paths:
            after = {
                int(self.ground.tail[a]): a for a, x in literals.items() if solver.boolean_value(x)
            }
            at, path = ask.source, []
            while not ask.inside[at]:
                path.append(after[at])
                at = int(self.ground.head[after[at]])
            found.append(tuple(path))
        return tuple(found), status == self.sat.OPTIMAL


def usable(ground: Ground, ask: Ask, room: Floats) -> list[int]:
    """Arcs with room that are on some way from source to egress."""
    fits = (room >= ask.rate_bps) & ~ask.barred & ~ask.inside[ground.tail]
    fits &= ground.head != ask.source
    from_source = np.zeros(ground.nodes, np.bool_)
    from_source[ask.source] = True
    to_egress = ask.inside.copy()
    for reached, here, there in (
        (from_source, ground.tail, ground.head),
        (to_egress, ground.head, ground.tail),
    ):
        count = 0
        while count != (count := int(reached.sum())):
            reached[there[fits & reached[here]]] = True
    return [
        int(a) for a in np.flatnonzero(fits & from_source[ground.tail] & to_egress[ground.head])
    ]


def decide(
    ground: Ground,
    ask: Ask,
    room: Floats,
    cost: Indices,
    budget: Budget,
    goal: Goal = Goal.COST,
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None, bool]:
    """Primary and backup (None without protection) as asked but for the goal, and whether that, or
    that there is none, is proven."""
    if budget.left <= 0:
        return None, None, False
    arcs = usable(ground, ask, ground.open if goal == Goal.ROOM else room)
    if not arcs:
        return None, None, True
    model = Model(ground)
    paths = [model.path(ask, arcs) for _ in range(2 if ask.protection else 1)]
    model.passes(ask, paths[0])
    shared = model.apart(ask, paths, goal == Goal.APART) if ask.protection else []
    terms: Any
    if goal == Goal.LATENCY:
        terms = model.model.new_int_var(0, 1 << 50, "")
        for path in paths:
            model.within(path, terms)
    elif np.isfinite(ask.max_latency_s):
        for path in paths:
            model.within(path, model.ticks(ask.max_latency_s))
    if goal == Goal.APART:
        terms = sum(shared)
    elif goal == Goal.ROOM:
        full = [[x for a, x in path.items() if room[a] < ask.rate_bps] for path in paths]
        terms = sum(sum(x) for x in full)
    elif goal == Goal.COST:
        terms = sum(int(cost[a]) * x for path in paths for a, x in path.items())
    model.model.minimize(terms)
    found, proven = model.solve(budget)
    if found is None:
        return None, None, proven
    return found[0], found[1] if ask.protection else None, True
