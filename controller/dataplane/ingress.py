"""Groups that put packets on trees where they enter the fabric.

For each egress and class: FAILOVER of (the planned spread, the same share on every tree, detours
where no tree's first port lives). The fallback is a group of its own because a bucket of weight 0
never takes over for dead ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from controller.dataplane import ids, labels
from controller.dataplane.forest import EgressForest
from controller.dataplane.ids import IngressKind, ingress_group_id
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import SwitchBuilder
from controller.dataplane.policy import StalePlanError
from controller.dataplane.repair import Detour, behind, to_group
from controller.fabric.model import TrafficClass
from controller.openflow import encode
from controller.openflow.model import Bucket, Group, GroupType, Output
from controller.optimizer.plan import PlacementKey, Plan


def install(
    builder: SwitchBuilder,
    switch: str,
    of_egress: EgressForest,
    detours: Sequence[Detour],
    classes: tuple[TrafficClass, ...],
    plan: Plan,
) -> Mapping[str, int]:
    """Adds the groups of one egress; returns the group of each class by name, empty where no tree
    leads from here. A class that the plan does not place goes like the class of everything else,
    or, without that, evenly."""
    egress = of_egress.egress.id
    ports = {
        tree.id: tree.next_arc[switch].tail.port
        for tree in of_egress.trees
        if switch in tree.next_arc
    }
    if not ports:
        return {}
    even = dict.fromkeys(ports, 1)
    members = tuple(sorted(of_egress.members))
    fallback = ingress_group_id(egress, 0, IngressKind.FALLBACK)
    builder.group(_spread(fallback, even, ports, egress))
    out = {}
    for traffic_class in classes:
        weights = _planned(plan, switch, members, traffic_class, classes) or even
        unusable = sorted(tree for tree, weight in weights.items() if weight and tree not in ports)
        if unusable:
            raise StalePlanError(
                f"plan {plan.id} places {traffic_class.name} traffic from {switch} to egress "
                f"{egress} on trees {unusable}, which do not lead there"
            )
        index = ids.class_index(traffic_class)
        spread = ingress_group_id(egress, index, IngressKind.PLANNED)
        builder.group(_spread(spread, weights, ports, egress))
        group = ingress_group_id(egress, index, IngressKind.FAILOVER)
        buckets = [to_group(number, child) for number, child in enumerate((spread, fallback))]
        buckets += behind(builder, detours, None, 0, len(buckets))
        builder.group(Group(group, GroupType.FAST_FAILOVER, tuple(bucket for bucket, _ in buckets)))
        out[traffic_class.name] = group
    return out


def respread(
    plan: Plan, classes: tuple[TrafficClass, ...], changed: Iterable[PlacementKey]
) -> Mapping[str, Mapping[int, bytes]]:
    """What is new on switches that hold the tables of another plan, when nothing but the weights of
    these placements differs: by switch, the messages of the groups by their ids. Each is the one
    that a compile of the plan has."""
    numbers = {tuple(sorted(egress.members)): egress.id for egress in plan.egresses}
    next_port = {(tree.egress, tree.id): tree.next_port for tree in plan.trees}
    default = _default(classes)
    out: dict[str, dict[int, bytes]] = {}
    for key in changed:
        switch, members, name = key
        egress = numbers[members]
        weights = plan.weights[key]
        for traffic_class in classes:
            if traffic_class.name != name and (
                name != default
                or plan.weights.get(PlacementKey(switch, members, traffic_class.name))
            ):
                continue
            group = ingress_group_id(egress, ids.class_index(traffic_class), IngressKind.PLANNED)
            buckets = [
                _onto_encoded(egress, tree, next_port[egress, tree][switch], weights[tree])
                for tree in sorted(weights)
                if weights[tree]
            ]
            message = encode.group_of(group, GroupType.SELECT, buckets)
            out.setdefault(switch, {})[group] = message
    return out


def _planned(
    plan: Plan,
    switch: str,
    members: tuple[str, ...],
    traffic_class: TrafficClass,
    classes: tuple[TrafficClass, ...],
) -> Mapping[int, int] | None:
    """The weights of a class; those of the class of everything else where it has none."""
    for name in (traffic_class.name, _default(classes)):
        planned = name and plan.weights.get(PlacementKey(switch, members, name))
        if planned:
            return planned
    return None


def _default(classes: tuple[TrafficClass, ...]) -> str | None:
    return next((c.name for c in classes if c.dscp is None), None)


def _spread(group: int, weights: Mapping[int, int], ports: Mapping[int, int], egress: int) -> Group:
    """Buckets are numbered by tree, so that a tree keeps its bucket from plan to plan."""
    return Group(
        group,
        GroupType.SELECT,
        tuple(
            _onto(egress, tree, ports[tree], weights[tree])
            for tree in sorted(weights)
            if weights[tree]
        ),
    )


@lru_cache(maxsize=1 << 16)
def _onto(egress: int, tree: int, port: int, weight: int) -> Bucket:
    """The same few are in the groups of all ingresses."""
    actions = labels.write(Label(0, tree, egress)), Output(port)
    return Bucket(tree, actions, weight=weight, watch_port=port)


@lru_cache(maxsize=1 << 16)
def _onto_encoded(egress: int, tree: int, port: int, weight: int) -> bytes:
    bucket = _onto(egress, tree, port, weight)
    return encode.encode_bucket(bucket, Group(0, GroupType.SELECT, (bucket,)))
