"""More trees for the egresses whose demands are held back by the forest, and not by the network.

Column generation (Ford and Fulkerson, "A suggested computation for maximal multi-commodity network
flows", 1958) with in-trees for columns: link prices of the optimum over the forest tell, by a
cheapest way from everywhere to each egress, what no ways whatsoever can undercut, and which trees
would be worth having.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer import kernels, portfolio
from controller.optimizer.forest import Ids, free, join
from controller.optimizer.graph import Graph
from controller.optimizer.kernels import flows
from controller.optimizer.paths import Paths, load, normalised, spread, trace, utilisation
from controller.optimizer.problem import Demand, Floats, Forest, Indices, Ints, Network

ENOUGH = 1e-2
"""Over the bound of all ways; a forest is solved to half of it on the way there."""
ROUNDS = 16
MOST_AT_ONCE = 8
"""Trees that an egress gets in a round, twice as many as in the round before."""
FLOOR = 1e-4
"""What of the prices is spread over all capacity, for ways must cost something."""


@dataclass(frozen=True, slots=True, eq=False)
class Enlarged:
    """A forest, its paths and shares on them whose MLU is ``mlu``; no shares of any paths in the
    network, in this forest or not, have one below ``bound``."""

    forest: Forest
    paths: Paths
    share: Floats
    mlu: float
    bound: float


def enlarge(
    network: Network,
    members: Sequence[Sequence[int]],
    forest: Forest,
    demand: Demand,
    start: Floats | None = None,
    *,
    most: int = 64,
    enough: float = ENOUGH,
    idle: float = 0.0,
    reserved: Ids | None = None,
) -> Enlarged:
    """Add trees until the MLU is at most ``enough`` over that of any ways, or at most ``idle``; or
    until egresses that could gain have ``most`` trees or no ids left, or ``ROUNDS`` have passed.

    ``start[P]`` are shares to begin from, of the paths that the forest has. Trees keep their ids,
    those that are added have none that is ``reserved``.
    """
    paths, bound = trace(network, forest, demand), 0.0
    share = spread(paths, by_capacity=True) if start is None else start
    mlu = _mlu(network, demand, paths, share)
    for number in range(1 if kernels.problem else ROUNDS):
        if mlu <= idle:
            break
        found = portfolio.optimum(network, demand, paths, share, enough / 2)
        share = found.share
        mlu = _mlu(network, demand, paths, share)
        pricing = _Pricing(network, members, demand, paths, found.price, number)
        bound = max(bound, pricing.bound)
        if mlu <= max(idle, bound * (1 + enough)):
            break
        has = np.bincount(forest.egress, minlength=len(members))
        room = np.minimum(most - has, free(forest, len(members), reserved))
        egress, rows = pricing.trees(min(MOST_AT_ONCE, 1 << number // 2), room, enough)
        if not rows:
            break
        forest, before = join(network, forest, egress, rows, reserved), (forest, paths)
        paths = trace(network, forest, demand)
        share = _carried_over(*before, share, forest, paths)
    return Enlarged(forest, paths, share, mlu, min(bound, mlu))


def _mlu(network: Network, demand: Demand, paths: Paths, share: Floats) -> float:
    carried = load(paths, share * demand.rate_bps[paths.demand], len(network.tail))
    return float(utilisation(carried, network).max(initial=0.0))


class _Pricing:
    """Cheapest ways at the prices ``price[A]``, and the bound that they prove (weak duality)."""

    def __init__(
        self,
        network: Network,
        members: Sequence[Sequence[int]],
        demand: Demand,
        paths: Paths,
        price: Floats,
        seed: int,
    ) -> None:
        self.members, self.demand, self.bound = members, demand, 0.0
        capacity = network.capacity_bps
        alive = capacity > 0
        price = np.where(alive & np.isfinite(price), np.maximum(price, 0.0), 0.0)
        if not price.sum() > 0 or not len(paths):
            return
        # Where links have no price, all demands would crowd on the first of equal ways.
        even = capacity * np.random.default_rng(seed).uniform(0.5, 1.5, len(capacity))
        price = price / price.sum() + FLOOR * even / even.sum()
        self.graph = Graph(network)
        self.cost = np.divide(price / price.sum(), capacity, out=np.zeros(len(price)), where=alive)
        order = np.argsort(demand.egress, kind="stable")
        first = np.searchsorted(demand.egress[order], np.arange(len(members) + 1))
        self.of = [order[a:b] for a, b in itertools.pairwise(first.tolist())]
        self.by_forest = np.full(len(demand.source), np.inf)
        np.minimum.at(
            self.by_forest, paths.demand, flows.length(paths.first, paths.arcs, self.cost)
        )
        self.least, self.tree = np.zeros(len(demand.source)), []
        for g, who in enumerate(self.of):
            distance, tree = self._cheapest(g, self.cost)
            # A demand that the forest does not serve is no part of the problem.
            served = who[np.isfinite(self.by_forest[who])]
            self.least[served] = distance[demand.source[served]]
            self.tree.append(tree)
        self.bound = float((demand.rate_bps * self.least).sum()) * (1 - 1e-12)

    def _cheapest(self, g: int, cost: Floats) -> tuple[Floats, Ints]:
        start = np.full(self.graph.network.nodes, np.inf)
        start[list(self.members[g])] = 0.0
        return self.graph.distances(start, cost[self.graph.arcs], np.isfinite(start))

    def trees(self, at_once: int, room: Indices, enough: float) -> tuple[list[int], list[Ints]]:
        """Up to ``at_once`` trees for each egress whose demands would gain, where there is
        ``room[G]`` for them; with their egresses. None where nothing has a price."""
        egress: list[int] = []
        rows: list[Ints] = []
        if not self.bound > 0:
            return egress, rows
        gain = self.demand.rate_bps * np.where(self.least > 0, self.by_forest - self.least, 0.0)
        total = np.array([gain[who].sum() for who in self.of])
        gaining = np.argsort(-total, kind="stable")
        # All others together would not gain what matters, or little beside these.
        rest = total.sum() - np.append(0.0, np.cumsum(total[gaining])[:-1])
        for g in np.sort(gaining[rest > max(enough / 4 * self.bound, total.sum() / 10)]).tolist():
            who = self.of[g]
            tree, cost = self.tree[g], self.cost.copy()
            for left in range(min(at_once, room[g]), 0, -1):
                egress.append(g)
                rows.append(tree)
                if left > 1:
                    self._dearer(cost, tree, who[gain[who] > 0])
                    _, tree = self._cheapest(g, cost)
        return egress, rows

    def _dearer(self, cost: Floats, tree: Ints, who: Ints) -> None:
        """Double what the ways of demands ``who`` on the tree cost: the next one is to differ."""
        head = self.graph.network.head
        for d in who[np.argsort(-self.demand.rate_bps[who], kind="stable")[:MOST_AT_ONCE]].tolist():
            arcs = []
            at = int(self.demand.source[d])
            while (arc := int(tree[at])) >= 0:
                arcs.append(arc)
                at = int(head[arc])
            cost[arcs] += self.by_forest[d] / max(1, len(arcs))


def _carried_over(
    before: Forest, paths: Paths, share: Floats, forest: Forest, wider: Paths
) -> Floats:
    """Shares on the paths of a forest that has more trees."""

    def name(paths: Paths, forest: Forest) -> Floats:
        return np.asarray(paths.demand * (1 << 10) + forest.tree_id[paths.tree])

    out = np.zeros(len(wider))
    known = name(wider, forest)
    order = np.argsort(known)
    out[order[np.searchsorted(known[order], name(paths, before))]] = share
    return normalised(wider, out, spread(wider, by_capacity=True))
