"""Networks for the tests of the optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import strategies as st

from controller.optimizer import paths, portfolio
from controller.optimizer.certificate import Solution
from controller.optimizer.problem import Demand, Floats, Forest, Ints, Network


def network(nodes: int, links: Iterable[tuple[int, int, float]]) -> Network:
    """Arcs ``2 i`` and ``2 i + 1`` are the directions of link i."""
    listed = list(links)
    tail = [end for a, b, _ in listed for end in (a, b)]
    head = [end for a, b, _ in listed for end in (b, a)]
    capacity = [c for _, _, c in listed for _ in range(2)]
    return Network(
        nodes,
        np.array(tail, np.int32),
        np.array(head, np.int32),
        np.array(capacity, np.float64),
    )


def leaf_spine(leaves: int, spines: int, capacity: float = 100.0) -> Network:
    """Leaves are nodes 0.., spines follow; link ``leaf * spines + spine``."""
    return network(
        leaves + spines,
        [(i, leaves + s, capacity) for i in range(leaves) for s in range(spines)],
    )


def fat_tree(k: int) -> tuple[Network, list[int], list[int]]:
    """A k-ary fat-tree, its edge switches and its cores."""
    half = k // 2
    edge = [[p * k + i for i in range(half)] for p in range(k)]
    aggregation = [[p * k + half + i for i in range(half)] for p in range(k)]
    core = [k * k + i for i in range(half * half)]
    links = [(e, a, 1.0) for p in range(k) for e in edge[p] for a in aggregation[p]]
    links += [
        (aggregation[p][j], core[j * half + c], 1.0)
        for p in range(k)
        for j in range(half)
        for c in range(half)
    ]
    return network(k * k + half * half, links), [e for pod in edge for e in pod], core


def demand(rows: Iterable[tuple[int, int, float]]) -> Demand:
    listed = list(rows)
    return Demand(
        np.array([r[0] for r in listed], np.int32),
        np.array([r[1] for r in listed], np.int32),
        np.array([r[2] for r in listed], np.float64),
    )


Strategy = Callable[[Network, Demand, paths.Paths, Floats | None], Solution]


def solve(
    network: Network, forest: Forest, asked: Demand, strategy: Strategy = portfolio.solve
) -> Solution:
    return strategy(network, asked, paths.trace(network, forest, asked), None)


def table(solution: Solution, values: Floats | Ints, trees: int) -> Floats | Ints:
    """Values of paths as ``[D, T]``, 0 where there is no path."""
    out = np.zeros((len(solution.unroutable), trees), values.dtype)
    out[solution.paths.demand, solution.paths.tree] = values
    return out


def path(network: Network, forest: Forest, tree: int, source: int) -> list[int] | None:
    """Arcs from a source along a tree; None when it loops."""
    arcs: list[int] = []
    at = source
    while (arc := int(forest.next_arc[tree, at])) >= 0:
        arcs.append(arc)
        at = int(network.head[arc])
        if len(arcs) > network.nodes:
            return None
    return arcs


@st.composite
def networks(draw: st.DrawFn, connected: bool = False) -> Network:
    """Random multigraphs with capacities from kilobits to terabits, some arcs dead."""
    nodes = draw(st.integers(2, 9))
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda ab: ab[0] != ab[1]
    )
    capacities = st.sampled_from([1e3, 1e9, 2.5e9, 1e10, 1e12])
    links = draw(st.lists(st.tuples(pairs, capacities), min_size=1, max_size=18))
    listed = [(a, b, c) for (a, b), c in links]
    if connected:
        listed += [(i, i + 1, 1e9) for i in range(nodes - 1)]
    built = network(nodes, listed)
    if not connected:
        dead = draw(st.sets(st.integers(0, len(built.tail) - 1), max_size=5))
        built.capacity_bps[sorted(dead)] = 0.0
    return built


@st.composite
def groups(draw: st.DrawFn, nodes: int) -> list[list[int]]:
    """Members of up to four egresses."""
    return draw(
        st.lists(
            st.lists(st.integers(0, nodes - 1), min_size=1, max_size=2, unique=True),
            min_size=1,
            max_size=4,
        )
    )
