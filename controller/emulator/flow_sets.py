"""Flows of one demand that have come the same way so far, and how a switch divides them.

Flows differ in their 5-tuples alone. A demand of so many flows has the hash of each; a demand
without a number is spread evenly over all values of the hash. Switches that hash the same way see
the same values, so the slots that a flow may fall into in the second switch are among those that
led it there: this is what polarises hashing in real networks, and it is kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from controller.emulator import headers as h
from controller.emulator.flow_table import Entry
from controller.emulator.hashing import dp_hash, symmetric_l3l4
from controller.emulator.ways import (
    ADDRESSES_AND_PORTS,
    Exit,
    HashFunction,
    Slots,
    Way,
    WayCache,
    Ways,
    widened,
)


class SampleNeededError(Exception):
    """A group chooses by something else than slots of a hash, so flows must be told apart."""


@dataclass(slots=True, eq=False)
class Spread:
    """Flows with all values of each hash function that are still in ``slots`` (with modulus)."""

    headers: int
    slots: tuple[tuple[HashFunction, Slots, int], ...] = ()

    def through(self, cache: WayCache, port: int) -> list[Part]:
        """A switch that they enter by a port."""
        entry, found = cache.find(self.headers | port << h.IN_PORT.shift)
        if found.by_headers:
            raise SampleNeededError
        if len(found.ways) == 1:
            return [(entry, found.ways[0], self, 1.0)]
        assert found.function is not None
        if found.function[0] == "symmetric" and h.IP_PROTO.get(self.headers) not in (h.TCP, h.SCTP):
            # Of UDP it takes no ports, so the flows have one value.
            value = symmetric_l3l4(self.headers, found.function[1]) or 1
            return [(entry, _way_of(found, value), self, 1.0)]
        function, modulus = found.function, found.modulus
        present, known = (1 << modulus) - 1, modulus
        others = tuple(each for each in self.slots if each[0] != function)
        for name, slots, of in self.slots:
            if name == function:
                known = max(modulus, of)
                present = widened(slots, of, known)
        total = present.bit_count()
        parts: list[Part] = []
        for way in found.ways:
            left = widened(way.slots, modulus, known) & present
            if left:
                share = left.bit_count() / total
                part = Spread(self.headers, (*others, (function, left, known)))
                parts.append((entry, way, part, share))
        return parts

    def after(self, leaving: Exit) -> Spread:
        """By this exit."""
        headers = leaving.after(self.headers)
        if not (headers ^ self.headers) & ADDRESSES_AND_PORTS:
            return Spread(headers, self.slots)
        return Spread(headers)


@dataclass(slots=True, eq=False)
class Listed:
    """Flows one by one."""

    headers: tuple[int, ...]

    def through(self, cache: WayCache, port: int) -> list[Part]:
        came_by = port << h.IN_PORT.shift
        members: dict[tuple[int, int], list[int]] = {}
        ways: dict[tuple[int, int], tuple[Entry | None, Way]] = {}
        for headers in self.headers:
            entry, found = cache.find(headers | came_by)
            if len(found.ways) == 1:
                way = found.ways[0]
            else:
                assert found.function is not None
                name, basis = found.function
                hashed: Callable[[int, int], int]
                hashed = symmetric_l3l4 if name == "symmetric" else dp_hash
                way = _way_of(found, hashed(headers, basis) or 1)
            key = id(entry), id(way)
            ways[key] = entry, way
            members.setdefault(key, []).append(headers)
        parts: list[Part] = []
        for key, (entry, way) in ways.items():
            of_way = tuple(members[key])
            parts.append((entry, way, Listed(of_way), len(of_way) / len(self.headers)))
        return parts

    def after(self, leaving: Exit) -> Listed:
        return Listed(tuple(leaving.after(headers) for headers in self.headers))


FlowSet: TypeAlias = Spread | Listed
Part: TypeAlias = "tuple[Entry | None, Way, FlowSet, float]"
"""The entry and way that a part of the flows takes, that part, and its share of them."""


def _way_of(found: Ways, hashed: int) -> Way:
    slot = 1 << (hashed & found.modulus - 1)
    return next(way for way in found.ways if way.slots & slot)
