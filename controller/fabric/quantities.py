"""The words of a topology file: each function reads one kind or says what it should be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address, ip_address

from controller.fabric.errors import quoted
from controller.fabric.model import STRATEGIES, IpAddress, PortRef

MAX_PORT = 0xFEFF
LABEL_OCTET = 0x0E

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,19}|0x[0-9a-fA-F]{1,16})\Z")
_DATAPATH_ID = re.compile(r"(?:[0-9a-fA-F]{16}|(?:[0-9a-fA-F]{2}:){7}[0-9a-fA-F]{2})\Z")
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,12})?) ?([A-Za-zµμ/]{0,8})\Z")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%\Z")
_MAC = re.compile(r"(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}\Z")
_OVSDB = re.compile(r"(?:tcp:(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}|unix:/.+)\Z")
_RATES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TIMES = {"ns": 9, "us": 6, "µs": 6, "μs": 6, "ms": 3, "s": 0}


def text(value: object, wanted: str) -> str:
    """A scalar; ``wanted`` tells the reader what belongs here."""
    if value is None:
        raise ValueError(f"nothing here: give {wanted}, or delete the key")
    if not isinstance(value, str):
        kind = "a mapping" if isinstance(value, dict) else "a list"
        raise ValueError(f"{kind} where {wanted} belongs")
    return value


def name(value: object) -> str:
    found = text(value, "a name")
    if not _NAME.match(found):
        raise ValueError(
            f"{quoted(found)} is no name: use up to 63 letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return found


def word(value: object) -> str:
    """Free text of one line."""
    found = text(value, "a word")
    if not 0 < len(found) <= 255 or not found.isprintable():
        raise ValueError(f"{quoted(found)}: use 1 to 255 printable characters")
    return found


def strategy(value: object) -> str:
    found = text(value, "a strategy")
    if found not in STRATEGIES:
        raise ValueError(f"{quoted(found)} is no strategy: use one of {', '.join(STRATEGIES)}")
    return found


def number(value: object, low: int, high: int, what: str) -> int:
    found = text(value, f"{what}, {low} to {high}")
    if not _NUMBER.match(found):
        raise ValueError(
            f"{quoted(found)} is no {what}: write a decimal number without leading zeros, "
            f"or 0x and hexadecimal digits, {low} to {high}"
        )
    result = int(found, 0)
    if not low <= result <= high:
        raise ValueError(f"{what} {quoted(found)} is impossible: it goes from {low} to {high}")
    return result


def dpid(value: object) -> int:
    """A datapath id: a number, or 16 hexadecimal digits as switches print it."""
    found = text(value, "a datapath id")
    if _DATAPATH_ID.match(found):
        result = int(found.replace(":", ""), 16)
    elif _NUMBER.match(found):
        result = int(found, 0)
    else:
        raise ValueError(
            f"{quoted(found)} is no datapath id: write it like 0x1f, 31 or 000000000000001f "
            "(64 bits, no leading zeros unless all 16 digits are given)"
        )
    if not 0 < result < 1 << 64:
        raise ValueError(f"datapath id {quoted(found)} is impossible: it goes from 1 to 2^64 - 1")
    return result


def port(value: object) -> PortRef:
    found = text(value, "a port like leaf1:3")
    switch, colon, digits = found.rpartition(":")
    if not colon or not _NAME.match(switch) or not _NUMBER.match(digits):
        raise ValueError(f"{quoted(found)} is no port: write SWITCH:NUMBER, like leaf1:3")
    result = int(digits, 0)
    if not 1 <= result <= MAX_PORT:
        raise ValueError(
            f"port number {digits} is impossible: OpenFlow ports go from 1 to {MAX_PORT} (0xfeff)"
        )
    return PortRef(switch, result)


def rate_bps(value: object) -> float:
    """``400G`` and the like, in bits per second."""
    found = text(value, "a rate like 400G")
    match = _QUANTITY.match(found)
    unit = re.sub(r"(?:bps|bit|bit/s|b/s)\Z", "", match[2]) if match else ""
    if match is None or unit.upper() not in _RATES:
        raise ValueError(
            f"{quoted(found)} is no rate: write bits per second with K, M, G or T, like 400G"
        )
    if not match[2]:
        raise ValueError(f"rate {quoted(found)} has no unit: did you mean {found}G? (or K, M, T)")
    result = Decimal(match[1]) * _RATES[unit.upper()]
    if not 1000 <= result <= 10**16:
        raise ValueError(f"rate {quoted(found)} is impossible: it goes from 1K to 10000T")
    return float(result)


def share(value: object) -> float:
    """``40%`` and the like, as a fraction."""
    found = text(value, "a share like 40%")
    match = _PERCENT.match(found)
    if match is None:
        raise ValueError(f"{quoted(found)} is no share: write it in percent of the port, like 40%")
    result = Decimal(match[1]) / 100
    if result > 1:
        raise ValueError(f"share {quoted(found)} is impossible: it goes from 0% to 100%")
    return float(result)


def share_text(part: float) -> str:
    """``40%``: the word that ``share`` reads as this."""
    return f"{(Decimal(repr(part)) * 100).normalize():f}%"


def yes_or_no(value: object) -> bool:
    found = text(value, "true or false")
    if found not in ("true", "false"):
        raise ValueError(f"{quoted(found)} is neither true nor false: write one of them")
    return found == "true"


def bfd_interval_ms(value: object) -> int:
    """``100ms`` and the like, in milliseconds."""
    milliseconds = round(time_s(value) * 1e6) / 1e3
    if not 1 <= milliseconds <= 10_000 or milliseconds % 1:
        raise ValueError(
            f"interval {quoted(str(value))} is impossible: it goes from 1ms to 10s, in whole "
            "milliseconds"
        )
    return int(milliseconds)


def time_s(value: object) -> float:
    """``500ns`` and the like, in seconds."""
    found = text(value, "a time like 500ns")
    match = _QUANTITY.match(found)
    if match is None or match[2] not in _TIMES:
        raise ValueError(f"{quoted(found)} is no time: write it with ns, us, ms or s, like 500ns")
    result = Decimal(match[1]).scaleb(-_TIMES[match[2]])
    if result > 10:
        raise ValueError(f"latency {quoted(found)} is impossible: it goes from 0ns to 10s")
    return float(result)


def rate_text(bps: float) -> str:
    """``400G``: the word that ``rate_bps`` reads as this."""
    return _text(bps, {unit: Decimal(size) for unit, size in _RATES.items() if unit}, "K")


def time_text(seconds: float) -> str:
    """``500ns``: the word that ``time_s`` reads as this."""
    units = ("ns", "us", "ms", "s")
    return _text(seconds, {unit: Decimal(1).scaleb(-_TIMES[unit]) for unit in units}, "ns")


def _text(value: float, units: Mapping[str, Decimal], smallest: str) -> str:
    """In the largest unit of which it is at least one."""
    exact = Decimal(repr(value))
    unit = max((u for u in units if units[u] <= exact), key=units.__getitem__, default=smallest)
    return f"{(exact / units[unit]).normalize():f}{unit}"


def mac(value: object) -> int:
    found = text(value, "a MAC address like 02:00:00:01:00:01")
    if not _MAC.match(found):
        raise ValueError(
            f"{quoted(found)} is no MAC address: write six bytes, like 02:00:00:01:00:01"
        )
    result = int(re.sub("[:-]", "", found), 16)
    first = result >> 40
    if result == 0 or first & 1:
        kind = "multicast" if result else "no"
        raise ValueError(f"{found} is {kind} address of a NIC: give a unicast one, like 02:…")
    if first == LABEL_OCTET:
        raise ValueError(f"{found}: addresses that begin with 0e: are Heald's labels, give another")
    return result


def address(value: object) -> IpAddress:
    found = text(value, "an IP address")
    try:
        result: IPv4Address | IPv6Address = ip_address(found)
    except ValueError:
        cure = (
            "leave out the prefix length" if "/" in found else "write it like 10.0.1.1 or fd00::1"
        )
        raise ValueError(f"{quoted(found)} is no IP address: {cure}") from None
    kinds = {
        "a scoped": "%" in found,
        "a multicast": result.is_multicast,
        "a loopback": result.is_loopback,
        "the unspecified": result.is_unspecified,
        "a link-local": result.is_link_local,
        "a reserved": result.is_reserved,
        "an IPv4-mapped": isinstance(result, IPv6Address) and result.ipv4_mapped is not None,
    }
    for kind, found_it in kinds.items():
        if found_it:
            raise ValueError(f"{found} is {kind} address, no host can have it: give a unicast one")
    if isinstance(result, IPv4Address) and int(result) >> 24 == 0:
        raise ValueError(f"{found} is in 0.0.0.0/8, no host can have it: give a unicast one")
    return result


def ipv4(value: object) -> IPv4Address:
    result = address(value)
    if not isinstance(result, IPv4Address):
        raise ValueError(f"{result} is an IPv6 address: give an IPv4 address, like 10.0.0.1")
    return result


def ipv6(value: object) -> IPv6Address:
    result = address(value)
    if not isinstance(result, IPv6Address):
        raise ValueError(f"{result} is an IPv4 address: give an IPv6 address, like fd00::1")
    return result


def ovsdb(value: object) -> str:
    found = text(value, "an OVSDB address")
    if not _OVSDB.match(found) or not found.isprintable() or len(found) > 255:
        raise ValueError(
            f"{quoted(found)} is no OVSDB address: write tcp:HOST:PORT or unix:/PATH "
            "(there is no TLS yet)"
        )
    return found
