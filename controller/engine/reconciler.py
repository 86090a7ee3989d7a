"""Makes what switches hold equal to what they should: sessions, read-back, rollouts, retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from controller.dataplane.diff import gathered, modifying, switch_diff
from controller.dataplane.tables import Groups, Phase, SwitchTables, Tables
from controller.engine import events as ev
from controller.engine.commands import Command, Continue, Log, ReadSwitch, SendBatch
from controller.engine.rollout import PhaseBatch, Rollout
from controller.engine.switches import SwitchRecord, SwitchState

HELD = (
    "it holds rules of Heald, but this controller has never had an intent: start it with the state "
    "directory that they come from, or apply an intent, which replaces them"
)
TOLD = 20
"""Problems of one kind that are told one by one."""
AUDIT_S = 20.0
"""How old what is known of a switch may become before it is read again."""
PHASE_TIMEOUT_S = 5.0
"""A switch that has not answered a batch for this long has failed it, and for a long batch ..."""
MESSAGE_TIMEOUT_S = 0.05
"""... this much longer for each of its messages. One that answers nothing at all is found sooner,
by its session."""
READING_S = 5.0
"""So long a change waits for switches that are being read, or soon will be because they have just
failed a change or lost their session: the others may build on what these still lack."""
PATIENCE = 2
"""One that fails more often than this in a row holds up nobody any more."""
ENTRIES_AT_A_TIME = 1000
"""Compared in one go; some 5 ms. A switch with more is compared whole."""

NO_ANSWER = "no answer to a batch in time"

Differences: TypeAlias = dict[
    str, tuple[SwitchTables, SwitchTables, Mapping[Phase, tuple[bytes, ...]]]
]


@dataclass(frozen=True, slots=True)
class _Single:
    switch: str
    plan_id: int
    give_up_s: float


class Reconciler:
    """One rollout at a time, over all switches whose tables are known; the next one starts from the
    newest desired tables, so that those that came between are never sent.

    ``new``: this controller has never had an intent. A mistaken state directory looks the same, and
    must not stop the traffic of a fabric, so switches that hold rules are then left alone.
    """

    def __init__(self, switches: Iterable[str], new: bool) -> None:
        self.records = {name: SwitchRecord(name) for name in switches}
        self._tables: Tables | None = None
        self._plan_id = 0
        self._rollout: Rollout | None = None
        # What each switch holds, what it should, and the difference, while a rollout is prepared.
        self._differences: Differences = {}
        self._continues = False
        self._give_up_s = 0.0
        self._held_since_s: float | None = None
        self._next_batch = 1
        # Batches that nothing else waits for, by number, and how many there are of each switch and
        # of each plan.
        self._single: dict[int, _Single] = {}
        self._by_switch: Counter[str] = Counter()
        self.unanswered: Counter[int] = Counter()
        self._new = new
        self.queues_ready = True
        """No rollout begins before the queues are there that its flows lead to."""

    @property
    def installing(self) -> bool:
        return self._rollout is not None or bool(self._differences)

    def current(self, switch: str, session: int) -> bool:
        """Whether an event is of the session that the switch has now."""
        record = self.records.get(switch)
        return record is not None and record.connected and record.session == session

    def in_state(self, state: SwitchState) -> frozenset[str]:
        return frozenset(r.name for r in self.records.values() if r.state is state)

    def desire(self, plan_id: int, tables: Tables) -> None:
        """What switches should hold from now on; those for which it is nothing new stay settled."""
        old = self._tables or {}
        self._plan_id = plan_id
        self._tables = {
            name: old[name] if old.get(name) == wanted else wanted
            for name, wanted in tables.items()
        }

    def reweigh(self, plan_id: int, groups: Groups, now: float) -> list[Command]:
        """What switches should hold from now on, where nothing is new but the weights of groups.

        Nothing builds on these, so every switch is told at once, beside a rollout that may be under
        way, and none waits for another. What a switch that is not known to hold the tables of
        before lacks, it gets as ever.
        """
        assert self._tables is not None
        self._plan_id = plan_id
        tables, out = dict(self._tables), list[Command]()
        for name, whole in groups.items():
            if name not in tables:
                continue  # A switch that is no more, or is not in the plan yet.
            record, before = self.records[name], tables[name]
            messages = before.held(whole)
            if not messages:
                continue
            tables[name] = wanted = before.with_groups(messages)
            rest = messages
            if self._rollout is not None and name in self._rollout.switches:
                if self._rollout.desired[name] is not before:
                    continue
                rest = self._rollout.amend(name, wanted, messages)
            elif record.installed is before:
                record.installed, record.state = wanted, SwitchState.INSTALLING
            else:
                continue
            if rest:
                changed = tuple(map(modifying, rest.values()))
                batch = PhaseBatch(name, Phase.INGRESS_GROUPS, self._take_batch(), changed)
                out.append(self._send(batch, plan_id))
                self._await(batch, plan_id, now)
        self._tables = tables
        return out

    def continued(self) -> None:
        self._continues = False

    def committed(self) -> bool:
        """Every reachable switch, and at least one, holds what the newest plan wants."""
        if self._tables is None or self._single or self._rollout is not None:
            return False
        records = [r for r in self.records.values() if r.connected]
        return bool(records) and all(map(self._settled, records))

    def can_carry(self, switch: str) -> bool:
        """Whether a switch to which links have come back may be sent packets again: not while it
        may have no rules, for then it drops them. Before the first plan nobody has any."""
        return self._tables is None or self.records[switch].filled

    def settled(self) -> bool:
        """Every switch of the fabric holds what the newest plan wants, and nothing older."""
        if self._tables is None or self._single:
            return False
        return all(map(self._settled, self.records.values()))

    # ---- events ---------------------------------------------------------------------------------

    def edited(self, kept: Mapping[str, str], switches: Iterable[str]) -> None:
        """The fabric has these switches from now on; ``kept`` maps old names of those that stay to
        new ones. One that stays goes on with what it is doing, one that has gone holds up nobody
        any more."""
        for name in self.records.keys() - kept.keys():
            self._drop(name)
        known = {new: self.records[old] for old, new in kept.items()}
        self.records = {name: known.get(name) or SwitchRecord(name) for name in switches}
        for name, record in self.records.items():
            record.name = name
        if self._tables is not None:
            self._tables = {kept[s]: t for s, t in self._tables.items() if s in kept}
        self._differences = {kept[s]: d for s, d in self._differences.items() if s in kept}
        if self._rollout is not None:
            self._rollout.edited(kept)
        self._single = {
            number: replace(single, switch=kept[single.switch])
            for number, single in self._single.items()
        }
        self._by_switch = Counter({kept[s]: count for s, count in self._by_switch.items()})

    def connected(self, event: ev.SwitchConnected, now: float) -> None:
        self._drop(event.switch)
        self.records[event.switch].connect(event.session, event.openflow, event.peer, now)
        self.records[event.switch].ports = dict(event.ports)
        self.records[event.switch].read_at_s = now

    def read(self, event: ev.SwitchRead) -> list[Command]:
        record = self.records[event.switch]
        if record.audited:
            record.audited = False
            if record.installed is not None:
                return self._audited(record, event)
        record.read(event.tables, event.foreign)
        if self._new and event.tables != _NOTHING:
            record.state, record.trouble = SwitchState.HELD, HELD
        elif self._tables is not None:
            self._settle(event.switch)
        return []

    def audit(self, now: float) -> list[Command]:
        """Read a switch now and then, one at a time, in case another hand was at its rules."""
        if self._rollout is not None:
            return []
        waiting = [r for r in self.records.values() if r.state is SwitchState.IN_SYNC]
        if not waiting or any(r.audited for r in waiting):
            return []
        record = min(waiting, key=lambda r: r.read_at_s)
        if now - record.read_at_s < AUDIT_S:
            return []
        record.audited, record.read_at_s = True, now
        record.audited_at_batch = self._next_batch
        return [ReadSwitch(record.name, record.session)]

    def _audited(self, record: SwitchRecord, event: ev.SwitchRead) -> list[Command]:
        record.foreign = event.foreign
        # What was sent meanwhile is not in the answer, or only in part.
        changed = record.audited_at_batch != self._next_batch
        if changed or event.tables == record.installed:
            return []
        record.read(event.tables, event.foreign)
        return [
            Log("error", f"{record.name} has lost or changed rules of Heald; they are restored")
        ]

    def take_over(self) -> None:
        """There are intents now: held switches become ours."""
        self._new = False
        for record in self.records.values():
            if record.state is SwitchState.HELD:
                record.state, record.trouble = SwitchState.INSTALLING, ""

    def unreadable(self, event: ev.ReadFailed, now: float) -> list[Command]:
        self.records[event.switch].audited = False
        self.records[event.switch].fail(event.error, now)
        return [Log("error", f"{event.switch} {event.error}; it is read again")]

    def disconnected(self, event: ev.SwitchDisconnected, now: float) -> None:
        self._drop(event.switch)
        self.records[event.switch].disconnect(event.reason, now)

    def batch_done(self, event: ev.BatchDone) -> bool:
        """Returns whether that was the last answer that something waits for."""
        single = self._single.pop(event.batch, None)
        if single is not None:
            self._count(single, -1)
            self._settle(event.switch)
            return not self._single
        if self._rollout is None:
            return False
        self._rollout.acknowledge(event.switch, event.batch)
        return not self._rollout.waiting_for

    def batch_failed(self, event: ev.BatchFailed, now: float) -> list[Command]:
        if event.batch in self._single:
            return self._fail(event.switch, event.error, now)
        if self._rollout is None or not self._rollout.owns(event.switch, event.batch):
            return []
        return self._abandon({event.switch}, event.error, now)

    def tick(self, now: float) -> list[Command]:
        """Read failed switches again after their pause; give up on batches without an answer."""
        out: list[Command] = []
        for record in self.records.values():
            if record.state is SwitchState.FAILED and now >= record.retry_at_s:
                out.append(self._read_again(record, now))
        late = {c.switch for c in self._single.values() if now > c.give_up_s}
        for switch in sorted(late):
            out += self._fail(switch, NO_ANSWER, now)
        if self._rollout is not None and now > self._give_up_s and self._rollout.waiting_for:
            out += self._abandon(self._rollout.waiting_for, NO_ANSWER, now)
        return out

    # ---- rolling out ----------------------------------------------------------------------------

    def step(self, now: float, starting: bool) -> list[Command]:
        """Carry on with the rollout, or start one where installed and desired differ. ``starting``:
        switches that have not connected yet are on the way, and are waited for as well."""
        while True:
            if self._rollout is None and not (self.queues_ready and self._begin(now, starting)):
                return self._continue()
            rollout = self._rollout
            assert rollout is not None
            is_old = any(self._want(s) is not t for s, t in rollout.desired.items())
            batches = rollout.advance(now, is_old)
            out: list[Command] = [self._send(batch, rollout.plan_id) for batch in batches]
            if batches and rollout.phases_left:
                longest = max(len(batch.messages) for batch in batches)
                self._give_up_s = now + _patience_s(longest)
            elif batches or rollout.finished:
                # Nothing builds on the last phase, so nobody has to wait for it.
                for batch in batches:
                    self._await(batch, rollout.plan_id, now)
                for name in rollout.switches:
                    self.records[name].installed = rollout.desired[name]
                    self._settle(name)
                self._rollout = None
                if not batches:
                    continue
            return out

    def _take_batch(self) -> int:
        self._next_batch += 1
        return self._next_batch - 1

    def _send(self, batch: PhaseBatch, plan_id: int) -> SendBatch:
        record = self.records[batch.switch]
        record.messages_sent += len(batch.messages)
        return SendBatch(
            batch.switch, record.session, plan_id, batch.phase, batch.batch, batch.messages
        )

    def _await(self, batch: PhaseBatch, plan_id: int, now: float) -> None:
        give_up_s = now + _patience_s(len(batch.messages))
        self._single[batch.batch] = single = _Single(batch.switch, plan_id, give_up_s)
        self._count(single, 1)

    def _count(self, single: _Single, more: int) -> None:
        self._by_switch[single.switch] += more
        self.unanswered[single.plan_id] += more
        if not self._by_switch[single.switch]:
            del self._by_switch[single.switch]
        if not self.unanswered[single.plan_id]:
            del self.unanswered[single.plan_id]

    def _settle(self, switch: str) -> None:
        """It holds what it should once it has answered everything."""
        record = self.records[switch]
        if record.installed is None or record.installed is not self._want(switch):
            return
        waiting = switch in self._by_switch
        in_rollout = self._rollout is not None and switch in self._rollout.waiting_for
        if not waiting and not in_rollout:
            record.settle(record.installed)

    def _begin(self, now: float, starting: bool) -> bool:
        """Start a rollout over all known switches if any of them needs one, and once all of them
        have been compared."""
        known = {
            r.name: r.installed
            for r in self.records.values()
            if r.installed is not None
            and r.state is not SwitchState.HELD
            and self._want(r.name) is not None
        }
        if self._tables is None or all(has is self._want(name) for name, has in known.items()):
            self._differences.clear()
            self._held_since_s = None
            return False
        if self._is_held(now, starting):
            return False
        desired = {name: self._tables[name] for name in known}
        if not self._compare(known, desired):
            return False
        updates = gathered({name: self._differences[name][2] for name in known})
        self._differences.clear()
        self._held_since_s = None
        self._rollout = Rollout(self._plan_id, updates, desired, self._take_batch)
        for name, has in known.items():
            if has is not desired[name]:
                self.records[name].state = SwitchState.INSTALLING
        return True

    def _is_held(self, now: float, starting: bool) -> bool:
        """Whether to wait for what a switch holds or for its connection; not for ever, however
        often switches come and go."""
        if starting and not all(record.connects for record in self.records.values()):
            return True
        if not any(_is_about_to_be_known(r, now) for r in self.records.values()):
            return False
        if self._held_since_s is None:
            self._held_since_s = now
        return now - self._held_since_s < READING_S

    def _compare(self, known: Tables, desired: Tables) -> bool:
        """Work out some of the differences that are not known yet; returns whether all are."""
        budget = ENTRIES_AT_A_TIME
        for name, has in known.items():
            wants = desired[name]
            found = self._differences.get(name)
            if found is not None and found[0] is has and found[1] is wants:
                continue
            if budget <= 0:
                return False
            self._differences[name] = has, wants, switch_diff(has, wants)
            budget -= len(has.flows) + len(has.groups) + len(wants.flows) + len(wants.groups)
        return True

    def _continue(self) -> list[Command]:
        if self._continues or not self._differences:
            return []
        self._continues = True
        return [Continue()]

    def _want(self, switch: str) -> SwitchTables | None:
        """None for a switch that no plan has yet, and that is left as it is until then."""
        return self._tables.get(switch) if self._tables is not None else None

    def _settled(self, record: SwitchRecord) -> bool:
        return record.state is SwitchState.IN_SYNC and record.installed is self._want(record.name)

    def _abandon(self, culprits: Iterable[str], error: str, now: float) -> list[Command]:
        """Later phases build on the failed one, so the rollout ends; all in it are read again."""
        assert self._rollout is not None
        involved, self._rollout = self._rollout.switches, None
        out: list[Command] = []
        for name in sorted(involved):
            record = self.records[name]
            if name in culprits:
                record.fail(error, now)
                out.append(Log("error", f"{name} failed a change: {error}; it is read again"))
            else:
                out.append(self._read_again(record, now))
        return out

    def _fail(self, switch: str, error: str, now: float) -> list[Command]:
        """What it was sent alone it has failed alone."""
        self._drop(switch)
        self.records[switch].fail(error, now)
        return [Log("error", f"{switch} failed a change: {error}; it is read again")]

    @staticmethod
    def _read_again(record: SwitchRecord, now: float) -> Command:
        record.state, record.installed, record.read_at_s = SwitchState.READING, None, now
        return ReadSwitch(record.name, record.session)

    def _drop(self, switch: str) -> None:
        if self._rollout is not None:
            self._rollout.drop(switch)
        for batch in [n for n, single in self._single.items() if single.switch == switch]:
            self._count(self._single.pop(batch), -1)

    def problems(self) -> list[str]:
        """In words, for people."""
        out = []
        told: Counter[SwitchState] = Counter()
        for r in self.records.values():
            if r.state in (SwitchState.ABSENT, SwitchState.FAILED, SwitchState.HELD):
                told[r.state] += 1
                if told[r.state] <= TOLD:
                    why = f": {r.trouble}" if r.trouble else ""
                    out.append(f"{r.name} is {r.state.value}{why}")
            if r.missing_ports:
                ports = ", ".join(map(str, r.missing_ports))
                out.append(f"{r.name} lacks port {ports} of the topology")
            if r.foreign:
                out.append(f"{r.name} holds {r.foreign} entries that are not Heald's")
        for state, count in told.items():
            if count > TOLD:
                out.append(f"{count - TOLD} more switches are {state.value} (heald switches)")
        return out


def _is_about_to_be_known(record: SwitchRecord, now: float) -> bool:
    match record.state:
        case SwitchState.READING:
            return True
        case SwitchState.FAILED:
            return record.failures <= PATIENCE
        case SwitchState.ABSENT:
            return record.connects > 0 and now - record.since_s < READING_S
    return False


def _patience_s(messages: int) -> float:
    return PHASE_TIMEOUT_S + MESSAGE_TIMEOUT_S * messages


_NOTHING = SwitchTables()
