"""The optimizer's input: arrays only, so that this room stands alone.

Nodes are 0..N-1, arcs (directed links) 0..A-1, egresses 0..G-1, demands 0..D-1. An egress is a set
of member nodes; a tree of an egress leads every node that can reach a member to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """``tail[A]``, ``head[A]`` node of each arc; ``capacity_bps[A]`` usable, 0 for a dead arc."""

    nodes: int
    tail: Ints
    head: Ints
    capacity_bps: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees of all egresses.

    ``next_arc[t, n]``: the arc tree t takes at node n, -1 at members and where it cannot reach.
    ``egress[t]`` and ``tree_id[t]`` (unique within an egress, 0..1023) name the tree.
    """

    egress: Ints
    tree_id: Ints
    next_arc: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """``source[D]`` node, ``egress[D]``, ``rate_bps[D]``."""

    source: Ints
    egress: Ints
    rate_bps: Floats


def check_network(network: Network) -> None:
    """Raises ValueError, naming the first arc that is wrong."""
    nodes, arcs = network.nodes, len(network.tail)
    if not len(network.head) == len(network.capacity_bps) == arcs:
        raise ValueError(
            f"{arcs} tails, {len(network.head)} heads and {len(network.capacity_bps)} capacities: "
            "give one of each for every arc"
        )
    for name, ends in (("tail", network.tail), ("head", network.head)):
        refuse((ends < 0) | (ends >= nodes), f"arc {{}} has no {name} among {nodes} nodes", ends)
    capacity = network.capacity_bps
    refuse(~((capacity >= 0) & np.isfinite(capacity)), "arc {} has no capacity >= 0", capacity)


def check_demand(network: Network, demand: Demand) -> None:
    """Raises ValueError, naming the first demand that is wrong."""
    source, rate = demand.source, demand.rate_bps
    if not len(source) == len(demand.egress) == len(rate):
        raise ValueError(
            f"{len(source)} sources, {len(demand.egress)} egresses and {len(rate)} rates: give one "
            "of each for every demand"
        )
    refuse(
        (source < 0) | (source >= network.nodes),
        f"demand {{}} has no source among {network.nodes} nodes",
        source,
    )
    refuse(demand.egress < 0, "demand {} has no egress", demand.egress)
    refuse(~((rate >= 0) & np.isfinite(rate)), "demand {} has no rate >= 0", rate)


def check_forest(network: Network, forest: Forest) -> None:
    """Raises ValueError, naming the first tree that is wrong. A demand of an egress without trees
    is no mistake: nothing leads there."""
    trees, shape = len(forest.egress), forest.next_arc.shape
    if not len(forest.tree_id) == trees or shape != (trees, network.nodes):
        raise ValueError(
            f"{trees} egresses of trees, {len(forest.tree_id)} ids and arcs in the shape {shape}: "
            f"give one of each for every tree, with arcs for {network.nodes} nodes"
        )
    refuse(forest.egress < 0, "tree {} has no egress", forest.egress)
    least = forest.next_arc.min(axis=1, initial=-1)
    most = forest.next_arc.max(axis=1, initial=-1)
    arcs = len(network.tail)
    refuse(least < -1, "tree {} has an arc below -1", least)
    refuse(most >= arcs, f"tree {{}} has an arc that is none of {arcs}", most)


def refuse(wrong: Bools, text: str, values: npt.NDArray[Any]) -> None:
    """Raises ValueError with the ``text`` for the index of the first that is wrong."""
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(f"{text.format(first)}: {values[first]}")
