"""Which headers a packet must have for a field to exist (OpenFlow 1.5.1, table 12)."""

from __future__ import annotations

from collections.abc import Mapping

from controller.openflow.model import Field, MatchField

_IPV4, _IPV6, _ARP, _MPLS, _MPLS_MULTICAST, _PBB = 0x0800, 0x86DD, 0x0806, 0x8847, 0x8848, 0x88E7
_IP = frozenset({_IPV4, _IPV6})
_VLAN_PRESENT = 0x1000

_ETHERTYPES: dict[Field, frozenset[int]] = (
    dict.fromkeys((Field.IP_DSCP, Field.IP_ECN, Field.IP_PROTO), _IP)
    | dict.fromkeys((Field.IPV4_SRC, Field.IPV4_DST), frozenset({_IPV4}))
    | dict.fromkeys(
        (Field.IPV6_SRC, Field.IPV6_DST, Field.IPV6_FLABEL, Field.IPV6_EXTHDR), frozenset({_IPV6})
    )
    | dict.fromkeys(
        (Field.ARP_OP, Field.ARP_SPA, Field.ARP_TPA, Field.ARP_SHA, Field.ARP_THA),
        frozenset({_ARP}),
    )
    | dict.fromkeys(
        (Field.MPLS_LABEL, Field.MPLS_TC, Field.MPLS_BOS), frozenset({_MPLS, _MPLS_MULTICAST})
    )
    | dict.fromkeys((Field.PBB_ISID, Field.PBB_UCA), frozenset({_PBB}))
)
# Protocol, and the Ethernet types that it may follow.
_PROTOCOLS: dict[Field, tuple[int, frozenset[int]]] = (
    dict.fromkeys((Field.TCP_SRC, Field.TCP_DST, Field.TCP_FLAGS), (6, _IP))
    | dict.fromkeys((Field.UDP_SRC, Field.UDP_DST), (17, _IP))
    | dict.fromkeys((Field.SCTP_SRC, Field.SCTP_DST), (132, _IP))
    | dict.fromkeys((Field.ICMPV4_TYPE, Field.ICMPV4_CODE), (1, frozenset({_IPV4})))
    | dict.fromkeys(
        (
            Field.ICMPV6_TYPE,
            Field.ICMPV6_CODE,
            Field.IPV6_ND_TARGET,
            Field.IPV6_ND_SLL,
            Field.IPV6_ND_TLL,
        ),
        (58, frozenset({_IPV6})),
    )
)
_CONDITIONAL = {*_ETHERTYPES, *_PROTOCOLS, Field.VLAN_PCP, Field.IN_PHY_PORT}
_ICMPV6_TYPES: dict[Field, frozenset[int]] = {
    Field.IPV6_ND_TARGET: frozenset({135, 136}),
    Field.IPV6_ND_SLL: frozenset({135}),
    Field.IPV6_ND_TLL: frozenset({136}),
}


def may_follow(field: Field, matched: Mapping[Field, MatchField]) -> bool:
    """Whether every packet that has the ``matched`` fields has ``field``."""
    if field not in _CONDITIONAL:
        return True
    if field is Field.VLAN_PCP:
        vlan = matched.get(Field.VLAN_VID)
        return vlan is not None and bool(vlan.value & _VLAN_PRESENT)
    if field is Field.IN_PHY_PORT:
        return Field.IN_PORT in matched
    protocol, ethertypes = _PROTOCOLS.get(field, (None, None))
    ethertypes = ethertypes or _ETHERTYPES.get(field)
    return (
        ethertypes is not None
        and _exact(matched, Field.ETH_TYPE) in ethertypes
        and protocol in (None, _exact(matched, Field.IP_PROTO))
        and (
            field not in _ICMPV6_TYPES or _exact(matched, Field.ICMPV6_TYPE) in _ICMPV6_TYPES[field]
        )
    )


def _exact(matched: Mapping[Field, MatchField], field: Field) -> int | None:
    entry = matched.get(field)
    return None if entry is None or entry.mask is not None else entry.value
