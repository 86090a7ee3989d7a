"""Who asks for a neighbour, and who only makes sure that an address is free."""

from __future__ import annotations

from ipaddress import ip_address
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from controller.dataplane.session.neighbours import answer

GATEWAY = 0x0A00000000FE
GATEWAY_BYTES = GATEWAY.to_bytes(6, "big")
HOST = bytes.fromhex("020000000001")
ASKER, OTHER, STRANGER = (ip_address(f"10.0.0.{n}").packed for n in (1, 2, 9))
ASKER6, OTHER6, STRANGER6 = (ip_address(f"fd00::{n}").packed for n in (1, 2, 9))
KNOWN = frozenset({ASKER, OTHER, ASKER6, OTHER6})


def arp(spa: bytes, tpa: bytes, operation: int = 1, sha: bytes = HOST) -> bytes:
    body = pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, operation, sha, spa, bytes(6), tpa)
    return b"\xff" * 6 + HOST + b"\x08\x06" + body


def ones_complement_sum(data: bytes) -> int:
    """RFC 1071 as it is written there, unlike the one under test."""
    total = 0
    for at in range(0, len(data), 2):
        total += int.from_bytes(data[at : at + 2].ljust(2, b"\0"), "big")
        total = (total & 0xFFFF) + (total >> 16)
    return total


def icmpv6_sum(packet: bytes) -> int:
    body = packet[54:]
    pseudo = packet[22:54] + len(body).to_bytes(4, "big") + b"\0\0\0\x3a"
    return ones_complement_sum(pseudo + body)


def solicitation(source: bytes, target: bytes, hop_limit: int = 255, options: bytes = b"") -> bytes:
    destination = bytes.fromhex("ff0200000000000000000001ff") + target[13:]

    def packet(checksum: int) -> bytes:
        body = pack("!BBHI", 135, 0, checksum, 0) + target + options
        head = pack("!IHBB16s16s", 6 << 28, len(body), 58, hop_limit, source, destination)
        return b"\x33\x33\xff" + target[13:] + HOST + b"\x86\xdd" + head + body

    return packet(0xFFFF - icmpv6_sum(packet(0)))


LINK_LAYER = b"\x01\x01" + HOST


def test_a_known_neighbour_is_at_the_gateway() -> None:
    reply = answer(arp(ASKER, OTHER), GATEWAY, KNOWN)
    assert reply is not None
    assert reply[:14] == HOST + GATEWAY_BYTES + b"\x08\x06"
    assert reply[20:] == b"\0\2" + GATEWAY_BYTES + OTHER + HOST + ASKER


def test_a_known_ipv6_neighbour_is_at_the_gateway() -> None:
    reply = answer(solicitation(ASKER6, OTHER6, options=LINK_LAYER), GATEWAY, KNOWN)
    assert reply is not None
    assert reply[:14] == HOST + GATEWAY_BYTES + b"\x86\xdd"
    assert reply[22:54] == OTHER6 + ASKER6
    assert reply[21] == 255
    assert (reply[54], reply[58]) == (136, 0x60)
    assert reply[62:78] == OTHER6
    assert reply[78:] == b"\x02\x01" + GATEWAY_BYTES
    assert icmpv6_sum(reply) == 0xFFFF


def test_nobody_answers_for_a_stranger() -> None:
    assert answer(arp(ASKER, STRANGER), GATEWAY, KNOWN) is None
    assert answer(solicitation(ASKER6, STRANGER6), GATEWAY, KNOWN) is None


def test_address_conflict_detection_finds_no_conflict() -> None:
    probe, announcement = arp(bytes(4), OTHER), arp(OTHER, OTHER)
    assert answer(probe, GATEWAY, KNOWN) is None
    assert answer(announcement, GATEWAY, KNOWN) is None
    assert answer(solicitation(bytes(16), OTHER6), GATEWAY, KNOWN) is None
    assert answer(solicitation(OTHER6, OTHER6), GATEWAY, KNOWN) is None


def test_what_a_host_would_not_send_is_not_answered() -> None:
    assert answer(arp(ASKER, OTHER, operation=2), GATEWAY, KNOWN) is None
    assert answer(arp(ASKER, OTHER, sha=b"\x02" * 6), GATEWAY, KNOWN) is None
    assert answer(solicitation(ASKER6, OTHER6, hop_limit=64), GATEWAY, KNOWN) is None
    wrong_checksum = bytearray(solicitation(ASKER6, OTHER6))
    wrong_checksum[56] ^= 1
    assert answer(bytes(wrong_checksum), GATEWAY, KNOWN) is None


@given(st.binary(max_size=120), st.sampled_from([arp(ASKER, OTHER), solicitation(ASKER6, OTHER6)]))
def test_any_bytes_are_survived(noise: bytes, good: bytes) -> None:
    answer(noise, GATEWAY, KNOWN)
    answer(good[: len(noise)], GATEWAY, KNOWN)
    answer(good[:14] + noise, GATEWAY, KNOWN)
    answer(good + noise, GATEWAY, KNOWN)
