"""Fabrics and demands to measure optimizers by, the same for everybody (seeded).

Data-centre fabrics have demands between their edge switches, log-normal with sigma 1 unless said;
capacities are 1 unless said, and some links have failed. Wide-area networks come from files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from controller.optimizer.paths import Paths
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Ints, Network


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Demand g of ``demand.egress`` goes to node ``members[g][0]``. ``trees`` for each egress, and
    then those that demands ask for."""

    network: Network
    members: list[list[int]]
    demand: Demand
    trees: int


def fat_tree(k: int, failed: float = 0.02, permutation: bool = False) -> Instance:
    """k pods; all edge switches to all, or a permutation of the hosts."""
    rng = np.random.default_rng(0)
    half = k // 2
    pod, edge, up = (x.ravel() for x in np.indices((k, half, half)))
    edges, aggregations = k * half, k * half
    lower = np.stack((pod * half + edge, edges + pod * half + up), 1)
    upper = np.stack((edges + pod * half + edge, edges + aggregations + edge * half + up), 1)
    links = _standing(np.concatenate((lower, upper)), failed, rng)
    if permutation:
        hosts = np.arange(edges * half)
        source, target = hosts // half, rng.permutation(hosts) // half
        return _instance(edges + aggregations + half * half, links, None, edges, 8, source, target)
    return _all_to_all(edges + aggregations + half * half, links, None, edges, 8, rng)


def leaf_spine(
    leaves: int,
    spines: int,
    trees: int,
    *,
    rails: int = 8,
    across: float = 0.25,
    failed: float = 0.02,
    sigma: float = 1.0,
    generations: Sequence[float] = (1.0,),
) -> Instance:
    """Leaves of ``rails`` rails: traffic within a rail, and ``across`` as much to other rails.

    The capacity of each spine's links is one of ``generations``.
    """
    rng = np.random.default_rng(0)
    leaf, spine = (x.ravel() for x in np.indices((leaves, spines)))
    speed = rng.choice(generations, spines)[spine]
    standing = rng.random(len(leaf)) >= failed
    links = np.stack((leaf, leaves + spine), 1)[standing]
    a, b = _pairs(leaves)
    factor = np.where(a % rails == b % rails, 1.0, across)
    rate = rng.lognormal(0, sigma, len(a)) * factor
    a, b, rate = a[factor > 0], b[factor > 0], rate[factor > 0]
    return _instance(leaves + spines, links, speed[standing], leaves, trees, a, b, rate)


def torus(dims: tuple[int, ...], permutation: bool, trees: int, failed: float = 0.01) -> Instance:
    rng = np.random.default_rng(0)
    node = np.arange(int(np.prod(dims))).reshape(dims)
    rings = [
        np.stack((node.ravel(), np.roll(node, -1, axis).ravel()), 1) for axis in range(node.ndim)
    ]
    links = _standing(np.concatenate(rings), failed, rng)
    if permutation:
        to = rng.permutation(node.size)
        return _instance(node.size, links, None, node.size, trees, np.arange(node.size), to)
    return _all_to_all(node.size, links, None, node.size, trees, rng)


def random_regular(nodes: int, degree: int, trees: int = 8) -> Instance:
    """Jellyfish: links of capacity 1, 2 or 4."""
    rng = np.random.default_rng(0)
    links = np.array(sorted(nx.random_regular_graph(degree, nodes, seed=0).edges()))
    capacity = rng.choice([1.0, 2.0, 4.0], len(links))
    return _all_to_all(nodes, links, capacity, nodes, trees, rng)


def dragonfly(routers: int, global_links: int, trees: int = 8) -> Instance:
    """Groups of fully meshed routers (capacity 2), each pair of groups joined by a link of 1."""
    groups = routers * global_links + 1
    links, capacity = [], []
    for q in range(groups):
        for i, j in itertools.combinations(range(routers), 2):
            links.append((q * routers + i, q * routers + j))
            capacity.append(2.0)
    for q, t in itertools.combinations(range(groups), 2):
        here, there = (t - q - 1) % groups, (q - t - 1) % groups
        links.append((q * routers + here // global_links, t * routers + there // global_links))
        capacity.append(1.0)
    nodes = groups * routers
    rng = np.random.default_rng(0)
    return _all_to_all(nodes, np.array(links), np.array(capacity), nodes, trees, rng)


def wide_area(graph: Mapping[str, Any], trees: int = 4) -> Instance:
    """A network as node-link JSON with capacities, and gravity demands between all nodes."""
    index = {node["id"]: i for i, node in enumerate(graph["nodes"])}
    arcs = np.array([(index[x["source"]], index[x["target"]]) for x in graph["links"]])
    network = Network(
        len(index),
        arcs[:, 0].astype(np.int32),
        arcs[:, 1].astype(np.int32),
        np.array([float(x["capacity"]) for x in graph["links"]]),
    )
    mass = np.random.default_rng(0).lognormal(0, 1.5, len(index))
    a, b = _pairs(len(index))
    demand = Demand(a.astype(np.int32), b.astype(np.int32), mass[a] * mass[b])
    return Instance(network, [[n] for n in range(len(index))], demand, trees)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A network with given tunnels, matrices that were measured in it, ``rates_bps[M, D]``, and the
    MLU that others have published as the optimum of each, ``optimum[M]``."""

    network: Network
    paths: Paths
    source: Ints
    rates_bps: Floats
    optimum: Floats

    def demand(self, matrix: int) -> Demand:
        """Of one matrix; each demand is an egress of its own."""
        each = np.arange(len(self.source), dtype=np.int32)
        return Demand(self.source, each, self.rates_bps[matrix])


def measured(graph: Mapping[str, Any], tunnels: str, matrices: str, optima: str) -> Measured:
    """From the texts of the FIGRET repository: a tunnel file has a line ``a b:a-b,a-c-b`` for each
    demand, a matrix is a line of N x N numbers."""
    arc = {(x["source"], x["target"]): i for i, x in enumerate(graph["links"])}
    lines = sorted(line.split(":") for line in tunnels.splitlines() if line.strip())
    pairs = np.array([[int(n) for n in pair.split()] for pair, _ in lines], np.int32)
    routes = [
        (d, [arc[hop] for hop in itertools.pairwise(int(n) for n in tunnel.split("-"))])
        for d, (_, ways) in enumerate(lines)
        for tunnel in ways.split(",")
    ]
    capacity = np.array([float(x["capacity"]) for x in graph["links"]])
    network = Network(
        len(graph["nodes"]),
        np.array([a for a, _ in arc], np.int32),
        np.array([b for _, b in arc], np.int32),
        capacity,
    )
    paths = Paths(
        np.array([d for d, _ in routes], np.int64),
        np.arange(len(routes)),
        np.append(0, np.cumsum([len(route) for _, route in routes])),
        np.array([a for _, route in routes for a in route], np.int32),
        np.array([capacity[route].min() for _, route in routes]),
        np.ones(len(routes), np.int32),
    )
    rates = np.array([line.split() for line in matrices.splitlines() if line.strip()], np.float64)
    rates = rates.reshape(len(rates), network.nodes, network.nodes)
    return Measured(
        network,
        paths,
        pairs[:, 0],
        rates[:, pairs[:, 0], pairs[:, 1]],
        np.array(optima.split(), np.float64),
    )


INSTANCES: Mapping[str, Callable[[], Instance]] = {
    "ft8_a2a": lambda: fat_tree(8),
    "ft16_a2a": lambda: fat_tree(16),
    "ft32_a2a": lambda: fat_tree(32, 0.01),
    "ft16_perm": lambda: fat_tree(16, permutation=True),
    "ls512_rail": lambda: leaf_spine(128, 32, 8, across=0.0),
    "ls512_moe": lambda: leaf_spine(128, 32, 8),
    "ls512_os": lambda: leaf_spine(128, 32, 8, failed=0.03, sigma=2.0, generations=(1.0, 2.0, 4.0)),
    "ls2048_moe": lambda: leaf_spine(256, 64, 8),
    "jf256_logn": lambda: random_regular(256, 16),
    "dfly_logn": lambda: dragonfly(8, 4),
    "torus888_logn": lambda: torus((8, 8, 8), permutation=False, trees=8),
    "torus12_perm": lambda: torus((12, 12, 12), permutation=True, trees=16),
}
"""Those that need no file."""


def _pairs(nodes: int) -> tuple[Indices, Indices]:
    a, b = np.divmod(np.arange(nodes * nodes), nodes)
    return a[a != b], b[a != b]


def _standing(links: Indices, failed: float, rng: np.random.Generator) -> Indices:
    standing: Bools = rng.random(len(links)) >= failed
    return np.asarray(links[standing])


def _all_to_all(
    nodes: int,
    links: Indices,
    capacity: Floats | None,
    edges: int,
    trees: int,
    rng: np.random.Generator,
) -> Instance:
    a, b = _pairs(edges)
    return _instance(nodes, links, capacity, edges, trees, a, b, rng.lognormal(0, 1.0, len(a)))


def _instance(
    nodes: int,
    links: Indices,
    capacity: Floats | None,
    edges: int,
    trees: int,
    source: Indices,
    target: Indices,
    rate: Floats | None = None,
) -> Instance:
    """Demands of a pair are summed; each has rate 1 unless said."""
    pair = source * nodes + target
    pair, which = np.unique(pair[source != target], return_inverse=True)
    rates = np.ones(len(source)) if rate is None else rate
    total: Floats = np.bincount(which.reshape(-1), rates[source != target]).astype(np.float64)
    network = Network(
        nodes,
        links.ravel().astype(np.int32),
        links[:, ::-1].ravel().astype(np.int32),
        np.ones(2 * len(links)) if capacity is None else np.repeat(capacity, 2),
    )
    demand = Demand((pair // nodes).astype(np.int32), (pair % nodes).astype(np.int32), total)
    return Instance(network, [[n] for n in range(edges)], demand, trees)
