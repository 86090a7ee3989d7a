"""Families of diverse in-trees, a few for each egress, on any graph.

Shortest-path trees come first, each avoiding the nodes and arcs that its siblings use, so a Clos
fabric gets one tree for each spine or core. Where they leave a source without two link-disjoint
ways, or a switch on a way without a detour around its next hop (``survival``), although the graph
has them, a red and a blue tree are added (``disjoint``), then trees that may detour.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from controller.optimizer.family import Family
from controller.optimizer.graph import Graph
from controller.optimizer.plan import PATH_TREES
from controller.optimizer.problem import Forest, Indices, Ints, Network, check_network

TREE_IDS = range(PATH_TREES.start)
_FOREST_IDS = frozenset(TREE_IDS)

Ids = Mapping[int, Collection[int]]
"""Egress to ids, of trees or arcs; an egress without any may be absent."""


def grow(
    network: Network,
    members: Sequence[Sequence[int]],
    trees_per_egress: int = 8,
    previous: Forest | None = None,
    sources: Collection[int] | None = None,
    *,
    idle: Ids | None = None,
    reserved: Ids | None = None,
    along: Ids | None = None,
) -> Forest:
    """A forest with up to ``trees_per_egress`` trees for each egress ``members[g]``.

    Every tree spans all nodes that can reach the egress over arcs with capacity. Traffic enters at
    ``sources``, by default where it may leave: at all members. From every source two trees are
    link-disjoint, and wherever a tree leads its packets there is a detour around the next link and
    the next node (unless that is a member), where the graph allows it and ``trees_per_egress`` is
    at least 2; the number may exceed it when previous trees fill the family. So there is for the
    arcs ``along`` which packets of the egress go by ways that are not in the forest.

    Previous trees whose arcs are all alive keep their ids and arcs, at most with nodes added that
    they did not know. Of those beyond ``trees_per_egress`` the ``idle`` go that no failure needs.
    No new tree has an id that any previous one has, or that is ``reserved``.

    Raises ValueError when an egress runs out of tree ids, and for arrays that make no sense.
    """
    if sources is None:
        sources = {node for group in members for node in group}
    check_network(network)
    graph = Graph(network)
    egress: list[int] = []
    ids: list[int] = []
    rows: list[Ints] = []
    for g, group in enumerate(members):
        family = Family(graph, group, sources, (along or {}).get(g, ()), trees_per_egress)
        kept: list[int] = []
        taken = set((reserved or {}).get(g, ()))
        if previous is not None:
            for t in np.flatnonzero(previous.egress == g):
                taken.add(int(previous.tree_id[t]))
                if family.adopt(previous.next_arc[t]):
                    kept.append(int(previous.tree_id[t]))
        family.fill()
        of_egress = set((idle or {}).get(g, ()))
        numbers = kept + _unused(taken, len(family.trees) - len(kept), g)
        for position in family.shed(
            [i for i, tree_id in enumerate(kept) if tree_id in of_egress], trees_per_egress
        ):
            del numbers[position]
        ids += numbers
        egress += [g] * len(family.trees)
        rows += family.trees
    return _forest(network, egress, ids, rows)


def reconnect(
    network: Network,
    members: Sequence[Sequence[int]],
    forest: Forest,
    sources: Collection[int],
    *,
    reserved: Ids | None = None,
) -> Forest:
    """Add one tree over living arcs to each egress that a source can reach, but by no tree; its id
    is new and not ``reserved``."""
    graph = Graph(network)
    egress, ids = forest.egress.tolist(), forest.tree_id.tolist()
    rows = list(forest.next_arc)
    for g, group in enumerate(members):
        family = Family(graph, group, sources)
        own = np.flatnonzero(forest.egress == g)
        reached = np.zeros(len(family.sources), bool)
        for t in own:
            reached |= family.reaches(forest.next_arc[t], family.sources)
        if not reached.all():
            taken = {*forest.tree_id[own].tolist(), *(reserved or {}).get(g, ())}
            egress.append(g)
            ids += _unused(taken, 1, g)
            rows.append(family.shortest())
    return _forest(network, egress, ids, rows)


def join(
    network: Network,
    forest: Forest,
    egress: Sequence[int],
    rows: Sequence[Ints],
    reserved: Ids | None = None,
) -> Forest:
    """The forest with the trees ``rows`` of these egresses, under new ids that are not
    ``reserved``."""
    taken: dict[int, set[int]] = {}
    ids = forest.tree_id.tolist()
    for g in egress:
        if g not in taken:
            known = forest.tree_id[forest.egress == g].tolist()
            taken[g] = {*known, *(reserved or {}).get(g, ())}
        ids += _unused(taken[g], 1, g)
        taken[g].add(ids[-1])
    return _forest(network, [*forest.egress.tolist(), *egress], ids, [*forest.next_arc, *rows])


def free(forest: Forest, egresses: int, reserved: Ids | None = None) -> Indices:
    """How many ids for more trees each egress has left, ``[G]``."""
    taken: list[set[int]] = [set((reserved or {}).get(g, ())) for g in range(egresses)]
    for g, tree_id in zip(forest.egress.tolist(), forest.tree_id.tolist(), strict=True):
        taken[g].add(tree_id)
    return np.array([len(TREE_IDS) - len(ids & _FOREST_IDS) for ids in taken], np.int64)


def _unused(taken: set[int], count: int, egress: int) -> list[int]:
    free = [i for i in TREE_IDS if i not in taken][:count]
    if len(free) < count:
        raise ValueError(
            f"egress {egress} has no tree id left of {len(TREE_IDS)}: ids of trees that are gone "
            "come back once every switch is connected and holds the newest plan"
        )
    return free


def _forest(network: Network, egress: list[int], ids: list[int], rows: list[Ints]) -> Forest:
    return Forest(
        np.array(egress, np.int32),
        np.array(ids, np.int32),
        np.array(rows, np.int32).reshape(len(rows), network.nodes),
    )
