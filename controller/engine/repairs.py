"""How long it took to turn traffic to the links that live: each step of the last repairs."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from controller.engine.commands import Command, SendBatch

KEPT = 32


@dataclass(frozen=True, slots=True)
class Repair:
    """Times are seconds of the engine's clock: when the first port was reported, when planning
    began, when storing did, when it was stored and the first message sent, and when the last
    barrier was answered; and when it was known what is best over the links that live. 0 for what is
    still to come."""

    plan_id: int
    heard_s: float
    gathered_s: float
    planned_s: float = 0.0
    stored_s: float = 0.0
    installed_s: float = 0.0
    switches: int = 0
    messages: int = 0
    optimised_s: float = 0.0


class Repairs:
    def __init__(self) -> None:
        self.last: deque[Repair] = deque(maxlen=KEPT)
        self._heard_s = 0.0

    def heard(self, now: float) -> None:
        """A link has changed, and is to be followed."""
        self._heard_s = now

    def planned(self, plan_id: int, now: float) -> None:
        self.last.append(Repair(plan_id, self._heard_s, now))

    def stored(
        self, plan_id: int, planned_s: float, now: float, commands: Sequence[Command]
    ) -> None:
        """``commands`` send it to switches."""
        if self.last and self.last[-1].plan_id == plan_id:
            batches = [c for c in commands if isinstance(c, SendBatch)]
            count = sum(len(batch.messages) for batch in batches)
            self.last[-1] = replace(
                self.last[-1],
                planned_s=planned_s,
                stored_s=now,
                installed_s=0.0 if batches else now,
                switches=len(batches),
                messages=count,
            )

    def acknowledged(self, unanswered: Container[int], now: float) -> None:
        """``unanswered``: plans of which some batch has no answer yet."""
        for n, repair in enumerate(self.last):
            if repair.stored_s and not repair.installed_s and repair.plan_id not in unanswered:
                self.last[n] = replace(repair, installed_s=now)

    def optimised(self, now: float) -> None:
        """A plan for the links as they are is there, or the running one is as good."""
        if self.last and not self.last[-1].optimised_s:
            self.last[-1] = replace(self.last[-1], optimised_s=now)
