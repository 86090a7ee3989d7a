"""What failures do to a solution: at once, by arithmetic alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer.disjoint import reverse_arcs
from controller.optimizer.kernels import failures as kernels
from controller.optimizer.paths import Paths, load, normalised, spread, utilisation
from controller.optimizer.problem import Demand, Floats, Indices, Network


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """After each failure alone, ``[F]``: the MLU when demands have turned to their other paths, and
    the rate that has none."""

    mlu: Floats
    cut_off_bps: Floats


def audit(
    network: Network,
    demand: Demand,
    paths: Paths,
    share: Floats,
    failures: Sequence[Sequence[int] | Indices],
) -> Audit:
    """Each of ``failures`` is the arcs that die together: both of a link, all of a switch or of
    links that share a risk. Demands then spread what dead paths carried over their other paths, in
    proportion to what these carry."""
    bounds = paths.bounds
    rate = demand.rate_bps[paths.demand[bounds[:-1]]]
    capacity = network.capacity_bps
    inverse = np.divide(1.0, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
    carried = load(paths, share * demand.rate_bps[paths.demand], len(capacity))
    order = np.argsort(paths.arcs, kind="stable")
    worst, lost = kernels.audit(
        np.append(0, np.cumsum([len(arcs) for arcs in failures], dtype=np.int64)),
        np.array([a for arcs in failures for a in arcs], np.int64),
        np.searchsorted(paths.arcs[order], np.arange(len(capacity) + 1)),
        np.repeat(np.arange(len(paths)), paths.hops)[order],
        bounds,
        np.repeat(np.arange(len(rate)), np.diff(bounds)),
        paths.first,
        paths.arcs,
        rate,
        inverse,
        share,
        utilisation(carried, network),
    )
    return Audit(worst, lost)


def links_of(network: Network) -> list[list[int]]:
    """The arcs of each link, in order of its first."""
    reverse = reverse_arcs(network).tolist()
    return [[a, b] if b >= 0 else [a] for a, b in enumerate(reverse) if b > a or b < 0]


def switches_of(network: Network) -> list[Indices]:
    """The arcs at each node."""
    order = np.argsort(np.concatenate((network.tail, network.head)), kind="stable")
    ends = np.concatenate((network.tail, network.head))[order]
    edges = np.searchsorted(ends, np.arange(network.nodes + 1))
    return [order[i:j] % len(network.tail) for i, j in itertools.pairwise(edges.tolist())]


def survivors(paths: Paths, share: Floats, dead: Sequence[int]) -> tuple[Paths, Floats]:
    """The paths that avoid the ``dead`` arcs, and the shares of what they carried, scaled up."""
    down = np.zeros(int(paths.arcs.max(initial=0)) + 1, bool)
    down[[a for a in dead if a < len(down)]] = True
    keep = np.ones(len(paths), bool)
    keep[np.repeat(np.arange(len(paths)), paths.hops)[down[paths.arcs]]] = False
    rest = paths.only(keep)
    return rest, normalised(rest, share[keep], spread(rest, by_capacity=True))
