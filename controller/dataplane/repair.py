"""Detours: where a switch sends a packet whose next hop is dead, without asking anyone.

A detour hands the packet to a neighbour on a tree that leads from there to the egress without
coming back through this switch, and so without the dead link; if it can be helped, also without the
switch behind that link, as that may be what died. It writes the next generation, see ``labels``.
Repair by tree switching is that of redundant trees (Medard et al., "Redundant Trees for Preplanned
Recovery", IEEE/ACM ToN 1999) over a plan's own forest; the bounded generations make it loop-free on
any graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


class Ways:
    """Where switches can hand packets of some trees to."""

    def __init__(self, fabric: Fabric, trees: Sequence[Tree]) -> None:
        self._fabric = fabric
        self._trees = trees
        index = fabric.switch_index
        shape = len(trees), len(index)
        hops = np.full(shape, -1, np.int64)
        following = np.tile(np.arange(shape[1]), (shape[0], 1))
        for row, tree in enumerate(trees):
            for name, path in tree.path.items():
                hops[row, index[name]] = path.hops
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
        self._costs: dict[str, tuple[Ints, Ints]] = {}

    def detours(self, switch: str, dead: Collection[int]) -> tuple[Detour, ...]:
        """At most four detours from ``switch``, best first, one for each neighbour link.

        ``dead`` are the ports not to use; the switches behind them are avoided if it can be helped.
        Among equals, neighbours and trees are taken in turn, beginning behind the dead port, so
        that detours of different ports spread.
        """
        arcs = self._fabric.arcs_from[switch]
        trees = len(self._trees)
        if not trees or not arcs:
            return ()
        heads, cost = self._from(switch)
        gone = [place for place, arc in enumerate(arcs) if arc.tail.port in dead]
        if gone:
            avoided = self._through[:, heads[:, None], heads[gone]].any(2)
            cost = cost + avoided * _AVOID
        turn, first = _turns(len(arcs), trees, gone[0] + 1 if gone else 0)
        cost = cost * trees + first
        best = cost.argmin(0)
        of_arc = cost[best, np.arange(len(arcs))] // trees
        of_arc[gone] = _NONE
        found = []
        for place in np.lexsort((turn, of_arc))[:MAX_DETOURS].tolist():
            least = int(of_arc[place])
            if least >= _NONE:
                break
            avoids, hops = divmod(least, _AVOID)
            found.append(Detour(arcs[place], self._trees[best[place]], (bool(avoids), hops)))
        return tuple(found)

    def _from(self, switch: str) -> tuple[Ints, Ints]:
        """The switches behind each of its arcs, and the hops from there by each tree, ``[tree,
        arc]``; very many where the tree does not lead on or comes back."""
        if switch not in self._costs:
            index = self._fabric.switch_index
            arcs = self._fabric.arcs_from[switch]
            heads = np.array([index[arc.head.switch] for arc in arcs], np.int64)
            hops = self._hops[:, heads]
            back = self._through[:, heads, index[switch]]
            self._costs[switch] = heads, np.where((hops < 0) | back, _NONE, hops)
        return self._costs[switch]


@lru_cache(maxsize=1 << 12)
def _turns(arcs: int, trees: int, start: int) -> tuple[Ints, Ints]:
    """Of each arc when it has its turn, ``[arc]``, and of each tree when it has its turn there,
    ``[tree, arc]``."""
    place = np.arange(arcs)
    turn = (place - start) % arcs
    return turn, (np.arange(trees)[:, None] - (turn + start)) % trees


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
