"""The whole system in one process: engine, session logic and emulated switches on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any

from controller.brain import translate
from controller.dataplane.compile import compile
from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.tables import SwitchTables, Tables
from controller.dataplane.walk import Walker
from controller.emulator import personas
from controller.emulator.from_fabric import switches
from controller.emulator.switch import (
    Connected,
    Disconnected,
    Effects,
    LinkChanged,
    Switch,
)
from controller.engine import commands as cmd
from controller.engine import events as ev
from controller.engine.engine import Engine
from controller.engine.switches import SwitchState
from controller.engine.work import make
from controller.fabric.model import Fabric, PortRef
from controller.intents.model import IntentStatus
from controller.openflow import encode
from controller.openflow.encode import flow_key
from controller.openflow.model import Flow, Group, Meter
from controller.openflow.wire import MessageType, MultipartType, header, multipart, split
from controller.optimizer.plan import Plan
from heald.internal.v1 import session_pb2 as pb
from tests.world.scheduler import Messages, Scheduler, Stream
from tests.world.session_process import Connection

TICK_S = 0.25
CHECK_S = 1.0
SETTLED_S = 4.0
CONVERGE_S = 240.0
_DESCRIPTIONS = (MultipartType.FLOW_DESC, MultipartType.GROUP_DESC, MultipartType.METER_DESC)
PERSONA = personas.load("openvswitch-3.1")


class World:
    """Links, switches, connections and the brain can fail at any time; ``settle`` lets everything
    come to rest. ``holds`` are the tables of the switches as they are."""

    def __init__(
        self,
        network: Fabric,
        seed: int,
        *,
        strategy: str = "ecmp",
        work: Callable[[cmd.PlanRequest], ev.PlanMade] = make,
        metrics: bool = False,
    ) -> None:
        self.network = network
        self.scheduler = Scheduler(seed, now=1000.0)
        self.random = self.scheduler.random
        self.cut: set[str] = set()
        self.off: set[str] = set()
        self.wanted: dict[str, ev.WantedIntent] = {}
        self.stored: Plan | None = None
        self.statuses: dict[str, IntentStatus] = {}
        self.batches = 0
        self.losing: set[str] = set()
        self._strategy, self._work, self._metrics = strategy, work, metrics
        self._switches = switches(network, PERSONA, self.now)
        self._carrier = {name: set[int]() for name in self._switches}
        self._connections: dict[str, Connection] = {}
        self._streams: dict[str, tuple[Stream, Stream, int]] = {}
        self._link_numbers = count(1)
        self._session_numbers = count(1)
        self._neighbours = Neighbours()
        self._changed = set(self._switches)
        self._tables: dict[str, SwitchTables] = {}
        self._walker: Walker | None = None
        self._dead: frozenset[PortRef] = frozenset()
        self._brain = 0
        self._queues = {
            name: Messages(self.scheduler)
            for name in ("up", "down", "fast", "proof", "store", "self")
        }
        self.engine: Engine
        self._start_brain()
        for name in self._switches:
            self._connect_after(name, 0.5 * self.random.random())
        self.scheduler.at(self.now + TICK_S, self._tick)
        self.scheduler.at(self.now + CHECK_S, self._check)

    @property
    def now(self) -> float:
        return self.scheduler.now

    @property
    def events(self) -> int:
        return self.scheduler.events

    def step(self) -> None:
        self.scheduler.step()

    # ---- what people do -------------------------------------------------------------------------

    def want(self, intents: Mapping[str, Iterable[str]]) -> None:
        """Intents by name, with the hosts of each; the same as before is no change but for its
        generation, which is higher."""
        old = self.wanted
        self.wanted = {
            name: ev.WantedIntent(
                name,
                old[name].generation + 1 if name in old else 1,
                frozenset(nic.id for h in hosts for nic in self.network.host_by_name[h].nics),
            )
            for name, hosts in intents.items()
        }
        self._handle(ev.IntentsChanged(dict(self.wanted)))

    # ---- what fails -----------------------------------------------------------------------------

    def set_link(self, link: str, up: bool) -> None:
        (self.cut.discard if up else self.cut.add)(link)
        self._update_carrier()

    def power_off(self, switch: str) -> None:
        self.off.add(switch)
        self.disconnect(switch)
        self._update_carrier()

    def power_on(self, switch: str) -> None:
        """It has forgotten everything."""
        self.off.discard(switch)
        (fresh,) = (s for n, s in switches(self.network, PERSONA, self.now).items() if n == switch)
        self._switches[switch] = fresh
        self._carrier[switch] = set()
        self._changed.add(switch)
        self._update_carrier()
        self._connect_after(switch, self.random.random())

    def disconnect(self, switch: str, reason: str = "cut") -> None:
        """Whatever is under way on its connection is lost."""
        connection = self._connections.pop(switch, None)
        if connection is None:
            return
        connection.over = True
        to_switch, to_controller, number = self._streams.pop(switch)
        to_switch.clear()
        to_controller.clear()
        self._switches[switch].event(Disconnected(number), self.now)
        if connection.session is not None:
            message = pb.Disconnected(
                dpid=connection.session.dpid, session=connection.session.number, reason=reason
            )
            self._tell(pb.FromSession(disconnected=message))
        if switch not in self.off:
            self._connect_after(switch, 2 * self.random.random())

    def lose_reply(self, switch: str) -> None:
        """The next answer to a barrier, or the end of one to a question, is never sent."""
        self.losing.add(switch)

    def crash_brain(self) -> None:
        """Only what is stored survives it."""
        for queue in self._queues.values():
            queue.clear()
        for connection in self._connections.values():
            connection.session = None
        self._start_brain()
        for name, connection in self._connections.items():
            if connection.is_ready:
                self._begin(name, connection)

    # ---- coming to rest -------------------------------------------------------------------------

    def settle(self) -> None:
        """Until nothing has happened for a while; AssertionError when that never comes."""
        deadline = self.now + CONVERGE_S
        rest = self.now
        while self.now < rest + SETTLED_S:
            if not (self.scheduler.idle and self._is_settled()):
                rest = self.now
            assert self.now < deadline, f"no rest: {self.engine.problems()}, {self.statuses}"
            self.step()

    def _is_settled(self) -> bool:
        on = self._switches.keys() - self.off
        records = self.engine.reconciler.records
        if not self.wanted and self.engine.plan is None:
            return on <= self._connections.keys()
        return self.engine.committed and all(
            records[name].state is SwitchState.IN_SYNC for name in on
        )

    # ---- what there is to see -------------------------------------------------------------------

    @property
    def holds(self) -> Tables:
        for name in self._changed:
            empty = name in self.off
            self._tables[name] = SwitchTables() if empty else _tables(self._switches[name])
        return self._tables

    def desired(self) -> Tables:
        """A fresh compile of the newest snapshots."""
        assert self.engine.plan is not None
        return compile(self.network, self.engine.plan, self.engine.demands)

    def read(self, switch: str) -> SwitchTables:
        """As the switch tells it over a connection of its own."""
        asked = self._switches[switch]
        said = [asked.event(Connected("observer"), self.now).messages["observer"]]
        requests = (encode.flow_desc_request(), encode.group_desc_request())
        for message in (encode.hello(), *requests, encode.meter_desc_request()):
            effects = asked.receive("observer", message, self.now)
            said.append(effects.messages.get("observer", b""))
        asked.event(Disconnected("observer"), self.now)
        parts: dict[int, list[bytes]] = {kind: [] for kind in _DESCRIPTIONS}
        for message in split(b"".join(said))[0]:
            if header(message).type == MessageType.MULTIPART_REPLY:
                parts[multipart(message)[0]].append(message)
        flows, groups, meters = (parts[kind] for kind in _DESCRIPTIONS)
        return translate.read(switch, 0, flows, groups, meters).tables

    def walker(self) -> Walker:
        """Over the tables and links as they are now."""
        tables = self.holds
        if self._walker is None:
            self._walker = Walker(self.network, tables, self._dead)
        elif self._changed:
            changed = Walker(self.network, {name: tables[name] for name in self._changed})
            self._walker._switches.update(changed._switches)
        self._changed.clear()
        return self._walker.with_dead(self._dead)

    # ---- the brain ------------------------------------------------------------------------------

    def _start_brain(self) -> None:
        self._brain += 1
        self.engine = Engine(
            self.network,
            strategy=self._strategy,
            metrics=self._metrics,
            interval_s=1.0,
            stored_plan=self.stored,
            intents=dict(self.wanted),
            withdrawing={},
            statuses={n: s for n, s in self.statuses.items() if n in self.wanted},
            now=self.now,
        )
        self._execute(self.engine.start(self.now))

    def _handle(self, event: ev.Event) -> None:
        self._execute(self.engine.handle(event, self.now))

    def _execute(self, commands: list[cmd.Command]) -> None:
        for command in commands:
            match command:
                case cmd.RequestPlan():
                    optimise = command.request.kind is cmd.PlanKind.OPTIMISE
                    queue = self._queues["proof" if optimise else "fast"]
                    queue.put(partial(self._plan, command.request))
                case cmd.StorePlan():
                    self._queues["store"].put(partial(self._store, command.plan))
                case cmd.SendBatch():
                    self.batches += 1
                    self._queues["down"].put(partial(self._batch, command))
                case cmd.Continue():
                    self._queues["self"].put(partial(self._handle, ev.Continued()))
                case cmd.ReadSwitch():
                    self._queues["down"].put(partial(self._read_back, command))
                case cmd.SetStatus():
                    self.statuses[command.intent] = command.status

    def _plan(self, request: cmd.PlanRequest) -> None:
        self._handle(self._work(request))

    def _store(self, plan: Plan) -> None:
        self.stored = plan
        self._handle(ev.PlanStored(plan.id))

    def _tick(self) -> None:
        self.scheduler.at(self.now + TICK_S, self._tick)
        self._handle(ev.Tick())

    # ---- the session process --------------------------------------------------------------------

    def _tell(self, message: pb.FromSession) -> None:
        self._queues["up"].put(partial(self._told, message))

    def _told(self, message: pb.FromSession) -> None:
        if message.WhichOneof("message") == "readback":
            body = message.readback
            self._queues["fast"].put(partial(self._was_read, body))
            return
        event = translate.event(message, self.network)
        if event is not None:
            self._handle(event)

    def _was_read(self, body: pb.Readback) -> None:
        name = self.network.switch_by_dpid[body.dpid].name
        parts = list(body.flows), list(body.groups), list(body.meters)
        self._handle(translate.read(name, body.session, *parts))

    def _session_of(self, switch: str, number: int) -> Any:
        connection = self._connections.get(switch)
        session = connection.session if connection is not None else None
        return session if session is not None and session.number == number else None

    def _batch(self, command: cmd.SendBatch) -> None:
        session = self._session_of(command.switch, command.session)
        if session is not None:
            dpid = self.network.switch_by_name[command.switch].dpid
            session.execute(translate.batch(command, dpid, self._brain).batch, pause=lambda: None)

    def _read_back(self, command: cmd.ReadSwitch) -> None:
        session = self._session_of(command.switch, command.session)
        if session is not None:
            session.read_back()

    def _check(self) -> None:
        self.scheduler.at(self.now + CHECK_S, self._check)
        for connection in list(self._connections.values()):
            if connection.session is not None:
                connection.session.check()
                if self._metrics and not connection.over:
                    connection.session.poll()

    def _begin(self, switch: str, connection: Connection) -> None:
        uplink = _Uplink(self._tell)
        dpid = self.network.switch_by_name[switch].dpid
        connection.begin(
            uplink, dpid, next(self._session_numbers), self._neighbours, lambda: self.now
        )

    # ---- connections ----------------------------------------------------------------------------

    def _connect_after(self, switch: str, seconds: float) -> None:
        self.scheduler.at(self.now + seconds, partial(self._connect, switch))

    def _connect(self, switch: str) -> None:
        if switch in self._connections or switch in self.off:
            return
        number = next(self._link_numbers)
        to_switch = Stream(self.scheduler, partial(self._to_switch, switch, number))
        connection = Connection(
            to_switch.put,
            partial(self.disconnect, switch),
            partial(self._begin, switch),
        )
        to_controller = Stream(self.scheduler, connection.received)
        self._connections[switch] = connection
        self._streams[switch] = to_switch, to_controller, number
        self._said(switch, self._switches[switch].event(Connected(number), self.now))

    def _to_switch(self, switch: str, number: int, data: bytes) -> None:
        self._changed.add(switch)
        self._said(switch, self._switches[switch].receive(number, data, self.now))

    def _said(self, switch: str, effects: Effects) -> None:
        if switch not in self._streams:
            return
        _, to_controller, number = self._streams[switch]
        data = effects.messages.get(number)
        if data:
            to_controller.put(self._without_lost(switch, data) if self.losing else data)
        assert not effects.closed, f"{switch} ended the connection"

    def _without_lost(self, switch: str, data: bytes) -> bytes:
        if switch not in self.losing:
            return data
        out = []
        for message in split(data)[0]:
            kind = header(message).type
            is_end = kind == MessageType.MULTIPART_REPLY and not multipart(message)[1]
            session = self._connections[switch].session
            is_answer = is_end or kind == MessageType.BARRIER_REPLY
            if session is not None and is_answer and switch in self.losing:
                self.losing.discard(switch)
                continue
            out.append(message)
        return b"".join(out)

    # ---- cables ---------------------------------------------------------------------------------

    def _update_carrier(self) -> None:
        dead = set()
        for arc in self.network.arcs:
            if arc.link in self.cut or {arc.tail.switch, arc.head.switch} & self.off:
                dead.add(arc.tail)
        self._dead = frozenset(dead) | {
            port for nic in self.network.nics for port in nic.attachments if port.switch in self.off
        }
        for name, switch in self._switches.items():
            now_dead = {ref.port for ref in dead if ref.switch == name}
            for port in sorted(now_dead ^ self._carrier[name]):
                up = port not in now_dead
                self._said(name, switch.event(LinkChanged(port, up), self.now))
            self._carrier[name] = now_dead


class _Uplink:
    def __init__(self, tell: Callable[[pb.FromSession], None]) -> None:
        self._tell = tell

    def send(self, message: pb.FromSession) -> None:
        self._tell(message)

    def sample(self, sample: pb.Sample) -> None:
        self._tell(pb.FromSession(sample=sample))


def _tables(switch: Switch) -> SwitchTables:
    state = switch.state
    flows = {}
    for table in state.tables:
        for e in table:
            flow = Flow(e.table, e.priority, e.match, e.instructions, e.cookie)
            flows[flow_key(flow)] = flow
    groups = {g.id: Group(g.id, g.type, g.definition) for g in state.groups.all()}
    meters: dict[int, Meter] = {}
    return SwitchTables(flows, groups, meters)
