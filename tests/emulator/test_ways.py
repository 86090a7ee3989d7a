"""What is remembered of one packet holds for all of its class."""

from __future__ import annotations

from random import Random

import pytest

from controller.emulator import frame
from controller.emulator import headers as h
from controller.emulator.flow_table import Entry
from controller.emulator.pipeline import Walk
from controller.emulator.ports import PortEntry
from controller.emulator.switch import Connected, Switch
from controller.emulator.ways import Way, WayCache
from controller.openflow import messages
from controller.openflow.codec import encode
from mininet_tests.frames import frame as random_frame
from mininet_tests.programs import LIVE_PORTS, program
from tests.emulator.networks import PERSONA

_CHANGEABLE = (h.ETH_SRC, h.ETH_DST, h.NW_SRC, h.NW_DST, h.IP_TOS, h.IP_TTL, h.TP_SRC, h.TP_DST)


def switch_with(seed: int) -> Switch:
    made = program(seed)
    ports = [PortEntry(n, f"p{n}", n) for n in range(1, LIVE_PORTS + 1)]
    switch = Switch(1, ports, PERSONA)
    switch.event(Connected("c"), 0.0)
    hello = encode(messages.Hello((made.version,)), made.version, 0)
    switch.receive("c", hello + b"".join(made.requests), 0.0)
    return switch


def what(walk: Walk) -> object:
    return (
        [(s.port, s.queue, s.headers & ~h.PIPELINE) for s in walk.sent],
        len(walk.punted),
        [id(entry) for entry in walk.visited],
        walk.misses,
        [(id(group), None if bucket is None else id(bucket)) for group, bucket in walk.buckets],
    )


def remembered(switch: Switch, first: Entry | None, way: Way, headers: int) -> object:
    tables = switch.state.tables
    return (
        [(e.port, e.queue, e.after(headers) & ~h.PIPELINE) for e in way.exits],
        way.punts,
        [id(entry) for entry in (first, *way.visited) if entry is not None],
        [next(i for i, t in enumerate(tables) if t is miss) for miss in way.misses],
        [(id(g), id(b[0]) if g.type not in (0, 2) else None) for g, b in way.buckets],
    )


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_ways_are_those_of_single_packets(first: int) -> None:
    """Random programs, packets of all ports, and packets that differ from those a little."""
    compared = shared = 0
    for seed in range(first, first + 40):
        random = Random(seed)
        switch = switch_with(seed)
        cache = WayCache(switch.state)
        packets = [frame.parse(each.data) for each in program(seed).packets]
        packets += [frame.parse(random_frame(random)) for _ in range(4)]
        for parsed in list(packets):
            for _ in range(4):
                place = random.choice(_CHANGEABLE)
                packets.append(place.put(parsed, place.get(parsed) ^ 1 << random.randrange(6)))
        known: set[int] = set()
        for parsed in packets:
            for port in random.sample(range(1, LIVE_PORTS + 1), 3):
                headers = parsed | port << h.IN_PORT.shift
                entry, found = cache.find(headers)
                shared += id(found) in known
                known.add(id(found))
                for value in random.sample(range(found.modulus), min(3, found.modulus)):
                    hashed = value | 1 << 30
                    walk = Walk(switch.state.forwarding, headers, hashed).through_tables()
                    (way,) = [way for way in found.ways if way.slots >> value & 1]
                    assert remembered(switch, entry, way, headers) == what(walk), (seed, port)
                    compared += 1
    assert compared > 1000
    assert shared > compared / 20
