"""A northbound that really listens, before an engine that is played by the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

import heald
from controller.brain.topology_reader import read_here
from controller.discovery.probe import KEY_BYTES, Seal
from controller.engine.foresight import Foresight
from controller.engine.wiring import WiringReport, WiringWatch
from controller.fabric.model import (
    Accelerator,
    Fabric,
    Host,
    Link,
    Nic,
    PortRef,
    Switch,
    TrafficClass,
)
from controller.intents.model import IntentState, IntentStatus
from controller.northbound.book import IntentBook
from controller.northbound.drains import DrainBook
from controller.northbound.ports import NetworkView
from controller.northbound.server import NorthboundServer
from controller.northbound.topology_book import TopologyBook
from controller.northbound.topology_start import FileState, Running
from controller.optimizer.plan import Certificate, PlacementKey, Plan, PlannedEgress, PlannedTree
from controller.store.sqlite import SqliteStore
from controller.telemetry.link_state import LinkState
from heald.v1 import fabric_pb2

_T = TypeVar("_T")


def make_fabric(hosts: int = 4) -> Fabric:
    """Two leaves with half of the hosts each, two spines; h1 has two NICs and two GPUs."""

    def nic(host: int, name: str, port: int) -> Nic:
        leaf = "leaf1" if host <= hosts // 2 else "leaf2"
        address = IPv4Address("10.0.0.0") + host
        ref = PortRef(leaf, port)
        return Nic(f"h{host}", name, 0x020000000000 + port, (address,), (ref,), 100e9)

    found = []
    for i in range(1, hosts + 1):
        nics = [nic(i, "eth0", 10 + i)] + ([nic(i, "eth1", 100)] if i == 1 else [])
        gpus = [
            Accelerator(f"h{i}", f"gpu{n}", "gpu", None, nics[n].name) for n in range(len(nics))
        ]
        labels = {"pod": "a" if i <= hosts // 2 else "b", "rack": f"r{i}"}
        found.append(Host(f"h{i}", tuple(nics), tuple(gpus), labels))
    switches = tuple(
        Switch(name, i + 1, name.rstrip("12"))
        for i, name in enumerate(["leaf1", "leaf2", "spine1", "spine2"])
    )
    links = tuple(
        Link(f"leaf{a}-spine{b}", PortRef(f"leaf{a}", b), PortRef(f"spine{b}", a), 400e9, 5e-7)
        for a in (1, 2)
        for b in (1, 2)
    )
    return Fabric(
        "lab",
        switches,
        tuple(found),
        links,
        (TrafficClass("best-effort", None, 0),),
        0x0E0000000001,
        IPv4Address("10.0.0.254"),
        IPv6Address("fd00::1"),
        version=3,
    )


def make_links(fabric: Fabric, version: int = 1) -> LinkState:
    n = len(fabric.arcs)
    capacity = np.array([arc.capacity_bps for arc in fabric.arcs])
    foreign = np.zeros(n)
    foreign[0] = 60e9
    up = np.ones(n, dtype=np.bool_)
    up[-2:] = False
    usable = np.where(up, capacity - foreign, 0.0)
    return LinkState(version, up, usable, capacity * 0.25, foreign, np.zeros(n), np.zeros(n))


def make_plan() -> Plan:
    trees = tuple(PlannedTree(0, i, {"leaf1": i, f"spine{i}": 2}) for i in (1, 2))
    return Plan(
        id=7,
        made_from=(3, 1, 1),
        egresses=(PlannedEgress(0, ("leaf2",)),),
        trees=trees,
        weights={PlacementKey("leaf1", ("leaf2",), "best-effort"): {1: 5, 2: 11}},
        zones={},
        load_bps={("leaf1", 1): 50e9, ("leaf1", 2): 110e9},
        certificate=Certificate("auto", "GLOP", 0.31, 0.3, 0.033, 0.01),
    )


@dataclass
class PlayedBrain:
    """Implements ``ports.Brain``. ``show`` is what the engine would do after a sample or a plan."""

    now: NetworkView = field(default_factory=lambda: NetworkView(make_fabric(), 1_700_000_000.0))
    cables: dict[PortRef, PortRef] = field(default_factory=dict)
    changes: list[int] = field(default_factory=list)
    watchers: set[asyncio.Event] = field(default_factory=set)
    foresight: Foresight | None = None
    drain_changes: int = 0
    fabrics: list[Fabric] = field(default_factory=list)

    def view(self) -> NetworkView:
        return self.now

    async def views(self) -> AsyncGenerator[NetworkView, None]:
        news = asyncio.Event()
        self.watchers.add(news)
        try:
            while True:
                news.clear()
                yield self.now
                await news.wait()
        finally:
            self.watchers.discard(news)

    def wiring(self) -> WiringReport:
        """When each port's probe arrives where ``cables`` says, by default as declared."""
        fabric, seal = self.now.fabric, Seal("lab/default", 1, bytes(KEY_BYTES))
        watch = WiringWatch(fabric, seal)
        for switch in fabric.switches:
            ports = {arc.tail.port: True for arc in fabric.arcs_from[switch.name]}
            watch.connected(switch.name, 1, ports)
        listening = {switch.name for switch in fabric.switches}
        time_s = 0.0
        while time_s < 1.5:
            for probe in watch.due(listening, time_s):
                tail = PortRef(probe.switch, probe.port)
                at = self.cables.get(tail, fabric.arc_by_tail[tail].head)
                watch.heard([(at, probe.frame)], 0, time_s)
            time_s += 0.05
        watch.heard([(PortRef("leaf1", 11), b"from a host")], 0, time_s)
        watch.news()
        return watch.report()

    def status(self) -> fabric_pb2.Status:
        status = fabric_pb2.Status(
            time=Timestamp(seconds=1_700_000_205),
            epoch=4,
            metrics_enabled=True,
            processes={"brain": "pid 1, ready"},
        )
        status.switches.add(
            name="leaf1",
            dpid=1,
            connected=True,
            state="in-sync",
            openflow="1.5",
            flows=40,
            groups=6,
            description=fabric_pb2.SwitchDescription(
                manufacturer="Nicira, Inc.", hardware="Open vSwitch", software="3.1.0"
            ),
            missing_ports=[11, 12],
            last_error="silent for 4 s",
            since=Timestamp(seconds=1_700_000_005),
            last_error_time=Timestamp(seconds=1_700_000_000),
        )
        status.switches.add(name="spine1", dpid=3, state="absent", detail="no session since 12 s")
        status.problems.append("spine1 (dpid 3) is not connected; check its controller address")
        return status

    def queues(self) -> list[fabric_pb2.SwitchQueues]:
        return [fabric_pb2.SwitchQueues(switch="leaf1", state="managed", ignores_queues=True)]

    async def foresee(self, drained: frozenset[str]) -> Foresight | None:
        await asyncio.sleep(0.05)  # Planning takes its time; others may ask meanwhile.
        return self.foresight

    async def fabric_changed(self, fabric: Fabric) -> None:
        self.fabrics.append(fabric)
        self.show(fabric=fabric)

    def drains_changed(self) -> None:
        self.drain_changes += 1

    def intents_changed(self, revision: int) -> None:
        self.changes.append(revision)

    def show(self, **changed: Any) -> None:
        self.now = replace(self.now, **changed)
        for news in self.watchers:
            news.set()


class Served:
    """A running northbound; its loop lives in a thread, as the client blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.brain = PlayedBrain()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def start(self) -> None:
        self.address = self.run(self._start())

    async def _start(self) -> str:
        self.store = await SqliteStore.open(self.path / "heald.db")
        self.book = await IntentBook.load(self.store, self.brain.view().fabric.name)
        self.drains = await DrainBook.load(self.store, self.brain.view().fabric.name)
        fabric = self.brain.view().fabric
        source = fabric_pb2.TopologySource(name="lab.yaml")
        self.topologies = TopologyBook(
            self.store,
            "default",
            Running(fabric, source),
            FileState("lab.yaml", b"", fabric),
            partial(asyncio.to_thread, read_here),
            self.brain.fabric_changed,
        )
        self.server = NorthboundServer(self.book, self.drains, self.topologies, self.brain)
        address = await self.server.start(f"unix:{self.path}/api.sock")
        await self.server.set_ready(True)
        return address

    def stop(self) -> None:
        """As the controller stops; ``start`` is then its restart."""

        async def stop() -> None:
            await self.server.stop()
            await self.store.close()

        self.run(stop())

    def end(self) -> None:
        self.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()

    def client(self) -> heald.Client:
        return heald.connect(self.address)

    def report(
        self, id: str, *states: IntentState, reason: str = "Test", message: str = ""
    ) -> None:
        """The engine takes the intent through these states."""
        name = heald.intent_name(id)
        for state in states:
            generation = self.book.intents[name].generation
            status = IntentStatus(state, reason, message, generation)
            self.run(self.book.set_statuses({name: status}))


@contextmanager
def served(path: Path) -> Iterator[Served]:
    running = Served(path)
    try:
        yield running
    finally:
        running.end()
