"""How each intent fares, derived from what is wanted, planned and installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller.engine.commands import IntentState, SetStatus
from controller.engine.events import WantedIntent


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the newest snapshot has come. Serials count changes of the wanted intents."""

    plan_id: int
    planned_serial: int
    committed_serial: int
    installing: bool
    absent_edges: frozenset[str]
    """Edge switches without a session, or that refused a change."""
    unroutable: Mapping[str, Sequence[str]]
    """Intent to the pairs of switches that no live path joins."""
    starting: bool
    error: str


@dataclass(slots=True)
class StatusBook:
    """Remembers what was last reported, so that only changes are."""

    _wanted: dict[str, tuple[WantedIntent, int]] = field(default_factory=dict)
    _leaving: dict[str, tuple[int, int]] = field(default_factory=dict)
    _reported: dict[str, SetStatus] = field(default_factory=dict)

    def want(self, intents: Mapping[str, WantedIntent], serial: int) -> None:
        for name in self._wanted.keys() - intents.keys():
            self._leaving[name] = (self._wanted.pop(name)[0].generation, serial)
        for name, intent in intents.items():
            self._leaving.pop(name, None)
            known = self._wanted.get(name)
            if known is None or known[0] != intent:
                self._wanted[name] = (intent, serial)

    def changes(self, progress: Progress, edges: Mapping[str, frozenset[str]]) -> list[SetStatus]:
        """Statuses that differ from the last report. ``edges[nic]`` are the switches of a NIC."""
        out: list[SetStatus] = []
        for name, (intent, serial) in self._wanted.items():
            state, reason, message = self._state(intent, serial, progress, edges)
            status = SetStatus(name, intent.generation, state, reason, message, progress.plan_id)
            last = self._reported.get(name)
            if last is None or _essence(last) != _essence(status):
                self._reported[name] = status
                out.append(status)
        for name, (generation, serial) in list(self._leaving.items()):
            gone = progress.committed_serial >= serial
            status = SetStatus(
                name,
                generation,
                IntentState.GONE if gone else IntentState.WITHDRAWING,
                "Removed" if gone else "Removing",
                "" if gone else "its rules are being taken off the switches",
                progress.plan_id,
            )
            last = self._reported.get(name)
            if last is None or _essence(last) != _essence(status):
                out.append(status)
            self._reported[name] = status
            if gone:
                del self._leaving[name], self._reported[name]
        return out

    def _state(
        self,
        intent: WantedIntent,
        serial: int,
        progress: Progress,
        edges: Mapping[str, frozenset[str]],
    ) -> tuple[IntentState, str, str]:
        if len(intent.nics) < 2:
            why = intent.problem or "it chooses fewer than two NICs"
            return IntentState.REJECTED, "TooFewEndpoints", f"{why}; choose at least two"
        if progress.planned_serial < serial:
            if progress.error:
                return IntentState.PENDING, "PlanningFailed", progress.error
            return IntentState.PENDING, "Planning", "waiting for a plan"
        mine = frozenset().union(*(edges.get(nic, frozenset()) for nic in intent.nics))
        absent = sorted(mine & progress.absent_edges)
        if progress.committed_serial < serial:
            if progress.installing:
                return IntentState.INSTALLING, "Installing", "switches are being programmed"
            return IntentState.PLANNED, "Planned", "waiting for switches to connect"
        if absent and progress.starting:
            return IntentState.INSTALLING, "WaitingForSwitches", f"waiting for {', '.join(absent)}"
        if absent:
            return (
                IntentState.DEGRADED,
                "SwitchAbsent",
                f"{', '.join(absent)} without a session: what it holds goes on forwarding, "
                "but changes do not reach it",
            )
        if pairs := progress.unroutable.get(intent.name):
            return IntentState.DEGRADED, "Unroutable", f"no live path: {', '.join(pairs)}"
        if intent.problem:
            return IntentState.DEGRADED, "EndpointMissing", intent.problem
        return IntentState.ACTIVE, "Installed", "all its rules are installed"


def _essence(status: SetStatus) -> tuple[int, IntentState, str, str]:
    return status.generation, status.state, status.reason, status.message
