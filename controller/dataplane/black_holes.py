"""Which traffic the switches' own repair loses until the controller has planned anew.

Every single failure has a detour, several at once may not. This reads the plan as switches do:
what is dead, which detour comes first, how often a packet may turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from controller.dataplane.forest import EgressForest, Forest, Tree
from controller.dataplane.labels import LAST_GENERATION
from controller.dataplane.repair import Adjacency, Detour
from controller.dataplane.transit import Transit
from controller.fabric.model import Arc, AttachmentSet, Fabric
from controller.optimizer.plan import Plan

Pair = tuple[str, AttachmentSet]
"""The switch where packets come in, and those where they may go out."""


def black_holes(fabric: Fabric, plan: Plan, down: Collection[int]) -> tuple[Pair, ...]:
    """The pairs that the plan places and that lose packets, all or some, with these arcs dead,
    though the arcs that are left join them. Sorted."""
    forest = Forest.of(fabric, plan)
    transit = Transit(Adjacency(fabric), forest)
    dead = frozenset(down)
    rows: dict[AttachmentSet, list[tuple[str, Collection[int]]]] = {}
    for key, weights in plan.weights.items():
        rows.setdefault(key.egress, []).append((key.ingress, weights))
    found: set[Pair] = set()
    for of_egress in forest.by_id.values():
        used = [arc.index for tree in of_egress.trees for arc in tree.next_arc.values()]
        if dead.isdisjoint(used):
            continue
        repair = _Repair(transit, of_egress, dead)
        joined = _joined(fabric, of_egress.members, dead)
        members = tuple(sorted(of_egress.members))
        for ingress, row in rows.get(members, ()):
            if ingress in joined and not repair.serves(ingress, row):
                found.add((ingress, members))
    return tuple(sorted(found))


def _joined(fabric: Fabric, members: Collection[str], dead: Collection[int]) -> set[str]:
    """Switches with a way to one of the members."""
    reached = set(members)
    at = list(members)
    while at:
        for arc in fabric.arcs_from[at.pop()]:
            # The arc that leads here is the other one of the same link.
            there = arc.head.switch
            if arc.index ^ 1 not in dead and there not in reached:
                reached.add(there)
                at.append(there)
    return reached


@dataclass
class _Repair:
    """What becomes of packets of one egress, whatever hashes choose."""

    transit: Transit
    of_egress: EgressForest
    dead: frozenset[int]
    _known: dict[tuple[str, int, int], bool] = field(default_factory=dict)
    _trees: dict[int, Tree] = field(init=False)

    def __post_init__(self) -> None:
        self._trees = {tree.id: tree for tree in self.of_egress.trees}

    def serves(self, ingress: str, weights: Collection[int]) -> bool:
        """Whether all that enters at a switch arrives: see ``ingress`` for what it tries."""
        for trees in (weights, self._trees):
            first = [(self._trees[t].next_arc.get(ingress), t) for t in trees]
            live = [(arc, t) for arc, t in first if arc is not None and self._live(arc)]
            if live:
                return all(self._arrives(arc.head.switch, t, 0) for arc, t in live)
        return self._by_detour(self.transit.ingress_detours(ingress, self.of_egress.egress.id), 0)

    def _live(self, arc: Arc) -> bool:
        # A port is dead whichever direction of its link is.
        return arc.index not in self.dead and arc.index ^ 1 not in self.dead

    def _arrives(self, switch: str, tree: int, generation: int) -> bool:
        state = switch, tree, generation
        if state not in self._known:
            self._known[state] = self._work_out(*state)
        return self._known[state]

    def _work_out(self, switch: str, tree: int, generation: int) -> bool:
        if switch in self.of_egress.members:
            return True
        arc = self._trees[tree].next_arc.get(switch)
        if arc is None:
            return False
        if self._live(arc):
            return self._arrives(arc.head.switch, tree, generation)
        if generation == LAST_GENERATION:
            return False
        egress = self.of_egress.egress.id
        return self._by_detour(
            self.transit.detours(switch, egress, frozenset({arc.tail.port})), generation
        )

    def _by_detour(self, detours: tuple[Detour, ...], generation: int) -> bool:
        for _, equal in groupby(detours, key=attrgetter("cost")):
            live = [d for d in equal if self._live(d.arc)]
            if live:
                return all(
                    self._arrives(d.arc.head.switch, d.tree.id, generation + 1) for d in live
                )
        return False
