"""Table 4: the last switch gives the packet its host's MAC back and sends it out.

A NIC on several switches is protected like a link in transit: while its port here is dead, the
packet goes on to another of its switches, with the next generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from controller.dataplane import ids, labels
from controller.dataplane.forest import Forest
from controller.dataplane.labels import LAST_GENERATION, Label
from controller.dataplane.pipeline import ETH_IPV4, ETH_IPV6, SwitchBuilder, Table, spelled
from controller.dataplane.policy import Policy
from controller.dataplane.repair import Adjacency, Detour, Ways, protected
from controller.fabric.model import IpAddress, Nic
from controller.openflow.model import (
    Action,
    ApplyActions,
    Bucket,
    Field,
    GroupType,
    Output,
    SetField,
    ToGroup,
)

_UNREPAIRED, _REPAIRED = 100, 200


@dataclass
class Delivery:
    adjacency: Adjacency
    forest: Forest
    policy: Policy
    _detours: dict[tuple[str, tuple[str, ...]], tuple[Detour, ...]] = field(default_factory=dict)

    def detours(self, switch: str, attachments: tuple[str, ...]) -> tuple[Detour, ...]:
        """From ``switch`` to the other switches of a NIC."""
        key = switch, attachments
        if key not in self._detours:
            others = set(attachments) - {switch}
            trees = chain.from_iterable(
                of_egress.trees
                for of_egress in self.forest.by_id.values()
                if of_egress.members <= others or of_egress.members == set(attachments)
            )
            self._detours[key] = ()
            if others:
                ways = Ways(self.adjacency, list(trees))
                (self._detours[key],) = ways.detours([(switch, frozenset())])
        return self._detours[key]

    def handed_over(self) -> Iterator[tuple[str, Label]]:
        """Each neighbour and label that a packet may be sent on with from a dead access port."""
        for switch, nics in self.adjacency.fabric.nics_on.items():
            for attachments in sorted({nic.attachment_set for _, nic in nics}):
                for detour in self.detours(switch, attachments):
                    for generation in range(1, LAST_GENERATION + 1):
                        label = Label(generation, detour.tree.id, detour.tree.egress)
                        yield detour.arc.head.switch, label

    def install(self, switch: str, builder: SwitchBuilder) -> None:
        ports: dict[str, list[int]] = {}
        for port, nic in self.adjacency.fabric.nics_on[switch]:
            if nic.id in self.policy.zone_of:
                ports.setdefault(nic.id, []).append(port.port)
        for nic_id, local in ports.items():
            nic = self.adjacency.fabric.nic_by_id[nic_id]
            self._deliver(builder, nic, local, self.detours(switch, nic.attachment_set))

    def _deliver(
        self, builder: SwitchBuilder, nic: Nic, ports: list[int], backups: tuple[Detour, ...]
    ) -> None:
        primaries = [
            spelled(Bucket(number, self._send(nic, port), watch_port=port))
            for number, port in enumerate(ports)
        ]
        last: tuple[Action, ...] = primaries[0][0].actions
        if len(primaries) > 1:
            last = (ToGroup(builder.intern(GroupType.FAST_FAILOVER, primaries)),)
        cookie = ids.cookie(ids.Kind.DELIVER, ports[0])
        for address in nic.addresses:
            if not backups:
                builder.flow(
                    Table.DELIVER,
                    _UNREPAIRED,
                    destination(address),
                    (ApplyActions(last),),
                    cookie,
                )
                continue
            for generation in range(LAST_GENERATION + 1):
                actions = last
                if generation < LAST_GENERATION:
                    group = protected(builder, primaries, backups, None, generation)
                    actions = (ToGroup(group),)
                # Packets from hosts of this very switch carry no label: generation 0 is what is
                # left.
                label = {Field.ETH_DST: labels.of_generation(generation)} if generation else {}
                builder.flow(
                    Table.DELIVER,
                    _REPAIRED if generation else _UNREPAIRED,
                    {**destination(address), **label},
                    (ApplyActions(actions),),
                    cookie,
                )

    def _send(self, nic: Nic, port: int) -> tuple[Action, ...]:
        return (
            SetField(Field.ETH_DST, nic.mac),
            SetField(Field.ETH_SRC, self.adjacency.fabric.gateway_mac),
            Output(port),
        )


def destination(address: IpAddress) -> dict[Field, int | tuple[int, int]]:
    if address.version == 4:
        return {Field.ETH_TYPE: ETH_IPV4, Field.IPV4_DST: int(address)}
    return {Field.ETH_TYPE: ETH_IPV6, Field.IPV6_DST: int(address)}
