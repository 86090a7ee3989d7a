"""Trees for the paths of pins.

A path goes by a tree of the forest where one takes it already: trees keep their next hops for life,
so it stays there. Other paths get trees of their own, of ``PATH_TREES``, which only lead from the
switches of paths. Paths to an egress that agree wherever they meet share one of those; what such a
tree once was for stays in it, for as long as any pin uses it, since its label may still be in some
switch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from controller.engine.pinned import Way, Ways
from controller.fabric.model import AttachmentSet, Fabric
from controller.optimizer.plan import PATH_TREES, Plan, PlannedTree


@dataclass(slots=True)
class PathTrees:
    """``taken`` are the (egress, tree) numbers that nothing new may have."""

    fabric: Fabric
    number: dict[AttachmentSet, int]
    taken: frozenset[tuple[int, int]]
    _forest: dict[int, list[PlannedTree]] = field(default_factory=dict)
    _paths: dict[int, dict[int, dict[str, int]]] = field(default_factory=dict)
    _used: set[tuple[int, int]] = field(default_factory=set)

    def know(self, forest: Iterable[PlannedTree], previous: Plan | None) -> None:
        """Trees that paths may go by: those of the forest, and the path trees of ``previous`` that
        the fabric still has."""
        for tree in forest:
            self._forest.setdefault(tree.egress, []).append(tree)
        if previous is None:
            return
        members = {egress.id: egress.members for egress in previous.egresses}
        ways = Ways(previous, self.fabric)
        for tree in previous.trees:
            egress = members[tree.egress]
            if (
                tree.id in PATH_TREES
                and self.number.get(egress) == tree.egress
                and all(ways.of(at, egress, tree.id) is not None for at in tree.next_port)
            ):
                self._paths.setdefault(tree.egress, {})[tree.id] = dict(tree.next_port)

    def tree_of(self, egress: AttachmentSet, way: Way, before: int | None) -> int:
        """A tree of the egress that takes this way; ``before``, if it does.

        Raises ValueError when numbers run out.
        """
        number = self.number[egress]
        hops = [self.fabric.arcs[arc].tail for arc in way]
        wanted = {hop.switch: hop.port for hop in hops}
        paths = self._paths.setdefault(number, {})
        found = [
            t.id for t in self._forest.get(number, ()) if wanted.items() <= t.next_port.items()
        ]
        found += [i for i, known in sorted(paths.items()) if wanted.items() <= known.items()]
        if not found:
            found = [i for i, known in sorted(paths.items()) if _agree(known, wanted)]
        tree = before if before in found else found[0] if found else self._new(egress, number)
        if tree in PATH_TREES:
            paths.setdefault(tree, {}).update(wanted)
            self._used.add((number, tree))
        return tree

    def _new(self, egress: AttachmentSet, number: int) -> int:
        paths = self._paths[number]
        for tree in PATH_TREES:
            if tree not in paths and (number, tree) not in self.taken:
                return tree
        raise ValueError(
            f"no path number left of {len(PATH_TREES)} for {', '.join(egress)}: numbers of what is "
            "gone come back once every switch is connected and holds the newest plan"
        )

    def used(self) -> Sequence[PlannedTree]:
        """The path trees that some way goes by."""
        return [PlannedTree(e, t, self._paths[e][t]) for e, t in sorted(self._used)]


def _agree(known: dict[str, int], wanted: dict[str, int]) -> bool:
    return all(known.get(switch, port) == port for switch, port in wanted.items())
