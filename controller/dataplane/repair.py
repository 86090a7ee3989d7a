"""Detours: where a switch sends a packet whose next hop is dead, without asking anyone.

A detour hands the packet to a neighbour on a tree that leads from there to the egress without
coming back through this switch, and so without the dead link; if it can be helped, also without the
switch behind that link, as that may be what died. It writes the next generation, see ``labels``.
Repair by tree switching is that of redundant trees (Medard et al., "Redundant Trees for Preplanned
Recovery", IEEE/ACM ToN 1999) over a plan's own forest; the bounded generations make it loop-free on
any graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from controller.dataplane import labels
from controller.dataplane.forest import Tree
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import FORGET_IN_PORT, Spelled, SwitchBuilder, spelled
from controller.fabric.model import Arc, Fabric
from controller.openflow.model import Bucket, GroupType, Output, SetField, ToGroup

Ints: TypeAlias = npt.NDArray[np.int64]

MAX_DETOURS = 4


@dataclass(frozen=True, slots=True)
class Detour:
    """Out by ``arc`` on ``tree``. Detours of a lower ``cost`` are tried first."""

    arc: Arc
    tree: Tree
    cost: tuple[bool, int]


_NONE = 1 << 40
_AVOID = 1 << 20

Query: TypeAlias = tuple[str, frozenset[int]]
"""A switch, and its ports that are not to be used."""


class Adjacency:
    """Which switch is behind each arc of each switch: ``heads[switch, place]``, padded with the
    switch itself to as many places as the largest has; ``arcs[switch]``, how many it has."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        index = fabric.switch_index
        places = max(map(len, fabric.arcs_from.values()), default=0)
        self.heads = np.tile(np.arange(len(index))[:, None], (1, places))
        self.arcs = np.zeros(len(index), np.int64)
        self.place: dict[tuple[str, int], int] = {}
        for name, arcs in fabric.arcs_from.items():
            self.arcs[index[name]] = len(arcs)
            for place, arc in enumerate(arcs):
                self.heads[index[name], place] = index[arc.head.switch]
                self.place[name, arc.tail.port] = place


class Ways:
    """Where switches can hand packets of some trees to."""

    def __init__(self, adjacency: Adjacency, trees: Sequence[Tree]) -> None:
        self._adjacency = adjacency
        self._trees = trees
        index = adjacency.fabric.switch_index
        shape = len(trees), len(index)
        hops = np.full(shape, -1, np.int64)
        following = np.tile(np.arange(shape[1]), (shape[0], 1))
        for row, tree in enumerate(trees):
            hops[row, [index[name] for name in tree.hops]] = list(tree.hops.values())
            for name, arc in tree.next_arc.items():
                following[row, index[name]] = index[arc.head.switch]
        # through[tree, a, b]: the tree leads from a by b, if it leads anywhere.
        self._through = np.zeros((*shape, shape[1]), np.bool_)
        row_of, start = np.indices(shape)
        at = start
        for _ in range(int(hops.max(initial=0)) + 1):
            self._through[row_of, start, at] = True
            at = np.take_along_axis(following, at, 1)
        self._hops = hops

    def detours(self, queries: Sequence[Query]) -> list[tuple[Detour, ...]]:
        """For each query at most four detours, best first, one for each neighbour link.

        The switches behind the dead ports are avoided if it can be helped. Among equals,
        neighbours and trees are taken in turn, beginning behind the dead port, so that detours of
        different ports spread.
        """
        near, trees = self._adjacency, len(self._trees)
        places = near.heads.shape[1]
        if not queries or not trees or not places:
            return [()] * len(queries)
        switch = np.array([near.fabric.switch_index[name] for name, _ in queries], np.int64)
        dead = np.zeros((len(queries), places), np.bool_)
        for row, (name, ports) in enumerate(queries):
            places_of = [near.place[name, port] for port in ports if (name, port) in near.place]
            dead[row, places_of] = True
        heads, arcs = near.heads[switch], near.arcs[switch][:, None]
        cost = self._costs(switch, heads, dead)
        # Of each arc when it has its turn, and of each tree when it has its turn there.
        place, tree = np.arange(places), np.arange(trees)[:, None, None]
        start = np.where(dead.any(1), dead.argmax(1) + 1, 0)[:, None]
        turn = (place - start) % np.maximum(arcs, 1)
        cost = cost * trees + (tree - (turn + start)) % trees
        best = cost.argmin(0)
        of_arc = np.take_along_axis(cost, best[None], 0)[0] // trees
        of_arc[dead | (place >= arcs)] = _NONE
        order = np.argsort(of_arc * places + turn, 1)[:, :MAX_DETOURS]
        return [
            self._made(name, *row)
            for (name, _), row in zip(
                queries,
                zip(
                    order.tolist(),
                    np.take_along_axis(best, order, 1).tolist(),
                    np.take_along_axis(of_arc, order, 1).tolist(),
                    strict=True,
                ),
                strict=True,
            )
        ]

    def _costs(self, switch: Ints, heads: Ints, dead: npt.NDArray[np.bool_]) -> Ints:
        """Hops by each tree from behind each arc, ``[tree, query, place]``; very many where the
        tree does not lead on or comes back, and many where it leads by what may have died."""
        hops = self._hops[:, heads]
        back = self._through[:, heads, switch[:, None]]
        cost = np.where((hops < 0) | back, _NONE, hops)
        # Each dead port by itself: most queries have one.
        row, place = np.nonzero(dead)
        nth = (dead.cumsum(1) - 1)[row, place]
        for n in range(int(nth.max(initial=-1)) + 1):
            rows = row[nth == n]
            gone = heads[rows, place[nth == n]]
            through = self._through[:, heads[rows], gone[:, None]]
            known = cost[:, rows]
            cost[:, rows] = np.where(through & (known < _AVOID), known + _AVOID, known)
        return cost

    def _made(
        self, switch: str, places: list[int], trees: list[int], costs: list[int]
    ) -> tuple[Detour, ...]:
        arcs = self._adjacency.fabric.arcs_from[switch]
        return tuple(
            Detour(arcs[place], self._trees[tree], (cost >= _AVOID, cost % _AVOID))
            for place, tree, cost in zip(places, trees, costs, strict=True)
            if cost < _NONE
        )


def _cost(detour: Detour) -> tuple[bool, int]:
    return detour.cost


def behind(
    builder: SwitchBuilder,
    backups: Sequence[Detour],
    egress: int | None,
    generation: int,
    first: int = 0,
) -> list[Spelled]:
    """FAST_FAILOVER buckets of the detours, in order, numbered from ``first``; those of equal cost
    share the packets.

    The packets have ``generation``, below the last, and a label of ``egress``; None where they have
    none yet.
    """
    out = []
    for number, (_, equal) in enumerate(groupby(backups, key=_cost), first):
        tier = tuple(equal)
        if len(tier) == 1:
            out.append(_handed_over(number, 0, tier[0], egress, generation + 1))
        else:
            shared = builder.intern(
                GroupType.SELECT,
                [
                    _handed_over(place, 1, detour, egress, generation + 1)
                    for place, detour in enumerate(tier)
                ],
            )
            out.append(to_group(number, shared))
    return out


def protected(
    builder: SwitchBuilder,
    primaries: Sequence[Spelled],
    backups: Sequence[Detour],
    egress: int | None,
    generation: int,
) -> int:
    """The FAST_FAILOVER group of ``primaries``, numbered from 0, and then the detours, see
    :func:`behind`."""
    after = behind(builder, backups, egress, generation, len(primaries))
    return builder.intern(GroupType.FAST_FAILOVER, [*primaries, *after])


def _handed_over(
    number: int, weight: int, detour: Detour, egress: int | None, generation: int
) -> Spelled:
    tree = detour.tree
    port = detour.arc.tail.port
    if tree.egress == egress:
        return _moved(number, weight, port, generation, tree.id)
    return _written(number, weight, port, Label(generation, tree.id, tree.egress))


# The same few buckets are in very many groups, of all switches.


@lru_cache(maxsize=1 << 16)
def _moved(number: int, weight: int, port: int, generation: int, tree: int) -> Spelled:
    return _sent(number, weight, port, labels.move(generation, tree))


@lru_cache(maxsize=1 << 16)
def _written(number: int, weight: int, port: int, label: Label) -> Spelled:
    return _sent(number, weight, port, labels.write(label))


def _sent(number: int, weight: int, port: int, relabel: SetField) -> Spelled:
    actions = relabel, FORGET_IN_PORT, Output(port)
    return spelled(Bucket(number, actions, weight=weight, watch_port=port))


@lru_cache(maxsize=1 << 16)
def to_group(number: int, group_id: int) -> Spelled:
    """A bucket that is as alive as the group it leads to."""
    return spelled(Bucket(number, (ToGroup(group_id),), watch_group=group_id))
