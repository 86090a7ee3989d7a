"""How each intent fares, derived from what is wanted, planned and installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from controller.engine.commands import SetStatus
from controller.engine.events import WantedIntent
from controller.engine.shortages import Lack
from controller.intents.lifecycle import TRANSITIONS, Reason
from controller.intents.model import IntentState, IntentStatus
from controller.intents.words import some


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the newest snapshot has come. Serials count changes of the wanted intents."""

    plan_id: int
    planned_serial: int
    committed_serial: int
    installing: bool
    absent: frozenset[str]
    """Switches without a session."""
    failed: frozenset[str]
    """Switches that refused a change."""
    unroutable: Mapping[str, Sequence[str]]
    """Intent to the pairs of switches that no live path joins."""
    lacks: Mapping[str, Lack]
    """Intent to what the plan could not give it."""
    starting: bool
    adopting: bool
    """A plan that switches already hold is being taken up: nothing that was said has changed."""
    error: str


class StatusBook:
    """Remembers what was last reported (before: ``reported``), so that only changes are."""

    def __init__(self, reported: Mapping[str, IntentStatus]) -> None:
        self._wanted: dict[str, tuple[WantedIntent, int]] = {}
        # Generation of each intent being withdrawn, and the serial of its removal.
        self._leaving: dict[str, tuple[int, int]] = {}
        self._reported = dict(reported)
        self._last: Progress | None = None

    def want(self, intents: Mapping[str, WantedIntent], serial: int) -> None:
        self._last = None
        for name in [name for name in self._wanted if name not in intents]:
            self._leaving[name] = (self._wanted.pop(name)[0].generation, serial)
        for name, intent in intents.items():
            self._leaving.pop(name, None)
            known = self._wanted.get(name)
            if known is None or known[0] != intent:
                self._wanted[name] = (intent, serial)

    def renamed(self, intents: Mapping[str, WantedIntent]) -> None:
        """These are wanted as they were, in other words."""
        for name, intent in intents.items():
            self._wanted[name] = intent, self._wanted[name][1]

    def leave(self, generations: Mapping[str, int], serial: int) -> None:
        """These were being withdrawn before this book began."""
        self._last = None
        self._leaving.update((name, (g, serial)) for name, g in generations.items())

    def changes(self, progress: Progress, edges: Mapping[str, frozenset[str]]) -> list[SetStatus]:
        """Statuses that differ from the last report. ``edges[nic]`` are the switches of a NIC."""
        out: list[SetStatus] = []
        if progress == self._last:
            return out
        self._last = progress
        for name, (intent, serial) in self._wanted.items():
            last = self._reported.get(name)
            if progress.adopting and last and last.observed_generation == intent.generation:
                continue
            out += self._report(name, _status(intent, serial, progress, edges))
        for name, (generation, serial) in list(self._leaving.items()):
            if progress.committed_serial >= serial:
                gone = IntentStatus(
                    IntentState.GONE,
                    Reason.REMOVED.value,
                    observed_generation=generation,
                    plan=progress.plan_id,
                )
                out.append(SetStatus(name, gone))
                del self._leaving[name]
                self._reported.pop(name, None)
        return out

    def _report(self, name: str, status: IntentStatus) -> list[SetStatus]:
        last = self._reported.get(name)
        if last is not None and _essence(last) == _essence(status):
            return []
        self._reported[name] = status
        out = [SetStatus(name, status)]
        before = last.state if last is not None else IntentState.PENDING
        if status.state not in (before, *TRANSITIONS[before]):
            # A plan can be made and installed between two events; whoever watches sees each step.
            step = IntentState.PLANNED
            planned = replace(status, state=step, reason=Reason.PLANNED.value, message="")
            out.insert(0, SetStatus(name, planned))
        return out


def _status(
    intent: WantedIntent,
    serial: int,
    progress: Progress,
    edges: Mapping[str, frozenset[str]],
) -> IntentStatus:
    if len(intent.endpoints) < 2:
        why = intent.problem or "it chooses fewer than two NICs"
        return _as(
            intent,
            progress,
            IntentState.REJECTED,
            Reason.NO_ENDPOINTS,
            f"{why}; choose at least two",
        )
    if progress.planned_serial < serial:
        message = progress.error or "waiting for a plan"
        return _as(intent, progress, IntentState.PENDING, Reason.ACCEPTED, message)
    lack = progress.lacks.get(intent.name)
    if lack is not None and lack.refused:
        return _as(intent, progress, IntentState.REJECTED, lack.reason, lack.message)
    mine = frozenset[str]().union(*(edges.get(nic, frozenset()) for nic in intent.endpoints))
    absent = some(sorted(mine & progress.absent))
    failed = some(sorted(mine & progress.failed))
    if progress.committed_serial < serial:
        if progress.installing:
            message = "switches are being programmed"
            return _as(intent, progress, IntentState.INSTALLING, Reason.INSTALLING, message)
        message = "waiting for switches to be read"
        if progress.absent:
            message = f"waiting for {some(sorted(progress.absent))} to connect"
        return _as(intent, progress, IntentState.PLANNED, Reason.PLANNED, message)
    if absent and progress.starting:
        message = f"waiting for {absent}"
        return _as(intent, progress, IntentState.INSTALLING, Reason.INSTALLING, message)
    if absent:
        message = f"{absent} without a session: it goes on forwarding, but changes do not reach it"
        return _as(intent, progress, IntentState.DEGRADED, Reason.SWITCH_UNREACHABLE, message)
    if failed:
        message = f"{failed} refused a change; it is tried again"
        return _as(intent, progress, IntentState.DEGRADED, Reason.SWITCH_FAILED, message)
    if pairs := progress.unroutable.get(intent.name):
        message = f"no live path: {', '.join(pairs)}"
        return _as(intent, progress, IntentState.DEGRADED, Reason.UNROUTABLE, message)
    if lack is not None:
        return _as(intent, progress, IntentState.DEGRADED, lack.reason, lack.message)
    if intent.problem:
        return _as(intent, progress, IntentState.DEGRADED, Reason.UNKNOWN_ENDPOINT, intent.problem)
    message = "all its rules are installed"
    return _as(intent, progress, IntentState.ACTIVE, Reason.INSTALLED, message)


def _essence(status: IntentStatus) -> IntentStatus:
    """Without what changes by itself."""
    return replace(status, plan=0, transition_time_s=0.0)


def _as(
    intent: WantedIntent, progress: Progress, state: IntentState, reason: Reason, message: str
) -> IntentStatus:
    return IntentStatus(
        state,
        reason.value,
        message,
        observed_generation=intent.generation,
        plan=progress.plan_id,
    )
