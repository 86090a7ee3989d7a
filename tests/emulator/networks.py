"""Networks with tables in them, and a controller's side of a connection."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from controller.dataplane.compile import compile
from controller.dataplane.tables import SwitchTables, Tables
from controller.emulator import personas
from controller.emulator.network import Network
from controller.emulator.nodes import Output
from controller.emulator.switch import Switch
from controller.fabric.model import Fabric
from controller.openflow import encode, messages
from controller.openflow.codec import decode
from controller.openflow.codec import encode as encode_message
from controller.openflow.model import Group, ToGroup
from controller.openflow.wire import split
from tests.dataplane import fabrics

PERSONA = personas.load("openvswitch-3.1")
VERSION = 6


def network(fabric: Fabric, **options: Any) -> Network:
    return Network(fabric, PERSONA, **options)


def in_order(groups: dict[int, Group]) -> list[Group]:
    """A group after those that it refers to."""
    done: dict[int, Group] = {}

    def add(group: Group) -> None:
        if group.id in done:
            return
        for bucket in group.buckets:
            for action in bucket.actions:
                if isinstance(action, ToGroup):
                    add(groups[action.group_id])
        done[group.id] = group

    for group in groups.values():
        add(group)
    return list(done.values())


def install(switch: Switch, tables: SwitchTables, now: float = 0.0) -> None:
    """By the messages that a controller sends."""
    requests = [encode.hello()]
    requests += [encode.meter_add(meter) for meter in tables.meters.values()]
    requests += [encode.group_add(group) for group in in_order(dict(tables.groups))]
    requests += [encode.flow_add(flow) for flow in tables.flows.values()]
    requests.append(encode.barrier_request())
    from controller.emulator.switch import Connected, Disconnected

    switch.event(Connected("installer"), now)
    said = switch.receive("installer", b"".join(requests), now).messages.get("installer", b"")
    kinds = [type(decode(m).message).__name__ for m in split(said)[0]]
    assert kinds == ["BarrierReply"], kinds
    switch.event(Disconnected("installer"), now)


def tables_of(fabric: Fabric, trees: int = 2) -> Tables:
    """What the compiler makes of a plan for traffic between all hosts."""
    asked = fabrics.demands(fabric)
    return compile(fabric, fabrics.plan(fabric, asked, trees=trees), asked)


def installed(fabric: Fabric, trees: int = 2, **options: Any) -> tuple[Network, Tables]:
    """A network whose switches hold what the compiler makes of a plan."""
    net = network(fabric, **options)
    tables = tables_of(fabric, trees)
    for name, of_switch in tables.items():
        switch = net.nodes[name].switch
        assert switch is not None
        install(switch, of_switch)
    return net, tables


def with_capacity(fabric: Fabric, links_bps: float, nics_bps: float) -> Fabric:
    hosts = tuple(
        replace(h, nics=tuple(replace(n, capacity_bps=nics_bps) for n in h.nics))
        for h in fabric.hosts
    )
    links = tuple(replace(link, capacity_bps=links_bps) for link in fabric.links)
    return replace(fabric, hosts=hosts, links=links)


@dataclass
class Controller:
    """Says hello and notes all that switches say, with the time at which it was looked at."""

    net: Network
    version: int = VERSION
    received: dict[tuple[str, Hashable], bytes] = field(default_factory=dict)
    closed: list[tuple[str, Hashable]] = field(default_factory=list)
    heard: list[tuple[float, str, int, Any]] = field(default_factory=list)
    """(time, switch, transaction, message)"""

    def connect(self, switch: str, now: float) -> None:
        self.net.connect(switch, "c", now)
        self.say(switch, messages.Hello((self.version,)), now)

    def say(self, switch: str, message: Any, now: float, xid: int = 0) -> None:
        self.net.receive(switch, "c", encode_message(message, self.version, xid), now)

    def run(self, until: float, step: float | None = None) -> Output:
        """Go from event to event, so that each is noted with its own time."""
        while True:
            due = self.net.next_deadline()
            if due is None or due > until:
                return self._take(self.net.advance(until))
            self._take(self.net.advance(due))

    def _take(self, output: Output) -> Output:
        for switch, connection, data in output.messages:
            key = switch, connection
            whole, rest = split(self.received.get(key, b"") + data)
            self.received[key] = rest
            for each in whole:
                decoded = decode(each)
                self.heard.append((self.net.now, switch, decoded.xid, decoded.message))
        self.closed += output.closed
        return output

    def of(self, kind: type[Any], switch: str | None = None) -> list[tuple[float, Any]]:
        return [
            (time, m)
            for time, s, _, m in self.heard
            if isinstance(m, kind) and (switch is None or s == switch)
        ]
