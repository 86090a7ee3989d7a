"""Placements: each flow on one route, with a certificate that is computed from the routes alone.

A flow is a row of ``Demand``: a queue pair or another transport that must not be split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controller.optimizer.certificate import gap
from controller.optimizer.kernels import flows
from controller.optimizer.paths import Paths, utilisation
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Ints, Network


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Flow f takes ``arcs[first[f]:first[f + 1]]``: none if it is where it wants to be, or
    ``unroutable[F]``.

    ``path[F]`` is the flow's row among the paths it was to choose from, -1 where there is none.
    ``load_bps[A]``. Utilisations are load / capacity: ``mlu`` of this placement, ``bound`` of any
    (lower), ``gap = mlu / bound - 1``. ``seconds`` spent by ``method``.
    """

    first: Indices
    arcs: Ints
    path: Indices
    unroutable: Bools
    load_bps: Floats
    mlu: float
    bound: float
    gap: float
    method: str
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """One route for each flow, as in ``Placement``; ``placed[F]`` is False where there is none."""

    first: Indices
    arcs: Ints
    placed: Bools


def routes_of(paths: Paths, path: Indices) -> Routes:
    """The routes of the chosen rows ``path[F]`` (-1: none)."""
    placed = path >= 0
    hops = np.zeros(len(path), np.int64)
    hops[placed] = paths.hops[path[placed]]
    first = np.append(0, np.cumsum(hops))
    begin = np.zeros(len(path), np.int64)
    begin[placed] = paths.first[path[placed]]
    where = np.repeat(begin - first[:-1], hops) + np.arange(first[-1])
    return Routes(first, paths.arcs[where], placed)


def certify(
    network: Network,
    demand: Demand,
    routes: Routes,
    path: Indices,
    bound: float,
    method: str,
    seconds: float,
) -> Placement:
    """The placement, evaluated; ``bound`` holds for whatever was proven about any placement."""
    carried = np.where(routes.placed, demand.rate_bps, 0.0)
    load = flows.load(routes.first, routes.arcs, carried, len(network.tail))
    mlu = float(utilisation(load, network).max(initial=0.0))
    # A load is a sum of rates: one part in 10^12 pays for its rounding.
    bound *= 1 - 1e-12
    return Placement(
        routes.first,
        routes.arcs,
        path,
        ~routes.placed,
        load,
        mlu,
        bound,
        gap(mlu, bound),
        method,
        seconds,
    )


def check_placement(
    network: Network, demand: Demand, members: Sequence[Sequence[int]], paths: Paths | None
) -> None:
    """Raises ValueError, naming the first flow, egress or path that is wrong."""
    wrong = (demand.egress < 0) | (demand.egress >= len(members))
    if wrong.any():
        flow = int(wrong.argmax())
        raise ValueError(
            f"flow {flow} has no egress among {len(members)}: {int(demand.egress[flow])}"
        )
    for egress, nodes in enumerate(members):
        if not nodes or not all(0 <= n < network.nodes for n in nodes):
            raise ValueError(
                f"egress {egress} has no members among {network.nodes} nodes: {list(nodes)}"
            )
    if paths is not None and len(paths):
        low, high, count = int(paths.demand.min()), int(paths.demand.max()), len(demand.source)
        if low < 0 or high >= count:
            raise ValueError(
                f"paths belong to flows {low} to {high}, but there are {count}: trace them for "
                "these flows"
            )
