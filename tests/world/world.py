"""The whole system in one process: engine, session logic and emulated switches on virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from controller.brain import translate
from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.tables import Tables
from controller.discovery.probe import KEY_BYTES, Seal
from controller.engine import commands as cmd
from controller.engine import events as ev
from controller.engine.engine import Engine
from controller.engine.switches import SwitchState
from controller.engine.work import find_black_holes
from controller.fabric.model import Fabric
from controller.intents.kinds import expand
from controller.intents.model import IntentSpec, IntentStatus
from controller.optimizer.plan import Plan
from heald.internal.v1 import session_pb2 as pb
from tests.world.hardware import Hardware
from tests.world.memory import compiled, remembered
from tests.world.scheduler import Messages, Scheduler
from tests.world.session_process import Connection

TICK_S = 0.25
SETTLED_S = 4.0
CONVERGE_S = 400.0


class World:
    """Links, switches, connections and the brain can fail at any time, and people can edit the
    topology; switches of the hardware keep the names that they began with. An event is what the
    scheduler delivers: bytes to a switch or to the session process, a message between that and the
    brain, an answer of a worker, a timer."""

    def __init__(
        self,
        network: Fabric,
        seed: int,
        *,
        strategy: str = "ecmp",
        metrics: bool = True,
        hardware: Fabric | None = None,
        stored: Plan | None = None,
        intents: Mapping[str, IntentSpec] | None = None,
    ) -> None:
        """``hardware``: the switches and cables that there are, if the topology file does not have
        all of them. ``stored`` and ``intents`` are what an earlier brain left."""
        self.network = network
        self.scheduler = Scheduler(seed, now=1000.0)
        self.random = self.scheduler.random
        self.stored = stored
        self._specs = dict(intents or {})
        self.wanted = {name: self._expanded(name, spec) for name, spec in self._specs.items()}
        self.statuses: dict[str, IntentStatus] = {}
        self.batches = 0
        self.read_s = dict.fromkeys((hardware or network).switch_by_name, self.now)
        self._asked_s = dict(self.read_s)
        """When the engine last asked what each switch holds."""
        self._strategy, self._metrics = strategy, metrics
        self._session_numbers = count(1)
        self._neighbours = Neighbours()
        self._brain = 0
        self.queues = {
            name: Messages(self.scheduler)
            for name in ("up", "down", "fast", "proof", "store", "self")
        }
        self.hardware = Hardware(
            hardware or network, self.scheduler, metrics, self._begin, self._ended
        )
        self.engine: Engine
        self._start_brain()
        self.hardware.start()
        self.scheduler.at(self.now + TICK_S, self._tick)

    @property
    def now(self) -> float:
        return self.scheduler.now

    @property
    def events(self) -> int:
        return self.scheduler.events

    def step(self) -> None:
        self.scheduler.step()

    # ---- what people do -------------------------------------------------------------------------

    def want(self, intents: Mapping[str, IntentSpec]) -> None:
        """Intents by name; the same as before is no change but for its generation, which is
        higher."""
        old = self.wanted
        self._specs = dict(intents)
        self.wanted = {name: self._expanded(name, spec) for name, spec in intents.items()}
        for name, intent in self.wanted.items():
            if name in old:
                self.wanted[name] = replace(intent, generation=old[name].generation + 1)
        self._handle(ev.IntentsChanged(dict(self.wanted)))

    def _expanded(self, name: str, spec: IntentSpec) -> ev.WantedIntent:
        found = expand(name, spec, self.network)
        problem = "; ".join(p.message for p in found.problems) or None
        return ev.WantedIntent(name, 1, found.reach.nics, problem, found.reach.peers, found.flows)

    def edit(
        self, network: Fabric, drained: frozenset[str] = frozenset(), strategy: str | None = None
    ) -> None:
        """The topology file says this from now on."""
        self.network = replace(network, version=self.engine.fabric.version + 1)
        for name, spec in self._specs.items():
            generation = self.wanted[name].generation
            self.wanted[name] = replace(self._expanded(name, spec), generation=generation)
        self._handle(
            ev.FabricChanged(self.network, dict(self.wanted), drained, strategy or self._strategy)
        )
        for name, switch in self.hardware.switches.items():
            if switch.dpid not in self.network.switch_by_dpid:
                self.hardware.disconnect(name, "not in the topology")

    def crash_brain(self) -> None:
        """Only what is stored survives it."""
        for queue in self.queues.values():
            queue.clear()
        for connection in self.hardware.connections.values():
            connection.session = None
        self._start_brain()
        for name, connection in self.hardware.connections.items():
            if connection.is_ready:
                self._begin(name, connection)

    # ---- coming to rest -------------------------------------------------------------------------

    def is_settled(self) -> bool:
        """The engine takes everything to be in order."""
        called = {s.name: self._hardware_name(s.dpid) for s in self.network.switches}
        on = {name for name, there in called.items() if there not in self.hardware.off}
        if not self.wanted and self.engine.plan is None:
            return {called[name] for name in on} <= self.hardware.connections.keys()
        records = self.engine.reconciler.records
        return self.engine.committed and all(
            records[name].state is SwitchState.IN_SYNC for name in on
        )

    def acts_on_what_is(self) -> bool:
        """Every switch gets what is rolled out: the plan for the links and intents as they are."""
        engine, dead = self.engine, self.hardware.dead
        up = engine.link_state.up
        rollout = engine.reconciler._rollout
        return (
            rollout is not None
            and engine.plan is not None
            and rollout.plan_id == engine.plan.id
            and engine._planned_serial == engine._serial
            and rollout.switches == self.network.switch_by_name.keys()
            and all(
                up[arc.index] == (arc.tail not in dead and arc.head not in dead)
                for arc in self.network.arcs
            )
        )

    def desired(self) -> Tables:
        """A fresh compile of the newest snapshots."""
        assert self.engine.plan is not None
        return compiled(self.network, self.engine.plan, self.engine.demands)

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
            seal=Seal("world", 1, bytes(KEY_BYTES)),
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
                    queue = self.queues["proof" if optimise else "fast"]
                    queue.put(partial(self._plan, command.request))
                case cmd.FindBlackHoles():
                    self.queues["proof"].put(partial(self._find_black_holes, command))
                case cmd.StorePlan():
                    self.queues["store"].put(partial(self._store, command.plan))
                case cmd.SendBatch():
                    self.batches += 1
                    dpid = self.engine.fabric.switch_by_name[command.switch].dpid
                    self.queues["down"].put(partial(self._batch, dpid, command))
                case cmd.Continue():
                    self.queues["self"].put(partial(self._handle, ev.Continued()))
                case cmd.FollowLinks():
                    due = partial(self._handle, ev.LinksDue())
                    self.scheduler.at(self.now + command.after_s, due)
                case cmd.ReadSwitch():
                    dpid = self.engine.fabric.switch_by_name[command.switch].dpid
                    self.queues["down"].put(partial(self._read_back, dpid, command))
                case cmd.SetStatus():
                    self.statuses[command.intent] = command.status

    def _find_black_holes(self, asked: cmd.FindBlackHoles) -> None:
        self._handle(find_black_holes(asked))

    def _plan(self, request: cmd.PlanRequest) -> None:
        self._handle(remembered(request))

    def _store(self, plan: Plan) -> None:
        self.stored = plan
        self._handle(ev.PlanStored(plan.id))

    def _tick(self) -> None:
        self.scheduler.at(self.now + TICK_S, self._tick)
        self._handle(ev.Tick())

    # ---- the session process --------------------------------------------------------------------

    def _tell(self, message: pb.FromSession) -> None:
        self.queues["up"].put(partial(self._told, message))

    def _told(self, message: pb.FromSession) -> None:
        if message.WhichOneof("message") == "readback":
            body = message.readback
            self.queues["fast"].put(partial(self._was_read, body))
            return
        event = translate.event(message, self.engine.fabric)
        if event is not None:
            self._handle(event)

    def _was_read(self, body: pb.Readback) -> None:
        switch = self.engine.fabric.switch_by_dpid.get(body.dpid)
        if switch is None:
            return
        name = switch.name
        parts = list(body.flows), list(body.groups), list(body.meters)
        record = self.engine.reconciler.records[name]
        # An audit says nothing once something has been sent meanwhile.
        late = record.audited and record.audited_at_batch != self.engine.reconciler._next_batch
        if not late:
            there = self._hardware_name(body.dpid)
            self.read_s[there] = self._asked_s[there]
        self._handle(translate.read(name, body.session, *parts))

    def _hardware_name(self, dpid: int) -> str:
        return self.hardware.network.switch_by_dpid[dpid].name

    def _session_of(self, dpid: int, number: int) -> Any:
        connection = self.hardware.connections.get(self._hardware_name(dpid))
        session = connection.session if connection is not None else None
        return session if session is not None and session.number == number else None

    def _batch(self, dpid: int, command: cmd.SendBatch) -> None:
        session = self._session_of(dpid, command.session)
        if session is not None:
            session.execute(translate.batch(command, dpid, self._brain).batch, pause=lambda: None)

    def _read_back(self, dpid: int, command: cmd.ReadSwitch) -> None:
        session = self._session_of(dpid, command.session)
        if session is not None:
            self._asked_s[self._hardware_name(dpid)] = self.now
            session.read_back()

    def _begin(self, switch: str, connection: Connection) -> None:
        uplink = _Uplink(self._tell)
        dpid = self.hardware.network.switch_by_name[switch].dpid
        if dpid not in self.engine.fabric.switch_by_dpid:
            drop = partial(self.hardware.disconnect, switch, "not in the topology")
            self.scheduler.at(self.now, drop)
            return
        self._asked_s[switch] = self.now
        connection.begin(
            uplink, dpid, next(self._session_numbers), self._neighbours, lambda: self.now
        )

    def _ended(self, connection: Connection, reason: str) -> None:
        if connection.session is not None:
            message = pb.Disconnected(
                dpid=connection.session.dpid, session=connection.session.number, reason=reason
            )
            self._tell(pb.FromSession(disconnected=message))


class _Uplink:
    def __init__(self, tell: Any) -> None:
        self._tell = tell

    def send(self, message: pb.FromSession) -> None:
        self._tell(message)

    def sample(self, sample: pb.Sample) -> None:
        self._tell(pb.FromSession(sample=sample))

    def heard(self, frame: pb.HeardFrame) -> None: ...

    def shed(self) -> None: ...
