"""Detours: where a switch sends a packet whose next hop is dead, without asking anyone.

A detour hands the packet to a neighbour on a tree that leads from there to the egress without
coming back through this switch, and so without the dead link; if it can be helped, also without the
switch behind that link, as that may be what died. It writes the next generation, see ``labels``.
Repair by tree switching is that of redundant trees (Medard et al., "Redundant Trees for Preplanned
Recovery", IEEE/ACM ToN 1999) over a plan's own forest; the bounded generations make it loop-free on
any graph.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from controller.dataplane import labels
from controller.dataplane.forest import Tree
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import FORGET_IN_PORT, SwitchBuilder
from controller.fabric.model import Arc
from controller.openflow.model import Action, Bucket, GroupType, Output, ToGroup

MAX_DETOURS = 4


@dataclass(frozen=True, slots=True)
class Detour:
    """Out by ``arc`` on ``tree``. Detours of a lower ``cost`` are tried first."""

    arc: Arc
    tree: Tree
    cost: tuple[bool, int]


def detours(
    arcs: Sequence[Arc], trees: Sequence[Tree], here: int, dead: Collection[int], avoid: int
) -> tuple[Detour, ...]:
    """At most four detours at the switch of index ``here``, best first, one for each neighbour
    link.

    ``arcs`` leave the switch; ``dead`` are the ports not to use; ``avoid`` the switches behind
    them, as a set of bits by index. Among equals, neighbours and trees are taken in turn, beginning
    behind the dead port, so that detours of different ports spread.
    """
    start = next((i + 1 for i, arc in enumerate(arcs) if arc.tail.port in dead), 0)
    found = []
    for turn, arc in enumerate([*arcs[start:], *arcs[:start]]):
        if arc.tail.port in dead:
            continue
        best = min(
            (
                Detour(arc, tree, cost)
                for tree, cost in _ways(arc, trees, turn + start, here, avoid)
            ),
            key=lambda detour: detour.cost,
            default=None,
        )
        if best is not None:
            found.append(best)
    return tuple(sorted(found, key=lambda detour: detour.cost)[:MAX_DETOURS])


def _ways(
    arc: Arc, trees: Sequence[Tree], turn: int, here: int, avoid: int
) -> Iterator[tuple[Tree, tuple[bool, int]]]:
    for i in range(len(trees)):
        tree = trees[(turn + i) % len(trees)]
        path = tree.path.get(arc.head.switch)
        if path is not None and not path.switches >> here & 1:
            yield tree, (bool(path.switches & avoid), path.hops)


def behind(
    builder: SwitchBuilder, backups: Sequence[Detour], egress: int | None, generation: int
) -> list[Bucket]:
    """FAST_FAILOVER buckets of the detours, in order; those of equal cost share the packets.

    The packets have ``generation``, below the last, and a label of ``egress``; None where they have
    none yet.
    """
    out = []
    for _, equal in groupby(backups, key=lambda detour: detour.cost):
        tier = tuple(
            Bucket(
                number,
                _actions(detour, egress, generation + 1),
                weight=1,
                watch_port=detour.arc.tail.port,
            )
            for number, detour in enumerate(equal)
        )
        if len(tier) == 1:
            out.append(Bucket(0, tier[0].actions, watch_port=tier[0].watch_port))
        else:
            shared = builder.intern(GroupType.SELECT, tier)
            out.append(Bucket(0, (ToGroup(shared),), watch_group=shared))
    return out


def in_order(buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """Numbered, as bucket ids are unique within a group."""
    return tuple(replace(bucket, id=number) for number, bucket in enumerate(buckets))


def protected(
    builder: SwitchBuilder,
    primaries: Sequence[Bucket],
    backups: Sequence[Detour],
    egress: int | None,
    generation: int,
) -> int:
    """The FAST_FAILOVER group of ``primaries`` and then the detours, see :func:`behind`."""
    buckets = [*primaries, *behind(builder, backups, egress, generation)]
    return builder.intern(GroupType.FAST_FAILOVER, in_order(buckets))


def _actions(detour: Detour, egress: int | None, generation: int) -> tuple[Action, ...]:
    tree = detour.tree
    relabel = (
        labels.move(generation, tree.id)
        if tree.egress == egress
        else labels.write(Label(generation, tree.id, tree.egress))
    )
    return relabel, FORGET_IN_PORT, Output(detour.arc.tail.port)
