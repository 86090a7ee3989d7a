"""The state machine: one event in, commands out; no clock, no I/O.

Events pass through in one order: what happened changes what is known, what is known may ask for a
plan, a new plan changes what switches should hold, and the difference is rolled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from controller.dataplane.tables import Tables
from controller.discovery.probe import Seal
from controller.engine import events as ev
from controller.engine.black_holes import BlackHoleBook
from controller.engine.commands import (
    Command,
    LinksMeasured,
    Log,
    PlanKind,
    RequestPlan,
    SendProbes,
    StorePlan,
)
from controller.engine.foresight import Question
from controller.engine.links import LinkBook
from controller.engine.measure import Measurements
from controller.engine.planner import METRICS_HOLD_S, Planner, Reason, Snapshots
from controller.engine.plans import covers, same_on_switches, unroutable
from controller.engine.reconciler import Reconciler
from controller.engine.shortages import Lack, lacks
from controller.engine.statuses import Progress, StatusBook
from controller.engine.switches import SwitchState
from controller.engine.wiring import WiringWatch
from controller.fabric.model import Fabric, PortRef
from controller.intents.demands import Demands
from controller.intents.expand import demands_of
from controller.intents.model import IntentStatus
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import Bools, LinkState

STARTING_S = 10.0
"""Switches that have not connected this long after the start are absent, before that awaited.
An absent one that the stored plan sends nothing through may hold no rules: it is planned around."""


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A plan on its way to the switches; ``serial`` is that of the snapshots it serves."""

    plan: Plan
    tables: Tables
    serial: int
    demands: Demands


class Engine:
    """Everything that the brain knows and decides.

    ``stored_plan`` is what an earlier brain left: switches may still hold it, so it is adopted as
    it stands. ``withdrawing`` has the generation of each intent that an earlier brain was told to
    remove, ``statuses`` what it last said of each. ``seal`` makes the probes. ``drained`` links
    carry nothing. Times are seconds of one monotonic clock.
    """

    def __init__(
        self,
        fabric: Fabric,
        *,
        strategy: str,
        metrics: bool,
        interval_s: float,
        stored_plan: Plan | None,
        intents: Mapping[str, ev.WantedIntent],
        withdrawing: Mapping[str, int],
        statuses: Mapping[str, IntentStatus],
        seal: Seal,
        now: float,
        drained: frozenset[str] = frozenset(),
    ) -> None:
        self.fabric = fabric
        self.metrics = metrics
        self.plan: Plan | None = None
        self.committed = False
        new = stored_plan is None and not intents and not withdrawing
        self.reconciler = Reconciler((s.name for s in fabric.switches), new)
        self._interval_s = interval_s
        self._stored_plan = stored_plan
        self._last_plan_id = stored_plan.id if stored_plan else 0
        self._storing: _Accepted | None = None
        self._planned_demands: Demands | None = None
        # Counts what makes older plans stale: changes of intents and of which links are up.
        self._serial = 1
        self._planned_serial = 0
        self._committed_serial = 0
        self._started_s = now
        self._starting = True
        self._measured_s = now
        self.drained = drained
        self._links = LinkBook(fabric)
        self._links.drain(drained)
        self.wiring = WiringWatch(fabric, seal)
        self._black_holes = BlackHoleBook(fabric)
        # The plan that reachable switches have acknowledged last.
        self._held: Plan | None = None
        self._planner = Planner(strategy)
        self._statuses = StatusBook(statuses)
        self._adopting = False
        self._measurements = Measurements(fabric)
        # What pairs without a path follow from, and those.
        self._without_path: tuple[tuple[object, ...], Mapping[str, list[str]]] | None = None
        # What lacks follow from, and those.
        self._lacking: tuple[tuple[object, ...], Mapping[str, Lack]] | None = None
        self._edges = {nic.id: frozenset(nic.attachment_set) for nic in fabric.nics}
        self._intents: dict[str, ev.WantedIntent] = {}
        self._a_priori = demands_of(fabric, ())
        self.demands: Demands = self._measurements.demands(self._a_priori)
        self._want(intents)
        self._statuses.leave(withdrawing, self._serial)
        self.link_state: LinkState = self._measured_links(now)

    def start(self, now: float) -> list[Command]:
        """The first commands: adopt the stored plan where it serves, else make one."""
        out: list[Command] = []
        stored = self._stored_plan
        if stored is not None and covers(stored, self.fabric, self.demands):
            out.append(RequestPlan(self._planner.adopt(self._snapshots(), stored)))
            if stored.certificate.strategy == self._planner.strategy:
                self._adopting = True
                return out
        self._planner.want(Reason.CHANGE)
        return out + self._next(now)

    def handle(self, event: ev.Event, now: float) -> list[Command]:
        return self._take(event, now) + self._next(now)

    def _take(self, event: ev.Event, now: float) -> list[Command]:
        match event:
            case ev.Tick():
                return self._tick(now)
            case ev.Continued():
                self.reconciler.continued()
            case ev.IntentsChanged():
                if self._want(event.intents):
                    self._planner.want(Reason.CHANGE)
                if event.intents:
                    self.reconciler.take_over()
            case ev.PlanMade():
                return self._plan_made(event, now)
            case ev.PlanFailed():
                self._planner.failed(event.request, event.error, now)
                return [Log("error", f"no plan could be made: {event.error}")]
            case ev.BlackHolesFound():
                return self._black_holes.found(event)
            case ev.PlanStored():
                self._plan_stored(event)
            case ev.SwitchConnected():
                return self._switch_connected(event, now)
            case ev.ProbesDue():
                listening = self.reconciler.in_state(SwitchState.IN_SYNC)
                probes = self.wiring.due(listening, now)
                return [*([SendProbes(probes)] if probes else []), *self._wiring_changed(now)]
            case ev.FramesHeard():
                return self._frames_heard(event, now)
            case ev.DrainsChanged():
                return self._drains_changed(event, now)
            case _ if not self.reconciler.current(event.switch, event.session):
                pass  # an answer from a session that has ended since
            case ev.CountersRead():
                installed = self.reconciler.records[event.switch].installed
                self._measurements.add(event, installed)
            case ev.BatchDone():
                self.reconciler.batch_done(event)
            case ev.BatchFailed():
                return self.reconciler.batch_failed(event, now)
            case ev.PortChanged():
                return self._port_changed(event, now)
            case ev.SwitchRead():
                return self._switch_read(event)
            case ev.ReadFailed():
                return self.reconciler.unreadable(event, now)
            case ev.SwitchDescribed():
                self.reconciler.records[event.switch].description = event.description
            case ev.SwitchDisconnected():
                self.reconciler.disconnected(event, now)
                self.wiring.disconnected(event.switch)
                self._measurements.forget(event.switch)
                return [Log("warning", f"{event.switch} disconnected: {event.reason}")]
        return []

    def _next(self, now: float) -> list[Command]:
        """What follows from the state as it is, whatever event led to it."""
        out = self._black_holes.due(self._held, self.link_state)
        if self._planner.wanted:
            previous = self._latest() or self._stored_plan
            settled = self._storing is None and self.reconciler.settled()
            request = self._planner.due(self._snapshots(), previous, settled, now)
            if request is not None:
                out.append(RequestPlan(request))
        if self._storing is None:
            out += self.reconciler.step(now, self._starting)
        self.committed = self.plan is not None and self.reconciler.committed()
        if self.committed:
            self._held = self.plan
            self._committed_serial = self._planned_serial
            self._adopting &= bool(self.reconciler.in_state(SwitchState.ABSENT))
        self._adopting &= self._starting
        return out + self._statuses.changes(self._progress(), self._edges)

    # ---- intents and plans ----------------------------------------------------------------------

    def _want(self, intents: Mapping[str, ev.WantedIntent]) -> bool:
        """Returns whether that changes anything but their generations: those need no plan."""
        if _asked(intents) == _asked(self._intents):
            self._intents = dict(intents)
            self._statuses.want(self._intents, self._serial)
            return False
        self._serial += 1
        self._intents = dict(intents)
        self._statuses.want(self._intents, self._serial)
        served = [i for i in self._intents.values() if len(i.endpoints) > 1]
        self._a_priori = demands_of(
            self.fabric, [i.reach for i in served], [flow for i in served for flow in i.flows]
        )
        self.demands = self._measurements.demands(self._a_priori)
        return True

    def _snapshots(self) -> Snapshots:
        return Snapshots(self.fabric, self.demands, self.link_state, self._serial)

    def _latest(self) -> Plan | None:
        """The plan that switches hold or soon will."""
        return self._storing.plan if self._storing else self.plan

    def _plan_made(self, event: ev.PlanMade, now: float) -> list[Command]:
        current = self._latest()
        newest = current or self._stored_plan
        answer = self._planner.answered(event.request, self._serial, newest)
        if answer is None:
            return []
        request, reason = answer
        accepted = _Accepted(event.plan, event.tables, self._serial, request.demands)
        if request.kind is PlanKind.ADOPT:
            self._take_up(accepted)
            return [Log("info", f"adopted plan {event.plan.id}")]
        if request.kind is PlanKind.REPAIR:
            # It serves the demands that the plan was made for; newer ones wait for the next plan.
            accepted = replace(accepted, serial=self._latest_serial())
        if current is not None:
            same = same_on_switches(current, event.plan)
            if same or (reason is Reason.MEASUREMENT and not event.worth):
                self._keep(accepted, event.running, reason)
                return []
        if reason is Reason.MEASUREMENT:
            self._planner.hold(now + METRICS_HOLD_S)
        self._last_plan_id += 1
        plan = replace(event.plan, id=self._last_plan_id)
        self._storing = replace(accepted, plan=plan)
        certificate = plan.certificate
        return [
            Log(
                "info",
                f"plan {plan.id} ({request.kind.value}) by {certificate.solver}: worst link "
                f"{certificate.mlu:.3f}, bound {certificate.bound:.3f}, "
                f"{certificate.seconds:.3f} s",
            ),
            StorePlan(plan),
        ]

    def _keep(self, accepted: _Accepted, running: Plan | None, reason: Reason) -> None:
        """Stay with the plan that is. Which hosts of an edge may talk is not in it: its tables may
        be others all the same after a change."""
        if self._storing is not None:
            if reason is Reason.CHANGE:
                self._storing = replace(accepted, plan=self._storing.plan)
            return
        assert self.plan is not None
        plan = running if running is not None and running.id == self.plan.id else self.plan
        if reason is Reason.CHANGE:
            self._take_up(replace(accepted, plan=plan))
        self.plan, self._planned_serial = plan, accepted.serial

    def _plan_stored(self, event: ev.PlanStored) -> None:
        if self._storing is not None and self._storing.plan.id == event.plan_id:
            accepted, self._storing = self._storing, None
            self._take_up(accepted)

    def _take_up(self, accepted: _Accepted) -> None:
        self.plan, self._planned_serial = accepted.plan, accepted.serial
        self._planned_demands = accepted.demands
        self.reconciler.desire(accepted.plan.id, accepted.tables)

    def _latest_serial(self) -> int:
        return self._storing.serial if self._storing else self._planned_serial

    # ---- switches and links ---------------------------------------------------------------------

    def _switch_connected(self, event: ev.SwitchConnected, now: float) -> list[Command]:
        self.reconciler.connected(event, now)
        self.wiring.connected(event.switch, event.session, event.ports)
        missing = self._links.switch_ports(event.switch, event.ports, now)
        self.reconciler.records[event.switch].missing_ports = missing
        out: list[Command] = [Log("info", f"{event.switch} connected from {event.peer}")]
        if missing:
            ports = ", ".join(map(str, missing))
            out.append(
                Log(
                    "warning",
                    f"{event.switch} lacks port {ports} of the topology; "
                    "correct the file or add the port to the switch",
                )
            )
        return out + self._links_may_have_changed(now)

    def _switch_read(self, event: ev.SwitchRead) -> list[Command]:
        known = self.reconciler.records[event.switch].foreign
        out = self.reconciler.read(event)
        if event.foreign and event.foreign != known:
            out.append(
                Log(
                    "warning",
                    f"{event.switch} holds {event.foreign} flows or groups that are not Heald's; "
                    "they are left alone",
                )
            )
        return out

    def _port_changed(self, event: ev.PortChanged, now: float) -> list[Command]:
        self.wiring.port_changed(PortRef(event.switch, event.port), event.live)
        if not self._links.set_port(event.switch, event.port, event.live, now):
            return []
        said = Log("info", f"{event.switch}:{event.port} is up")
        if not event.live:
            said = Log("warning", f"{event.switch}:{event.port} is down")
        return [said, *self._links_may_have_changed(now)]

    def _frames_heard(self, event: ev.FramesHeard, now: float) -> list[Command]:
        frames = [
            (PortRef(f.switch, f.port), f.frame)
            for f in event.frames
            if self.reconciler.current(f.switch, f.session)
        ]
        return [*self.wiring.heard(frames, event.shed, now), *self._wiring_changed(now)]

    def _wiring_changed(self, now: float) -> list[Command]:
        """Links that lead elsewhere are given up like those that are down, and taken back."""
        out: list[Command] = [*self.wiring.news()]
        if self._links.bar(self.wiring.barred):
            # Also where its ports were down just before: then its trees are still there.
            out += self._links_changed(self._links.up(), now)
        return out

    def _drains_changed(self, event: ev.DrainsChanged, now: float) -> list[Command]:
        before, self.drained = self.drained, event.links
        changed = dict.fromkeys(event.links - before, "drained")
        changed |= dict.fromkeys(before - event.links, "back in use")
        said = [Log("info", f"link {name} is {is_now}") for name, is_now in sorted(changed.items())]
        self._links.drain(self.drained)
        return [*said, *self._links_may_have_changed(now)]

    def _measured_links(self, now: float) -> LinkState:
        measured = self._measurements.link_state(self._links.up(), now)
        return replace(measured, barred=self._links.barred())

    def _links_may_have_changed(self, now: float) -> list[Command]:
        """Dead trees lose their weight at once; a better plan follows in its own time."""
        up = self._links.up()
        if np.array_equal(up, self.link_state.up):
            return []
        return self._links_changed(up, now)

    def _links_changed(self, up: Bools, now: float) -> list[Command]:
        worse = bool((self.link_state.up & ~up).any())
        self._serial += 1
        # Switches have moved traffic by themselves: what was carried before says nothing now.
        self._measurements.restart()
        self.link_state = self._measured_links(now)
        self._planner.want(Reason.CHANGE)
        latest, demands = self._latest(), self._planned_demands
        if self._storing is not None:
            demands = self._storing.demands
        if worse and latest is not None and demands is not None:
            snapshots = Snapshots(self.fabric, demands, self.link_state, self._serial)
            return [RequestPlan(self._planner.repair(snapshots, latest))]
        return []

    # ---- time -----------------------------------------------------------------------------------

    def _tick(self, now: float) -> list[Command]:
        out = self.reconciler.tick(now) + self.reconciler.audit(now)
        self._links.settle(now, self.reconciler.can_carry)
        if self._starting and now - self._started_s >= STARTING_S:
            self._starting = False
            for switch in self._never_used():
                self._links.exclude(switch, now)
        out += self._links_may_have_changed(now)
        if self.metrics and now - self._measured_s >= self._interval_s:
            self._measured_s = now
            if self._measurements.update(self.plan):
                self.link_state = self._measured_links(now)
                self.demands = self._measurements.demands(self._a_priori)
                if self.committed:
                    self._planner.want(Reason.MEASUREMENT)
                out.append(LinksMeasured())
        return out

    def _never_used(self) -> list[str]:
        """Switches that neither this controller nor the one that left its plan has made use of."""
        load = self._stored_plan.load_bps if self._stored_plan is not None else {}
        used = {
            end.switch
            for arc in self.fabric.arcs
            if load.get((arc.tail.switch, arc.tail.port), 0.0) > 0.0
            for end in (arc.tail, arc.head)
        }
        records = self.reconciler.records.values()
        return [r.name for r in records if not r.connects and r.name not in used]

    # ---- reports --------------------------------------------------------------------------------

    def _progress(self) -> Progress:
        pairs: Mapping[str, list[str]] = {}
        if self.plan is not None and self._planned_serial == self._serial:
            pairs = self._unroutable(self.plan)
        return Progress(
            plan_id=self.plan.id if self.plan else 0,
            planned_serial=self._planned_serial,
            committed_serial=self._committed_serial,
            installing=self.reconciler.installing,
            absent=self.reconciler.in_state(SwitchState.ABSENT),
            failed=self.reconciler.in_state(SwitchState.FAILED),
            unroutable=pairs,
            lacks=self._lacks(),
            starting=self._starting,
            adopting=self._adopting,
            error=self._planner.last_error,
        )

    def _unroutable(self, plan: Plan) -> Mapping[str, list[str]]:
        """Of each intent that has any, the pairs that the plan has no path for; as long as weights,
        demands and intents stay the same, so do they."""
        known = self._without_path
        of = plan.weights, self.demands, self._intents
        if known is None or any(a is not b for a, b in zip(known[0], of, strict=True)):
            pairs: dict[str, list[str]] = {}
            for key in unroutable(plan, self.demands):
                for intent in self._intents_between(key.ingress, key.egress):
                    pairs.setdefault(intent, []).append(f"{key.ingress} to {', '.join(key.egress)}")
            known = self._without_path = of, pairs
        return known[1]

    def _lacks(self) -> Mapping[str, Lack]:
        if self.plan is None or self._planned_demands is None:
            return {}
        of = self.plan.pins, self.plan.refused, self._planned_demands.flows
        if self._lacking is None or any(
            a is not b for a, b in zip(self._lacking[0], of, strict=True)
        ):
            self._lacking = of, lacks(self.plan, self._planned_demands.flows)
        return self._lacking[1]

    def _intents_between(self, ingress: str, egress: tuple[str, ...]) -> Iterable[str]:
        for name, intent in self._intents.items():
            sets = {self.fabric.nic_by_id[n].attachment_set for n in intent.endpoints}
            if egress in sets and any(ingress in s for s in sets):
                yield name

    def question(self, drained: frozenset[str]) -> Question | None:
        """What to ask of a worker before these links, and no others, are drained."""
        if self.plan is None:
            return None
        return Question(
            self.fabric, self.demands, self.link_state, self.plan, self._planner.strategy, drained
        )

    def carrying(self) -> frozenset[str]:
        """Links that are up and may carry traffic: all of them, once there is a plan."""
        if self.plan is None and self._stored_plan is None:
            return frozenset()
        up = self.link_state.up
        return frozenset(arc.link for arc in self.fabric.arcs if up[arc.index])

    def problems(self) -> list[str]:
        """What an operator should look at, in words; empty when all is well."""
        out = self.reconciler.problems()
        known = {r.name for r in self.reconciler.records.values() if r.connects}
        down = {
            arc.link
            for arc in self.fabric.arcs
            if not self.link_state.up[arc.index] and {arc.tail.switch, arc.head.switch} <= known
        }
        out += self.wiring.problems()
        out += [f"link {name} is down" for name in sorted(down - self.wiring.barred - self.drained)]
        out += self._black_holes.problems()
        if self._planner.last_error:
            out.append(f"planning failed: {self._planner.last_error}")
        return out


def _asked(intents: Mapping[str, ev.WantedIntent]) -> Mapping[str, object]:
    """What of intents a plan depends on."""
    return {name: (i.nics, i.peers, i.flows) for name, i in intents.items()}
