"""What a switch knows of a packet, as one integer.

All headers and all pipeline state that a flow can match stand at fixed places of one wide integer.
So a match is ``headers & mask == value``, a lookup among all flows of one mask is one hash lookup,
and a copy of a packet for a group bucket costs nothing. Fields that exclude each other (ports of
TCP and UDP, addresses of IPv4 and ARP) share a place, as in Open vSwitch's ``struct flow``: what a
field means depends on the Ethernet type and the IP protocol, which every valid match of it matches
exactly (its prerequisites).
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.openflow.model import Field


@dataclass(frozen=True, slots=True)
class Place:
    """``bits`` bits, the lowest of them bit ``shift`` of the headers."""

    shift: int
    bits: int

    @property
    def ones(self) -> int:
        return (1 << self.bits) - 1

    @property
    def mask(self) -> int:
        return self.ones << self.shift

    def get(self, headers: int) -> int:
        return headers >> self.shift & self.ones

    def put(self, headers: int, value: int) -> int:
        return headers & ~self.mask | value << self.shift

    def part(self, shift: int, bits: int) -> Place:
        """The bits of this place from ``shift``, counted from its lowest."""
        return Place(self.shift + shift, bits)


_used = 0


def _place(bits: int) -> Place:
    global _used
    place = Place(_used, bits)
    _used += bits
    return place


IN_PORT = _place(32)
ETH_DST = _place(48)
ETH_SRC = _place(48)
ETH_TYPE = _place(16)
IP_PROTO = _place(16)  # and the ARP operation, which has 16 bits
IP_TOS = _place(8)
IP_TTL = _place(8)
IP_FRAGMENT = _place(2)  # 1 any fragment, 2 a later one
NW_SRC = _place(32)
NW_DST = _place(32)
TP_SRC = _place(16)  # and the ICMP type
TP_DST = _place(16)  # and the ICMP code
TCP_FLAGS = _place(12)
METADATA = _place(64)
VLANS = (_place(16), _place(16))  # outermost first; the CFI bit says that there is a tag
VLAN_TPIDS = (_place(16), _place(16))
LABELS = (_place(32), _place(32), _place(32))  # MPLS label stack entries, outermost first
IPV6_SRC = _place(128)
IPV6_DST = _place(128)
IPV6_LABEL = _place(20)
ARP_SHA = _place(48)  # and the source link-layer address of a neighbour solicitation
ARP_THA = _place(48)  # and the target link-layer address of a neighbour advertisement
ND_TARGET = _place(128)
ND_RESERVED = _place(32)
ND_OPTIONS_TYPE = _place(8)
XXREG0 = _place(128)
TUNNEL_ID = _place(64)

VLAN_PRESENT = 1 << 12
"""Of a tag's TCI: its CFI bit, which on the wire has no use any more."""

PIPELINE = IN_PORT.mask | METADATA.mask | XXREG0.mask | TUNNEL_ID.mask
"""What does not leave the switch."""

ETH_IPV4, ETH_IPV6, ETH_ARP, ETH_RARP = 0x0800, 0x86DD, 0x0806, 0x8035
ETH_VLAN, ETH_VLAN_SERVICE = 0x8100, 0x88A8
ETH_MPLS, ETH_MPLS_MULTICAST = 0x8847, 0x8848
ETH_NOT_A_TYPE = 0x05FF
"""The Ethernet type of a frame that has a length there."""
ICMP, IGMP, TCP, UDP, ICMPV6, SCTP = 1, 2, 6, 17, 58, 132
ND_SOLICIT, ND_ADVERT = 135, 136

_PLACES = {
    "IN_PORT": IN_PORT,
    "NXM_IN_PORT": IN_PORT.part(0, 16),
    "METADATA": METADATA,
    "ETH_DST": ETH_DST,
    "ETH_SRC": ETH_SRC,
    "ETH_TYPE": ETH_TYPE,
    "VLAN_VID": VLANS[0].part(0, 13),
    "VLAN_PCP": VLANS[0].part(13, 3),
    "IP_DSCP": IP_TOS.part(2, 6),
    "IP_ECN": IP_TOS.part(0, 2),
    "IP_PROTO": IP_PROTO,
    "IPV4_SRC": NW_SRC,
    "IPV4_DST": NW_DST,
    "TCP_SRC": TP_SRC,
    "TCP_DST": TP_DST,
    "UDP_SRC": TP_SRC,
    "UDP_DST": TP_DST,
    "SCTP_SRC": TP_SRC,
    "SCTP_DST": TP_DST,
    "ICMPV4_TYPE": TP_SRC,
    "ICMPV4_CODE": TP_DST,
    "ICMPV6_TYPE": TP_SRC,
    "ICMPV6_CODE": TP_DST,
    "ARP_OP": IP_PROTO,
    "ARP_SPA": NW_SRC,
    "ARP_TPA": NW_DST,
    "ARP_SHA": ARP_SHA,
    "ARP_THA": ARP_THA,
    "IPV6_SRC": IPV6_SRC,
    "IPV6_DST": IPV6_DST,
    "IPV6_FLABEL": IPV6_LABEL,
    "IPV6_ND_TARGET": ND_TARGET,
    "IPV6_ND_SLL": ARP_SHA,
    "IPV6_ND_TLL": ARP_THA,
    "MPLS_LABEL": LABELS[0].part(12, 20),
    "MPLS_TC": LABELS[0].part(9, 3),
    "MPLS_BOS": LABELS[0].part(8, 1),
    "MPLS_TTL": LABELS[0].part(0, 8),
    "TUNNEL_ID": TUNNEL_ID,
    "TCP_FLAGS": TCP_FLAGS,
    "IP_TTL": IP_TTL,
    "NW_TTL": IP_TTL,
    "REG0": XXREG0.part(96, 32),
    "XXREG0": XXREG0,
    "ND_RESERVED": ND_RESERVED,
    "ND_OPTIONS_TYPE": ND_OPTIONS_TYPE,
}

PLACES: dict[Field, Place] = {f: _PLACES[f.name] for f in Field if f.name in _PLACES}
"""Fields without a place are ones that Open vSwitch does not know either."""


def _is_arp(headers: int) -> bool:
    return ETH_TYPE.get(headers) in (ETH_ARP, ETH_RARP)


def is_ipv4(headers: int) -> bool:
    return ETH_TYPE.get(headers) == ETH_IPV4


def is_ipv6(headers: int) -> bool:
    return ETH_TYPE.get(headers) == ETH_IPV6


def is_ip(headers: int) -> bool:
    return ETH_TYPE.get(headers) in (ETH_IPV4, ETH_IPV6)


def is_mpls(headers: int) -> bool:
    return ETH_TYPE.get(headers) in (ETH_MPLS, ETH_MPLS_MULTICAST)


def has_vlan(headers: int) -> bool:
    return bool(VLANS[0].get(headers) & VLAN_PRESENT)


def _is_first_of(headers: int, protocol: int) -> bool:
    return is_ip(headers) and IP_PROTO.get(headers) == protocol and not IP_FRAGMENT.get(headers) & 2


def _is_tcp(headers: int) -> bool:
    return _is_first_of(headers, TCP)


def _is_udp(headers: int) -> bool:
    return _is_first_of(headers, UDP)


def _is_sctp(headers: int) -> bool:
    return _is_first_of(headers, SCTP)


def _is_icmpv4(headers: int) -> bool:
    return is_ipv4(headers) and IP_PROTO.get(headers) == ICMP


def _is_icmpv6(headers: int) -> bool:
    return is_ipv6(headers) and IP_PROTO.get(headers) == ICMPV6


def _is_nd(headers: int) -> bool:
    return (
        _is_icmpv6(headers)
        and TP_DST.get(headers) == 0
        and TP_SRC.get(headers) in (ND_SOLICIT, ND_ADVERT)
    )


def _is_solicit(headers: int) -> bool:
    return _is_nd(headers) and TP_SRC.get(headers) == ND_SOLICIT


def _is_advert(headers: int) -> bool:
    return _is_nd(headers) and TP_SRC.get(headers) == ND_ADVERT


_PREREQUISITES = {
    "VLAN_PCP": has_vlan,
    "IP_DSCP": is_ip,
    "IP_ECN": is_ip,
    "IP_PROTO": is_ip,
    "IP_TTL": is_ip,
    "NW_TTL": is_ip,
    "IPV4_SRC": is_ipv4,
    "IPV4_DST": is_ipv4,
    "IPV6_SRC": is_ipv6,
    "IPV6_DST": is_ipv6,
    "IPV6_FLABEL": is_ipv6,
    "TCP_SRC": _is_tcp,
    "TCP_DST": _is_tcp,
    "TCP_FLAGS": _is_tcp,
    "UDP_SRC": _is_udp,
    "UDP_DST": _is_udp,
    "SCTP_SRC": _is_sctp,
    "SCTP_DST": _is_sctp,
    "ICMPV4_TYPE": _is_icmpv4,
    "ICMPV4_CODE": _is_icmpv4,
    "ICMPV6_TYPE": _is_icmpv6,
    "ICMPV6_CODE": _is_icmpv6,
    "IPV6_ND_TARGET": _is_nd,
    "IPV6_ND_SLL": _is_solicit,
    "IPV6_ND_TLL": _is_advert,
    "ND_RESERVED": _is_nd,
    "ND_OPTIONS_TYPE": _is_nd,
    "ARP_OP": _is_arp,
    "ARP_SPA": _is_arp,
    "ARP_TPA": _is_arp,
    "ARP_SHA": _is_arp,
    "ARP_THA": _is_arp,
    "MPLS_LABEL": is_mpls,
    "MPLS_TC": is_mpls,
    "MPLS_BOS": is_mpls,
    "MPLS_TTL": is_mpls,
}

PREREQUISITES = {f: _PREREQUISITES[f.name] for f in Field if f.name in _PREREQUISITES}
"""What must hold of the headers for a field to exist; the others always do. Open vSwitch asks the
same of the values of a match (see `meta-flow.h` there)."""

READ_ONLY = frozenset(
    f for f in Field if f.name in {"IN_PORT", "ETH_TYPE", "IP_PROTO", "MPLS_BOS"}
) | frozenset(f for f in Field if f.name in {"TCP_FLAGS"})
"""Fields that can be matched but not set."""

UNMASKED = frozenset(
    f
    for f in Field
    if f.name
    in {
        "IN_PORT",
        "NXM_IN_PORT",
        "ETH_TYPE",
        "VLAN_PCP",
        "IP_DSCP",
        "IP_ECN",
        "IP_PROTO",
        "IP_TTL",
        "NW_TTL",
        "ICMPV4_TYPE",
        "ICMPV4_CODE",
        "ICMPV6_TYPE",
        "ICMPV6_CODE",
        "ARP_OP",
        "MPLS_LABEL",
        "MPLS_TC",
        "MPLS_BOS",
        "MPLS_TTL",
        "ND_RESERVED",
        "ND_OPTIONS_TYPE",
    }
)
"""Fields that Open vSwitch matches and sets in full only."""


def exists(field: Field, headers: int) -> bool:
    condition = PREREQUISITES.get(field)
    return condition is None or condition(headers)


def of(fields: dict[Field, int]) -> int:
    """The headers with these values and 0 elsewhere."""
    headers = 0
    for field, value in fields.items():
        headers = PLACES[field].put(headers, value)
    return headers


def values(headers: int) -> dict[Field, int]:
    """The fields that exist, by value; tags and labels only where there are any."""
    return {
        field: place.get(headers)
        for field, place in PLACES.items()
        if exists(field, headers) and (field.name != "VLAN_VID" or has_vlan(headers))
    }
