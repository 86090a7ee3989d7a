"""The plan's trees as paths over the fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.dataplane.policy import StalePlanError
from controller.fabric.model import Arc, Fabric, PortRef
from controller.optimizer.plan import Plan, PlannedEgress, PlannedTree


@dataclass(frozen=True, slots=True)
class Path:
    """What follows from one switch on: ``switches`` is a set of switch indices as bits, with both
    ends; ``hops`` counts links."""

    switches: int
    hops: int


@dataclass(frozen=True, slots=True)
class Tree:
    """``path[switch]`` for every switch from which the tree leads to a member; ``next_arc`` for all
    of those but the members."""

    egress: int
    id: int
    next_arc: Mapping[str, Arc]
    path: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class EgressForest:
    """The trees of one egress, sorted by id."""

    egress: PlannedEgress
    members: frozenset[str]
    trees: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    by_id: Mapping[int, EgressForest]
    by_members: Mapping[tuple[str, ...], EgressForest]

    @staticmethod
    def of(fabric: Fabric, plan: Plan) -> Forest:
        """Raises StalePlanError where the plan names what the fabric lacks, or a tree runs in a
        circle."""
        problems: list[str] = []
        trees: dict[int, list[Tree]] = {egress.id: [] for egress in plan.egresses}
        members = {egress.id: frozenset(egress.members) for egress in plan.egresses}
        for egress in plan.egresses:
            problems += [
                f"egress {egress.id} ends at switch {name}, not in the fabric"
                for name in egress.members
                if name not in fabric.switch_by_name
            ]
        for tree in sorted(plan.trees, key=lambda tree: (tree.egress, tree.id)):
            if tree.egress in members:
                found = _tree(fabric, tree, members[tree.egress], problems)
                trees[tree.egress].append(found)
            else:
                problems.append(f"tree {tree.id} is of egress {tree.egress}, not in the plan")
        if problems:
            raise StalePlanError(f"plan {plan.id} is for another fabric: " + "; ".join(problems))
        forests = {
            egress.id: EgressForest(egress, members[egress.id], tuple(trees[egress.id]))
            for egress in plan.egresses
        }
        return Forest(forests, {tuple(sorted(f.members)): f for f in forests.values()})


def _tree(fabric: Fabric, tree: PlannedTree, members: frozenset[str], problems: list[str]) -> Tree:
    name = f"tree {tree.id} of egress {tree.egress}"
    arcs: dict[str, Arc] = {}
    for switch, port in tree.next_port.items():
        arc = fabric.arc_by_tail.get(PortRef(switch, port))
        if arc is None:
            problems.append(f"{name} leaves by {switch}:{port}, no fabric port")
        elif switch not in members:
            arcs[switch] = arc
    paths: dict[str, Path | None] = {}
    for member in members:
        if member in fabric.switch_index:
            paths[member] = Path(1 << fabric.switch_index[member], 0)
    for start in arcs:
        walked: list[str] = []
        at: str | None = start
        while at is not None and at not in paths:
            # Until the walk has come back from a member, the switch leads nowhere.
            paths[at] = None
            walked.append(at)
            at = arcs[at].head.switch if at in arcs else None
        if at in walked:
            problems.append(f"{name} runs in a circle at {at}")
        rest = paths[at] if at is not None else None
        for switch in reversed(walked):
            if rest is not None:
                rest = Path(rest.switches | 1 << fabric.switch_index[switch], rest.hops + 1)
            paths[switch] = rest
    path = {switch: found for switch, found in paths.items() if found is not None}
    return Tree(
        tree.egress, tree.id, {switch: arc for switch, arc in arcs.items() if switch in path}, path
    )
