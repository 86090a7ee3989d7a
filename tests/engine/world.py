"""An engine with everything around it in one thread; switches and workers answer at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path

from controller.dataplane.tables import SwitchTables
from controller.discovery.probe import KEY_BYTES, Seal
from controller.engine import commands as cmd
from controller.engine import events as ev
from controller.engine.engine import Engine
from controller.engine.work import find_black_holes, make
from controller.fabric.load import load
from controller.fabric.model import Fabric, Link, PortRef
from controller.intents.model import IntentState, IntentStatus
from controller.optimizer.plan import Plan

TOPOLOGIES = Path(__file__).parents[2] / "topologies"


def fabric(name: str = "leaf-spine") -> Fabric:
    path = TOPOLOGIES / f"{name}.yaml"
    return load(path.read_bytes(), path.name)


def everyone(network: Fabric, generation: int = 1) -> dict[str, ev.WantedIntent]:
    nics = frozenset(nic.id for nic in network.nics)
    return {"all": ev.WantedIntent("all", generation, nics)}


class World:
    """``holds`` is what switches have in hardware: it outlives sessions and engines."""

    def __init__(
        self,
        network: Fabric,
        intents: Mapping[str, ev.WantedIntent],
        *,
        stored_plan: Plan | None = None,
        holds: Mapping[str, SwitchTables] | None = None,
        strategy: str = "auto",
        statuses: Mapping[str, IntentStatus] | None = None,
        drained: frozenset[str] = frozenset(),
    ) -> None:
        self.now = 100.0
        self.network = network
        self.holds = dict(holds or {})
        self.stored_plan = stored_plan
        self.sent: list[cmd.SendBatch] = []
        self.states: dict[str, list[IntentState]] = {}
        self.statuses: dict[str, IntentStatus] = {}
        self.stored: list[Plan] = []
        self.log: list[str] = []
        self.refuse: set[str] = set()
        self.silent: set[str] = set()
        self.planning = True
        self.readable = True
        self.meddled: set[str] = set()
        self.requests: list[cmd.PlanRequest] = []
        self._answered: set[int] = set()
        self._sessions: dict[str, int] = {}
        self._coming: deque[ev.Event] = deque()
        self._later: list[tuple[float, ev.Event]] = []
        self._busy = True
        self.engine = Engine(
            network,
            strategy=strategy,
            metrics=True,
            interval_s=1.0,
            stored_plan=stored_plan,
            intents=intents,
            withdrawing={},
            statuses=statuses or {},
            seal=Seal("world", 1, bytes(KEY_BYTES)),
            now=self.now,
            drained=drained,
        )
        self._run(self.engine.start(self.now))
        self._busy = False
        self._drain()

    @property
    def messages(self) -> int:
        return sum(len(batch.messages) for batch in self.sent)

    def event(self, event: ev.Event) -> None:
        """Let it happen, and all that follows from it; one event after the other."""
        self._coming.append(event)
        self._drain()

    def _drain(self) -> None:
        while self._coming and not self._busy:
            self._busy = True
            self._run(self.engine.handle(self._coming.popleft(), self.now))
            self._busy = False

    def pass_time(self, seconds: float, rest_s: float = 0.0) -> None:
        """In steps of a quarter of a second, each with a tick; and one for the rest."""
        for step_s in (*[0.25] * round(seconds * 4), *([rest_s] if rest_s else [])):
            self.advance(step_s)
            self.event(ev.Tick())

    def advance(self, seconds: float) -> None:
        """Only what was to happen by then does."""
        self.now += seconds
        due = [event for at_s, event in self._later if at_s <= self.now + 1e-9]
        self._later = [(at_s, event) for at_s, event in self._later if at_s > self.now + 1e-9]
        for event in due:
            self.event(event)

    def connect(self, *switches: str, dead: frozenset[int] = frozenset()) -> None:
        for name in switches or tuple(s.name for s in self.network.switches):
            self._sessions[name] = self._sessions.get(name, 0) + 1
            session = self._sessions[name]
            ports = {a.tail.port: a.tail.port not in dead for a in self.network.arcs_from[name]}
            ports |= {port.port: True for port, _ in self.network.nics_on[name]}
            self.event(ev.SwitchConnected(name, session, "1.5", "test", ports))
            self._read(name, session)

    def disconnect(self, switch: str) -> None:
        self.event(ev.SwitchDisconnected(switch, self._sessions[switch], "test"))

    def link(self, link: Link, live: bool) -> None:
        for end in (link.a, link.b):
            self.port(end, live)

    def port(self, end: PortRef, live: bool) -> None:
        session = self._sessions[end.switch]
        self.event(ev.PortChanged(end.switch, session, end.port, live))

    def meddle(self, switch: str) -> None:
        """Delete all rules of a switch behind the engine's back, until it is next read."""
        self.meddled.add(switch)

    def _read(self, switch: str, session: int) -> None:
        if switch in self.meddled:
            self.event(ev.SwitchRead(switch, session, SwitchTables(), 0))
            return
        if not self.readable:
            self.event(ev.ReadFailed(switch, session, "no OpenFlow"))
            return
        self.event(ev.SwitchRead(switch, session, self.holds.get(switch, SwitchTables()), 0))

    def _run(self, commands: list[cmd.Command]) -> None:
        for command in commands:
            match command:
                case cmd.RequestPlan():
                    self.requests.append(command.request)
                    if self.planning:
                        self.answer(command.request)
                case cmd.FindBlackHoles():
                    self.event(find_black_holes(command))
                case cmd.StorePlan():
                    self.stored.append(command.plan)
                    self.event(ev.PlanStored(command.plan.id))
                case cmd.SendBatch():
                    self.sent.append(command)
                    if command.switch not in self.silent:
                        self._answer_batch(command)
                case cmd.Continue():
                    self.event(ev.Continued())
                case cmd.FollowLinks():
                    if command.after_s:
                        self._later.append((self.now + command.after_s, ev.LinksDue()))
                    else:
                        self.event(ev.LinksDue())
                case cmd.ReadSwitch():
                    self._read(command.switch, command.session)
                    self.meddled.discard(command.switch)
                case cmd.SetStatus():
                    self.states.setdefault(command.intent, []).append(command.status.state)
                    self.statuses[command.intent] = command.status
                case cmd.Log():
                    self.log.append(command.message)
        for record in self.engine.reconciler.records.values():
            if record.installed is not None:
                self.holds[record.name] = record.installed

    def unanswered(self) -> list[cmd.PlanRequest]:
        return [r for r in self.requests if r.id not in self._answered]

    def answer(self, request: cmd.PlanRequest) -> None:
        self._answered.add(request.id)
        self.event(make(request))

    def _answer_batch(self, command: cmd.SendBatch) -> None:
        if command.switch in self.refuse:
            self.event(
                ev.BatchFailed(command.switch, command.session, command.batch, "OFPFMFC_TABLE_FULL")
            )
        else:
            self.event(ev.BatchDone(command.switch, command.session, command.batch))
