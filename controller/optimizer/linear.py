"""Strategy ``lp``: shares that minimise the utilisation of the worst link, by linear programming.

The path formulation over the forest, solved by OR-Tools. In small problems further rounds then
fix the links that bind and minimise the worst of the others (max-min). A last step spreads each
demand as evenly over its shortest paths as that allows, which hedges against demands that were
measured wrong (the idea of variable hedging in Poutievski et al., "Jupiter evolving", SIGCOMM
2022).

Nothing the solver says is trusted: shares are repaired here, and ``certificate`` evaluates them.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.certificate import Found, finish
from controller.optimizer.paths import Paths, load, spread, trace, utilisation
from controller.optimizer.problem import Demand, Floats, Forest, Network, Solution
from controller.optimizer.program import Rows, minimise

MAX_MIN_ROUNDS = 3
REFINED_PATHS = 2_000
SPREAD_STEPS = 100
GLOP_LIMIT_S = 5.0
PDLP_LIMIT_S = 60.0


def solve(network: Network, forest: Forest, demand: Demand) -> Solution:
    """Shares of least MLU over the forest, with a certificate.

    Demands without rate get shares in proportion to the bottleneck capacity of their shortest
    paths.
    """
    paths = trace(network, forest, demand)
    problem = _Problem(network, demand, paths)
    found = problem.optimise()
    return finish(network, forest, demand, paths, found.share, found, "lp")


def optimum(network: Network, demand: Demand, paths: Paths) -> Found:
    """Shares and prices of the MLU problem alone, without balancing what does not bind."""
    return _Problem(network, demand, paths).optimise(refine=False)


class _Problem:
    """The linear programs of one network, forest and demand.

    Utilisations are in units of the MLU of the plain spread, so that numbers stay near 1 from
    bits to terabits. Demands too small to matter at that scale keep their plain spread, and paths
    that could carry less than a millionth of their demand carry nothing.
    """

    def __init__(self, network: Network, demand: Demand, paths: Paths) -> None:
        self.network, self.paths = network, paths
        self.rate = demand.rate_bps[paths.demand]
        self.plain = spread(paths, by_capacity=True)
        self.unit = self._mlu(self.plain)
        self.arc_count = len(network.tail)
        if not self.unit > 0:
            return
        weight = self.rate / (paths.bottleneck_bps * self.unit)
        starts = paths.starts
        sizes = np.diff(np.append(starts, len(paths)))
        heaviest = np.repeat(np.maximum.reduceat(weight, starts), sizes)
        self.matters = (heaviest > 1e-7 / len(starts)) & (paths.hops > 0)
        usable = self.matters & ((weight < 1e6) | (self.plain > 1e-6))
        self.columns = np.flatnonzero(usable)
        self.left_out = np.flatnonzero(self.matters & ~usable)
        self.position = np.full(len(paths), -1, np.int64)
        self.position[self.columns] = np.arange(len(self.columns))
        self.coefficients = self._coefficients()

    def _mlu(self, share: Floats) -> float:
        carried = load(self.paths, share * self.rate, len(self.network.tail))
        return float(utilisation(carried, self.network).max(initial=0.0))

    def _coefficients(self) -> list[tuple[int, list[int], list[float]]]:
        """For each arc in use: the columns that cross it and what one unit of each adds to it."""
        arcs = self.paths.arcs[self.columns]
        row, place = np.nonzero(arcs < self.arc_count)
        arc = arcs[row, place]
        value = self.rate[self.columns[row]] / (self.network.capacity_bps[arc] * self.unit)
        order = np.argsort(arc, kind="stable")
        used, first = np.unique(arc[order], return_index=True)
        edges = np.append(first, len(order))
        return [
            (int(a), row[order[i:j]].tolist(), value[order[i:j]].tolist())
            for a, i, j in zip(used, edges[:-1], edges[1:], strict=True)
        ]

    def optimise(self, refine: bool = True) -> Found:
        none = np.zeros(self.arc_count)
        if not self.unit > 0 or not len(self.columns):
            return Found(self.plain, none, "none", 0.0)
        level: dict[int, float] = {}
        best, best_mlu = self.plain, self.unit
        first: Found | None = None
        seconds = 0.0
        worst = 1.0
        for _ in range(MAX_MIN_ROUNDS):
            found = self._minimise_worst(level)
            seconds += found.seconds
            if first is None:
                first = found
                if self._mlu(found.share) < best_mlu:
                    best, best_mlu = found.share, self._mlu(found.share)
            solved = found.solver == "GLOP"
            if not refine:
                return Found(best, first.price, first.solver, seconds)
            if not solved or len(self.columns) > REFINED_PATHS:
                best = self._toward_plain(best, best_mlu)
                return Found(best, first.price, first.solver, seconds)
            reached = utilisation(
                load(self.paths, found.share * self.rate, self.arc_count), self.network
            )
            worst = max(
                (reached[a] / self.unit for a, _, _ in self.coefficients if a not in level),
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
            if self._mlu(final.share) <= best_mlu * (1 + 1e-5):
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
        for solver, limit_s in (("GLOP", GLOP_LIMIT_S), ("PDLP", PDLP_LIMIT_S)):
            answer = minimise(solver, limit_s, cost, rows)
            if answer is not None:
                break
        else:
            return Found(self.plain, np.zeros(self.arc_count), "none", limit_s)
        x, dual, seconds = answer
        price = np.zeros(self.arc_count)
        for (arc, _, _), y in zip(self.coefficients, dual[head:], strict=True):
            price[arc] = max(0.0, -y) if arc not in level else 0.0
        self._price_left_out(price)
        return Found(self._repaired(x[:count]), price, solver, seconds)

    def _price_left_out(self, price: Floats) -> None:
        """Make the thin paths that the program leaves out no cheaper than those it has.

        Their arcs are so thin that this costs the bound a millionth; without a price they would
        make it 0.
        """
        if not len(self.left_out):
            return
        cost = np.divide(
            price,
            self.network.capacity_bps,
            out=np.zeros(self.arc_count),
            where=self.network.capacity_bps > 0,
        )
        length = np.append(cost, 0.0)[self.paths.arcs].sum(1)
        cheapest = np.full(int(self.paths.demand.max()) + 1, np.inf)
        np.minimum.at(cheapest, self.paths.demand[self.columns], length[self.columns])
        capacity = np.append(self.network.capacity_bps, np.inf)
        thin = np.take_along_axis(self.paths.arcs, capacity[self.paths.arcs].argmin(1)[:, None], 1)[
            :, 0
        ]
        out = self.left_out
        np.maximum.at(price, thin[out], cheapest[self.paths.demand[out]] * capacity[thin[out]])

    def _spread(self, level: dict[int, float], worst: float) -> Found | None:
        """Within the reached utilisations, the widest spread of each demand over shortest paths."""
        count = len(self.columns)
        demand = self.paths.demand[self.columns]
        _, owner = np.unique(demand, return_inverse=True)
        owner = owner.reshape(-1)
        rows = self._base()
        for arc, columns, values in self.coefficients:
            rows.add(columns, values, -np.inf, _slack(level.get(arc, worst)))
        plain = self.plain[self.columns]
        for i in np.flatnonzero(plain > 0).tolist():
            rows.add([i, count + int(owner[i])], [1 / plain[i], -1.0], -np.inf, 0.0)
        rate = self.rate[self.columns]
        weight = np.zeros(int(owner.max()) + 1)
        weight[owner] = np.sqrt(rate / rate.max())
        detour = 2 * weight[owner] * (plain <= 0)
        answer = minimise("GLOP", GLOP_LIMIT_S, np.concatenate((detour, weight)), rows)
        if answer is None:
            return None
        x, _, seconds = answer
        return Found(self._repaired(x[:count]), np.zeros(self.arc_count), "GLOP", seconds)

    def _toward_plain(self, share: Floats, limit: float) -> Floats:
        """Move all demands together towards their plain spread while no arc exceeds ``limit``.

        Demands that would load a full arc further stop, the others go on.
        """
        paths, arcs = self.paths, self.paths.arcs
        ceiling = limit * self.network.capacity_bps
        step = self.plain - share
        share, done = share.copy(), 0.0
        for _ in range(SPREAD_STEPS):
            change = load(paths, step * self.rate, self.arc_count)
            room = np.maximum(0.0, ceiling - load(paths, share * self.rate, self.arc_count))
            grows = change > 1e-9 * ceiling
            reach = np.divide(room, change, out=np.full(self.arc_count, np.inf), where=grows)
            part = min(1.0 - done, float(reach.min(initial=np.inf)))
            share += part * step
            done += part
            full = np.append(grows & (reach <= part), False)
            if done >= 1 or not full.any():
                break
            stopped = np.zeros(int(paths.demand.max()) + 1, bool)
            stopped[paths.demand[full[arcs].any(1) & (step > 0)]] = True
            step = np.where(stopped[paths.demand], 0.0, step)
        return normalised(paths, np.maximum(share, 0.0), self.plain)

    def _repaired(self, x: Floats) -> Floats:
        """All path shares from the program's columns: positive, summing to 1 for each demand."""
        share = np.where(self.matters, 0.0, self.plain)
        share[self.columns] = np.where(np.isfinite(x) & (x > 1e-9), x, 0.0)
        return normalised(self.paths, share, self.plain)


def normalised(paths: Paths, share: Floats, fallback: Floats) -> Floats:
    """Shares scaled to sum to 1 for each demand; the fallback's where a demand has none."""
    starts = paths.starts
    if not len(starts):
        return share
    sizes = np.diff(np.append(starts, len(paths)))
    total = np.repeat(np.add.reduceat(share, starts), sizes)
    share = np.where(total > 1e-9, share, fallback)
    return np.asarray(share / np.repeat(np.add.reduceat(share, starts), sizes))


def _slack(level: float) -> float:
    """Solvers keep constraints to some 1e-7; the next program needs that much room."""
    return level * (1 + 1e-7) + 1e-7
