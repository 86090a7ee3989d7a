"""The state machine: one event in, commands out; no clock, no I/O.

Events pass through in one order: what happened changes what is known, what is known may ask for a plan,
a new plan changes what switches should hold, and the difference is rolled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from controller.dataplane.diff import diff
from controller.dataplane.tables import SwitchTables, Tables, Updates
from controller.engine import events as ev
from controller.engine.commands import (
    Command,
    LinksMeasured,
    Log,
    PlanKind,
    ReadSwitch,
    RequestPlan,
    SendBatch,
    StorePlan,
)
from controller.engine.links import LinkBook
from controller.engine.measure import Measurements
from controller.engine.planner import METRICS_HOLD_S, Planner, Reason, Snapshots
from controller.engine.planning import evaluate, unroutable, worth_committing
from controller.engine.rollout import PhaseBatch, Rollout
from controller.engine.statuses import Progress, StatusBook
from controller.engine.switches import SwitchRecord, SwitchState
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.intents.expand import connectivity
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState

STARTING_S = 10.0
"""Switches that have not connected this long after the start are absent, before that they are awaited."""


class Engine:
    """Everything that the brain knows and decides. ``epoch`` is this brain's, from the store."""

    def __init__(
        self,
        fabric: Fabric,
        *,
        epoch: int,
        strategy: str,
        metrics: bool,
        interval_s: float,
        stored_plan: Plan | None,
        intents: Mapping[str, ev.WantedIntent],
        now: float,
    ) -> None:
        self.fabric = fabric
        self.epoch = epoch
        self.metrics = metrics
        self.plan: Plan | None = None
        self.committed = False
        self.link_state: LinkState
        self.switches = {s.name: SwitchRecord(s.name) for s in fabric.switches}
        self._interval_s = interval_s
        self._stored_plan = stored_plan
        self._last_plan_id = stored_plan.id if stored_plan else 0
        self._tables: Tables | None = None
        self._storing: tuple[Plan, Tables, int] | None = None
        self._rollout: Rollout | None = None
        self._next_batch = 1
        self._serial = 1
        self._planned_serial = 0
        self._committed_serial = 0
        self._started_s = now
        self._measured_s = now
        self._links = LinkBook(fabric)
        self._planner = Planner(strategy)
        self._statuses = StatusBook()
        self._measurements = Measurements(fabric)
        self._edges = {nic.id: frozenset(nic.attachment_set) for nic in fabric.nics}
        self._intents: Mapping[str, ev.WantedIntent] = {}
        self._want(intents)
        self.demands: Demands = self._fresh_demands()
        self.link_state = self._measurements.link_state(self._links.up(), now)

    # ---- events ------------------------------------------------------------------------------------

    def start(self, now: float) -> list[Command]:
        """The first commands: adopt the stored plan, or make one."""
        out: list[Command] = []
        if self._stored_plan is not None:
            zones = {frozenset(z) for z in self._zones(self.demands)}
            if zones <= set(self._stored_plan.zones):
                out.append(
                    RequestPlan(self._planner.adopt(self._snapshots(), self._stored_plan))
                )
            if (
                self._stored_plan.certificate.strategy == self._planner.strategy
                and zones == set(self._stored_plan.zones)
                and {tuple(k) for k in self.demands.keys}
                <= {tuple(k) for k in self._stored_plan.weights}
            ):
                return out
        self._planner.want(Reason.CHANGE)
        return out + self._next(now)

    def handle(self, event: ev.Event, now: float) -> list[Command]:
        out: list[Command] = []
        match event:
            case ev.Tick():
                out += self._tick(now)
            case ev.CountersRead():
                if self._current(event.switch, event.session):
                    self._measurements.add(event, self._tables)
            case ev.BatchDone():
                self._batch_done(event)
            case ev.BatchFailed():
                out += self._batch_failed(event, now)
            case ev.PortChanged():
                out += self._port_changed(event, now)
            case ev.SwitchConnected():
                out += self._switch_connected(event, now)
            case ev.SwitchRead():
                out += self._switch_read(event)
            case ev.SwitchDisconnected():
                out += self._switch_disconnected(event, now)
            case ev.IntentsChanged():
                self._want(event.intents)
                self.demands = self._fresh_demands()
                self._planner.want(Reason.CHANGE)
            case ev.PlanMade():
                out += self._plan_made(event, now)
            case ev.PlanFailed():
                self._planner.failed(event.request, event.error, now)
                out.append(Log("error", f"no plan could be made: {event.error}"))
            case ev.PlanStored():
                self._plan_stored(event)
        return out + self._next(now)

    def _next(self, now: float) -> list[Command]:
        """What follows from the state as it is, whatever event led to it."""
        out: list[Command] = []
        request = self._planner.due(self._snapshots(), self.plan or self._stored_plan, now)
        if request is not None:
            out.append(RequestPlan(request))
        out += self._reconcile()
        out += self._statuses.changes(self._progress(now), self._edges)
        return out

    # ---- intents and plans -------------------------------------------------------------------------

    def _want(self, intents: Mapping[str, ev.WantedIntent]) -> None:
        self._serial += 1
        self._intents = dict(intents)
        self._statuses.want(self._intents, self._serial)

    def _fresh_demands(self) -> Demands:
        nics = {n: i.nics for n, i in self._intents.items() if len(i.nics) > 1}
        return self._measurements.demands(connectivity(self.fabric, nics))

    def _snapshots(self) -> Snapshots:
        return Snapshots(self.fabric, self.demands, self.link_state, self._serial)

    @staticmethod
    def _zones(demands: Demands) -> set[frozenset[str]]:
        zones: dict[str, set[str]] = {}
        for reach in demands.reaches:
            for nic in reach.nics:
                zones.setdefault(nic, set()).add(reach.intent)
        return {frozenset(z) for z in zones.values()}

    def _plan_made(self, event: ev.PlanMade, now: float) -> list[Command]:
        answer = self._planner.answered(event.request, self._serial)
        if answer is None:
            return []
        kind, reason = answer
        if kind is PlanKind.ADOPT:
            self.plan, self._tables = event.plan, event.tables
            self._planned_serial = self._serial
            self.committed = False
            return [Log("info", f"adopted plan {event.plan.id}")]
        if self.plan is not None:
            if _same(self.plan, event.plan):
                self._planned_serial = self._serial
                return []
            if reason is Reason.MEASUREMENT and not worth_committing(
                self.plan, event.plan, self.fabric, self.demands, self.link_state
            ):
                return []
        if reason is Reason.MEASUREMENT:
            self._planner.hold(now + METRICS_HOLD_S)
        self._last_plan_id += 1
        plan = replace(event.plan, id=self._last_plan_id)
        self._storing = (plan, event.tables, self._serial)
        certificate = plan.certificate
        return [
            Log(
                "info",
                f"plan {plan.id} ({kind.value}): {certificate.solver}, worst link "
                f"{certificate.mlu:.3f}, bound {certificate.bound:.3f}, {certificate.seconds:.3f} s",
            ),
            StorePlan(plan),
        ]

    def _plan_stored(self, event: ev.PlanStored) -> None:
        if self._storing is not None and self._storing[0].id == event.plan_id:
            self.plan, self._tables, self._planned_serial = self._storing
            self._storing = None
            self.committed = False

    # ---- switches ----------------------------------------------------------------------------------

    def _current(self, switch: str, session: int) -> bool:
        record = self.switches.get(switch)
        return record is not None and record.connected and record.session == session

    def _switch_connected(self, event: ev.SwitchConnected, now: float) -> list[Command]:
        record = self.switches[event.switch]
        self._drop_from_rollout(event.switch)
        record.connect(event.session, event.openflow, event.peer, now)
        record.missing_ports = self._links.switch_ports(event.switch, event.ports, now)
        out: list[Command] = [Log("info", f"{event.switch} connected from {event.peer}")]
        if record.missing_ports:
            out.append(
                Log(
                    "warning",
                    f"{event.switch} lacks port {', '.join(map(str, record.missing_ports))} of the "
                    "topology; correct the file or add the port to the switch",
                )
            )
        return out + self._links_may_have_changed(now)

    def _switch_read(self, event: ev.SwitchRead) -> list[Command]:
        if not self._current(event.switch, event.session):
            return []
        self.switches[event.switch].read(event.tables, event.foreign)
        if event.foreign:
            return [
                Log(
                    "warning",
                    f"{event.switch} holds {event.foreign} flows or groups that are not Heald's; "
                    "they are left alone",
                )
            ]
        return []

    def _switch_disconnected(self, event: ev.SwitchDisconnected, now: float) -> list[Command]:
        if not self._current(event.switch, event.session):
            return []
        self._drop_from_rollout(event.switch)
        self.switches[event.switch].disconnect(event.reason, now)
        self._measurements.forget(event.switch)
        return [Log("warning", f"{event.switch} disconnected: {event.reason}")]

    def _port_changed(self, event: ev.PortChanged, now: float) -> list[Command]:
        if not self._current(event.switch, event.session):
            return []
        if not self._links.set_port(event.switch, event.port, event.live, now):
            return []
        word = "up" if event.live else "down"
        return [
            Log("warning", f"{event.switch}:{event.port} is {word}"),
            *self._links_may_have_changed(now),
        ]

    def _links_may_have_changed(self, now: float) -> list[Command]:
        """Dead trees lose their weight at once; a better plan follows in its own time."""
        up = self._links.up()
        if np.array_equal(up, self.link_state.up):
            return []
        worse = bool((self.link_state.up & ~up).any())
        self._serial += 1
        self.link_state = self._measurements.link_state(up, now)
        self._planner.want(Reason.CHANGE)
        if worse and self.plan is not None:
            return [RequestPlan(self._planner.repair(self._snapshots(), self.plan))]
        return []

    # ---- rolling out -------------------------------------------------------------------------------

    def _reconcile(self) -> list[Command]:
        """Carry on with the rollout, or start one where installed and desired differ."""
        while True:
            if self._rollout is None:
                known = [r for r in self.switches.values() if r.known]
                if self._tables is None or self.plan is None or self._storing is not None:
                    return []
                pending = [r for r in known if not self._settled(r)]
                if not pending:
                    self._commit_if_done()
                    return []
                # One rollout covers all switches: phases are ordered across the fabric.
                installed = {r.name: r.installed for r in known if r.installed is not None}
                desired = {n: self._tables.get(n, SwitchTables()) for n in installed}
                updates: Updates = diff(installed, desired)
                self._rollout = Rollout(self.plan.id, updates, desired, self._next_batch)
                touched = {s for batch in updates.messages.values() for s in batch}
                for record in known:
                    record.state = (
                        SwitchState.INSTALLING if record.name in touched else SwitchState.IN_SYNC
                    )
            batches = self._rollout.advance()
            self._next_batch = self._rollout.next_batch
            if batches:
                return [self._send(self._rollout, batch) for batch in batches]
            if not self._rollout.finished:
                return []
            for name in self._rollout.switches:
                self.switches[name].settle(self._rollout.desired[name])
            self._rollout = None

    def _settled(self, record: SwitchRecord) -> bool:
        assert self._tables is not None
        want = self._tables.get(record.name)
        return record.state is SwitchState.IN_SYNC and (
            record.installed is want or record.installed == (want or SwitchTables())
        )

    def _send(self, rollout: Rollout, batch: PhaseBatch) -> Command:
        record = self.switches[batch.switch]
        record.messages_sent += len(batch.messages)
        return SendBatch(
            batch.switch,
            record.session,
            rollout.plan_id,
            batch.phase,
            batch.batch,
            batch.messages,
        )

    def _commit_if_done(self) -> None:
        if any(r.state is SwitchState.IN_SYNC for r in self.switches.values()):
            self.committed = True
            self._committed_serial = self._planned_serial

    def _drop_from_rollout(self, switch: str) -> None:
        if self._rollout is not None:
            self._rollout.drop(switch)

    def _batch_done(self, event: ev.BatchDone) -> None:
        if self._rollout is not None and self._current(event.switch, event.session):
            self._rollout.acknowledge(event.switch, event.batch)

    def _batch_failed(self, event: ev.BatchFailed, now: float) -> list[Command]:
        """Later phases build on this one, so the rollout ends; every switch in it is read again."""
        if self._rollout is None or not self._current(event.switch, event.session):
            return []
        if not self._rollout.owns(event.switch, event.batch):
            return []
        involved = self._rollout.switches
        self._rollout = None
        out: list[Command] = [
            Log("error", f"{event.switch} refused a change: {event.error}; it is read again")
        ]
        for name in sorted(involved):
            record = self.switches[name]
            if name == event.switch:
                record.fail(event.error, now)
            elif record.state is SwitchState.INSTALLING:
                record.state, record.installed = SwitchState.READING, None
                out.append(ReadSwitch(name, record.session))
        return out

    # ---- time --------------------------------------------------------------------------------------

    def _tick(self, now: float) -> list[Command]:
        out: list[Command] = []
        for record in self.switches.values():
            if record.state is SwitchState.FAILED and now >= record.retry_at_s:
                record.state = SwitchState.READING
                out.append(ReadSwitch(record.name, record.session))
        self._links.settle(now)
        out += self._links_may_have_changed(now)
        if self.metrics and now - self._measured_s >= self._interval_s:
            self._measured_s = now
            out += self._measure(now)
        return out

    def _measure(self, now: float) -> list[Command]:
        self._measurements.update(self.plan, self.fabric, self.demands)
        self.link_state = self._measurements.link_state(self._links.up(), now)
        self.demands = self._measurements.demands(self.demands)
        if self.plan is not None and self.committed and self._measurements.fresh:
            self._planner.want(Reason.MEASUREMENT)
        return [LinksMeasured()]

    # ---- reports -----------------------------------------------------------------------------------

    def _progress(self, now: float) -> Progress:
        edges: set[str] = set().union(*self._edges.values()) if self._edges else set()
        absent = {
            r.name
            for r in self.switches.values()
            if r.state in (SwitchState.ABSENT, SwitchState.FAILED)
        }
        pairs: dict[str, list[str]] = {}
        if self.plan is not None and self._planned_serial == self._serial:
            for key in unroutable(self.plan, self.demands):
                for intent in self._intents_of(key.ingress, key.egress):
                    pairs.setdefault(intent, []).append(
                        f"{key.ingress} to {', '.join(key.egress)}"
                    )
        return Progress(
            plan_id=self.plan.id if self.plan else 0,
            planned_serial=self._planned_serial,
            committed_serial=self._committed_serial,
            installing=self._rollout is not None,
            absent_edges=frozenset(absent & edges),
            unroutable=pairs,
            starting=now - self._started_s < STARTING_S,
            error=self._planner.last_error,
        )

    def _intents_of(self, ingress: str, egress: tuple[str, ...]) -> Iterable[str]:
        for name, intent in self._intents.items():
            sets = {self.fabric.nic_by_id[n].attachment_set for n in intent.nics}
            if egress in sets and any(ingress in s for s in sets):
                yield name

    def problems(self) -> list[str]:
        """What an operator should look at, in words; empty when all is well."""
        out = [
            f"{r.name} is {r.state.value}" + (f": {r.last_error}" if r.last_error else "")
            for r in self.switches.values()
            if r.state in (SwitchState.ABSENT, SwitchState.FAILED)
        ]
        out += [
            f"{r.name} lacks port {', '.join(map(str, r.missing_ports))}"
            for r in self.switches.values()
            if r.missing_ports
        ]
        out += [
            f"{r.name} holds {r.foreign} entries that are not Heald's"
            for r in self.switches.values()
            if r.foreign
        ]
        down = sorted(
            {a.link for a in self.fabric.arcs if not self.link_state.up[a.index]}
        )
        out += [f"link {name} is down" for name in down]
        if self._planner.last_error:
            out.append(f"planning failed: {self._planner.last_error}")
        return out

    def predicted(self) -> tuple[float, Mapping[int, float]] | None:
        """Worst utilisation and load of each arc under the running plan and the newest measurements."""
        if self.plan is None:
            return None
        mlu, load = evaluate(self.plan, self.fabric, self.demands, self.link_state)
        return mlu, dict(enumerate(load))


def _same(a: Plan, b: Plan) -> bool:
    """Whether switches would hold the same under both."""
    return (a.egresses, a.trees, a.weights, a.zones) == (b.egresses, b.trees, b.weights, b.zones)
