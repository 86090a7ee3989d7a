"""The ways that a demand takes through a network, as shares of its flows.

Flows differ in their 5-tuples alone. A demand of so many flows has the hash of each; a demand
without a number is spread evenly over all values of the hash. Switches that hash the same way see
the same values, so the slots that a flow may fall into in the second switch are among those that
led it there: this is what polarises hashing in real networks, and it is kept here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from controller.emulator import headers as h
from controller.emulator.flow_table import Entry
from controller.emulator.hashing import dp_hash, symmetric_l3l4
from controller.emulator.network import Network
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
from controller.emulator.wires import End, NicRef
from controller.fabric.model import Nic, PortRef

MAX_HOPS = 32
MAX_PATHS = 4096
SAMPLE = 64
"""Flows that stand for a spread demand where groups choose by something else than slots."""
TTL = 64
_PORTED = frozenset({h.TCP, h.UDP, h.SCTP})


@dataclass(frozen=True, slots=True)
class Demand:
    """What a NIC sends to another. ``rate_bps`` counts bits of Ethernet frames without checksum, as
    switches do, and ``frame_bytes`` is the size of each.

    ``flows`` of different source ports, from ``source_port`` on; None spreads over all. One that
    ``adapts`` sends no more than arrives, the other sends its rate whatever is lost.
    """

    source: str
    target: str
    rate_bps: float
    dscp: int = 0
    version: int = 4
    protocol: int = h.UDP
    port: int = 4791
    source_port: int = 49152
    flows: int | None = None
    frame_bytes: int = 1500
    adapts: bool = True
    weight: float = 1.0


class Fate(Enum):
    """What ends a path: it is DELIVERED to the target, comes out at ANOTHER_HOST, is DROPPED by an
    entry, a miss or a group without a live bucket, is PUNTED to controllers, sent to a port with
    NO_CARRIER, or LOOPED: it has passed MAX_HOPS switches, or its copies fill the network."""

    DELIVERED = "delivered"
    ANOTHER_HOST = "another host"
    DROPPED = "dropped"
    PUNTED = "punted"
    NO_CARRIER = "no carrier"
    LOOPED = "looped"


LaneKey: TypeAlias = tuple[End, int]
"""Where a frame leaves, and its queue."""


Hop: TypeAlias = tuple[str, Entry | None, Way]
"""A switch, the entry of its first table that flows match there, and their way behind it."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """``share`` of a demand's flows takes it. Behind the i-th of ``lanes`` comes the i-th of
    ``hops``. Where a switch makes copies, each but the first is a path that begins there
    (``copied``). ``dead``: the port without carrier where it ends."""

    share: float
    lanes: tuple[LaneKey, ...]
    hops: tuple[Hop, ...]
    fate: Fate
    copied: bool = False
    dead: End | None = None


@dataclass(frozen=True, slots=True)
class Route:
    paths: tuple[Path, ...]


class _SampleNeededError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Spread:
    """Flows with all values of each hash function that are still in ``slots`` (with modulus)."""

    headers: int
    slots: tuple[tuple[HashFunction, Slots, int], ...] = ()

    def through(self, cache: WayCache, port: int) -> Iterator[_Part]:
        entry, found = cache.find(self.headers | port << h.IN_PORT.shift)
        if found.by_headers:
            raise _SampleNeededError
        if len(found.ways) == 1:
            yield entry, found.ways[0], self, 1.0
            return
        assert found.function is not None
        if found.function[0] == "symmetric" and h.IP_PROTO.get(self.headers) not in (h.TCP, h.SCTP):
            # Of UDP it takes no ports, so the flows have one value.
            value = symmetric_l3l4(self.headers, found.function[1]) or 1
            yield entry, _way_of(found, value), self, 1.0
            return
        function, modulus = found.function, found.modulus
        present, known = (1 << modulus) - 1, modulus
        others = tuple(each for each in self.slots if each[0] != function)
        for name, slots, of in self.slots:
            if name == function:
                known = max(modulus, of)
                present = widened(slots, of, known)
        total = present.bit_count()
        for way in found.ways:
            left = widened(way.slots, modulus, known) & present
            if left:
                share = left.bit_count() / total
                part = _Spread(self.headers, (*others, (function, left, known)))
                yield entry, way, part, share

    def after(self, leaving: Exit) -> _Spread:
        headers = leaving.after(self.headers)
        if not (headers ^ self.headers) & ADDRESSES_AND_PORTS:
            return _Spread(headers, self.slots)
        return _Spread(headers)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Flows one by one."""

    headers: tuple[int, ...]

    def through(self, cache: WayCache, port: int) -> Iterator[_Part]:
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
        for key, (entry, way) in ways.items():
            of_way = tuple(members[key])
            yield entry, way, _Listed(of_way), len(of_way) / len(self.headers)

    def after(self, leaving: Exit) -> _Listed:
        return _Listed(tuple(leaving.after(headers) for headers in self.headers))


_Bundle: TypeAlias = _Spread | _Listed
_Part: TypeAlias = "tuple[Entry | None, Way, _Bundle, float]"
"""The entry and way that a part of the flows takes, that part, and its share of them."""


def _way_of(found: Ways, hashed: int) -> Way:
    slot = 1 << (hashed & found.modulus - 1)
    return next(way for way in found.ways if way.slots & slot)


def headers_of(demand: Demand, source: Nic, target: Nic, gateway_mac: int, flow: int = 0) -> int:
    """The headers of the frames of one flow as they leave the host. ValueError where a NIC has no
    address of the IP version."""
    addresses = []
    for nic in (source, target):
        of_version = [int(a) for a in nic.addresses if a.version == demand.version]
        if not of_version:
            raise ValueError(f"NIC {nic.id} has no IPv{demand.version} address")
        addresses.append(of_version[0])
    headers = h.ETH_SRC.put(0, source.mac)
    headers = h.ETH_DST.put(headers, gateway_mac)
    v4 = demand.version == 4
    headers = h.ETH_TYPE.put(headers, h.ETH_IPV4 if v4 else h.ETH_IPV6)
    headers = (h.NW_SRC if v4 else h.IPV6_SRC).put(headers, addresses[0])
    headers = (h.NW_DST if v4 else h.IPV6_DST).put(headers, addresses[1])
    headers = h.IP_TOS.put(headers, demand.dscp << 2)
    headers = h.IP_TTL.put(headers, TTL)
    headers = h.IP_PROTO.put(headers, demand.protocol)
    if demand.protocol in _PORTED:
        headers = h.TP_SRC.put(headers, demand.source_port + flow & 0xFFFF)
        headers = h.TP_DST.put(headers, demand.port)
    return headers


class Router:
    """Walks demands; what switches do is remembered until they change (:meth:`forget`)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._caches: dict[str, WayCache] = {}
        self._outs: dict[tuple[str, int, int | None], _Out] = {}
        self._begins: dict[NicRef, _Out] = {}

    def forget(self, switch: str, ports: Set[int] | None = None) -> list[Ways]:
        """These ports of the switch have changed; None: its tables, or anything. Returns the ways
        that are known no more: routes that take one must be walked again, and those that leave by
        such a port or arrive there."""
        self._outs.clear()
        self._begins.clear()
        cache = self._caches.get(switch)
        if cache is None:
            return []
        if ports is not None:
            return cache.forget(ports)
        del self._caches[switch]
        return cache.all()

    def route(self, demand: Demand) -> Route:
        if demand.flows is None and demand.protocol in _PORTED:
            try:
                return self._route(demand, _Spread(self._headers(demand, 0)))
            except _SampleNeededError:
                pass
        flows = demand.flows or (SAMPLE if demand.protocol in _PORTED else 1)
        headers = tuple(self._headers(demand, flow) for flow in range(flows))
        return self._route(demand, _Listed(headers))

    def _headers(self, demand: Demand, flow: int) -> int:
        nics = self._network.fabric.nic_by_id
        gateway = self._network.fabric.gateway_mac
        return headers_of(demand, nics[demand.source], nics[demand.target], gateway, flow)

    def _route(self, demand: Demand, bundle: _Bundle) -> Route:
        nics = self._network.fabric.nic_by_id
        nic = nics[demand.source]
        walk = _RouteWalk(self, demand.target, nics[demand.target].mac)
        ends = [NicRef(nic.id, i) for i in range(len(nic.attachments))]
        live = [end for end in ends if self._network.wire_at[end][0].up]
        for end in live or ends[:1]:
            out = self._begins.get(end)
            if out is None:
                out = self._begins[end] = _Out((end, 0), self._head(end))
            walk.leave(bundle, out, 1.0 / max(1, len(live)), _Trail())
        return Route(tuple(walk.paths))

    def cache(self, switch: str) -> WayCache:
        cache = self._caches.get(switch)
        if cache is None:
            place = self._network.nodes[switch].switch
            assert place is not None, f"{switch} is off, yet its wires are up"
            cache = self._caches[switch] = WayCache(place.state)
        return cache

    def out(self, switch: str, port: int, queue: int | None) -> _Out:
        key = switch, port, queue
        known = self._outs.get(key)
        if known is None:
            tail = PortRef(switch, port)
            known = _Out((tail, self._queue(tail, queue)), self._head(tail))
            self._outs[key] = known
        return known

    def _head(self, tail: End) -> End | None:
        """Where frames from here arrive, None where they do not."""
        found = self._network.wire_at.get(tail)
        head = None if found is None else found[1].head
        return head if head is not None and self._up(tail) and self._up(head) else None

    def _up(self, end: End) -> bool:
        if isinstance(end, NicRef):
            return self._network.wire_at[end][0].up
        switch = self._network.nodes[end.switch].switch
        port = None if switch is None else switch.state.ports.get(end.port)
        return port is not None and port.up

    def _queue(self, tail: PortRef, queue: int | None) -> int:
        """One that the port does not have is its default, queue 0."""
        switch = self._network.nodes[tail.switch].switch
        port = None if switch is None else switch.state.ports.get(tail.port)
        return queue if queue and port is not None and queue in port.queues else 0


@dataclass(frozen=True, slots=True)
class _Out:
    """A lane, and where its frames arrive: None where there is no carrier."""

    lane: LaneKey
    head: End | None


@dataclass(frozen=True, slots=True)
class _Trail:
    """What lies behind flows on their way; ``count`` counts all switches, ``hops`` begin anew with
    each copy."""

    lanes: tuple[LaneKey, ...] = ()
    hops: tuple[Hop, ...] = ()
    copied: bool = False
    count: int = 0


class _RouteWalk:
    def __init__(self, router: Router, target: str, mac: int) -> None:
        self._router = router
        self._target = target
        self._mac = mac
        self.paths: list[Path] = []

    def _end(self, share: float, trail: _Trail, fate: Fate, dead: End | None = None) -> None:
        self.paths.append(Path(share, trail.lanes, trail.hops, fate, trail.copied, dead))

    def leave(self, bundle: _Bundle, out: _Out, share: float, trail: _Trail) -> None:
        """By a port, onto the wire."""
        head = out.head
        if head is None:
            self._end(share, trail, Fate.NO_CARRIER, out.lane[0])
            return
        trail = _Trail((*trail.lanes, out.lane), trail.hops, trail.copied, trail.count + 1)
        if isinstance(head, NicRef):
            arrives = self._arrives(bundle, head)
            self._end(share, trail, Fate.DELIVERED if arrives else Fate.ANOTHER_HOST)
            return
        if trail.count > MAX_HOPS or len(self.paths) > MAX_PATHS:
            self._end(share, trail, Fate.LOOPED)
            return
        switch = head.switch
        for entry, way, part, fraction in bundle.through(self._router.cache(switch), head.port):
            hops = (*trail.hops, (switch, entry, way))
            behind = _Trail(trail.lanes, hops, trail.copied, trail.count)
            self._through(way, part, switch, share * fraction, behind)

    def _through(
        self, way: Way, bundle: _Bundle, switch: str, share: float, behind: _Trail
    ) -> None:
        if not way.exits:
            self._end(share, behind, Fate.PUNTED if way.punts else Fate.DROPPED)
            return
        for number, leaving in enumerate(way.exits):
            out = self._router.out(switch, leaving.port, leaving.queue)
            begun = behind if number == 0 else _Trail(copied=True, count=behind.count)
            self.leave(bundle.after(leaving), out, share, begun)

    def _arrives(self, bundle: _Bundle, head: NicRef) -> bool:
        headers = bundle.headers if isinstance(bundle, _Spread) else bundle.headers[0]
        return head.nic == self._target and h.ETH_DST.get(headers) == self._mac
