"""The ways that a demand takes through a network, as shares of its flows."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from controller.emulator import headers as h
from controller.emulator.flow_sets import FlowSet, Listed, SampleNeededError, Spread
from controller.emulator.flow_table import Entry
from controller.emulator.network import Network
from controller.emulator.ways import Way, WayCache, Ways
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
                return self._route(demand, Spread(self._headers(demand, 0)))
            except SampleNeededError:
                pass
        flows = demand.flows or (SAMPLE if demand.protocol in _PORTED else 1)
        headers = tuple(self._headers(demand, flow) for flow in range(flows))
        return self._route(demand, Listed(headers))

    def _headers(self, demand: Demand, flow: int) -> int:
        nics = self._network.fabric.nic_by_id
        gateway = self._network.fabric.gateway_mac
        return headers_of(demand, nics[demand.source], nics[demand.target], gateway, flow)

    def _route(self, demand: Demand, flows: FlowSet) -> Route:
        nics = self._network.fabric.nic_by_id
        nic = nics[demand.source]
        walk = _RouteWalk(self, demand.target, nics[demand.target].mac)
        ends = [NicRef(nic.id, i) for i in range(len(nic.attachments))]
        live = [end for end in ends if self._network.wire_at[end][0].up]
        for end in live or ends[:1]:
            out = self._begins.get(end)
            if out is None:
                out = self._begins[end] = _Out((end, 0), self._head(end))
            walk.leave(flows, out, 1.0 / max(1, len(live)), [], [])
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


class _RouteWalk:
    def __init__(self, router: Router, target: str, mac: int) -> None:
        self._router = router
        self._target = target
        self._mac = mac
        self.paths: list[Path] = []

    def leave(
        self,
        flows: FlowSet,
        out: _Out,
        share: float,
        lanes: list[LaneKey],
        hops: list[Hop],
        copied: bool = False,
        count: int = 0,
    ) -> None:
        """By a port, onto the wire, and on until they part. ``lanes`` and ``hops`` lie behind them
        and become this walk's own; ``count`` is of all switches, those before a copy too."""

        def end(fate: Fate, dead: End | None = None) -> None:
            self.paths.append(Path(share, tuple(lanes), tuple(hops), fate, copied, dead))

        while True:
            head = out.head
            if head is None:
                end(Fate.NO_CARRIER, out.lane[0])
                return
            lanes.append(out.lane)
            count += 1
            if isinstance(head, NicRef):
                end(Fate.DELIVERED if self._arrives(flows, head) else Fate.ANOTHER_HOST)
                return
            if count > MAX_HOPS or len(self.paths) > MAX_PATHS:
                end(Fate.LOOPED)
                return
            switch = head.switch
            parts = flows.through(self._router.cache(switch), head.port)
            if len(parts) > 1 or len(parts[0][1].exits) > 1:
                break
            entry, way, flows, _ = parts[0]
            hops.append((switch, entry, way))
            if not way.exits:
                end(Fate.PUNTED if way.punts else Fate.DROPPED)
                return
            (leaving,) = way.exits
            flows = flows.after(leaving)
            out = self._router.out(switch, leaving.port, leaving.queue)
        for entry, way, part, fraction in parts:
            self._part(part, (switch, entry, way), share * fraction, lanes, hops, copied, count)

    def _part(
        self,
        flows: FlowSet,
        hop: Hop,
        share: float,
        lanes: list[LaneKey],
        hops: list[Hop],
        copied: bool,
        count: int,
    ) -> None:
        """Of flows that have parted, or become several copies."""
        switch, _, way = hop
        behind = [*hops, hop]
        if not way.exits:
            fate = Fate.PUNTED if way.punts else Fate.DROPPED
            self.paths.append(Path(share, tuple(lanes), tuple(behind), fate, copied))
        for number, leaving in enumerate(way.exits):
            out = self._router.out(switch, leaving.port, leaving.queue)
            after = flows.after(leaving)
            if number == 0:
                self.leave(after, out, share, [*lanes], behind, copied, count)
            else:
                self.leave(after, out, share, [], [], True, count)

    def _arrives(self, flows: FlowSet, head: NicRef) -> bool:
        headers = flows.headers if isinstance(flows, Spread) else flows.headers[0]
        return head.nic == self._target and h.ETH_DST.get(headers) == self._mac
