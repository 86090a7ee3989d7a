"""Tables 0 and 2: what may enter, and the queue of what is in transit.

An access port admits what its NIC sends from its own MAC and addresses to the gateway; a fabric
port admits everything, as only edges write labels. LLDP goes to the controller from wherever it
comes, and nowhere else. All else is dropped.
"""

from __future__ import annotations

from itertools import product

from controller.dataplane import ids
from controller.dataplane.pipeline import (
    ETH_IPV4,
    ETH_IPV6,
    ETH_LLDP,
    SwitchBuilder,
    Table,
    drop,
)
from controller.dataplane.policy import Policy
from controller.fabric.model import Fabric
from controller.openflow.model import (
    ApplyActions,
    Field,
    GotoTable,
    Instruction,
    Meter,
    Metered,
    Output,
    Port,
    SetQueue,
    WriteMetadata,
)

_PROBE, _LLDP, _ADMIT, _NOTHING_ELSE = 310, 300, 100, 0
_CLASS, _ANY_CLASS = 10, 0

LLDP_METER = Meter(ids.METER_LLDP, rate_pps=1000, burst_packets=1000)
"""Every port of a large switch may hear a probe a second, and all at once after a start."""
STRAY_LLDP_METER = Meter(ids.METER_STRAY_LLDP, rate_pps=20, burst_packets=20)
"""All ports without a link share it: a cable that should not be there is seen, and a host that
sends no end of frames drowns no probe."""
NEIGHBOUR_METER = Meter(ids.METER_NEIGHBOURS, rate_pps=200, burst_packets=200)
WHOLE_PACKET = 0xFFFF


def install_guard(fabric: Fabric, policy: Policy, switch: str, builder: SwitchBuilder) -> None:
    builder.meter(STRAY_LLDP_METER)
    builder.flow(
        Table.GUARD,
        _LLDP,
        {Field.ETH_TYPE: ETH_LLDP},
        to_controller(STRAY_LLDP_METER),
        ids.cookie(ids.Kind.PUNT),
    )
    if fabric.arcs_from[switch]:
        builder.meter(LLDP_METER)
    builder.flow(Table.GUARD, _NOTHING_ELSE, {}, drop(), ids.cookie(ids.Kind.GUARD))
    for arc in fabric.arcs_from[switch]:
        port = arc.tail.port
        builder.flow(
            Table.GUARD,
            _PROBE,
            {Field.IN_PORT: port, Field.ETH_TYPE: ETH_LLDP},
            to_controller(LLDP_METER),
            ids.cookie(ids.Kind.PUNT, port),
        )
        builder.flow(
            Table.GUARD,
            _ADMIT,
            {Field.IN_PORT: port},
            (GotoTable(Table.QUEUE),),
            ids.cookie(ids.Kind.FABRIC_PORT, port),
        )
    for ref, nic in fabric.nics_on[switch]:
        if nic.id not in policy.zone_of:
            continue
        for address in nic.addresses:
            v4 = address.version == 4
            builder.flow(
                Table.GUARD,
                _ADMIT,
                {
                    Field.IN_PORT: ref.port,
                    Field.ETH_SRC: nic.mac,
                    Field.ETH_DST: fabric.gateway_mac,
                    Field.ETH_TYPE: ETH_IPV4 if v4 else ETH_IPV6,
                    Field.IPV4_SRC if v4 else Field.IPV6_SRC: int(address),
                },
                (WriteMetadata(policy.zone_of[nic.id]), GotoTable(Table.CLASSIFY)),
                ids.cookie(ids.Kind.GUARD, ref.port),
            )


def install_queues(fabric: Fabric, builder: SwitchBuilder) -> None:
    """The ingress marked nothing but the class's own DSCP, so the queue follows from it."""
    default = next((c.queue for c in fabric.classes if c.dscp is None), 0)
    for traffic_class in fabric.classes:
        if traffic_class.queue == default:
            continue
        for dscp, eth_type in product(traffic_class.dscps, (ETH_IPV4, ETH_IPV6)):
            builder.flow(
                Table.QUEUE,
                _CLASS,
                {Field.ETH_TYPE: eth_type, Field.IP_DSCP: dscp},
                _queued(traffic_class.queue),
                ids.cookie(ids.Kind.QUEUE, ids.class_index(traffic_class)),
            )
    builder.flow(Table.QUEUE, _ANY_CLASS, {}, _queued(default), ids.cookie(ids.Kind.QUEUE))


def _queued(queue: int) -> tuple[Instruction, ...]:
    goto = GotoTable(Table.TRANSIT)
    return (ApplyActions((SetQueue(queue),)), goto) if queue else (goto,)


def to_controller(meter: Meter) -> tuple[Instruction, ...]:
    return (ApplyActions((Metered(meter.id), Output(int(Port.CONTROLLER), WHOLE_PACKET))),)
