"""Table 1, above destinations: flows that have a path of their own.

A pin's group is FAST_FAILOVER of its path, its backup, and the ingress group of its egress and
class, so that whatever dies first the packets take the next. Like transit groups it is named by its
content: another path is another group, and the flow moves to it in one message. Packets are marked
here, once, with their intent's class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.dataplane import ids, labels
from controller.dataplane.classify import led, queued
from controller.dataplane.forest import Forest, Tree
from controller.dataplane.labels import Label
from controller.dataplane.pipeline import (
    ETH_IPV4,
    ETH_IPV6,
    PROTO_UDP,
    Spelled,
    SwitchBuilder,
    Table,
    spelled,
)
from controller.dataplane.policy import StalePlanError
from controller.dataplane.repair import to_group
from controller.fabric.model import AttachmentSet, Fabric, TrafficClass
from controller.intents.demands import Demands, FlowId, PinnedFlow
from controller.openflow.model import Action, Bucket, Field, GroupType, Output, SetField
from controller.optimizer.plan import PlacedFlow, Plan

ROCE_PORT = 4791
_PAIR, _QUEUE_PAIR = 2000, 2001


@dataclass(frozen=True, slots=True)
class _Pinned:
    flow: PinnedFlow
    traffic_class: TrafficClass
    trees: tuple[Tree, ...]
    """Primary and backup, as far as it has them."""


@dataclass(frozen=True, slots=True)
class Pins:
    fabric: Fabric
    by_ingress: Mapping[str, Sequence[_Pinned]]

    @staticmethod
    def of(fabric: Fabric, plan: Plan, forest: Forest, demands: Demands) -> Pins:
        """Raises StalePlanError where the plan lacks a flow, a flow's class is not of the fabric or
        a tree does not lead from the ingress."""
        classes = {traffic_class.name: traffic_class for traffic_class in fabric.classes}
        default = fabric.default_class
        found: dict[str, list[_Pinned]] = {}
        problems = []
        for flow in demands.flows:
            pin = plan.pins.get(PlacedFlow(*flow.id))
            if pin is None or pin.egress != flow.egress:
                problems.append(f"it has not placed {flow.id} of {flow.id.intent}")
                continue
            if pin.shortage == "SHADOWED":
                continue
            of_egress = forest.by_members.get(flow.egress)
            known = (*of_egress.trees, *of_egress.paths) if of_egress is not None else ()
            by_id = {tree.id: tree for tree in known if flow.id.ingress in tree.next_arc}
            wanted = [tree for tree in (pin.primary, pin.backup) if tree is not None]
            problems += [
                f"tree {tree} to {', '.join(flow.egress)} does not lead from {flow.id.ingress}"
                for tree in wanted
                if tree not in by_id
            ]
            traffic_class = classes.get(flow.traffic_class) if flow.traffic_class else default
            if traffic_class is None:
                problems.append(
                    f"{flow.id} of {flow.id.intent} has class {flow.traffic_class}, "
                    "not in the fabric"
                )
                continue
            trees = tuple(by_id[tree] for tree in wanted if tree in by_id)
            found.setdefault(flow.id.ingress, []).append(_Pinned(flow, traffic_class, trees))
        if problems:
            raise StalePlanError(f"plan {plan.id} is for other flows: " + "; ".join(problems))
        return Pins(fabric, found)

    def labels(self) -> Iterator[tuple[str, Label]]:
        """(Switch, label as it arrives there) after the first hop of each path."""
        for ingress, pinned in self.by_ingress.items():
            for pin in pinned:
                for tree in pin.trees:
                    arc = tree.next_arc[ingress]
                    yield arc.head.switch, Label(0, tree.id, tree.egress)

    def install(
        self,
        switch: str,
        builder: SwitchBuilder,
        ordinary: Mapping[AttachmentSet, Mapping[str, int]],
    ) -> None:
        """``ordinary``: the ingress group of each egress and class."""
        for pin in self.by_ingress.get(switch, ()):
            group = ordinary.get(pin.flow.egress, {}).get(pin.traffic_class.name)
            if pin.trees:
                group = _group(switch, builder, pin.trees, group)
            elif group is None and switch not in pin.flow.egress:
                continue
            actions = (*_marked(pin.traffic_class), *queued(pin.traffic_class))
            source = self.fabric.nic_by_id[pin.flow.id.source]
            port = next(p.port for p in source.attachments if p.switch == switch)
            for priority, match in self._matches(pin.flow.id):
                builder.flow(
                    Table.CLASSIFY,
                    priority,
                    match,
                    led(actions, group),
                    ids.cookie(ids.Kind.PIN, port),
                )

    def _matches(self, flow: FlowId) -> Iterator[tuple[int, dict[Field, int | tuple[int, int]]]]:
        for a in self.fabric.nic_by_id[flow.source].addresses:
            for b in self.fabric.nic_by_id[flow.destination].addresses:
                if a.version != b.version:
                    continue
                v4 = a.version == 4
                match: dict[Field, int | tuple[int, int]] = {
                    Field.ETH_TYPE: ETH_IPV4 if v4 else ETH_IPV6,
                    Field.IPV4_SRC if v4 else Field.IPV6_SRC: int(a),
                    Field.IPV4_DST if v4 else Field.IPV6_DST: int(b),
                }
                if not flow.udp_source_port:
                    yield _PAIR, match
                    continue
                yield (
                    _QUEUE_PAIR,
                    {
                        **match,
                        Field.IP_PROTO: PROTO_UDP,
                        Field.UDP_SRC: flow.udp_source_port,
                        Field.UDP_DST: ROCE_PORT,
                    },
                )


def _marked(traffic_class: TrafficClass) -> tuple[Action, ...]:
    if traffic_class.dscp is None:
        return ()
    return (SetField(Field.IP_DSCP, traffic_class.dscp),)


def _group(switch: str, builder: SwitchBuilder, trees: Sequence[Tree], ordinary: int | None) -> int:
    buckets: list[Spelled] = []
    for number, tree in enumerate(trees):
        port = tree.next_arc[switch].tail.port
        onto = labels.write(Label(0, tree.id, tree.egress)), Output(port)
        buckets.append(spelled(Bucket(number, onto, watch_port=port)))
    if ordinary is not None:
        buckets.append(to_group(len(buckets), ordinary))
    return builder.intern(GroupType.FAST_FAILOVER, buckets, ids.pin_group_number)
