"""The state machine: one event in, commands out; no clock, no I/O.

Events pass through in one order: what happened changes what is known, what is known may ask for a
plan, a new plan changes what switches should hold, and the difference is rolled out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controller.dataplane.tables import Groups
from controller.discovery.probe import Seal
from controller.engine import events as ev
from controller.engine.accepted import Accepted
from controller.engine.black_holes import BlackHoleBook
from controller.engine.commands import (
    Command,
    FollowLinks,
    LinksMeasured,
    Log,
    PlanKind,
    RequestPlan,
    SendProbes,
    StorePlan,
)
from controller.engine.editing import Edit
from controller.engine.foresight import Question
from controller.engine.links import LinkBook
from controller.engine.measure import Measurements
from controller.engine.names import in_words_of
from controller.engine.pin_repair import swap_dead
from controller.engine.planner import METRICS_HOLD_S, Answered, Planner, Reason, Snapshots
from controller.engine.plans import covers, same_on_switches
from controller.engine.reconciler import Reconciler
from controller.engine.repairs import Repairs
from controller.engine.shortages import Lack
from controller.engine.shortfalls import Shortfalls
from controller.engine.statuses import Progress, StatusBook
from controller.engine.switches import SwitchState
from controller.engine.wiring import WiringWatch
from controller.fabric.meaning import digest
from controller.fabric.model import Fabric, PortRef
from controller.intents.demands import Demands
from controller.intents.expand import demands_of
from controller.intents.model import IntentStatus
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState

STARTING_S = 10.0
"""Switches that have not connected this long after the start are absent, before that awaited.
An absent one that the stored plan sends nothing through may hold no rules: it is planned around."""


FOLLOW_PAUSE_S = 0.02
"""What changes within so long of links that have just been followed is followed in one go."""


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
        self.committed = False
        new = stored_plan is None and not intents and not withdrawing
        self.reconciler = Reconciler((s.name for s in fabric.switches), new)
        self._interval_s = interval_s
        self._stored_plan = in_words_of(fabric, stored_plan) if stored_plan else None
        self._last_plan_id = stored_plan.id if stored_plan else 0
        self._storing: Accepted | None = None
        self._running: Accepted | None = None
        self._stored_in_full: Plan | None = None
        # Counts what makes older plans stale: changes of intents and of which links are up.
        self._serial = self._intents_serial = 1
        self._following = False
        self._followed_s = now - FOLLOW_PAUSE_S
        self.repairs = Repairs()
        self._committed_serial = 0
        self._started_s = now
        self._starting = True
        self._measured_s = now
        self._links = LinkBook(fabric)
        self._links.drain(drained)
        # The links as they were when something followed from it last.
        self._followed = self._links.up(), self._links.barred()
        self.wiring = WiringWatch(fabric, seal)
        self._black_holes = BlackHoleBook(fabric)
        # The plan that reachable switches have acknowledged last.
        self._held: Plan | None = None
        self._planner = Planner(strategy)
        self._statuses = StatusBook(statuses)
        self._adopting = False
        self._measurements = Measurements(fabric)
        self._shortfalls = Shortfalls(fabric)
        self._edges = {nic.id: frozenset(nic.attachment_set) for nic in fabric.nics}
        self._intents: dict[str, ev.WantedIntent] = {}
        self._a_priori = demands_of(fabric, ())
        self.demands: Demands = self._measurements.demands(self._a_priori)
        self._want(intents)
        self._statuses.leave(withdrawing, self._serial)
        self.link_state: LinkState = self._measured_links(now)

    @property
    def plan(self) -> Plan | None:
        """The plan that is being installed or is."""
        return self._running.plan if self._running is not None else None

    @property
    def _planned_serial(self) -> int:
        return self._running.serial if self._running is not None else 0

    @property
    def drained(self) -> frozenset[str]:
        return self._links.drained

    def start(self, now: float) -> list[Command]:
        """The first commands: adopt the stored plan where it serves, else make one."""
        out: list[Command] = []
        stored = self._stored_plan
        if stored is not None and covers(stored, self.fabric, self.demands):
            out.append(RequestPlan(self._planner.adopt(self._snapshots(), stored)))
            if stored.certificate.strategy == self._planner.strategy:
                self._adopting = True
                return out
        same = stored is not None and stored.certificate.strategy == self._planner.strategy
        self._planner.want(Reason.EDIT if same else Reason.CHANGE)
        return out + self._next(now)

    def handle(self, event: ev.Event, now: float) -> list[Command]:
        if isinstance(event, ev.BatchDone) and not self._batch_done(event, now):
            return []
        return self._take(event, now) + self._next(now)

    def _batch_done(self, event: ev.BatchDone, now: float) -> bool:
        """Returns whether anything follows from it: of hundreds of answers, only from the last."""
        if not self.reconciler.current(event.switch, event.session):
            return False
        follows = self.reconciler.batch_done(event)
        self.repairs.acknowledged(self.reconciler.unanswered, now)
        return follows

    def _take(self, event: ev.Event, now: float) -> list[Command]:
        match event:
            case ev.Tick():
                self.reconciler.queues_ready = event.queues_ready
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
            case ev.Proven():
                if self._storing is not None:
                    self._storing = self._storing.proven(event)
                elif self._running is not None:
                    self._running = self._running.proven(event)
                return []
            case ev.BlackHolesFound():
                return self._black_holes.found(event)
            case ev.PlanStored():
                return self._plan_stored(event, now)
            case ev.LinksDue():
                return self._follow_links(now)
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
            case ev.FabricChanged():
                return self._fabric_changed(event, now)
            case _ if not self.reconciler.current(event.switch, event.session):
                pass  # an answer from a session that has ended since
            case ev.CountersRead():
                installed = self.reconciler.records[event.switch].installed
                self._measurements.add(event, installed)
            case ev.BatchDone():
                pass  # seen to above
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
        out = self._black_holes.due(self._held, self._links.live())
        if self._planner.wanted:
            running = self._storing or self._running
            previous = running.plan if running else self._stored_plan
            settled = self._storing is None and self.reconciler.settled()
            compiled = (
                running is not None
                and running.fabric is self.fabric
                and running.demands.reaches == self.demands.reaches
            )
            snapshots = self._snapshots()
            request = self._planner.due(snapshots, previous, settled, compiled, now)
            if request is not None:
                out.append(RequestPlan(request))
        if self._storing is None:
            out += self.reconciler.step(now, self._starting)
        running = self._running
        on_fabric = running is not None and running.fabric is self.fabric
        self.committed = on_fabric and self.reconciler.committed()
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
        self._intents_serial = self._serial
        self._expect(intents)
        return True

    def _expect(self, intents: Mapping[str, ev.WantedIntent]) -> None:
        self._intents = dict(intents)
        self._statuses.want(self._intents, self._serial)
        served = [i for i in self._intents.values() if len(i.endpoints) > 1]
        self._a_priori = demands_of(
            self.fabric, [i.reach for i in served], [flow for i in served for flow in i.flows]
        )
        self.demands = self._measurements.demands(self._a_priori)

    def _snapshots(self) -> Snapshots:
        return Snapshots(
            self.fabric, self.demands, self.link_state, self._serial, self._intents_serial
        )

    def _plan_made(self, event: ev.PlanMade, now: float) -> list[Command]:
        running = self._storing or self._running
        current = running.plan if running else None
        asked = self._planner.answered(
            event.request, self._snapshots(), current or self._stored_plan
        )
        if asked is None:
            return []
        accepted = self._accepted(event, asked)
        if accepted is None:
            self._planner.want(asked.reason)
            return []
        if asked.request.kind is PlanKind.ADOPT:
            self._stored_in_full = accepted.plan
            out = [Log("info", f"adopted plan {event.plan.id}"), *self._take_up(accepted, now)]
            # Links may have failed or been drained since it was made.
            if repair := self._repair(now):
                self._planner.links_changed(now, urgent=False)
            if accepted.plan.made_for.digest != digest(self.fabric):
                self._planner.want(Reason.EDIT)
            return out + repair
        if asked.serial == self._serial:
            self.repairs.optimised(now)
        reason = asked.reason
        if current is not None:
            same = same_on_switches(current, accepted.plan)
            if same or (reason < Reason.EDIT and not event.worth):
                return self._keep(accepted, event, reason, now)
        if reason is Reason.MEASUREMENT:
            self._planner.hold(now + METRICS_HOLD_S)
        certificate = accepted.plan.certificate
        # Links may have failed since: then it is not the plan that the worker has described.
        body = None if accepted.moved else event.body
        plan = self._store(accepted, fresh=True)
        return [
            Log(
                "info",
                f"plan {plan.id} by {certificate.solver}: worst link {certificate.mlu:.3f}, "
                f"bound {certificate.bound:.3f}, {certificate.seconds:.3f} s",
            ),
            StorePlan(plan, body=body),
        ]

    def _accepted(self, event: ev.PlanMade, asked: Answered) -> Accepted | None:
        """The plan as it can be used now; None when what it builds on is not there any more."""
        base, means, running = event.plan, event.means, self._running
        if isinstance(means, ev.Compiled):
            crossings = means.crossings
        else:
            previous = asked.request.previous
            if running is None or self._storing or previous is None:
                return None
            if running.plan.id != previous.id:
                return None
            crossings = running.crossings
            base = replace(
                base, egresses=previous.egresses, trees=previous.trees, zones=previous.zones
            )
        request = asked.request
        accepted = Accepted(
            base, base, crossings, asked.serial, request.demands, means, request.fabric
        )
        if asked.request.kind is PlanKind.OPTIMISE and asked.serial != self._serial:
            accepted, groups = accepted.turned(self.fabric, self.link_state)
            accepted = replace(accepted, means=means.with_groups(groups))
        return accepted

    def _store(self, accepted: Accepted, fresh: bool) -> Plan:
        """Number the plan, and await that it is stored. ``fresh``: it is a base of its own."""
        self._last_plan_id += 1
        plan = replace(accepted.plan, id=self._last_plan_id)
        base = replace(accepted.base, id=plan.id) if fresh else accepted.base
        self._storing = replace(accepted, plan=plan, base=base)
        return plan

    def _keep(
        self, accepted: Accepted, event: ev.PlanMade, reason: Reason, now: float
    ) -> list[Command]:
        """Stay with the plan that is. Which hosts of an edge may talk is not in it: its tables may
        be others all the same after a change."""
        changes = reason >= Reason.EDIT and isinstance(event.means, ev.Compiled)
        kept = self._storing or self._running
        assert kept is not None
        kept = replace(kept, serial=accepted.serial)
        if changes:
            kept = replace(
                kept, demands=accepted.demands, means=accepted.means, fabric=accepted.fabric
            )
        if self._storing is not None:
            self._storing = kept
            return []
        if event.running is not None:
            kept = kept.foreseen(event.running)
        if changes:
            return self._take_up(kept, now)
        self._running = kept
        return []

    def _plan_stored(self, event: ev.PlanStored, now: float) -> list[Command]:
        if self._storing is None or self._storing.plan.id != event.plan_id:
            return []
        accepted, self._storing = self._storing, None
        if accepted.plan.id == accepted.base.id:
            self._stored_in_full = accepted.plan
        out = self._take_up(accepted, now)
        self.repairs.stored(event.plan_id, event.asked_s, now, out)
        return out + self._repair(now)

    def _take_up(self, accepted: Accepted, now: float) -> list[Command]:
        self._running = accepted
        if isinstance(accepted.means, ev.Respread):
            return self.reconciler.reweigh(accepted.plan.id, accepted.means.groups, now)
        self.reconciler.desire(accepted.plan.id, accepted.means.tables)
        # The tables are the reconciler's from now on.
        self._running = replace(accepted, means=ev.Respread({}))
        return []

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
        self.reconciler.records[event.switch].ports[event.port] = event.live
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
            out += self._links_may_have_changed(now)
        return out

    def _drains_changed(self, event: ev.DrainsChanged, now: float) -> list[Command]:
        before = self.drained
        changed = dict.fromkeys(event.links - before, "drained")
        changed |= dict.fromkeys(before - event.links, "back in use")
        said = [Log("info", f"link {name} is {is_now}") for name, is_now in sorted(changed.items())]
        self._links.drain(event.links)
        return [*said, *self._links_may_have_changed(now)]

    def _fabric_changed(self, event: ev.FabricChanged, now: float) -> list[Command]:
        """All that is known of what stays goes on under its new name and index; what switches hold
        stays as it is until there is a plan for the new fabric."""
        edit = Edit.of(self.fabric, event.fabric)
        self.fabric = event.fabric
        said = self._switches_edited(edit)
        self._links_edited(edit, event.drained, now)
        self._plans_edited(edit)
        self._intents = {name: edit.names.intent(i) for name, i in self._intents.items()}
        self._statuses.renamed(self._intents)
        others = self._want(event.intents)
        if not others:
            self._expect(event.intents)
        self.link_state = self._measured_links(now)
        if self._planner.strategy != event.strategy:
            self._planner.strategy = event.strategy
            self._planner.want(Reason.CHANGE)
        if self._running is None and self._storing is None:
            return [*said, *self.start(now)]
        if others or not edit.cosmetic:
            self._serial += 1
            self._intents_serial = self._serial
            self._planner.want(Reason.EDIT)
        return [*said, *self._links_may_have_changed(now)]

    def _switches_edited(self, edit: Edit) -> list[Command]:
        self.reconciler.edited(edit.switches, self.fabric.switch_by_name)
        self._shortfalls = Shortfalls(self.fabric)
        self._edges = {nic.id: frozenset(nic.attachment_set) for nic in self.fabric.nics}
        self._measurements = self._measurements.edited(edit)
        gone = sorted(s.name for s in edit.before.switches if s.name not in edit.switches)
        return [
            Log(
                "warning",
                f"{name} is not in the topology any more: its session ends, and it keeps the rules "
                "that it has",
            )
            for name in gone
        ]

    def _links_edited(self, edit: Edit, drained: frozenset[str], now: float) -> None:
        records = self.reconciler.records

        def is_live(ref: PortRef) -> bool:
            return records[ref.switch].ports.get(ref.port, False)

        self.wiring = self.wiring.edited(edit, is_live)
        self._links = self._links.edited(
            self.fabric, edit.port, is_live, self.reconciler.can_carry, drained, now
        )
        self._links.bar(self.wiring.barred)
        up, barred = self._followed
        barred_now = self._links.barred()
        if barred is not None:
            nothing = np.zeros(len(edit.arc), np.bool_)
            barred = edit.by_arc(barred, nothing if barred_now is None else barred_now)
        self._followed = edit.by_arc(up, self._links.up()), barred
        for record in records.values():
            if record.connects:
                record.missing_ports = self._links.missing(record.name, record.ports)

    def _plans_edited(self, edit: Edit) -> None:
        if self._running is not None:
            self._running = edit.accepted(self._running)
        if self._storing is not None:
            self._storing = edit.accepted(self._storing)
        if self._held is not None:
            self._held = edit.names.plan(self._held) if edit.cosmetic else None
        if self._stored_plan is not None:
            self._stored_plan = edit.names.plan(self._stored_plan)
        self._black_holes.edited(self.fabric)

    def _measured_links(self, now: float) -> LinkState:
        measured = self._measurements.link_state(self._links.up(), now)
        return replace(measured, barred=self._links.barred())

    def _links_may_have_changed(self, now: float) -> list[Command]:
        if self._following or self._links_are_known():
            return []
        self._following = True
        self.repairs.heard(now)
        return [FollowLinks(max(0.0, self._followed_s + FOLLOW_PAUSE_S - now))]

    def _follow_links(self, now: float) -> list[Command]:
        """Dead trees lose their weight at once; a better plan follows in its own time."""
        self._following, self._followed_s = False, now
        if self._links_are_known():
            return []
        self._followed = self._links.up(), self._links.barred()
        self._serial += 1
        # Switches may have moved traffic by themselves: what was carried before says nothing now.
        self._measurements.restart()
        self.link_state = self._measured_links(now)
        plan = self.plan
        # Groups go other ways at once, but flows with a path of their own only with a new plan.
        urgent = plan is not None and swap_dead(plan, self.fabric, self.link_state) is not plan.pins
        self._planner.links_changed(now, urgent)
        return self._repair(now)

    def _links_are_known(self) -> bool:
        """Whether all has been done about the links as they are. (Of one whose ports were down
        before it was barred, trees are still there.)"""
        (up, barred), now_barred = self._followed, self._links.barred()
        if barred is None or now_barred is None:
            same = barred is now_barred
        else:
            same = np.array_equal(barred, now_barred)
        return same and np.array_equal(up, self._links.up())

    def _repair(self, now: float) -> list[Command]:
        """Turn the running plan to the links that live, if it is not; no solver."""
        running = self._running
        if running is None or self._storing is not None:
            return []
        turned, groups = running.turned(self.fabric, self.link_state)
        if turned is running:
            return []
        plan = self._store(replace(turned, means=ev.Respread(groups)), fresh=False)
        self.repairs.planned(plan.id, now)
        full = self._stored_in_full
        base = full if full is not None and full.id == running.base.id else None
        return [
            Log("info", f"plan {plan.id} turns to the links that live: {_counted(groups)}"),
            StorePlan(plan, base=base),
        ]

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
        plan, running = self.plan, self._running
        pairs: Mapping[str, list[str]] = {}
        if plan is not None and self._planned_serial == self._serial:
            pairs = self._shortfalls.unroutable(plan, self.demands, self._intents)
        lacks: Mapping[str, Lack] = {}
        if plan is not None and running is not None:
            lacks = self._shortfalls.lacks(plan, running.demands.flows)
        return Progress(
            plan_id=self.plan.id if self.plan else 0,
            planned_serial=self._planned_serial,
            committed_serial=self._committed_serial,
            installing=self.reconciler.installing,
            absent=self.reconciler.in_state(SwitchState.ABSENT),
            failed=self.reconciler.in_state(SwitchState.FAILED),
            unroutable=pairs,
            lacks=lacks,
            starting=self._starting,
            adopting=self._adopting,
            error=self._planner.last_error,
        )

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

    def holding(self) -> frozenset[str]:
        """Switches that hold what the newest fabric and intents want, and nothing older."""
        if not self.committed or self._committed_serial != self._serial:
            return frozenset()
        return self.reconciler.in_state(SwitchState.IN_SYNC)

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


def _counted(groups: Groups) -> str:
    return f"{sum(map(len, groups.values()))} groups of {len(groups)} switches"
