"""Table 0, ARP and ND: the edge switch answers for the gateway, with no controller.

A host that asks for any address but its own is given the gateway's MAC. A host that announces its
own address, or probes whether somebody has it (RFC 5227: sender 0; RFC 4862: source ``::``, no
link-layer option), must get no answer, or it would give the address up. What these rules leave over
goes to the controller, metered.
"""

from __future__ import annotations

from controller.dataplane import ids
from controller.dataplane.guard import NEIGHBOUR_METER, to_controller
from controller.dataplane.pipeline import (
    ETH_ARP,
    ETH_IPV6,
    PROTO_ICMPV6,
    SwitchBuilder,
    Table,
    drop,
)
from controller.dataplane.policy import Policy
from controller.fabric.model import Fabric, IpAddress, Nic
from controller.openflow.model import (
    Action,
    ApplyActions,
    CopyField,
    Field,
    GotoTable,
    Output,
    Port,
    SetField,
)

_UNANSWERED, _ANSWERED, _LEFT_OVER, _ADVERTISE = 220, 210, 50, 100
_ARP_REQUEST, _ARP_REPLY = 1, 2
_SOLICITATION, _ADVERTISEMENT = 135, 136
_ROUTER_SOLICITED_OVERRIDE = 0xE0000000
_TARGET_LINK_LAYER_ADDRESS = 2

_ARP = {Field.ETH_TYPE: ETH_ARP, Field.ARP_OP: _ARP_REQUEST}
_ND = {Field.ETH_TYPE: ETH_IPV6, Field.IP_PROTO: PROTO_ICMPV6, Field.ICMPV6_CODE: 0}
_SOLICIT = {**_ND, Field.ICMPV6_TYPE: _SOLICITATION}


def install(fabric: Fabric, policy: Policy, switch: str, builder: SwitchBuilder) -> None:
    """Adds nothing on a switch without NICs that some intent names."""
    nics = [(ref.port, nic) for ref, nic in fabric.nics_on[switch] if nic.id in policy.zone_of]
    if not nics:
        return
    cookie = ids.cookie(ids.Kind.NEIGHBOUR)
    builder.meter(NEIGHBOUR_METER)
    for probe in ({**_ARP, Field.ARP_SPA: 0}, {**_SOLICIT, Field.IPV6_SRC: 0}):
        builder.flow(Table.GUARD, _UNANSWERED, probe, drop(), cookie)
    advertise = (SetField(Field.IPV6_ND_TLL, fabric.gateway_mac), Output(int(Port.IN_PORT)))
    builder.flow(
        Table.ADVERTISE,
        _ADVERTISE,
        {**_ND, Field.ICMPV6_TYPE: _ADVERTISEMENT},
        (ApplyActions(advertise),),
        cookie,
    )
    for port, nic in nics:
        cookie = ids.cookie(ids.Kind.NEIGHBOUR, port)
        for address in nic.addresses:
            builder.flow(Table.GUARD, _UNANSWERED, _asks_for(port, nic, address), drop(), cookie)
            if address.version == 4:
                builder.flow(
                    Table.GUARD,
                    _ANSWERED,
                    {
                        **_ARP,
                        Field.IN_PORT: port,
                        Field.ETH_SRC: nic.mac,
                        Field.ARP_SPA: int(address),
                    },
                    (ApplyActions(_arp_reply(fabric.gateway_mac)),),
                    cookie,
                )
        if any(address.version == 6 for address in nic.addresses):
            # The solicitation may come from a link-local address; the answer goes back by its port.
            builder.flow(
                Table.GUARD,
                _ANSWERED,
                {
                    **_SOLICIT,
                    Field.IN_PORT: port,
                    Field.ETH_SRC: nic.mac,
                    Field.IPV6_ND_SLL: nic.mac,
                },
                (ApplyActions(_advertisement(fabric.gateway_mac)), GotoTable(Table.ADVERTISE)),
                cookie,
            )
    for port in sorted({port for port, _ in nics}):
        for left_over in (_ARP, _SOLICIT):
            builder.flow(
                Table.GUARD,
                _LEFT_OVER,
                {**left_over, Field.IN_PORT: port},
                to_controller(NEIGHBOUR_METER),
                ids.cookie(ids.Kind.PUNT, port),
            )


def _asks_for(port: int, nic: Nic, address: IpAddress) -> dict[Field, int]:
    own: dict[Field, int] = {Field.IN_PORT: port, Field.ETH_SRC: nic.mac}
    if address.version == 4:
        return {**_ARP, **own, Field.ARP_TPA: int(address)}
    return {**_SOLICIT, **own, Field.IPV6_ND_TARGET: int(address)}


def _copy(source: Field, target: Field) -> CopyField:
    return CopyField(source, target, source.bits)


def _arp_reply(gateway_mac: int) -> tuple[Action, ...]:
    return (
        _copy(Field.ETH_SRC, Field.ETH_DST),
        SetField(Field.ETH_SRC, gateway_mac),
        SetField(Field.ARP_OP, _ARP_REPLY),
        _copy(Field.ARP_SHA, Field.ARP_THA),
        _copy(Field.ARP_TPA, Field.REG0),
        _copy(Field.ARP_SPA, Field.ARP_TPA),
        _copy(Field.REG0, Field.ARP_SPA),
        SetField(Field.ARP_SHA, gateway_mac),
        Output(int(Port.IN_PORT)),
    )


def _advertisement(gateway_mac: int) -> tuple[Action, ...]:
    """All but the link-layer option, which exists only once the packet is known to be an
    advertisement: hence a table of its own."""
    return (
        _copy(Field.ETH_SRC, Field.ETH_DST),
        SetField(Field.ETH_SRC, gateway_mac),
        _copy(Field.IPV6_SRC, Field.IPV6_DST),
        _copy(Field.IPV6_ND_TARGET, Field.IPV6_SRC),
        SetField(Field.ICMPV6_TYPE, _ADVERTISEMENT),
        SetField(Field.ND_RESERVED, _ROUTER_SOLICITED_OVERRIDE),
        SetField(Field.ND_OPTIONS_TYPE, _TARGET_LINK_LAYER_ADDRESS),
    )
