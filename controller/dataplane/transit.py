"""Table 3: labels to ports, with what each switch does when the port is dead.

Only labels that can arrive have rules: those that some ingress writes, and from there on those that
trees and detours hand to the next switch, whatever fails. So a leaf of a Clos, which is no transit
switch but for detours, holds a few rules for each egress instead of all trees of all egresses.

Rules are exact in tree and egress. A wildcard over trees or egresses would also catch labels of the
next plan while both plans are installed; a tree's id fixes its next hop, so exact rules of two
plans can stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from controller.dataplane import ids, labels
from controller.dataplane.forest import Forest, Tree
from controller.dataplane.labels import LAST_GENERATION, Label
from controller.dataplane.pipeline import Spelled, SwitchBuilder, Table, output, spelled
from controller.dataplane.repair import Adjacency, Detour, Query, Ways, protected
from controller.fabric.model import Arc
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    GotoTable,
    Output,
    ToGroup,
)

_OWN_EGRESS, _EXACT, ANY_GENERATION = 300, 200, 100


@dataclass
class Transit:
    """``generations[switch][egress, tree]`` are those with which a packet may come to the
    switch."""

    adjacency: Adjacency
    forest: Forest
    generations: dict[str, dict[tuple[int, int], set[int]]] = field(default_factory=dict)
    _trees: dict[tuple[int, int], Tree] = field(default_factory=dict)
    _ways: tuple[int, Ways] | None = None
    _detours: dict[tuple[str, int, frozenset[int]], tuple[Detour, ...]] = field(
        default_factory=dict
    )

    @staticmethod
    def of(
        adjacency: Adjacency,
        forest: Forest,
        handed_over: Iterable[tuple[str, Label]],
        pinned: Iterable[tuple[str, Label]] = (),
    ) -> Transit:
        """(Switch, label as it arrives there) of detours that begin at deliveries, ``handed_over``,
        and of ``pinned`` packets after their first hop."""
        transit = Transit(adjacency, forest)
        for of_egress in forest.by_id.values():
            for tree in (*of_egress.trees, *of_egress.paths):
                transit._trees[tree.egress, tree.id] = tree
        seeds: dict[int, list[tuple[str, Label]]] = {}
        for switch, label in (*handed_over, *pinned):
            seeds.setdefault(label.egress, []).append((switch, label))
        for egress in forest.by_id:
            transit._explore([*transit._ingress(egress), *seeds.get(egress, ())])
        return transit

    def _ingress(self, egress: int) -> Iterator[tuple[str, Label]]:
        sources = [source for source, nics in self.adjacency.fabric.nics_on.items() if nics]
        self._ask(egress, [(source, self._first_ports(source, egress)) for source in sources])
        for source in sources:
            for tree in self.forest.by_id[egress].trees:
                arc = tree.next_arc.get(source)
                if arc is not None:
                    yield arc.head.switch, Label(0, tree.id, egress)
            for detour in self.ingress_detours(source, egress):
                yield detour.arc.head.switch, Label(1, detour.tree.id, egress)

    def _explore(self, seeds: Iterable[tuple[str, Label]]) -> None:
        arriving = list(seeds)
        while arriving:
            leaving: list[tuple[str, Label, Arc]] = []
            for switch, label in arriving:
                arc = self._trees[label.egress, label.tree].next_arc.get(switch)
                if arc is None:
                    continue
                here = self.generations.setdefault(switch, {})
                seen = here.setdefault((label.egress, label.tree), set())
                if label.generation not in seen:
                    seen.add(label.generation)
                    leaving.append((switch, label, arc))
            repaired = [step for step in leaving if step[1].generation < LAST_GENERATION]
            if repaired:
                egress = repaired[0][1].egress
                self._ask(egress, [(s, frozenset({arc.tail.port})) for s, _, arc in repaired])
            arriving = [(arc.head.switch, label) for _, label, arc in leaving]
            for switch, label, arc in repaired:
                for detour in self.detours(switch, label.egress, frozenset({arc.tail.port})):
                    moved = Label(label.generation + 1, detour.tree.id, label.egress)
                    arriving.append((detour.arc.head.switch, moved))

    def ingress_detours(self, switch: str, egress: int) -> tuple[Detour, ...]:
        """For packets that enter at ``switch`` when no tree's first port lives."""
        if switch in self.forest.by_id[egress].members:
            return ()
        return self.detours(switch, egress, self._first_ports(switch, egress))

    def _first_ports(self, switch: str, egress: int) -> frozenset[int]:
        trees = self.forest.by_id[egress].trees
        return frozenset(t.next_arc[switch].tail.port for t in trees if switch in t.next_arc)

    def detours(self, switch: str, egress: int, dead: frozenset[int]) -> tuple[Detour, ...]:
        """Where ``switch`` sends packets of the egress whose next ports are dead."""
        key = switch, egress, dead
        if key not in self._detours:
            self._ask(egress, [(switch, dead)])
        return self._detours[key]

    def _ask(self, egress: int, queries: Iterable[Query]) -> None:
        """Many at once, which is what is quick."""
        new = [q for q in dict.fromkeys(queries) if (q[0], egress, q[1]) not in self._detours]
        if not new:
            return
        if self._ways is None or self._ways[0] != egress:
            # Of one egress at a time: they are large, and asked for one egress after the other.
            self._ways = egress, Ways(self.adjacency, self.forest.by_id[egress].trees)
        for (switch, dead), found in zip(new, self._ways[1].detours(new), strict=True):
            self._detours[switch, egress, dead] = found

    def install(self, switch: str, builder: SwitchBuilder) -> None:
        for egress, of_egress in self.forest.by_id.items():
            if switch in of_egress.members:
                builder.label_flow(
                    Table.TRANSIT,
                    _OWN_EGRESS,
                    labels.of_egress(egress),
                    (GotoTable(Table.DELIVER),),
                    _cookie(egress, 0),
                )
        for (egress, tree), generations in self.generations.get(switch, {}).items():
            port = self._trees[egress, tree].next_arc[switch].tail.port
            backups = self.detours(switch, egress, frozenset({port}))
            if not backups:
                builder.label_flow(
                    Table.TRANSIT,
                    ANY_GENERATION,
                    labels.of_tree(egress, tree),
                    output(port),
                    _cookie(egress, tree),
                )
                continue
            for generation in sorted(generations):
                instructions = output(port)
                if generation < LAST_GENERATION:
                    group = protected(builder, [_primary(port)], backups, egress, generation)
                    instructions = (ApplyActions((ToGroup(group),)),)
                builder.label_flow(
                    Table.TRANSIT,
                    _EXACT,
                    Label(generation, tree, egress).pack(),
                    instructions,
                    _cookie(egress, tree),
                )


@lru_cache(maxsize=1 << 12)
def _primary(port: int) -> Spelled:
    return spelled(Bucket(0, (Output(port),), watch_port=port))


def _cookie(egress: int, tree: int) -> int:
    return ids.cookie(ids.Kind.TRANSIT, egress << 10 | tree)
