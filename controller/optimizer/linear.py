"""Strategy ``exact``: shares that minimise the utilisation of the worst link, by OR-Tools alone.

The path formulation over the forest. In small problems further rounds then fix the links that bind
and minimise the worst of the others (max-min), and a last step spreads each demand as evenly over
its shortest paths as that allows (``hedging``).

Nothing the solver says is trusted: shares are repaired, and ``certificate`` evaluates them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.optimizer.certificate import Found, Solution, finish
from controller.optimizer.hedging import toward_plain
from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Demand, Floats, Network
from controller.optimizer.program import Rows, minimise
from controller.optimizer.scaled import Scaled

MAX_MIN_ROUNDS = 3
REFINED_PATHS = 2_000
LIMIT_S = {"GLOP": 5.0, "PDLP": 60.0}


def solve(network: Network, demand: Demand, paths: Paths, start: Floats | None = None) -> Solution:
    """Shares of least MLU over the paths, with a certificate; ``start`` does not matter.

    Demands without rate get shares in proportion to the bottleneck capacity of their shortest
    paths.
    """
    found = Exact(Scaled(network, demand, paths)).optimise()
    return finish(network, demand, paths, found.share, found, found.solver)


class Exact:
    """The linear programs of one scaled problem, by the first of the ``solvers`` that succeeds."""

    def __init__(self, scaled: Scaled, solvers: Sequence[str] = ("GLOP", "PDLP")) -> None:
        self.solvers = solvers
        self.scaled, self.network, self.paths = scaled, scaled.network, scaled.paths
        self.columns, self.arc_count = scaled.columns, scaled.arc_count
        self.coefficients = self._coefficients() if len(self.columns) else []

    def _coefficients(self) -> list[tuple[int, list[int], list[float]]]:
        """For each arc in use: the columns that cross it and what one unit of each adds to it."""
        hops = self.paths.hops
        used = np.zeros(len(self.paths), bool)
        used[self.columns] = True
        arc = self.paths.arcs[np.repeat(used, hops)]
        row = np.repeat(np.arange(len(self.columns)), hops[self.columns])
        value = self.scaled.rate[self.columns[row]] / (
            self.network.capacity_bps[arc] * self.scaled.unit
        )
        order = np.argsort(arc, kind="stable")
        arcs, first = np.unique(arc[order], return_index=True)
        edges = np.append(first, len(order))
        return [
            (int(a), row[order[i:j]].tolist(), value[order[i:j]].tolist())
            for a, i, j in zip(arcs, edges[:-1], edges[1:], strict=True)
        ]

    def optimise(self, refine: bool = True) -> Found:
        """The best shares found and the prices of the first program; ``refine``: and balance what
        does not bind."""
        none = np.zeros(self.arc_count)
        if not len(self.columns):
            return Found(self.scaled.plain, none, "none", 0.0)
        level: dict[int, float] = {}
        best, best_mlu = self.scaled.plain, self.scaled.unit
        first: Found | None = None
        seconds = 0.0
        worst = 1.0
        for _ in range(MAX_MIN_ROUNDS):
            found = self._minimise_worst(level)
            seconds += found.seconds
            if first is None:
                first = found
                if self.scaled.mlu(found.share) < best_mlu:
                    best, best_mlu = found.share, self.scaled.mlu(found.share)
            solved = found.solver == "GLOP"
            if not refine:
                return Found(best, first.price, first.solver, seconds)
            if not solved or len(self.columns) > REFINED_PATHS:
                best = toward_plain(self.scaled, best, best_mlu)
                return Found(best, first.price, first.solver, seconds)
            reached = utilisation(
                load(self.paths, found.share * self.scaled.rate, self.arc_count), self.network
            )
            worst = max(
                (reached[a] / self.scaled.unit for a, _, _ in self.coefficients if a not in level),
                default=0.0,
            )
            binding = {
                a: worst
                for a, _, _ in self.coefficients
                if a not in level and found.price[a] > 1e-9
            }
            level |= binding
            if not binding or worst < 1e-3:
                break
        final = self._spread(level, worst)
        if final is not None:
            seconds += final.seconds
            if self.scaled.mlu(final.share) <= best_mlu * (1 + 1e-5):
                best = final.share
        assert first is not None
        return Found(best, first.price, first.solver, seconds)

    def _base(self) -> Rows:
        rows = Rows([], [], [], [])
        demand = self.paths.demand[self.columns]
        edges = np.flatnonzero(np.diff(demand, prepend=-1, append=-1))
        for i, j in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            rows.add(list(range(i, j)), [1.0] * (j - i), 1.0, 1.0)
        return rows

    def _minimise_worst(self, level: dict[int, float]) -> Found:
        """Least worst utilisation of the arcs outside ``level``, which keep theirs."""
        count = len(self.columns)
        rows = self._base()
        head = len(rows.low)
        for arc, columns, values in self.coefficients:
            if arc in level:
                rows.add(columns, values, -np.inf, _slack(level[arc]))
            else:
                rows.add([*columns, count], [*values, -1.0], -np.inf, 0.0)
        cost = np.zeros(count + 1)
        cost[-1] = 1.0
        for solver in self.solvers:
            answer = minimise(solver, LIMIT_S[solver], cost, rows)
            if answer is not None:
                break
        else:
            return Found(self.scaled.plain, np.zeros(self.arc_count), "none", LIMIT_S[solver])
        x, dual, seconds = answer
        price = np.zeros(self.arc_count)
        for (arc, _, _), y in zip(self.coefficients, dual[head:], strict=True):
            price[arc] = max(0.0, -y) if arc not in level else 0.0
        self.scaled.price_left_out(price)
        return Found(self.scaled.share(x[:count]), price, solver, seconds)

    def _spread(self, level: dict[int, float], worst: float) -> Found | None:
        """Within the reached utilisations, the widest spread of each demand over shortest paths."""
        count = len(self.columns)
        demand = self.paths.demand[self.columns]
        _, owner = np.unique(demand, return_inverse=True)
        owner = owner.reshape(-1)
        rows = self._base()
        for arc, columns, values in self.coefficients:
            rows.add(columns, values, -np.inf, _slack(level.get(arc, worst)))
        plain = self.scaled.plain[self.columns]
        for i in np.flatnonzero(plain > 0).tolist():
            rows.add([i, count + int(owner[i])], [1 / plain[i], -1.0], -np.inf, 0.0)
        rate = self.scaled.rate[self.columns]
        weight = np.zeros(int(owner.max()) + 1)
        weight[owner] = np.sqrt(rate / rate.max())
        detour = 2 * weight[owner] * (plain <= 0)
        answer = minimise("GLOP", LIMIT_S["GLOP"], np.concatenate((detour, weight)), rows)
        if answer is None:
            return None
        x, _, seconds = answer
        return Found(self.scaled.share(x[:count]), np.zeros(self.arc_count), "GLOP", seconds)


def _slack(level: float) -> float:
    """Solvers keep constraints to some 1e-7; the next program needs that much room."""
    return level * (1 + 1e-7) + 1e-7
