"""Ethernet frames: bytes to headers, and changed headers back into the bytes.

What is cut off or malformed is read as far as it goes; the fields beyond stay 0, as in Open
vSwitch (`miniflow_extract`). One VLAN tag is read, its default ``vlan-limit``.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.emulator import headers as h

_MAX_LABELS = len(h.LABELS)
_IPV6_EXTENSIONS = {0, 43, 60, 51, 135}
_IPV6_FRAGMENT = 44
_IPV6_AUTHENTICATION = 51


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the parts of a frame begin; ``l4`` is None where there is none that could change."""

    l2_5: int
    l3: int
    l4: int | None = None
    option: int | None = None


def parse(data: bytes) -> int:
    """The headers of a frame; pipeline fields are 0."""
    return _parse(data)[0]


def _parse(data: bytes) -> tuple[int, Offsets]:
    if len(data) < 14:
        return 0, Offsets(len(data), len(data))
    headers = h.ETH_DST.put(0, int.from_bytes(data[0:6], "big"))
    headers = h.ETH_SRC.put(headers, int.from_bytes(data[6:12], "big"))
    at = 12
    kind = _word(data, at)
    if kind in (h.ETH_VLAN, h.ETH_VLAN_SERVICE) and len(data) >= at + 6:
        headers = h.VLAN_TPIDS[0].put(headers, kind)
        headers = h.VLANS[0].put(headers, _word(data, at + 2) | h.VLAN_PRESENT)
        at += 4
        kind = _word(data, at)
    at += 2
    if kind < 0x600:
        kind = h.ETH_NOT_A_TYPE
        if data[at : at + 6] == b"\xaa\xaa\x03\0\0\0" and len(data) >= at + 8:
            inner = _word(data, at + 6)
            if inner >= 0x600:
                kind = inner
            at += 8
    headers = h.ETH_TYPE.put(headers, kind)
    l2_5 = at
    if kind in (h.ETH_MPLS, h.ETH_MPLS_MULTICAST):
        for place in h.LABELS:
            if len(data) < at + 4:
                break
            entry = int.from_bytes(data[at : at + 4], "big")
            headers = place.put(headers, entry)
            at += 4
            if entry & 0x100:
                break
        return headers, Offsets(l2_5, at)
    return _parse_network(data, at, kind, headers)


def parse_as(data: bytes, offset: int, kind: int, headers: int) -> int:
    """Adds what begins at ``offset``, an Ethernet type ``kind``, to ``headers``."""
    return _parse_network(data, offset, kind, headers)[0]


def _parse_network(data: bytes, at: int, kind: int, headers: int) -> tuple[int, Offsets]:
    where = Offsets(at, at)
    if kind == h.ETH_IPV4:
        return _parse_ipv4(data, at, headers)
    if kind == h.ETH_IPV6:
        return _parse_ipv6(data, at, headers)
    if kind in (h.ETH_ARP, h.ETH_RARP):
        headers = _parse_arp(data, at, headers)
    return headers, where


def _parse_arp(data: bytes, at: int, headers: int) -> int:
    if data[at : at + 6] != b"\0\1\x08\0\6\4" or len(data) < at + 28:
        return headers
    operation = _word(data, at + 6)
    headers = h.IP_PROTO.put(headers, operation if operation <= 0xFF else 0)
    headers = h.ARP_SHA.put(headers, int.from_bytes(data[at + 8 : at + 14], "big"))
    headers = h.NW_SRC.put(headers, int.from_bytes(data[at + 14 : at + 18], "big"))
    headers = h.ARP_THA.put(headers, int.from_bytes(data[at + 18 : at + 24], "big"))
    return h.NW_DST.put(headers, int.from_bytes(data[at + 24 : at + 28], "big"))


def _parse_ipv4(data: bytes, at: int, headers: int) -> tuple[int, Offsets]:
    where = Offsets(at, at)
    if len(data) < at + 20:
        return headers, where
    length = (data[at] & 15) * 4
    total = _word(data, at + 2)
    if length < 20 or len(data) < at + length or not length <= total <= len(data) - at:
        return headers, where
    headers = h.IP_TOS.put(headers, data[at + 1])
    fragment = _word(data, at + 6)
    if fragment & 0x3FFF:
        headers = h.IP_FRAGMENT.put(headers, 3 if fragment & 0x1FFF else 1)
    headers = h.IP_TTL.put(headers, data[at + 8])
    headers = h.IP_PROTO.put(headers, data[at + 9])
    headers = h.NW_SRC.put(headers, int.from_bytes(data[at + 12 : at + 16], "big"))
    headers = h.NW_DST.put(headers, int.from_bytes(data[at + 16 : at + 20], "big"))
    return _parse_transport(data, at, at + length, at + total, data[at + 9], headers)


def _parse_ipv6(data: bytes, at: int, headers: int) -> tuple[int, Offsets]:
    where = Offsets(at, at)
    if len(data) < at + 40:
        return headers, where
    end = at + 40 + _word(data, at + 4)
    if end > len(data):
        return headers, where
    first = int.from_bytes(data[at : at + 4], "big")
    headers = h.IP_TOS.put(headers, first >> 20 & 0xFF)
    headers = h.IPV6_LABEL.put(headers, first & 0xFFFFF)
    headers = h.IP_TTL.put(headers, data[at + 7])
    headers = h.IPV6_SRC.put(headers, int.from_bytes(data[at + 8 : at + 24], "big"))
    headers = h.IPV6_DST.put(headers, int.from_bytes(data[at + 24 : at + 40], "big"))
    protocol = data[at + 6]
    next_at = at + 40
    while protocol in _IPV6_EXTENSIONS or protocol == _IPV6_FRAGMENT:
        if end < next_at + 8:
            return headers, where
        if protocol == _IPV6_FRAGMENT:
            fragment = _word(data, next_at + 2)
            if fragment & 0xFFF9:
                headers = h.IP_FRAGMENT.put(headers, 3 if fragment & 0xFFF8 else 1)
            size = 8
        elif protocol == _IPV6_AUTHENTICATION:
            size = (data[next_at + 1] + 2) * 4
        else:
            size = (data[next_at + 1] + 1) * 8
        if end < next_at + size:
            return headers, where
        protocol = data[next_at]
        next_at += size
        if h.IP_FRAGMENT.get(headers) & 2:
            break
    headers = h.IP_PROTO.put(headers, protocol)
    return _parse_transport(data, at, next_at, end, protocol, headers)


def _parse_transport(
    data: bytes, l3: int, at: int, end: int, protocol: int, headers: int
) -> tuple[int, Offsets]:
    without = headers, Offsets(l3, l3)
    if h.IP_FRAGMENT.get(headers) & 2:
        return without
    size = end - at
    where = Offsets(l3, l3, at)
    if protocol == h.TCP:
        if size < 20 or not 20 <= (data[at + 12] >> 4) * 4 <= size:
            return without
        headers = h.TCP_FLAGS.put(headers, _word(data, at + 12) & 0xFFF)
    elif protocol == h.UDP:
        if size < 8:
            return without
    elif protocol == h.SCTP:
        if size < 12:
            return without
    elif protocol in (h.ICMP, h.ICMPV6, h.IGMP):
        if size < 8 or (protocol == h.ICMPV6) != h.is_ipv6(headers):
            return without
        headers = h.TP_SRC.put(headers, data[at])
        headers = h.TP_DST.put(headers, data[at + 1])
        nd = protocol == h.ICMPV6 and data[at] in (h.ND_SOLICIT, h.ND_ADVERT) and not data[at + 1]
        return _parse_nd(data, l3, at, end, headers) if nd else (headers, where)
    else:
        return without
    headers = h.TP_SRC.put(headers, _word(data, at))
    return h.TP_DST.put(headers, _word(data, at + 2)), where


def _parse_nd(data: bytes, l3: int, at: int, end: int, headers: int) -> tuple[int, Offsets]:
    where = Offsets(l3, l3, at)
    headers = h.ND_RESERVED.put(headers, int.from_bytes(data[at + 4 : at + 8], "big"))
    if end < at + 24:
        return headers, where
    plain = headers
    headers = h.ND_TARGET.put(headers, int.from_bytes(data[at + 8 : at + 24], "big"))
    option = at + 24
    while end - option >= 8:
        size = data[option + 1] * 8
        if not 0 < size <= end - option:
            return plain, where
        kind = data[option]
        place = {(h.ND_SOLICIT, 1): h.ARP_SHA, (h.ND_ADVERT, 2): h.ARP_THA}.get((data[at], kind))
        if kind in (1, 2) and size == 8:
            headers = h.ND_OPTIONS_TYPE.put(headers, kind)
            where = Offsets(l3, l3, at, option)
            # Either address is read, whatever the message: a responder turns one into the other.
            place = h.ARP_SHA if kind == 1 else h.ARP_THA
        if place is not None:
            headers = place.put(headers, int.from_bytes(data[option + 2 : option + 8], "big"))
        option += size
    return headers, where


def rewrite(data: bytes, before: int, after: int) -> bytes:
    """The frame ``data``, whose headers are ``before``, with the headers ``after``.

    Checksums change with what they cover; one that was wrong stays as wrong.
    """
    if (before ^ after) & ~h.PIPELINE == 0 or len(data) < 14:
        return data
    _, where = _parse(data)
    # A label stack of unread depth stays in the body.
    body = bytearray(data[where.l3 :])
    kind = h.ETH_TYPE.get(before)
    shift = where.l3
    l4 = None if where.l4 is None else where.l4 - shift
    option = None if where.option is None else where.option - shift
    if kind == h.ETH_IPV4 and len(body) >= 20:
        _write_ipv4(body, l4, before, after)
    elif kind == h.ETH_IPV6 and len(body) >= 40:
        _write_ipv6(body, l4, option, before, after)
    elif kind in (h.ETH_ARP, h.ETH_RARP) and len(body) >= 28:
        _write_arp(body, before, after)
    return _link_layer(data, where, before, after) + bytes(body)


def _link_layer(data: bytes, where: Offsets, before: int, after: int) -> bytes:
    out = [
        h.ETH_DST.get(after).to_bytes(6, "big"),
        h.ETH_SRC.get(after).to_bytes(6, "big"),
    ]
    for tag, tpid in zip(h.VLANS, h.VLAN_TPIDS, strict=True):
        if tag.get(after) & h.VLAN_PRESENT:
            tci = tag.get(after) & ~h.VLAN_PRESENT
            out.append((tpid.get(after) or h.ETH_VLAN).to_bytes(2, "big") + tci.to_bytes(2, "big"))
    kind = h.ETH_TYPE.get(after)
    if kind == h.ETH_TYPE.get(before) and not h.is_mpls(after):
        # With the length and LLC header that may stand in the place of a type.
        start = 16 if h.has_vlan(before) else 12
        out.append(data[start : where.l2_5])
        return b"".join(out)
    out.append(kind.to_bytes(2, "big"))
    if h.is_mpls(after):
        for place in h.LABELS:
            entry = place.get(after)
            out.append(entry.to_bytes(4, "big"))
            if entry & 0x100:
                break
    return b"".join(out)


def _write_ipv4(body: bytearray, l4: int | None, before: int, after: int) -> None:
    old = bytes(body[:20])
    body[1] = h.IP_TOS.get(after)
    body[8] = h.IP_TTL.get(after)
    body[12:16] = h.NW_SRC.get(after).to_bytes(4, "big")
    body[16:20] = h.NW_DST.get(after).to_bytes(4, "big")
    _adjust(body, 10, old, bytes(body[:20]))
    if l4 is not None:
        _write_transport(body, l4, None, body[9], old[12:20], bytes(body[12:20]), before, after)


def _write_ipv6(
    body: bytearray, l4: int | None, option: int | None, before: int, after: int
) -> None:
    old = bytes(body[8:40])
    first = 6 << 28 | h.IP_TOS.get(after) << 20 | h.IPV6_LABEL.get(after)
    body[0:4] = first.to_bytes(4, "big")
    body[7] = h.IP_TTL.get(after)
    body[8:24] = h.IPV6_SRC.get(after).to_bytes(16, "big")
    body[24:40] = h.IPV6_DST.get(after).to_bytes(16, "big")
    if l4 is not None:
        protocol = h.IP_PROTO.get(before)
        new = bytes(body[8:40])
        _write_transport(body, l4, option, protocol, old, new, before, after)


def _write_transport(
    body: bytearray,
    at: int,
    option: int | None,
    protocol: int,
    old_addresses: bytes,
    new_addresses: bytes,
    before: int,
    after: int,
) -> None:
    old = bytes(body[at:])
    if protocol in (h.TCP, h.UDP, h.SCTP):
        body[at : at + 2] = h.TP_SRC.get(after).to_bytes(2, "big")
        body[at + 2 : at + 4] = h.TP_DST.get(after).to_bytes(2, "big")
    elif protocol in (h.ICMP, h.ICMPV6):
        body[at] = h.TP_SRC.get(after) & 0xFF
        body[at + 1] = h.TP_DST.get(after) & 0xFF
    if h.ND_TARGET.get(before) or h.ND_TARGET.get(after) or option is not None:
        _write_nd(body, at, option, after)
    new = bytes(body[at:])
    if protocol == h.SCTP:
        if old != new:
            _write_crc(body, at, old, new)
    elif protocol == h.TCP:
        _adjust(body, at + 16, old_addresses + old, new_addresses + new)
    elif protocol == h.UDP and body[at + 6 : at + 8] != b"\0\0":
        _adjust(body, at + 6, old_addresses + old, new_addresses + new)
        if body[at + 6 : at + 8] == b"\0\0":
            body[at + 6 : at + 8] = b"\xff\xff"
    elif protocol == h.ICMP:
        _adjust(body, at + 2, old, new)
    elif protocol == h.ICMPV6:
        _adjust(body, at + 2, old_addresses + old, new_addresses + new)


def _write_nd(body: bytearray, at: int, option: int | None, after: int) -> None:
    body[at + 4 : at + 8] = h.ND_RESERVED.get(after).to_bytes(4, "big")
    body[at + 8 : at + 24] = h.ND_TARGET.get(after).to_bytes(16, "big")
    if option is None:
        return
    kind = h.ND_OPTIONS_TYPE.get(after)
    body[option] = kind
    address = h.ARP_SHA if kind == 1 else h.ARP_THA
    body[option + 2 : option + 8] = address.get(after).to_bytes(6, "big")


def _write_arp(body: bytearray, before: int, after: int) -> None:
    if h.IP_PROTO.get(before) != h.IP_PROTO.get(after):
        body[6:8] = h.IP_PROTO.get(after).to_bytes(2, "big")
    body[8:14] = h.ARP_SHA.get(after).to_bytes(6, "big")
    body[14:18] = h.NW_SRC.get(after).to_bytes(4, "big")
    body[18:24] = h.ARP_THA.get(after).to_bytes(6, "big")
    body[24:28] = h.NW_DST.get(after).to_bytes(4, "big")


def _word(data: bytes | bytearray, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _sum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    # Sums of 16-bit words modulo 0xffff are the number itself modulo 0xffff.
    return int.from_bytes(data, "big") % 0xFFFF


def _adjust(body: bytearray, at: int, old: bytes, new: bytes) -> None:
    """Update the Internet checksum at ``at`` for a change of what it covers (RFC 1624)."""
    if old == new:
        return
    checksum = ~_word(body, at) & 0xFFFF
    # The checksum itself is in both and cancels out.
    total = (checksum - _sum(old) + _sum(new)) % 0xFFFF
    value = ~total & 0xFFFF
    body[at : at + 2] = value.to_bytes(2, "big")


def _write_crc(body: bytearray, at: int, old: bytes, new: bytes) -> None:
    zeroed_old, zeroed_new = bytearray(old), bytearray(new)
    zeroed_old[8:12] = zeroed_new[8:12] = bytes(4)
    given = int.from_bytes(old[8:12], "little")
    value = given ^ _crc32c(bytes(zeroed_old)) ^ _crc32c(bytes(zeroed_new))
    body[at + 8 : at + 12] = value.to_bytes(4, "little")


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
