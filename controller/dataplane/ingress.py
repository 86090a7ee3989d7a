"""Groups that put packets on trees where they enter the fabric.

For each egress and class: FAILOVER of (the planned spread, the same share on every tree, detours
where no tree's first port lives). The fallback is a group of its own because a bucket of weight 0
never takes over for dead ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from controller.dataplane import ids, labels
from controller.dataplane.forest import EgressForest
from controller.dataplane.ids import IngressKind, ingress_group_id
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import SwitchBuilder
from controller.dataplane.policy import StalePlanError
from controller.dataplane.repair import Detour, behind, to_group
from controller.fabric.model import TrafficClass
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
    default = next((c.name for c in classes if c.dscp is None), None)
    fallback = ingress_group_id(egress, 0, IngressKind.FALLBACK)
    builder.group(_spread(fallback, even, ports, egress))
    out = {}
    for traffic_class in classes:
        weights = even
        for name in (traffic_class.name, default):
            planned = name and plan.weights.get(
                PlacementKey(switch, tuple(sorted(of_egress.members)), name)
            )
            if planned:
                weights = dict(planned)
                break
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
