"""Carrying an ordered difference out, phase by phase, each acknowledged before the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.dataplane.diff import group_id_of, with_command_of
from controller.dataplane.tables import Phase, SwitchTables, Updates

LINGER_S = 0.5
"""Packets that an ingress sent by the old rules are under way for so long after it has acknowledged
the new ones: Open vSwitch goes on for some tens of ms with what it has cached."""


@dataclass(frozen=True, slots=True)
class PhaseBatch:
    switch: str
    phase: Phase
    batch: int
    messages: tuple[bytes, ...]


@dataclass(slots=True)
class Rollout:
    """``desired`` is what each switch taking part holds once its last batch is acknowledged.

    A switch that drops out no longer holds the others up: fail static keeps it forwarding, and it
    is compared in full when it returns.
    """

    plan_id: int
    updates: Updates
    desired: dict[str, SwitchTables]
    take_batch: Callable[[], int]
    _phases: list[Phase] = field(init=False)
    _waiting: dict[int, str] = field(init=False, default_factory=dict)
    _gone: set[str] = field(init=False, default_factory=set)
    _has_sent: bool = field(init=False, default=False)
    _removes_at_s: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._phases = sorted(phase for phase, batches in self.updates.messages.items() if batches)

    @property
    def phases_left(self) -> bool:
        return bool(self._phases)

    @property
    def finished(self) -> bool:
        return not self._phases and not self._waiting

    @property
    def switches(self) -> frozenset[str]:
        """Those that are still taking part."""
        return frozenset(self.desired) - self._gone

    @property
    def waiting_for(self) -> frozenset[str]:
        """Those that still have to acknowledge a batch."""
        return frozenset(self._waiting.values())

    def advance(self, now: float, is_urgent: bool) -> list[PhaseBatch]:
        """The batches to send now: all of the next phase once nothing is outstanding, and nothing
        is under way by what is to be removed. ``is_urgent``: others wait for the end of it."""
        while self._phases and not self._waiting:
            if self._phases[0] >= Phase.REMOVE_FLOWS:
                if self._removes_at_s is None:
                    self._removes_at_s = now + (LINGER_S if self._has_sent else 0.0)
                if now < self._removes_at_s and not is_urgent:
                    return []
            phase = self._phases.pop(0)
            out = []
            for switch, messages in self.updates.messages[phase].items():
                if switch in self._gone or not messages:
                    continue
                batch = self.take_batch()
                out.append(PhaseBatch(switch, phase, batch, messages))
                self._waiting[batch] = switch
            if out:
                self._has_sent = True
                return out
        return []

    def amend(
        self, switch: str, wanted: SwitchTables, groups: Mapping[int, bytes]
    ) -> Mapping[int, bytes]:
        """The switch is to hold these ingress groups in the end, which is ``wanted``. Returns those
        that no message which is still to come makes or changes."""
        self.desired[switch] = wanted
        phase = Phase.INGRESS_GROUPS
        pending = self.updates.messages[phase].get(switch, ()) if phase in self._phases else ()
        rest, amended = dict(groups), []
        for message in pending:
            made = rest.pop(group_id_of(message), None)
            # The command stays: whether the group is there already has not changed.
            amended.append(message if made is None else with_command_of(message, made))
        if pending:
            batches = {**self.updates.messages[phase], switch: tuple(amended)}
            self.updates = Updates({**self.updates.messages, phase: batches})
        return rest

    def edited(self, kept: Mapping[str, str]) -> None:
        """Go on with the switches that stay, by their new names."""
        self.updates = Updates(
            {
                phase: {kept[s]: batch for s, batch in batches.items() if s in kept}
                for phase, batches in self.updates.messages.items()
            }
        )
        self.desired = {kept[s]: tables for s, tables in self.desired.items() if s in kept}
        self._waiting = {batch: kept[s] for batch, s in self._waiting.items() if s in kept}
        self._gone = {kept[s] for s in self._gone if s in kept}

    def acknowledge(self, switch: str, batch: int) -> None:
        if self._waiting.get(batch) == switch:
            del self._waiting[batch]

    def drop(self, switch: str) -> None:
        """Go on without this switch."""
        self._gone.add(switch)
        self._waiting = {b: s for b, s in self._waiting.items() if s != switch}

    def owns(self, switch: str, batch: int) -> bool:
        return self._waiting.get(batch) == switch
