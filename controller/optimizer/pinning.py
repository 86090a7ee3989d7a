"""Placement of flows that must not be split: each on one route, the worst utilisation least.

Equal flows on a Clos fabric are coloured (``colouring``): optimal at once, or nearly. What that
leaves, flows of mixed sizes and other fabrics are negotiated (``negotiation``) from the best that
is known; CP-SAT completes what is small enough, or proves it impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer import kernels, stopwatch
from controller.optimizer import placement_bounds as bounds
from controller.optimizer.baselines import WHOLE
from controller.optimizer.certificate import dual_bound
from controller.optimizer.clos import Clos, candidates, pod_cuts, reaches, recognise
from controller.optimizer.colouring import place_equal
from controller.optimizer.descent import descend
from controller.optimizer.forest import grow
from controller.optimizer.kernels import greedy
from controller.optimizer.negotiation import Negotiation
from controller.optimizer.packing import pack
from controller.optimizer.paths import Paths, trace
from controller.optimizer.placement import Placement, Routes, certify, check_placement, routes_of
from controller.optimizer.problem import (
    Bools,
    Demand,
    Indices,
    Network,
    check_demand,
    check_network,
)
from controller.optimizer.scaled import Scaled

MOST_CELLS = 20_000_000
"""Paths of a Clos fabric that are listed at most, before a forest has to do."""

ARC_VISITS = 40_000_000
"""Work of one try of the negotiation: a second or two at most."""

AIMS, MOST_SWEEPS = 10, 20_000
MOST_PACKED = 100_000
"""Hops of all paths that CP-SAT is asked about at most."""

TREES = 8
DESCENT_SWEEPS = 40
NEAR = 1e-3
"""A gap that is not worth more work."""


def place(
    network: Network,
    demand: Demand,
    members: Sequence[Sequence[int]],
    paths: Paths | None = None,
    seed: int = 0,
    effort: float = 5.0,
) -> Placement:
    """A route for each flow (row of ``demand``) to a member of its egress, with a certificate.

    Over ``paths``, such as the trees of a forest give (``trace``), and then ``bound`` is about
    these; without, over all shortest paths up and down of a Clos fabric, or else the trees of a
    forest grown here. ``effort`` is near the seconds that CP-SAT may take at each level. Equal
    inputs give equal placements. Raises ValueError for arrays that make no sense.
    """
    began = stopwatch.now()
    check_network(network)
    check_demand(network, demand)
    check_placement(network, demand, members, paths)
    case = _Case(network, demand, members, paths, seed, effort)
    if case.clos is None:
        # Which flows have a way at all is seen by the paths only; no bound is about others.
        case.list_paths()
    case.bound_by_cuts()
    case.colour()
    if not case.done:
        case.list_paths()
        case.greedy()
        case.bound_by_paths()
        case.negotiate()
    assert case.best is not None
    return certify(
        network, demand, case.best, case.path, case.bound, case.method, stopwatch.now() - began
    )


@dataclass
class _Case:
    """One problem on the way to its placement: ``best`` so far of utilisation ``mlu``."""

    network: Network
    demand: Demand
    members: Sequence[Sequence[int]]
    paths: Paths | None
    seed: int
    effort: float

    def __post_init__(self) -> None:
        self.best: Routes | None = None
        self.path = np.full(len(self.demand.source), -1, np.int64)
        self.mlu, self.bound, self.method = float("inf"), 0.0, "none"
        self.start = np.zeros(0, np.int64)
        self.coloured: Routes | None = None
        self.clos: Clos | None = None
        only = [nodes[0] if len(nodes) == 1 else -1 for nodes in self.members]
        self.ends = np.array(only, np.int32)[self.demand.egress]
        rate = self.demand.rate_bps
        self.size = float(rate[0]) if len(rate) and (rate == rate[0]).all() else 0.0
        """Of every flow; 0 if they differ."""

        if len(rate) and (self.ends >= 0).all():
            self.clos = recognise(
                self.network, np.unique(np.concatenate((self.demand.source, self.ends)))
            )
        self.routable = self._routable()
        self.flows = np.flatnonzero(self.routable)

    def _routable(self) -> Bools:
        count = len(self.demand.source)
        if self.paths is not None:
            routable = np.zeros(count, bool)
            routable[self.paths.demand] = True
            return routable
        if self.clos is None:
            return np.ones(count, bool)
        return reaches(self.clos, self.demand.source, self.ends)

    @property
    def done(self) -> bool:
        return self.best is not None and bool(self.mlu <= self.bound * (1 + 1e-9))

    def bound_by_cuts(self) -> None:
        """By what begins or ends at a node, or in a pod."""
        network, flows = self.network, self.flows
        source, ends = self.demand.source[flows], self.ends[flows]
        rate = self.demand.rate_bps[flows]
        if not self.size:
            part = Demand(source, self.demand.egress[flows], rate)
            self.bound = bounds.cuts(network, ends, part)
            return
        moves = source != ends
        groups = [
            (network.tail, source[moves]),
            (network.head, ends[moves & (ends >= 0)]),
        ]
        if self.clos is not None and self.paths is None:
            groups += pod_cuts(self.clos, self.network, source, ends)
        for group, crossing in groups:
            counts = np.bincount(crossing, minlength=int(group.max(initial=-1)) + 1)
            self.bound = max(self.bound, bounds.equal_cuts(network, self.size, group, counts))

    def colour(self) -> None:
        """Equal flows on a Clos fabric, at the level of the bound and, without paths to go on with,
        above."""
        if self.clos is None or not self.size:
            return
        source, ends = self.demand.source[self.flows], self.ends[self.flows]
        level = self.bound
        while True:
            room = bounds.room(self.network, self.size, level)
            routes = place_equal(self.clos, source, ends, room, self.seed)
            if routes.placed.all() or self._listable():
                break
            level = bounds.rounded(self.network, self.size, level * (1 + 1e-6))
        self._take_coloured(routes, level)

    def _take_coloured(self, routes: Routes, level: float) -> None:
        hops = np.zeros(len(self.demand.source), np.int64)
        hops[self.flows] = np.diff(routes.first)
        placed = np.zeros(len(hops), bool)
        placed[self.flows] = routes.placed
        whole = Routes(np.append(0, np.cumsum(hops)), routes.arcs, placed)
        complete = bool(routes.placed.all())
        self.coloured, self.method = whole, "colouring"
        if self.paths is not None:
            self.path = self._find(self.paths, whole)
            complete = bool((self.path[self.flows] >= 0).all())
        if complete:
            self.best, self.mlu = whole, level if len(self.flows) else 0.0

    def _listable(self) -> bool:
        """Whether paths are given, or few enough to list."""
        if self.paths is not None or self.clos is None:
            return True
        columns = self.clos.up.shape[1] + self.clos.to_core.shape[1]
        return bool(len(self.demand.source) * columns <= MOST_CELLS)

    def _find(self, paths: Paths, routes: Routes) -> Indices:
        """The row of each flow's route among the paths, -1 where there is none."""
        flows = paths.demand[paths.starts]
        row = np.full(len(routes.placed), -1, np.int64)
        row[flows] = greedy.find(
            flows, paths.bounds, paths.first, paths.arcs, routes.first, routes.arcs
        )
        row[~routes.placed] = -1
        return row

    def list_paths(self) -> None:
        if self.paths is not None:
            return
        if self.clos is not None and self._listable():
            self.paths = candidates(self.clos, self.network, self.demand.source, self.ends)
        else:
            sources = set(self.demand.source.tolist())
            members = [list(nodes) for nodes in self.members]
            forest = grow(self.network, members, TREES, sources=sources)
            self.paths = trace(self.network, forest, self.demand)
        self.routable = np.zeros(len(self.demand.source), bool)
        self.routable[self.paths.demand] = True
        self.flows = np.flatnonzero(self.routable)

    def greedy(self) -> None:
        """The best of the baselines, so that no placement is worse."""
        assert self.paths is not None
        self.work = Negotiation(self.network, self.demand, self.paths)
        for name, baseline in WHOLE.items():
            self.take(baseline(self.network, self.demand, self.paths, self.seed), name)
        if self.coloured is not None:
            begun = self._find(self.paths, self.coloured)[self.flows]
            self.start = np.where(begun >= 0, begun, self.start)

    def take(self, path: Indices, method: str) -> bool:
        """Keep ``path[G]`` if it is better than what there is."""
        assert self.paths is not None
        mlu = self.work.mlu(path)
        if not mlu < self.mlu and self.best is not None:
            return False
        self.start = path
        self.path = np.full(len(self.demand.source), -1, np.int64)
        self.path[self.flows] = path
        self.best, self.mlu, self.method = routes_of(self.paths, self.path), mlu, method
        return True

    def bound_by_paths(self) -> None:
        """By the hops that flows need, their widest paths, and the prices of the splittable
        problem."""
        assert self.paths is not None
        paths, network, demand = self.paths, self.network, self.demand
        if not len(paths):
            return
        starts = paths.starts
        rate = demand.rate_bps[self.flows]
        widest = np.maximum.reduceat(paths.bottleneck_bps, starts)
        self.raise_bound(float((rate / widest).max()))
        hops = np.minimum.reduceat(paths.hops, starts)
        self.raise_bound(bounds.volume(network, demand, hops, self.flows))
        if self.mlu > self.bound * (1 + NEAR) and not kernels.problem:
            found = descend(Scaled(network, demand, paths), None, NEAR, most_sweeps=DESCENT_SWEEPS)
            self.raise_bound(dual_bound(network, demand, paths, found.price))

    def raise_bound(self, bound: float) -> None:
        if bound > self.bound:
            if self.size:
                bound = bounds.rounded(self.network, self.size, bound * (1 - 1e-9))
            self.bound = max(self.bound, bound)

    def negotiate(self) -> None:
        """Aim at the bound, then half as far from the best towards what was not reached."""
        assert self.best is not None
        a_sweep = len(self.network.tail) + len(self.best.arcs)
        sweeps = min(MOST_SWEEPS, max(20, ARC_VISITS // a_sweep))
        low, tried = self.bound, False
        for aim in range(AIMS):
            if self.mlu <= max(self.bound * (1 + NEAR), low * (1 + NEAR / 4)):
                break
            level = low + (self.mlu - low) / 2 if tried else low
            if self.size:
                level = bounds.rounded(self.network, self.size, level * (1 - 1e-9))
                if level >= self.mlu * (1 - 1e-9):
                    level = low
                if level >= self.mlu * (1 - 1e-9):
                    break
            found = self.work.reach(level, self.start, sweeps, self.seed + 7 * aim)
            if found is not None and self.take(found, _joined(self.coloured, "negotiation")):
                continue
            if self.size and self._packed(level):
                continue
            tried = True
            low = level
            if self.size:
                low = bounds.rounded(self.network, self.size, level * (1 + 1e-6))

    def _packed(self, level: float) -> bool:
        """Whether CP-SAT found a placement at this level; the bound rises if it proves that none is
        there."""
        assert self.paths is not None
        if len(self.paths.arcs) > MOST_PACKED or self.effort <= 0:
            return False
        limit = self.work.limit(level)
        packed = pack(self.paths, self.work.size, limit, self.start, self.effort, self.seed)
        if packed.impossible:
            self.raise_bound(level * (1 + 1e-6))
        return packed.path is not None and self.take(packed.path, "CP-SAT")


def _joined(coloured: Routes | None, method: str) -> str:
    return method if coloured is None else f"colouring, {method}"
