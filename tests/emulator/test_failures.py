"""Frames between the hosts of a fabric while things fail, through emulated switches that hold what
is compiled, and nobody acts.

`tests/engine/test_every_failure.py` has every set of failures, by reading the tables; here switches
carry frames by them, and `tests/emulator/every_failure.py` has them carry some under every set.
"""

from __future__ import annotations

import random
import struct
from collections import Counter

import pytest

from controller.emulator.network import Network
from controller.emulator.wires import NicRef
from controller.fabric.model import Fabric, Nic
from tests.emulator.networks import install, network
from tests.engine.test_every_failure import compiled, lost, pairs, things

pytestmark = pytest.mark.once

Pairs = frozenset[tuple[str, str]]

SOURCE_PORTS = range(20000, 20004)
SAMPLED = 30
ENOUGH_S = 0.01
"""For the longest way, and for what loops to be seen."""


def frame(net: Fabric, a: Nic, b: Nic, source_port: int) -> bytes:
    """UDP over IPv4, without UDP checksum."""
    (src,) = (ip.packed for ip in a.addresses if ip.version == 4)
    (dst,) = (ip.packed for ip in b.addresses if ip.version == 4)
    udp = struct.pack("!HHHH", source_port, 4791, 8, 0)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0) + src + dst
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    return net.gateway_mac.to_bytes(6, "big") + a.mac.to_bytes(6, "big") + b"\x08\0" + ip + udp


def filled(name: str) -> tuple[Fabric, Network]:
    fabric, tables = compiled(name)
    net = network(fabric)
    for switch, of_switch in tables.items():
        holder = net.nodes[switch].switch
        assert holder is not None
        install(holder, of_switch)
    return fabric, net


def wires_of(fabric: Fabric, thing: str) -> list[str]:
    """A switch that fails takes its cables with it."""
    if thing not in fabric.switch_by_name:
        return [thing]
    links = [arc.link for arc in fabric.arcs_from[thing]]
    return links + [
        str(NicRef(nic.id, place))
        for nic in fabric.nics
        for place, port in enumerate(nic.attachments)
        if port.switch == thing
    ]


def arrived(
    fabric: Fabric, net: Network, failed: tuple[str, ...]
) -> tuple[Counter[tuple[str, str]], bool]:
    """Frames that each pair got through, of one for each source port, and whether any is still
    under way."""
    wires = {wire for thing in failed for wire in wires_of(fabric, thing)}
    now = net.now + 1.0
    for wire in wires:
        net.cut(wire, now)
    for a, b in pairs(fabric):
        for port in SOURCE_PORTS:
            net.send(NicRef(a.id, port % len(a.attachments)), frame(fabric, a, b, port), now + 0.5)
    got: Counter[tuple[str, str]] = Counter()
    by_address = {nic.addresses[0].packed: nic for nic in fabric.nics}
    for came in net.advance(now + 0.5 + ENOUGH_S).frames:
        source, target = by_address[came.data[26:30]], by_address[came.data[30:34]]
        assert came.nic.nic == target.id
        assert came.data[:6] == target.mac.to_bytes(6, "big")
        got[source.id, target.id] += 1
    under_way = net.next_deadline() is not None
    for wire in wires:
        net.mend(wire, net.now)
    net.advance(net.now)
    return got, under_way


def reachable(fabric: Fabric, nic: Nic, failed: tuple[str, ...]) -> bool:
    return not {port.switch for port in nic.attachments} <= set(failed)


def wrong(fabric: Fabric, net: Network, failed: tuple[str, ...], excused: Pairs) -> list[str]:
    """What must not be while these have failed: frames that go round, and pairs with living ends
    that lose some, unless they are ``excused``."""
    got, under_way = arrived(fabric, net, failed)
    out = [f"{failed}: frames go round"] if under_way else []
    for a, b in pairs(fabric):
        dead_end = {port.switch for port in a.attachments} & set(failed)
        if dead_end or not reachable(fabric, b, failed) or (a.id, b.id) in excused:
            continue
        if got[a.id, b.id] != len(SOURCE_PORTS):
            out.append(f"{failed}: {a.id} to {b.id}: {got[a.id, b.id]} of {len(SOURCE_PORTS)}")
    return out


@pytest.mark.parametrize("name", ["leaf-spine 4x2", "fat-tree k=4", "dual-homed"])
def test_every_frame_arrives_whatever_single_thing_fails(name: str) -> None:
    fabric, net = filled(name)
    for failed in [(), *((thing,) for thing in things(fabric))]:
        assert not wrong(fabric, net, failed, frozenset())


@pytest.mark.parametrize("name", ["leaf-spine 4x2", "fat-tree k=4", "dual-homed"])
def test_several_failures_at_once_lose_what_the_tables_say(name: str) -> None:
    """No frame goes round, and only pairs for which the tables have no way lose any;
    ``python -m tests.emulator.every_failure`` does so for every set of up to three."""
    fabric, net = filled(name)
    rng = random.Random(1)
    sets = [tuple(rng.sample(things(fabric), rng.choice((2, 3)))) for _ in range(SAMPLED)]
    may_lose = lost(name, sets)
    for row, failed in enumerate(sets):
        excused = frozenset(pair for pair, rows in may_lose.items() if rows >> row & 1)
        assert not wrong(fabric, net, failed, excused)
