"""The hashes by which Open vSwitch spreads flows over the buckets of a SELECT group.

``five_tuple`` is the datapath's hash of a received packet (`flow_hash_5tuple`, MurmurHash3 by
Austin Appleby, in builds without SSE 4.2, as distributions make them); ``dp_hash`` what a SELECT
group with the ``dp_hash`` method sees of it.
"""

from __future__ import annotations

from controller.emulator import headers as h
from controller.openflow.messages import Selection

_U32 = 0xFFFFFFFF
_WITH_PORTS = {h.TCP, h.UDP, h.SCTP, h.ICMP, h.ICMPV6}


def _rotate(x: int, k: int) -> int:
    return (x << k | x >> (32 - k)) & _U32


def _add(state: int, word: int) -> int:
    if word:
        word = _rotate(word * 0xCC9E2D51 & _U32, 15) * 0x1B873593 & _U32
    return (_rotate(state ^ word, 13) * 5 + 0xE6546B64) & _U32


def _finish(state: int, final: int) -> int:
    x = state ^ final
    x = (x ^ x >> 16) * 0x85EBCA6B & _U32
    x = (x ^ x >> 13) * 0xC2B2AE35 & _U32
    return x ^ x >> 16


def _swapped(value: int, size: int) -> int:
    """A field in network order, read as a little-endian machine does."""
    return int.from_bytes(value.to_bytes(size, "big"), "little")


def five_tuple(headers: int, basis: int = 0) -> int:
    """32 bits: addresses, protocol and ports (or ICMP type and code)."""
    state = basis
    if h.is_ipv6(headers):
        for place in (h.IPV6_SRC, h.IPV6_DST):
            octets = place.get(headers).to_bytes(16, "big")
            for at in range(0, 16, 4):
                state = _add(state, int.from_bytes(octets[at : at + 4], "little"))
    elif h.is_ipv4(headers) or h.ETH_TYPE.get(headers) == h.ETH_ARP:
        state = _add(state, _swapped(h.NW_SRC.get(headers), 4))
        state = _add(state, _swapped(h.NW_DST.get(headers), 4))
    else:
        return _finish(state, 42)
    protocol = h.IP_PROTO.get(headers) & 0xFF
    state = _add(state, protocol)
    if protocol in _WITH_PORTS:
        ports = h.TP_SRC.get(headers) << 16 | h.TP_DST.get(headers)
        state = _add(state, _swapped(ports, 4))
    return _finish(state, 42)


def word(x: int, basis: int) -> int:
    """`hash_int`."""
    return _finish(_add(_add(x, 0), basis), 8)


def dp_hash(headers: int, basis: int = 0) -> int:
    """What a packet with these headers on arrival is hashed to; never 0, which means not yet."""
    return word(five_tuple(headers), basis)


def _symmetric_l2(headers: int, basis: int) -> int:
    """`flow_hash_symmetric_l2`."""
    vlan = 0
    for tag in h.VLANS:
        vlan ^= tag.get(headers) & 0xFFF
    octets = (
        h.ETH_TYPE.get(headers).to_bytes(2, "big")
        + vlan.to_bytes(2, "big")
        + (h.ETH_SRC.get(headers) ^ h.ETH_DST.get(headers)).to_bytes(6, "big")
        + bytes(2)
    )
    state = basis
    for at in range(0, 12, 4):
        state = _add(state, int.from_bytes(octets[at : at + 4], "little"))
    return _finish(state, basis)


def symmetric_l3l4(headers: int, basis: int = 0) -> int:
    """The default of SELECT groups: ports of TCP and SCTP count, those of UDP do not."""
    state = basis
    if h.is_ipv4(headers):
        state = _add(state, _swapped(h.NW_SRC.get(headers) ^ h.NW_DST.get(headers), 4))
    elif h.is_ipv6(headers):
        octets = (h.IPV6_SRC.get(headers) ^ h.IPV6_DST.get(headers)).to_bytes(16, "big")
        for at in range(0, 16, 4):
            state = _add(state, int.from_bytes(octets[at : at + 4], "little"))
    else:
        return _symmetric_l2(headers, basis)
    protocol = h.IP_PROTO.get(headers) & 0xFF
    state = _add(state, protocol)
    if not h.IP_FRAGMENT.get(headers) and protocol in (h.TCP, h.SCTP):
        state = _add(state, _swapped(h.TP_SRC.get(headers) ^ h.TP_DST.get(headers), 2))
    return _finish(state, basis)


def symmetric_l4(headers: int) -> int:
    """What buckets are scored by where there is no hash table of slots (Jenkins' lookup3)."""
    ethernet = h.ETH_SRC.get(headers) ^ h.ETH_DST.get(headers)
    vlan = 0
    for tag in h.VLANS:
        vlan ^= tag.get(headers) & 0xFFF
    addresses, protocol, ports = bytes(16), 0, 0
    if h.is_ip(headers):
        if h.is_ipv4(headers):
            addresses = (h.NW_SRC.get(headers) ^ h.NW_DST.get(headers)).to_bytes(4, "big")
        else:
            addresses = (h.IPV6_SRC.get(headers) ^ h.IPV6_DST.get(headers)).to_bytes(16, "big")
        protocol = h.IP_PROTO.get(headers) & 0xFF
        if protocol in (h.TCP, h.SCTP):
            ports = h.TP_SRC.get(headers) ^ h.TP_DST.get(headers)
    data = (
        addresses.ljust(16, b"\0")
        + h.ETH_TYPE.get(headers).to_bytes(2, "big")
        + vlan.to_bytes(2, "big")
        + ports.to_bytes(2, "big")
        + ethernet.to_bytes(6, "big")
        + bytes([protocol])
    ).ljust(32, b"\0")
    return _jenkins(data, 0)


def _jenkins(data: bytes, basis: int) -> int:
    a = b = c = (0xDEADBEEF + len(data) + basis) & _U32
    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
    while len(words) >= 3:
        a, b, c = (a + words[0]) & _U32, (b + words[1]) & _U32, (c + words[2]) & _U32
        words = words[3:]
        a = ((a - c) ^ _rotate(c, 4)) & _U32
        c = (c + b) & _U32
        b = ((b - a) ^ _rotate(a, 6)) & _U32
        a = (a + c) & _U32
        c = ((c - b) ^ _rotate(b, 8)) & _U32
        b = (b + a) & _U32
        a = ((a - c) ^ _rotate(c, 16)) & _U32
        c = (c + b) & _U32
        b = ((b - a) ^ _rotate(a, 19)) & _U32
        a = (a + c) & _U32
        c = ((c - b) ^ _rotate(b, 4)) & _U32
        b = (b + a) & _U32
    if words:
        words += [0] * (3 - len(words))
        a, b, c = (a + words[0]) & _U32, (b + words[1]) & _U32, (c + words[2]) & _U32
        c = (c ^ b) - _rotate(b, 14) & _U32
        a = (a ^ c) - _rotate(c, 11) & _U32
        b = (b ^ a) - _rotate(a, 25) & _U32
        c = (c ^ b) - _rotate(b, 16) & _U32
        a = (a ^ c) - _rotate(c, 4) & _U32
        b = (b ^ a) - _rotate(a, 14) & _U32
        c = (c ^ b) - _rotate(b, 24) & _U32
    return c


_IN_ORDER = [
    "METADATA",
    "ETH_SRC",
    "ETH_DST",
    "ETH_TYPE",
    "VLAN_VID",
    "VLAN_PCP",
    "MPLS_LABEL",
    "MPLS_TC",
    "MPLS_BOS",
    "IPV4_SRC",
    "IPV4_DST",
    "IPV6_SRC",
    "IPV6_DST",
    "IPV6_FLABEL",
    "IP_PROTO",
    "IP_DSCP",
    "IP_ECN",
    "ARP_OP",
    "ARP_SPA",
    "ARP_TPA",
    "ARP_SHA",
    "ARP_THA",
    "TCP_SRC",
    "TCP_DST",
    "TCP_FLAGS",
    "UDP_SRC",
    "UDP_DST",
    "SCTP_SRC",
    "SCTP_DST",
    "ICMPV4_TYPE",
    "ICMPV4_CODE",
    "ICMPV6_TYPE",
    "ICMPV6_CODE",
    "IPV6_ND_TARGET",
    "IPV6_ND_SLL",
    "IPV6_ND_TLL",
]


def fields_hash(headers: int, selection: Selection) -> int:
    """The ``hash`` method: over the chosen fields that the packet has, in Open vSwitch's order."""
    parameter = selection.parameter
    basis = _finish(_add(_add(0, parameter & _U32), parameter >> 32), 8)
    chosen = [(f, mask) for f, mask in selection.fields if f.name in _IN_ORDER]
    for field, mask in sorted(chosen, key=lambda entry: _IN_ORDER.index(entry[0].name)):
        if h.exists(field, headers):
            value = h.PLACES[field].get(headers) & mask
            basis = _octets(value.to_bytes(field.bytes, "big"), basis)
    return basis


def _octets(data: bytes, basis: int) -> int:
    """`hash_bytes`."""
    state = basis
    for at in range(0, len(data), 4):
        state = _add(state, int.from_bytes(data[at : at + 4], "little"))
    return _finish(state, len(data))
