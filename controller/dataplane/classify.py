"""Table 1: the sender's zone, the destination and the class choose the ingress group.

A destination prefix holds known addresses of one egress only, and only those that the zone may
reach; all else misses and is dropped. Longer prefixes come first, because while a new plan replaces
an old one prefixes of both are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from controller.dataplane import ids, ingress
from controller.dataplane.forest import Forest
from controller.dataplane.pipeline import ETH_IPV4, ETH_IPV6, SwitchBuilder, Table
from controller.dataplane.policy import Policy, StalePlanError
from controller.dataplane.prefixes import spanning
from controller.dataplane.transit import Transit
from controller.fabric.model import AttachmentSet, Fabric, IpAddress, TrafficClass
from controller.openflow.model import (
    Action,
    ApplyActions,
    Field,
    GotoTable,
    Instruction,
    SetQueue,
    ToGroup,
)
from controller.optimizer.plan import Plan

_BASE = 1000
_FAMILIES = (
    (4, 32, ETH_IPV4, Field.IPV4_DST),
    (6, 128, ETH_IPV6, Field.IPV6_DST),
)

Destination = dict[Field, int | tuple[int, int]]


@dataclass
class Classifier:
    fabric: Fabric
    plan: Plan
    forest: Forest
    policy: Policy
    transit: Transit

    @cached_property
    def _known(self) -> Mapping[int, Sequence[int]]:
        """All addresses of each IP version, sorted: what no prefix may hold unless it is meant."""
        everyone: list[IpAddress] = [a for nic in self.fabric.nics for a in nic.addresses]
        everyone += [self.fabric.gateway_ipv4, self.fabric.gateway_ipv6]
        return {v: sorted({int(a) for a in everyone if a.version == v}) for v in (4, 6)}

    @cached_property
    def _prefixes(self) -> Mapping[int, Mapping[AttachmentSet, Sequence[tuple[int, Destination]]]]:
        """Of each zone, for each egress: (prefix length, match of the destination)."""
        out = {}
        for zone, nics in self.policy.peers.items():
            addresses: dict[AttachmentSet, list[IpAddress]] = {}
            for nic in nics:
                addresses.setdefault(nic.attachment_set, []).extend(nic.addresses)
            out[zone] = {egress: list(self._span(found)) for egress, found in addresses.items()}
        return out

    def _span(self, addresses: list[IpAddress]) -> Iterator[tuple[int, Destination]]:
        for version, bits, eth_type, field in _FAMILIES:
            wanted = [int(a) for a in addresses if a.version == version]
            for value, length in spanning(wanted, self._known[version], bits):
                mask = (1 << bits) - (1 << bits - length)
                yield length, {Field.ETH_TYPE: eth_type, field: (value, mask)}

    def install(
        self, switch: str, builder: SwitchBuilder
    ) -> Mapping[AttachmentSet, Mapping[str, int]]:
        """Returns the ingress group of each egress and class."""
        zones = sorted(
            {
                self.policy.zone_of[nic.id]
                for _, nic in self.fabric.nics_on[switch]
                if nic.id in self.policy.zone_of
            }
        )
        groups: dict[AttachmentSet, Mapping[str, int]] = {}
        for zone in zones:
            for egress, prefixes in self._prefixes[zone].items():
                local = switch in egress
                if not local and egress not in groups:
                    groups[egress] = self._groups(switch, egress, builder)
                for traffic_class in self.fabric.classes:
                    group = None if local else groups[egress].get(traffic_class.name)
                    if local or group is not None:
                        instructions = led(queued(traffic_class), group)
                        for length, match in prefixes:
                            _install(builder, zone, traffic_class, length, match, instructions)
        return groups

    def _groups(
        self, switch: str, egress: AttachmentSet, builder: SwitchBuilder
    ) -> Mapping[str, int]:
        of_egress = self.forest.by_members.get(egress)
        if of_egress is None:
            raise StalePlanError(f"plan {self.plan.id} has no egress {', '.join(egress)}")
        detours = self.transit.ingress_detours(switch, of_egress.egress.id)
        return ingress.install(builder, switch, of_egress, detours, self.fabric.classes, self.plan)


def queued(traffic_class: TrafficClass) -> tuple[Action, ...]:
    return (SetQueue(traffic_class.queue),) if traffic_class.queue else ()


def led(actions: tuple[Action, ...], group: int | None) -> tuple[Instruction, ...]:
    """Through ``group`` after these actions; None is for destinations on this switch."""
    if group is not None:
        return (ApplyActions((*actions, ToGroup(group))),)
    goto = GotoTable(Table.DELIVER)
    return (ApplyActions(actions), goto) if actions else (goto,)


def _install(
    builder: SwitchBuilder,
    zone: int,
    traffic_class: TrafficClass,
    length: int,
    destination: Destination,
    instructions: tuple[Instruction, ...],
) -> None:
    match = {Field.METADATA: zone, **destination}
    marks: list[Destination] = [{Field.IP_DSCP: dscp} for dscp in traffic_class.dscps]
    for mark in marks or [{}]:
        builder.flow(
            Table.CLASSIFY,
            _BASE + 2 * length + bool(mark),
            {**match, **mark},
            instructions,
            ids.cookie(ids.Kind.CLASSIFY, ids.class_index(traffic_class)),
        )
