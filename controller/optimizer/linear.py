"""Strategy ``exact``: shares that minimise the utilisation of the worst link, by OR-Tools alone.

The path formulation over the forest. In small problems further rounds then fix the links that bind
and minimise the worst of the others (max-min), and a last step spreads each demand as evenly over
its shortest paths as that allows (``hedging``).

Nothing the solver says is trusted: shares are repaired, and ``certificate`` evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from controller.optimizer import program
from controller.optimizer.certificate import Found, Solution, finish
from controller.optimizer.hedging import toward_plain
from controller.optimizer.paths import Paths, load, utilisation
from controller.optimizer.problem import Demand, Floats, Network
from controller.optimizer.program import Program
from controller.optimizer.scaled import Scaled

MAX_MIN_ROUNDS = 3
REFINED_PATHS = 2_000
PARAMETERS: Mapping[str, str] = {}
LIMIT_S: Mapping[str, float] = {"GLOP": 5.0, "PDLP": 60.0}


def solve(network: Network, demand: Demand, paths: Paths, start: Floats | None = None) -> Solution:
    """Shares of least MLU over the paths, with a certificate; ``start`` does not matter.

    Demands without rate get shares in proportion to the bottleneck capacity of their shortest
    paths.
    """
    found = Exact(Scaled(network, demand, paths)).optimise()
    return finish(network, demand, paths, found.share, found, found.solver)


class Exact:
    """The linear programs of one scaled problem, by the first of the ``solvers`` that succeeds.

    ``matrix`` has a row for each arc in use, ``arcs``, of what the shares of the columns add to its
    utilisation; ``sums`` one for each demand.
    """

    def __init__(
        self,
        scaled: Scaled,
        solvers: Sequence[str] = ("GLOP", "PDLP"),
        limit_s: Mapping[str, float] = LIMIT_S,
        parameters: Mapping[str, str] = PARAMETERS,
    ) -> None:
        self.scaled, self.solvers = scaled, solvers
        self.limit_s, self.parameters = limit_s, parameters
        self.count = count = len(scaled.columns)
        if not count:
            return
        used = np.zeros(len(scaled.paths), bool)
        used[scaled.columns] = True
        paths = scaled.paths.only(used)
        self.owner = np.repeat(np.arange(len(paths.bounds) - 1), np.diff(paths.bounds))
        self.sums = sparse.csr_matrix(
            (np.ones(count), np.arange(count), paths.bounds), shape=(self.owner[-1] + 1, count)
        )
        inverse = scaled.inverse() / scaled.unit
        value = np.repeat(scaled.rate[scaled.columns], paths.hops) * inverse[paths.arcs]
        by_column = sparse.csc_matrix(
            (value, paths.arcs, paths.first), shape=(scaled.arc_count, count)
        )
        self.arcs = np.unique(paths.arcs)
        self.matrix = by_column.tocsr()[self.arcs]

    def optimise(self, refine: bool = True) -> Found:
        """The best shares found and the prices of the first program; ``refine``: and balance what
        does not bind."""
        scaled = self.scaled
        if not self.count:
            return Found(scaled.plain, np.zeros(scaled.arc_count), "none", 0.0)
        level = np.full(len(self.arcs), np.nan)
        first = self._minimise_worst(level)
        mlu = scaled.mlu(first.share)
        best, best_mlu = (first.share, mlu) if mlu < scaled.unit else (scaled.plain, scaled.unit)
        if not refine:
            return Found(best, first.price, first.solver, first.seconds)
        if first.solver != "GLOP" or self.count > REFINED_PATHS:
            best = toward_plain(scaled, best, best_mlu)
            return Found(best, first.price, first.solver, first.seconds)
        found, seconds, rounds = first, first.seconds, 1
        while True:
            carried = load(scaled.paths, found.share * scaled.rate, scaled.arc_count)
            reached = utilisation(carried, scaled.network)[self.arcs] / scaled.unit
            free = np.isnan(level)
            worst = float(reached[free].max(initial=0.0))
            binding = free & (found.price[self.arcs] > 1e-9)
            level[binding] = worst
            if not binding.any() or worst < 1e-3 or rounds == MAX_MIN_ROUNDS:
                break
            found = self._minimise_worst(level)
            if found.solver != "GLOP":
                break
            seconds += found.seconds
            rounds += 1
        spread = self._spread(np.where(np.isnan(level), worst, level))
        if spread is not None:
            share, more = spread
            seconds += more
            if scaled.mlu(share) <= best_mlu * (1 + 1e-5):
                best = share
        return Found(best, first.price, first.solver, seconds)

    def _minimise_worst(self, level: Floats) -> Found:
        """Least worst utilisation of the arcs without a ``level[L]`` (NaN) that they keep."""
        free = np.isnan(level)
        worst = sparse.csr_matrix(-free[:, None].astype(np.float64))
        matrix = sparse.bmat([[self.sums, None], [self.matrix, worst]])
        demands = np.ones(self.sums.shape[0])
        limits = np.where(free, 0.0, _slack(level))
        linear = Program(
            np.append(np.zeros(self.count), 1.0),
            matrix,
            np.concatenate((demands, np.full(len(limits), -np.inf))),
            np.concatenate((demands, limits)),
        )
        for solver in self.solvers:
            answer = program.solve(
                solver, self.limit_s[solver], linear, self.parameters.get(solver, "")
            )
            if answer is not None:
                break
        else:
            none = np.zeros(self.scaled.arc_count)
            return Found(self.scaled.plain, none, "none", self.limit_s[solver])
        price = np.zeros(self.scaled.arc_count)
        price[self.arcs] = np.where(free, np.maximum(0.0, -answer.dual[len(demands) :]), 0.0)
        self.scaled.price_left_out(price)
        return Found(self.scaled.share(answer.x[:-1]), price, solver, answer.seconds)

    def _spread(self, level: Floats) -> tuple[Floats, float] | None:
        """Within these utilisations, the widest spread of each demand over its shortest paths, and
        the seconds that it took."""
        plain = self.scaled.plain[self.scaled.columns]
        short = np.flatnonzero(plain > 0)
        rows = np.arange(len(short))
        shape = (len(short), self.count)
        above = sparse.csr_matrix((1 / plain[short], (rows, short)), shape=shape)
        widest = sparse.csr_matrix(
            (-np.ones(len(short)), (rows, self.owner[short])),
            shape=(len(short), len(self.sums.indptr) - 1),
        )
        matrix = sparse.bmat([[self.sums, None], [self.matrix, None], [above, widest]])
        demands = np.ones(self.sums.shape[0])
        free = np.full(len(level) + len(short), -np.inf)
        rate = self.scaled.rate[self.scaled.columns]
        weight = np.zeros(len(demands))
        weight[self.owner] = np.sqrt(rate / rate.max())
        detour = 2 * weight[self.owner] * (plain <= 0)
        linear = Program(
            np.concatenate((detour, weight)),
            matrix,
            np.concatenate((demands, free)),
            np.concatenate((demands, _slack(level), np.zeros(len(short)))),
        )
        answer = program.solve("GLOP", LIMIT_S["GLOP"], linear)
        if answer is None:
            return None
        return self.scaled.share(answer.x[: self.count]), answer.seconds


def _slack(level: Floats) -> Floats:
    """Solvers keep constraints to some 1e-7; the next program needs that much room."""
    return level * (1 + 1e-7) + 1e-7
