"""The plan's trees as paths over the fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.dataplane.policy import StalePlanError
from controller.fabric.model import Arc, Fabric
from controller.optimizer.plan import PATH_TREES, Plan, PlannedEgress, PlannedTree


@dataclass(frozen=True, slots=True)
class Tree:
    """``hops[switch]`` to a member for every switch from which the tree leads to one; ``next_arc``
    for all of those but the members."""

    egress: int
    id: int
    next_arc: Mapping[str, Arc]
    hops: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EgressForest:
    """The trees of one egress, sorted by id; ``paths`` are those that only lead from the switches
    of some pins' paths."""

    egress: PlannedEgress
    members: frozenset[str]
    trees: tuple[Tree, ...]
    paths: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Forest:
    by_id: Mapping[int, EgressForest]
    by_members: Mapping[tuple[str, ...], EgressForest]

    @staticmethod
    def of(fabric: Fabric, plan: Plan) -> Forest:
        """Raises StalePlanError where the plan names what the fabric lacks, or a tree runs in a
        circle."""
        problems: list[str] = []
        by_port = {
            name: {arc.tail.port: arc for arc in arcs} for name, arcs in fabric.arcs_from.items()
        }
        trees: dict[int, list[Tree]] = {egress.id: [] for egress in plan.egresses}
        paths: dict[int, list[Tree]] = {egress.id: [] for egress in plan.egresses}
        members = {egress.id: frozenset(egress.members) for egress in plan.egresses}
        for egress in plan.egresses:
            problems += [
                f"egress {egress.id} ends at switch {name}, not in the fabric"
                for name in egress.members
                if name not in fabric.switch_by_name
            ]
        for tree in sorted(plan.trees, key=lambda tree: (tree.egress, tree.id)):
            if tree.egress in members:
                found = _tree(by_port, tree, members[tree.egress], problems)
                (paths if tree.id in PATH_TREES else trees)[tree.egress].append(found)
            else:
                problems.append(f"tree {tree.id} is of egress {tree.egress}, not in the plan")
        if problems:
            raise StalePlanError(f"plan {plan.id} is for another fabric: " + "; ".join(problems))
        forests = {
            egress.id: EgressForest(
                egress, members[egress.id], tuple(trees[egress.id]), tuple(paths[egress.id])
            )
            for egress in plan.egresses
        }
        return Forest(forests, {tuple(sorted(f.members)): f for f in forests.values()})


def _tree(
    by_port: Mapping[str, Mapping[int, Arc]],
    tree: PlannedTree,
    members: frozenset[str],
    problems: list[str],
) -> Tree:
    name = f"tree {tree.id} of egress {tree.egress}"
    arcs: dict[str, Arc] = {}
    for switch, port in tree.next_port.items():
        arc = by_port.get(switch, _NO_ARCS).get(port)
        if arc is None:
            problems.append(f"{name} leaves by {switch}:{port}, no fabric port")
        elif switch not in members:
            arcs[switch] = arc
    hops: dict[str, int | None] = {member: 0 for member in members if member in by_port}
    for start in arcs:
        walked: list[str] = []
        at: str | None = start
        while at is not None and at not in hops:
            # Until the walk has come back from a member, the switch leads nowhere.
            hops[at] = None
            walked.append(at)
            at = arcs[at].head.switch if at in arcs else None
        if at in walked:
            problems.append(f"{name} runs in a circle at {at}")
        rest = hops[at] if at is not None else None
        if rest is not None:
            for further, switch in enumerate(reversed(walked), rest + 1):
                hops[switch] = further
    known = {switch: count for switch, count in hops.items() if count is not None}
    leading = {switch: arc for switch, arc in arcs.items() if switch in known}
    return Tree(tree.egress, tree.id, leading, known)


_NO_ARCS: Mapping[int, Arc] = {}
