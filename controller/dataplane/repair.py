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

from controller.dataplane import labels
from controller.dataplane.forest import Path, Tree
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import FORGET_IN_PORT, Spelled, SwitchBuilder, spelled
from controller.fabric.model import Arc
from controller.openflow.model import Bucket, GroupType, Output, SetField, ToGroup

MAX_DETOURS = 4


@dataclass(frozen=True, slots=True)
class Detour:
    """Out by ``arc`` on ``tree``. Detours of a lower ``cost`` are tried first."""

    arc: Arc
    tree: Tree
    cost: tuple[bool, int]


@dataclass(frozen=True, slots=True)
class Ways:
    """Where one switch can hand packets of some trees to: for each arc that leaves it the trees
    that lead on from there without coming back, with their places among all ``count`` trees."""

    arcs: tuple[tuple[Arc, tuple[tuple[int, Tree, Path], ...]], ...]
    count: int

    @staticmethod
    def of(arcs: Sequence[Arc], trees: Sequence[Tree], here: int) -> Ways:
        """``arcs`` leave the switch of index ``here``."""
        bit = 1 << here
        found = []
        for arc in arcs:
            head = arc.head.switch
            found.append(
                (
                    arc,
                    tuple(
                        (place, tree, path)
                        for place, tree in enumerate(trees)
                        if (path := tree.path.get(head)) is not None and not path.switches & bit
                    ),
                )
            )
        return Ways(tuple(found), len(trees))


def detours(ways: Ways, dead: Collection[int], avoid: int) -> tuple[Detour, ...]:
    """At most four detours, best first, one for each neighbour link.

    ``dead`` are the ports not to use; ``avoid`` the switches behind them, as a set of bits by
    index. Among equals, neighbours and trees are taken in turn, beginning behind the dead port, so
    that detours of different ports spread.
    """
    arcs, count = ways.arcs, ways.count
    start = next((i + 1 for i, (arc, _) in enumerate(arcs) if arc.tail.port in dead), 0)
    found = []
    for turn, (arc, usable) in enumerate([*arcs[start:], *arcs[:start]]):
        if arc.tail.port in dead or not usable:
            continue
        first = (turn + start) % count
        best = None
        for place, tree, path in usable:
            cost = (bool(path.switches & avoid), path.hops, (place - first) % count)
            if best is None or cost < best[0]:
                best = cost, tree
        assert best is not None
        found.append(Detour(arc, best[1], best[0][:2]))
    found.sort(key=_cost)
    return tuple(found[:MAX_DETOURS])


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
