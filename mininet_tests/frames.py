"""Frames of many kinds, valid down to their checksums, with few different values so that they match
what random programs match."""

from __future__ import annotations

from random import Random
from struct import pack

MACS = [0x020000000001, 0x020000000002, 0x0E0000000003, 0x0E0100010003, 0x01005E000001]
IPV4 = [0x0A000001, 0x0A000002, 0x0A000101, 0xC0A80001]
IPV6 = [(0xFD << 120) + n for n in (1, 2, 1 << 64)]
PORTS = [1, 80, 1000, 1001, 4791]
TTLS = [64, 64, 255, 2, 1, 0]
TOS = [0, 0x68, 0x69, 0xB8, 0x03]
VLANS = [0x0001, 0x2001, 0x0064, 0xE000]


def _checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    return 0xFFFF - int.from_bytes(data, "big") % 0xFFFF


def _transport(random: Random, protocol: int, pseudo: bytes) -> bytes:
    payload = random.randbytes(random.choice((0, 1, 8, 32)))
    source, target = random.choice(PORTS), random.choice(PORTS)
    if protocol == 6:
        at = 16
        body = pack("!HHIIHHHH", source, target, 1, 2, 0x5000 | random.choice((2, 16)), 99, 0, 0)
    elif protocol == 17:
        at = 6
        body = pack("!HHHH", source, target, 8 + len(payload), 0)
    elif protocol == 1:
        at, pseudo = 2, b""
        body = pack("!BBHHH", random.choice((0, 8)), random.choice((0, 1)), 0, 7, 1)
    elif protocol == 58:
        at = 2
        kind = random.choice((128, 135, 136))
        if kind == 128:
            body = pack("!BBHHH", kind, 0, 0, 7, 1)
        else:
            body = pack("!BBHI", kind, 0, 0, random.choice((0, 0xE0000000)))
            body += random.choice(IPV6).to_bytes(16, "big")
            option = random.choice((b"", bytes([1, 1]), bytes([2, 1])))
            payload = option + random.choice(MACS).to_bytes(6, "big") if option else b""
    else:
        return payload
    data = bytearray(body + payload)
    length = len(data)
    covered = pseudo + pack("!II", length, protocol) if pseudo else b""
    checksum = _checksum(covered + bytes(data))
    data[at : at + 2] = (checksum or 0xFFFF).to_bytes(2, "big")
    return bytes(data)


def _ipv4(random: Random) -> bytes:
    protocol = random.choice((6, 17, 17, 1, 47))
    source, target = random.choice(IPV4), random.choice(IPV4)
    body = _transport(random, protocol, pack("!II", source, target))
    fragment = random.choice((0, 0, 0, 0, 0x4000, 0x2000, 0x2005))
    head = bytearray(
        pack(
            "!BBHHHBBHII",
            0x45,
            random.choice(TOS),
            20 + len(body),
            1,
            fragment,
            random.choice(TTLS),
            protocol,
            0,
            source,
            target,
        )
    )
    head[10:12] = _checksum(bytes(head)).to_bytes(2, "big")
    return b"\x08\0" + bytes(head) + body


def _ipv6(random: Random) -> bytes:
    protocol = random.choice((6, 17, 58, 58, 59))
    addresses = random.choice(IPV6).to_bytes(16, "big") + random.choice(IPV6).to_bytes(16, "big")
    body = _transport(random, protocol, addresses)
    first = 6 << 28 | random.choice(TOS) << 20 | random.choice((0, 5))
    head = pack("!IHBB", first, len(body), protocol, random.choice(TTLS)) + addresses
    return b"\x86\xdd" + head + body


def _arp(random: Random) -> bytes:
    return pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, random.choice((1, 2))) + b"".join(
        [
            random.choice(MACS).to_bytes(6, "big"),
            random.choice(IPV4).to_bytes(4, "big"),
            random.choice(MACS).to_bytes(6, "big"),
            random.choice(IPV4).to_bytes(4, "big"),
        ]
    )


def frame(random: Random) -> bytes:
    ethernet = b"".join(random.choice(MACS).to_bytes(6, "big") for _ in range(2))
    kind = random.choice("44446666aaxl")
    if kind == "4":
        rest = _ipv4(random)
    elif kind == "6":
        rest = _ipv6(random)
    elif kind == "a":
        rest = _arp(random)
    elif kind == "x":
        rest = b"\x88\xcc" + bytes(46)
    else:
        rest = pack("!H", 46) + b"\x42\x42\x03" + bytes(43)
    if random.random() < 0.3:
        rest = pack("!HH", 0x8100, random.choice(VLANS)) + rest
    return (ethernet + rest).ljust(60, b"\0")
