"""Addresses that a topology leaves out, derived from where a NIC is plugged in.

Every switch has a *number* N from 1 to 65535: the low 16 bits of its datapath id, or, where another
switch has the better claim, the next number that is nobody's. A NIC on port P of switch N (the
first switch by name, if it hangs on several) is

    MAC   02:00:NN:NN:PP:PP
    IPv4  10.N.N.P            (P up to 254)
    IPv6  fd00:0:0:N::P

so one prefix, /24 or /64, covers the hosts of a switch. Number 0 is the gateway's:
02:00:00:00:00:01, 10.0.0.1, fd00::1. No address depends on the order of a file or on other hosts
and links. A new switch can move only addresses of switches whose low 16 bits another one shares.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address

NUMBERS = 0xFFFF
"""How many switches can be told apart."""
MAX_IPV4_PORT = 254

GATEWAY_MAC = 0x020000000001
GATEWAY_IPV4 = IPv4Address("10.0.0.1")
GATEWAY_IPV6 = IPv6Address("fd00::1")


def dpid_of(name: str) -> int:
    """Datapath id of a switch that gives none: 48 bits that depend on its name alone."""
    return int.from_bytes(
        blake2b(name.encode(), digest_size=6, person=b"heald dpid").digest(), "big"
    )


def switch_numbers(dpids: Iterable[int]) -> Mapping[int, int]:
    """The number of each datapath id. At most ``NUMBERS`` of them."""
    numbers: dict[int, int] = {}
    taken = {0}
    homeless = []
    for dpid in sorted(set(dpids)):
        home = dpid & 0xFFFF
        if home in taken:
            homeless.append(dpid)
        else:
            numbers[dpid] = home
            taken.add(home)
    # Only now, so that nobody is turned out of the number that is his by right.
    free = [n for n in range(1, NUMBERS + 1) if n not in taken] if homeless else []
    for dpid in homeless:
        at = bisect(free, dpid & 0xFFFF)
        numbers[dpid] = free.pop(at if at < len(free) else 0)
    return numbers


def derived_mac(number: int, port: int) -> int:
    return 0x0200 << 32 | number << 16 | port


def derived_ipv4(number: int, port: int) -> IPv4Address:
    return IPv4Address(10 << 24 | number << 8 | port)


def derived_ipv6(number: int, port: int) -> IPv6Address:
    return IPv6Address(0xFD00 << 112 | number << 64 | port)
