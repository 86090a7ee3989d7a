"""Which failures a family of trees survives by detours, before anybody acts.

A switch whose next hop is dead can hand a packet to any neighbour on any tree of the family that
leads from there to the egress without coming back. So what local repair needs is known exactly:
for each arc that packets may take, some other neighbour with some tree that avoids the switch
itself, and the switch behind the arc where that may die as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.optimizer.graph import Graph
from controller.optimizer.kernels import growth
from controller.optimizer.problem import Bools, Indices, Ints


def survives(graph: Graph, root: Bools, trees: Sequence[Ints], used: Indices) -> Bools:
    """For each arc of ``used``, ``[U, 2]``: whether there is a detour when its link dies, and when
    the switch behind it dies (for a member of the egress, ``root``, the same as for the link)."""
    network = graph.network
    rows = np.array(trees, np.int32).reshape(-1, network.nodes)
    return growth.detours(used, root, rows, network.tail, network.head, graph.out_first, graph.arcs)
