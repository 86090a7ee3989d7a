"""Carrying an ordered difference out, phase by phase, each acknowledged before the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.dataplane.tables import Phase, SwitchTables, Updates


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
    desired: Mapping[str, SwitchTables]
    next_batch: int
    _phases: list[Phase] = field(init=False)
    _waiting: dict[int, str] = field(init=False, default_factory=dict)
    _gone: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._phases = sorted(phase for phase, batches in self.updates.messages.items() if batches)

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

    def advance(self) -> list[PhaseBatch]:
        """The batches to send now: all of the next phase once nothing is outstanding."""
        while self._phases and not self._waiting:
            phase = self._phases.pop(0)
            out = []
            for switch, messages in self.updates.messages[phase].items():
                if switch in self._gone or not messages:
                    continue
                out.append(PhaseBatch(switch, phase, self.next_batch, messages))
                self._waiting[self.next_batch] = switch
                self.next_batch += 1
            if out:
                return out
        return []

    def acknowledge(self, switch: str, batch: int) -> None:
        if self._waiting.get(batch) == switch:
            del self._waiting[batch]

    def drop(self, switch: str) -> None:
        """Go on without this switch."""
        self._gone.add(switch)
        self._waiting = {b: s for b, s in self._waiting.items() if s != switch}

    def owns(self, switch: str, batch: int) -> bool:
        return self._waiting.get(batch) == switch
