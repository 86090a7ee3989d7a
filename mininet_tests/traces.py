"""What ``ofproto/trace`` says of a packet, as copies by port and headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from controller.emulator import headers as h
from controller.emulator.pipeline import Walk
from controller.openflow.model import Port

LOCAL_DATAPATH_PORT = 100
_EXPLICIT_MISS = 6


@dataclass(frozen=True, slots=True, order=True)
class Copy:
    """``port`` is None for the controllers, with the reason; ``queue`` 0 is the default."""

    port: int
    headers: int
    queue: int
    reason: int = -1


def of_walk(walk: Walk) -> list[Copy]:
    sent = [Copy(s.port, s.headers & ~h.PIPELINE, s.queue or 0) for s in walk.sent]
    punted = [Copy(Port.CONTROLLER, p.headers & ~h.PIPELINE, 0, p.reason) for p in walk.punted]
    return sorted(sent + punted)


_ETHERNET = {"src": h.ETH_SRC, "dst": h.ETH_DST}
_PORTS = {"src": h.TP_SRC, "dst": h.TP_DST}
_TYPES = {"type": h.TP_SRC, "code": h.TP_DST}
_KEYS = {
    "eth": _ETHERNET,
    "ipv4": {"src": h.NW_SRC, "dst": h.NW_DST, "tos": h.IP_TOS, "ttl": h.IP_TTL},
    "ipv6": {
        "src": h.IPV6_SRC,
        "dst": h.IPV6_DST,
        "label": h.IPV6_LABEL,
        "tclass": h.IP_TOS,
        "hlimit": h.IP_TTL,
    },
    "tcp": _PORTS,
    "udp": _PORTS,
    "sctp": _PORTS,
    "icmp": _TYPES,
    "icmpv6": _TYPES,
    "arp": {
        "sip": h.NW_SRC,
        "tip": h.NW_DST,
        "op": h.IP_PROTO,
        "sha": h.ARP_SHA,
        "tha": h.ARP_THA,
    },
    "nd": {"target": h.ND_TARGET, "sll": h.ARP_SHA, "tll": h.ARP_THA},
    "nd_ext": {"nd_reserved": h.ND_RESERVED, "nd_options_type": h.ND_OPTIONS_TYPE},
}


def of_text(text: str, headers: int) -> list[Copy]:
    """``headers`` are those of the traced packet."""
    found = re.findall(r"^Datapath actions: (.*)$", text, re.MULTILINE)
    assert len(found) == 1, text
    copies: list[Copy] = []
    if found[0] != "drop":
        _execute(found[0], headers & ~h.PIPELINE, copies)
    return sorted(copies)


def _execute(actions: str, headers: int, copies: list[Copy]) -> None:
    queue = 0
    for action in _split(actions):
        if action.isdigit():
            number = int(action)
            port = Port.LOCAL if number == LOCAL_DATAPATH_PORT else number
            copies.append(Copy(port, headers, queue))
        elif action.startswith("set(skb_priority("):
            queue = int(action[17:-2], 0)
        elif action.startswith("set("):
            headers = _set(action[4:-1], headers)
        elif action.startswith("userspace("):
            reason = int(re.search(r"reason=(\d+)", action)[1])  # type: ignore[index]
            reason = 0 if reason == _EXPLICIT_MISS else reason
            copies.append(Copy(Port.CONTROLLER, headers, 0, reason))
        elif action == "pop_vlan":
            headers = h.VLANS[0].put(headers, h.VLANS[1].get(headers))
            headers = h.VLAN_TPIDS[0].put(headers, h.VLAN_TPIDS[1].get(headers))
            headers = h.VLANS[1].put(h.VLAN_TPIDS[1].put(headers, 0), 0)
        elif action.startswith("push_vlan("):
            headers = _push_vlan(action[10:-1], headers)
        elif action.startswith("clone("):
            _execute(action[6:-1], headers, copies)
        else:
            assert action.startswith("meter("), f"unknown datapath action {action}"


def _split(text: str) -> Iterator[str]:
    depth = start = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _set(text: str, headers: int) -> int:
    name, rest = text[:-1].split("(", 1)
    for pair in rest.split(","):
        key, value = pair.split("=")
        place = _KEYS[name][key]
        wanted, _, mask = value.partition("/")
        bits = place.ones if not mask else _number(mask)
        headers = place.put(headers, place.get(headers) & ~bits | _number(wanted) & bits)
    return headers


def _number(text: str) -> int:
    if re.fullmatch(r"(?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2}", text):
        return int("".join(part.zfill(2) for part in text.split(":")), 16)
    if "." in text or ":" in text:
        return int(ip_address(text))
    return int(text, 0)


def _push_vlan(text: str, headers: int) -> int:
    given = dict(pair.split("=") for pair in text.split(","))
    tci = int(given["vid"], 0) | int(given.get("pcp", "0"), 0) << 13 | h.VLAN_PRESENT
    headers = h.VLANS[1].put(headers, h.VLANS[0].get(headers))
    headers = h.VLAN_TPIDS[1].put(headers, h.VLAN_TPIDS[0].get(headers))
    headers = h.VLANS[0].put(headers, tci)
    return h.VLAN_TPIDS[0].put(headers, int(given.get("tpid", "0x8100"), 0))
