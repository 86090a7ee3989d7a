"""Answers to ARP requests and IPv6 neighbour solicitations: every known host is at the gateway.

Pure: a frame in, a frame or None out. Switches answer most questions themselves by flows; this is
for those that cannot. What must never be answered is a question by which a host makes sure that an
address is free: an ARP probe (RFC 5227), a gratuitous ARP, duplicate address detection (RFC 4862).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from struct import Struct

_ETHERNET = Struct("!6s6sH")
_ARP = Struct("!HHBBH6s4s6s4s")
_IPV6 = Struct("!IHBB16s16s")
_ICMPV6 = Struct("!BBHI")

_ETHERTYPE_ARP = 0x0806
_ETHERTYPE_IPV6 = 0x86DD
_ARP_REQUEST, _ARP_REPLY = 1, 2
_SOLICITATION, _ADVERTISEMENT = 135, 136
_NEXT_HEADER_ICMPV6 = 58
_SOLICITED_OVERRIDE = 0x60000000
_TARGET_LINK_LAYER = b"\x02\x01"
_MULTICAST_MAC = 0x01


@dataclass(slots=True)
class Neighbours:
    """What questions are answered from; nothing is answered while there are no addresses."""

    gateway_mac: int = 0
    addresses: frozenset[bytes] = frozenset()

    def answer(self, frame: bytes) -> bytes | None:
        return answer(frame, self.gateway_mac, self.addresses)


def answer(frame: bytes, gateway_mac: int, addresses: Set[bytes]) -> bytes | None:
    """The reply to send back through the port that ``frame`` came in by; None to keep silent.

    ``addresses`` are those of all hosts, 4 or 16 bytes each. Any bytes at all may come as
    ``frame``.
    """
    if len(frame) < _ETHERNET.size:
        return None
    _, source, ethertype = _ETHERNET.unpack_from(frame)
    if source[0] & _MULTICAST_MAC:
        return None
    gateway = gateway_mac.to_bytes(6, "big")
    if ethertype == _ETHERTYPE_ARP:
        return _answer_arp(frame, source, gateway, addresses)
    if ethertype == _ETHERTYPE_IPV6:
        return _answer_solicitation(frame, source, gateway, addresses)
    return None


def _answer_arp(frame: bytes, source: bytes, gateway: bytes, addresses: Set[bytes]) -> bytes | None:
    if len(frame) < _ETHERNET.size + _ARP.size:
        return None
    hardware, protocol, hardware_size, protocol_size, operation, sha, spa, _, tpa = (
        _ARP.unpack_from(frame, _ETHERNET.size)
    )
    if (hardware, protocol, hardware_size, protocol_size) != (1, 0x0800, 6, 4):
        return None
    is_probe = spa == bytes(4)
    if operation != _ARP_REQUEST or sha != source or is_probe or tpa == spa:
        return None
    if tpa not in addresses:
        return None
    return _ETHERNET.pack(source, gateway, _ETHERTYPE_ARP) + _ARP.pack(
        1, 0x0800, 6, 4, _ARP_REPLY, gateway, tpa, sha, spa
    )


def _answer_solicitation(
    frame: bytes, source: bytes, gateway: bytes, addresses: Set[bytes]
) -> bytes | None:
    at = _ETHERNET.size + _IPV6.size
    if len(frame) < at + _ICMPV6.size + 16:
        return None
    first, length, next_header, hop_limit, asker, destination = _IPV6.unpack_from(
        frame, _ETHERNET.size
    )
    # A hop limit of 255 proves that no router passed it on (RFC 4861, 7.1.1).
    if first >> 28 != 6 or next_header != _NEXT_HEADER_ICMPV6 or hop_limit != 255:
        return None
    message = frame[at : at + length]
    if len(message) != length or length < _ICMPV6.size + 16:
        return None
    kind, code, _, _ = _ICMPV6.unpack_from(message)
    if kind != _SOLICITATION or code or _checksum(asker, destination, message):
        return None
    target = message[_ICMPV6.size : _ICMPV6.size + 16]
    is_duplicate_detection = asker == bytes(16)
    if is_duplicate_detection or asker[0] == 0xFF or target == asker or target not in addresses:
        return None
    body = target + _TARGET_LINK_LAYER + gateway
    blank = _ICMPV6.pack(_ADVERTISEMENT, 0, 0, _SOLICITED_OVERRIDE) + body
    checksum = _checksum(target, asker, blank)
    return (
        _ETHERNET.pack(source, gateway, _ETHERTYPE_IPV6)
        + _IPV6.pack(6 << 28, len(blank), _NEXT_HEADER_ICMPV6, 255, target, asker)
        + _ICMPV6.pack(_ADVERTISEMENT, 0, checksum, _SOLICITED_OVERRIDE)
        + body
    )


def _checksum(source: bytes, destination: bytes, message: bytes) -> int:
    """Internet checksum over the pseudo header and ``message``: 0 if the one inside is right."""
    data = source + destination + len(message).to_bytes(4, "big") + b"\0\0\0:" + message
    if len(data) % 2:
        data += b"\0"
    # Sixteen-bit words summed with end-around carry: the number modulo 0xffff (RFC 1071).
    return -int.from_bytes(data, "big") % 0xFFFF
