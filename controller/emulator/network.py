"""Switches, wires and hosts of a fabric, on a clock that is given from outside.

What controllers, hosts and cables do is noted with its time; :meth:`Network.advance` then lets all
of it happen in order and says what came of it. Nothing else has an effect, so a run is a function
of what was noted and of the seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from random import Random

from controller.emulator import from_fabric
from controller.emulator.nodes import NEVER_LOST, Connection, HostFrame, Node, Output
from controller.emulator.personas import Persona
from controller.emulator.ports import QueueState
from controller.emulator.switch import (
    Connected,
    Disconnected,
    Effects,
    Event,
    FrameReceived,
    LinkChanged,
    Switch,
    TimePassed,
)
from controller.emulator.wires import Direction, End, NicRef, Wire
from controller.fabric.model import Fabric, PortRef
from controller.openflow.wire import header, split

HOP_S = 1e-6
"""What a frame needs through a switch at least, so that one that loops does not stop the clock."""
MAX_FRAMES = 10_000
"""Under way at a time; what is more gets lost, as in full buffers. Only loops make so many."""


class Network:
    def __init__(
        self,
        fabric: Fabric,
        persona: Persona,
        *,
        seed: int = 0,
        now: float = 0.0,
        queues: Mapping[int, QueueState] | None = None,
        hop_s: float = HOP_S,
    ) -> None:
        """All switches are of one persona. ``queues`` are those of every port, with rates as shares
        of its speed; without it there is one for each traffic class, without rates."""
        self.fabric = fabric
        self.now = now
        self.before_change: Callable[[float], None] = _nothing
        """Told the time of each event before it happens."""
        self.before_reading: Callable[[str], None] = _nothing
        """Told the switch that is about to be given an event, so that its counters can be right."""
        self.wires_version = 0
        """Counts changes of what wires carry."""
        self.cabling_version = 0
        """Counts changes of what wires join."""
        self.frames_dropped = 0
        """Frames for which there was no more room on the way."""
        self._queues = queues
        self._hop_s = hop_s
        self._frames_under_way = 0
        self._plain_ports = from_fabric.ports(fabric)
        self.wires: dict[str, Wire] = {}
        self.wire_at: dict[End, tuple[Wire, Direction]] = {}
        """The wire of each end, and its direction away from there."""
        for link in fabric.links:
            self._lay(link.name, link.a, link.b, link.capacity_bps, link.latency_s, seed)
        for nic in fabric.nics:
            for i, port in enumerate(nic.attachments):
                end = NicRef(nic.id, i)
                self._lay(str(end), end, port, nic.capacity_bps, 0.0, seed)
        self._ports: dict[str, list[PortRef]] = {s.name: [] for s in fabric.switches}
        for tail in self.wire_at:
            if isinstance(tail, PortRef):
                self._ports[tail.switch].append(tail)
        self.nodes = {s.name: Node(s.name, None, persona) for s in fabric.switches}
        self._agenda: list[tuple[float, int, Callable[[float], None]]] = []
        self._serial = 0
        self._output = Output()
        for node in self.nodes.values():
            node.switch = self._make(node, now)

    def _lay(
        self, name: str, a: End, b: End, capacity_bps: float, latency_s: float, seed: int
    ) -> None:
        there = Direction(a, b, Random(f"{seed}/{name}/there"))
        back = Direction(b, a, Random(f"{seed}/{name}/back"))
        wire = Wire(name, (there, back), capacity_bps, latency_s)
        self.wires[name] = wire
        self.wire_at[a] = wire, there
        self.wire_at[b] = wire, back

    def _make(self, node: Node, now: float) -> Switch:
        ports = []
        for plain in self._plain_ports[node.name]:
            queues = plain.queues if self._queues is None else self._queues
            fresh = {n: QueueState(q.min_rate, q.max_rate) for n, q in queues.items()}
            wire, _ = self.wire_at[PortRef(node.name, plain.number)]
            ports.append(replace(plain, link=wire.up, queues=fresh))
        dpid = self.fabric.switch_by_name[node.name].dpid
        return Switch(dpid, ports, node.persona, datapath=node.name, now=node.local(now))

    # ---- What happens from outside ----

    def at(self, time_s: float, action: Callable[[float], None]) -> None:
        """``action`` is called with the time, once that has come."""
        self._serial += 1
        heapq.heappush(self._agenda, (max(time_s, self.now), self._serial, action))

    def connect(self, switch: str, connection: Hashable, now: float) -> None:
        """Where the switch is off, the connection is closed at once."""
        self.at(now, lambda t: self._connect(self.nodes[switch], connection, t))

    def receive(self, switch: str, connection: Hashable, data: bytes, now: float) -> None:
        """A controller's bytes, cut anywhere; those for a connection that has ended are lost."""
        self.at(now, lambda t: self._receive(self.nodes[switch], connection, data, t))

    def disconnect(self, switch: str, connection: Hashable, now: float) -> None:
        self.at(now, lambda t: self._disconnect(self.nodes[switch], connection, t))

    def send(self, source: NicRef, data: bytes, now: float) -> None:
        """A host sends a frame."""
        self.at(now, lambda t: self._onto_wire(source, data, t))

    def cut(self, wire: str, now: float, reason: str = "cable") -> None:
        """The wire is down until it is mended for every reason for which it was cut."""
        self.at(now, lambda t: self._cut(self.wires[wire], reason, t))

    def mend(self, wire: str, now: float, reason: str = "cable") -> None:
        self.at(now, lambda t: self._mend(self.wires[wire], reason, t))

    def swap(self, a: End, b: End, now: float) -> None:
        """Unplug the cables at two ends, and plug each where the other was. A wire keeps its name;
        the same again puts it right. ValueError where they are the ends of one cable."""
        if self.wire_at[a][0] is self.wire_at[b][0]:
            raise ValueError(f"{a} and {b} are two ends of one cable")
        self.at(now, lambda t: self._swap(a, b, t))

    def power_off(self, switch: str, now: float) -> None:
        self.at(now, lambda t: self._power_off(self.nodes[switch], t))

    def power_on(self, switch: str, now: float) -> None:
        """With empty tables and no connection."""
        self.at(now, lambda t: self._power_on(self.nodes[switch], t))

    def unread_bytes(self, switch: str, connection: Hashable) -> int:
        """What the switch has not read yet: a shell reads no more while there is much."""
        found = self.nodes[switch].connections.get(connection)
        return sum(map(len, found.unread)) if found else 0

    def answers_at_once(self, switch: str, connection: Hashable) -> bool:
        """Whether the switch reads, and nothing delays, loses or cuts off what it says."""
        node = self.nodes[switch]
        known = node.connections.get(connection)
        return known is not None and known.free_s <= self.now and not node.troubled

    # ---- Time ----

    def next_deadline(self) -> float | None:
        """When :meth:`advance` has something to do, if nothing happens from outside."""
        return self._agenda[0][0] if self._agenda else None

    def advance(self, now: float, most: int | None = None) -> Output:
        """Let everything happen that is due, or the first ``most`` of it: then ``now`` has not
        come, and :meth:`next_deadline` says when the rest was due."""
        done = 0
        while self._agenda and self._agenda[0][0] <= now and done != most:
            time_s, _, action = heapq.heappop(self._agenda)
            self.now = time_s
            self.before_change(time_s)
            action(time_s)
            done += 1
        if not self._agenda or self._agenda[0][0] > now:
            self.now = max(self.now, now)
            self.before_change(self.now)
        output, self._output = self._output, Output()
        return output

    def tell(self, node: Node, event: Event, now: float) -> None:
        """Give the node's switch an event, if there is one."""
        if node.switch is not None:
            self.before_reading(node.name)
            self._take(node, node.switch.event(event, node.local(now)), now)

    def _take(self, node: Node, effects: Effects, now: float) -> None:
        for emitted in effects.frames:
            self._onto_wire(PortRef(node.name, emitted.port), emitted.data, now)
        for connection, data in effects.messages.items():
            self._send_up(node, connection, data, now)
        for connection in effects.closed:
            self._end(node, connection, now)
        self._set_alarm(node, now)

    def _set_alarm(self, node: Node, now: float) -> None:
        assert node.switch is not None
        local = node.switch.next_deadline()
        if local is None:
            return
        # Its clock may go wrong meanwhile; then it is asked again.
        wakes_s = now + max(local - node.local(now), HOP_S)
        if wakes_s < node.wakes_s:
            node.wakes_s = wakes_s
            self.at(wakes_s, lambda t: self._wake(node, t))

    def _wake(self, node: Node, now: float) -> None:
        if node.wakes_s <= now:
            node.wakes_s = float("inf")
        self.tell(node, TimePassed(), now)

    # ---- Frames ----

    def _onto_wire(self, tail: End, data: bytes, now: float) -> None:
        found = self.wire_at.get(tail)
        if found is None or not found[0].up:
            return
        wire, direction = found
        if direction.loss and direction.random.random() < direction.loss:
            direction.lost_frames += 1
            return
        if self._frames_under_way >= MAX_FRAMES:
            self.frames_dropped += 1
            return
        self._frames_under_way += 1
        arrives_s = now + max(wire.delay_s, self._hop_s)
        head = direction.head
        self.at(arrives_s, lambda t: self._off_wire(wire, direction, head, data, t))

    def _off_wire(
        self, wire: Wire, direction: Direction, head: End, data: bytes, now: float
    ) -> None:
        self._frames_under_way -= 1
        if not wire.up or direction.head != head:
            return
        if isinstance(head, NicRef):
            self._output.frames.append(HostFrame(head, data, now))
        else:
            self.tell(self.nodes[head.switch], FrameReceived(head.port, data), now)

    # ---- Cables and power ----

    def _cut(self, wire: Wire, reason: str, now: float) -> None:
        was_up = wire.up
        wire.cuts.add(reason)
        if was_up:
            self._carrier(wire, now)

    def _mend(self, wire: Wire, reason: str, now: float) -> None:
        was_up = wire.up
        wire.cuts.discard(reason)
        if wire.up and not was_up:
            self._carrier(wire, now)

    def _carrier(self, wire: Wire, now: float) -> None:
        for direction in wire.directions:
            if isinstance(direction.tail, PortRef):
                node = self.nodes[direction.tail.switch]
                self.tell(node, LinkChanged(direction.tail.port, wire.up), now)

    def _swap(self, a: End, b: End, now: float) -> None:
        wires = self.wire_at[a][0], self.wire_at[b][0]
        for wire in wires:
            self._cut(wire, "swap", now)
        ends = {a: b, b: a}
        for wire in wires:
            for way in wire.directions:
                way.tail, way.head = ends.get(way.tail, way.tail), ends.get(way.head, way.head)
        self.wire_at[a], self.wire_at[b] = self.wire_at[b], self.wire_at[a]
        self.cabling_version += 1
        for wire in wires:
            dark = {f"power of {name}" for name in self._without_power(wire)}
            wire.cuts = {cut for cut in wire.cuts if not cut.startswith("power of ")} | dark
            self._mend(wire, "swap", now)

    def _without_power(self, wire: Wire) -> list[str]:
        ends = [way.tail for way in wire.directions]
        switches = [end.switch for end in ends if isinstance(end, PortRef)]
        return [name for name in switches if self.nodes[name].switch is None]

    def _power_off(self, node: Node, now: float) -> None:
        if node.switch is None:
            return
        self.before_reading(node.name)
        for connection in list(node.connections):
            self._end(node, connection, now)
        node.switch = None
        for end in self._ports[node.name]:
            self._cut(self.wire_at[end][0], f"power of {node.name}", now)

    def _power_on(self, node: Node, now: float) -> None:
        if node.switch is not None:
            return
        self.before_reading(node.name)
        node.epoch += 1
        for end in self._ports[node.name]:
            self._mend(self.wire_at[end][0], f"power of {node.name}", now)
        node.switch = self._make(node, now)

    # ---- Connections ----

    def _connect(self, node: Node, connection: Hashable, now: float) -> None:
        if node.switch is None:
            self._output.closed.append((node.name, connection))
            return
        node.connections[connection] = Connection()
        self.tell(node, Connected(connection), now)

    def _disconnect(self, node: Node, connection: Hashable, now: float) -> None:
        if node.connections.pop(connection, None) is not None:
            self.tell(node, Disconnected(connection), now)

    def _receive(self, node: Node, connection: Hashable, data: bytes, now: float) -> None:
        known = node.connections.get(connection)
        if known is None:
            return
        if node.stalled:
            known.unread.append(data)
            return
        self._read(node, connection, known, data, now)

    def resume_reading(self, node: Node, now: float) -> None:
        """After a stall: all that has been sent meanwhile is read, in order."""
        node.stalled = False
        for connection, known in list(node.connections.items()):
            data, known.unread = b"".join(known.unread), []
            if data and connection in node.connections:
                self._read(node, connection, known, data, now)

    def _read(
        self, node: Node, connection: Hashable, known: Connection, data: bytes, now: float
    ) -> None:
        left = node.cuts_after[0]
        if left is not None:
            data = data[:left]
            node.cuts_after[0] = left - len(data)
        known.received_bytes += len(data)
        switch = node.switch
        if switch is not None:
            self.before_reading(node.name)
            self._take(node, switch.receive(connection, data, node.local(now)), now)
        if node.cuts_after[0] == 0:
            node.cuts_after[0] = None
            self._break(node, connection, now)

    def end_after(self, switch: str, octets: int, from_switch: bool, now: float) -> None:
        """A connection of the switch ends once so many more bytes went in one direction."""
        node = self.nodes[switch]
        if octets:
            node.cuts_after[from_switch] = octets
            return
        for connection in list(node.connections):
            self._break(node, connection, now)

    def _send_up(self, node: Node, connection: Hashable, data: bytes, now: float) -> None:
        known = node.connections.get(connection)
        if known is None:
            return
        if node.delay is None and node.loses is None:
            if known.free_s < now:
                self._deliver(node, connection, known, data, now)
            else:
                self._deliver_at(known.free_s, node, connection, known, data)
            return
        for message in split(data)[0]:
            kind = header(message).type
            if node.loses is not None and kind not in NEVER_LOST and node.loses(kind):
                continue
            delay = 0.0 if node.delay is None else node.delay()
            known.free_s = max(known.free_s, now + delay)
            self._deliver_at(known.free_s, node, connection, known, message)

    def _deliver_at(
        self, time_s: float, node: Node, connection: Hashable, known: Connection, data: bytes
    ) -> None:
        self.at(time_s, lambda t: self._deliver(node, connection, known, data, t))

    def _deliver(
        self, node: Node, connection: Hashable, known: Connection, data: bytes, now: float
    ) -> None:
        if node.connections.get(connection) is not known:
            return
        left = node.cuts_after[1]
        if left is not None:
            data = data[:left]
            node.cuts_after[1] = left - len(data)
        known.sent_bytes += len(data)
        if data:
            self._output.messages.append((node.name, connection, data))
        if node.cuts_after[1] == 0:
            node.cuts_after[1] = None
            self._break(node, connection, now)

    def _break(self, node: Node, connection: Hashable, now: float) -> None:
        """The connection is gone for both."""
        if connection in node.connections:
            self._end(node, connection, now)
            self.at(now, lambda t: self.tell(node, Disconnected(connection), t))

    def _end(self, node: Node, connection: Hashable, now: float) -> None:
        known = node.connections.pop(connection, None)
        if known is not None:
            self._output.closed.append((node.name, connection))


def _nothing(_: float | str) -> None:
    pass
