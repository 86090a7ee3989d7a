"""Fabrics and flows to measure placement by, the same for everybody (seeded); capacities are 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from controller.optimizer.instances import Instance, fat_tree, torus
from controller.optimizer.problem import Bools, Demand, Floats, Indices, Network

GROUP, RAILS = 16, 8
"""Servers that share leaves, and rails: NIC r of a server is on leaf r of its group's."""


def ring(
    servers: int, spines: int, *, group: int = GROUP, failed: float = 0.0, whole: bool = False
) -> Instance:
    """Ring all-reduce of jobs of 64 servers on a rail-optimised leaf-spine: each NIC sends to the
    same NIC of the next server of its job. ``whole``: so many of the failed links stand again that
    no leaf has fewer than it has flows."""
    rng = np.random.default_rng(0)
    order = rng.permutation(servers)
    jobs = np.array_split(order, max(1, servers // 64))
    a = np.concatenate(jobs) // group
    b = np.concatenate([np.roll(job, -1) for job in jobs]) // group
    rail = np.arange(RAILS)[:, None]
    leaves = servers // group * RAILS
    source, target = (a * RAILS + rail).ravel(), (b * RAILS + rail).ravel()
    source, target = source[source != target], target[source != target]
    standing = rng.random((leaves, spines)) >= failed
    if whole:
        sends, receives = (np.bincount(x, minlength=leaves) for x in (source, target))
        need = np.maximum(sends, receives)
        for leaf in np.flatnonzero(standing.sum(1) < need):
            lost = np.flatnonzero(~standing[leaf])
            standing[leaf, lost[: need[leaf] - spines + len(lost)]] = True
    return _leaf_spine(standing, source, target, np.ones(len(source)))


def mixed(flows: int, failed: float = 0.02) -> Instance:
    """Log-normal sizes, at most 3, between random NICs of 32 leaves with 16 spines."""
    rng = np.random.default_rng(0)
    leaves, spines = 32, 16
    a, b = rng.integers(0, leaves * GROUP, (2, flows)) // GROUP
    size = np.minimum(rng.lognormal(0, 0.8, flows), 3.0)
    standing = rng.random((leaves, spines)) >= failed
    moves = a != b
    return _leaf_spine(standing, a[moves], b[moves], size[moves])


def fat_tree_flows(k: int, failed: float = 0.0) -> Instance:
    """A permutation of the hosts of a fat-tree, flow by flow; k / 2 trees for each egress."""
    fabric = fat_tree(k, failed, permutation=True)
    half = k // 2
    hosts = np.arange(k * half * half)
    source, target = hosts // half, np.random.default_rng(1).permutation(hosts) // half
    moves = source != target
    return Instance(fabric.network, fabric.members, _flows(source[moves], target[moves]), half)


INSTANCES: Mapping[str, Callable[[], Instance]] = {
    "placement_ring1024": lambda: ring(1024, 16),
    "placement_ring4096": lambda: ring(4096, 16),
    "placement_ring94": lambda: ring(2250, 16, group=15, failed=0.06, whole=True),
    "placement_ft16": lambda: fat_tree_flows(16),
    "placement_ft64": lambda: fat_tree_flows(64),
    "placement_mixed961": lambda: mixed(1000),
    "placement_mixed3883": lambda: mixed(4000),
    "placement_torus12": lambda: torus((12, 12, 12), permutation=True, trees=16),
}


def _leaf_spine(standing: Bools, source: Indices, target: Indices, size: Floats) -> Instance:
    leaves, spines = standing.shape
    leaf, spine = np.nonzero(standing)
    ends = np.stack((leaf, leaves + spine), 1).astype(np.int32)
    network = Network(leaves + spines, ends.ravel(), ends[:, ::-1].ravel(), np.ones(2 * len(ends)))
    members = [[leaf] for leaf in range(leaves)]
    return Instance(network, members, _flows(source, target, size), spines)


def _flows(source: Indices, target: Indices, size: Floats | None = None) -> Demand:
    rates = np.ones(len(source)) if size is None else size
    return Demand(source.astype(np.int32), target.astype(np.int32), rates)
