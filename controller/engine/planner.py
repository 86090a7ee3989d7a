"""When a new plan is asked for, and whether the answer is taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from controller.engine.commands import PlanKind, PlanRequest
from controller.engine.judging import ABSOLUTE_GAIN
from controller.engine.numbering import numbers_of
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState

QUIET_S = 0.5
"""Links must have been as they are for so long before it is worked out what is best over them:
failures come in bursts, and what is urgent has been done."""
METRICS_HOLD_S = 3.0
"""Weights that measurements have just moved are left alone until the effect can be measured."""
RETRY_S = 2.0


class Reason(IntEnum):
    """Why a plan is wanted; a higher one is never satisfied by a plan made for a lower one. One for
    LINKS or less must be worth its churn; one for an EDIT of the topology must be as far as it
    only has other weights."""

    MEASUREMENT = 1
    LINKS = 2
    EDIT = 3
    CHANGE = 4


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What a plan is made from. ``serial`` counts changes of the fabric, of intents and of which
    links are up, and ``intents_serial`` is what it was at the last change of the first two."""

    fabric: Fabric
    demands: Demands
    link_state: LinkState
    serial: int
    intents_serial: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that has an answer. ``serial`` is that of its snapshots."""

    request: PlanRequest
    serial: int
    reason: Reason


@dataclass(slots=True)
class Planner:
    """At most one plan is under way at a time.

    An answer made for other intents than the newest is dropped and asked for again; one made for
    other links as well, unless new intents wait for it: however often links change, any plan can be
    repaired at once.
    """

    strategy: str
    _next_request: int = 1
    _asked: dict[int, Answered] = field(default_factory=dict)
    _wanted: Reason | None = None
    _not_before_s: float = 0.0
    _quiet_at_s: float = 0.0
    _retry_at_s: float = 0.0
    last_error: str = ""

    @property
    def wanted(self) -> bool:
        return self._wanted is not None

    def want(self, reason: Reason) -> None:
        self._wanted = max(reason, self._wanted or reason)

    def hold(self, until_s: float) -> None:
        """Ask for no plan on account of measurements before then."""
        self._not_before_s = until_s

    def links_changed(self, now: float, urgent: bool) -> None:
        """``urgent``: ask without waiting for others to change."""
        self.want(Reason.LINKS)
        self._quiet_at_s = now if urgent else now + QUIET_S

    def due(
        self,
        snapshots: Snapshots,
        newest: Plan | None,
        settled: bool,
        compiled: bool,
        now: float,
    ) -> PlanRequest | None:
        """The optimisation to ask for now, if one is wanted and none is under way; ``settled`` and
        ``compiled`` are of ``newest``, see ``PlanRequest``."""
        if self._wanted is None or any(
            a.request.kind is PlanKind.OPTIMISE for a in self._asked.values()
        ):
            return None
        if now < self._retry_at_s or (
            now < self._not_before_s and self._wanted is Reason.MEASUREMENT
        ):
            return None
        if now < self._quiet_at_s and self._wanted < Reason.EDIT:
            return None
        reason, self._wanted = self._wanted, None
        # As after a start: a switch that has come to the fabric may hold anything.
        settled = settled and reason is not Reason.EDIT
        return self._ask(PlanKind.OPTIMISE, snapshots, newest, reason, settled, compiled)

    def adopt(self, snapshots: Snapshots, stored: Plan) -> PlanRequest:
        return self._ask(PlanKind.ADOPT, snapshots, stored, Reason.CHANGE)

    def _ask(
        self,
        kind: PlanKind,
        snapshots: Snapshots,
        previous: Plan | None,
        reason: Reason,
        settled: bool = False,
        compiled: bool = False,
    ) -> PlanRequest:
        request = PlanRequest(
            self._next_request,
            kind,
            self.strategy,
            snapshots.fabric,
            snapshots.demands,
            snapshots.link_state,
            previous,
            settled,
            compiled,
            # A link that is back is used again, however little there is to carry just now.
            ABSOLUTE_GAIN if reason is Reason.MEASUREMENT else 0.0,
            sticky=reason is Reason.EDIT,
        )
        self._next_request += 1
        self._asked[request.id] = Answered(request, snapshots.serial, reason)
        return request

    def answered(
        self, request_id: int, newest_snapshots: Snapshots, newest: Plan | None
    ) -> Answered | None:
        """The answered request and why it was made; None when its answer is of no use any more.

        That is when it was made for older snapshots, see above, or another fabric; when it does not
        know numbers that the newest plan has given; and when it only adapts a plan that is not the
        newest.
        """
        asked = self._asked.pop(request_id, None)
        if asked is None:
            return None
        if asked.request.fabric is not newest_snapshots.fabric:
            if asked.request.kind is PlanKind.OPTIMISE:
                self.want(asked.reason)
            return None
        needed = newest_snapshots.serial
        if asked.reason >= Reason.EDIT and asked.request.kind is PlanKind.OPTIMISE:
            needed = newest_snapshots.intents_serial
        if asked.serial < needed:
            self.want(asked.reason)
            return None
        previous = asked.request.previous
        replaced = previous is not None and newest is not None and previous.id != newest.id
        if replaced and asked.request.kind is not PlanKind.OPTIMISE:
            return None
        if not _same_numbers(previous, newest):
            self.want(asked.reason)
            return None
        self.last_error = ""
        return asked

    def failed(self, request_id: int, error: str, now: float) -> None:
        """It is tried again after a pause."""
        asked = self._asked.pop(request_id, None)
        if asked is not None:
            self.last_error = error
            self._retry_at_s = now + RETRY_S
            self.want(asked.reason)


def _same_numbers(a: Plan | None, b: Plan | None) -> bool:
    """Whether what is made after ``a`` may come after ``b``."""
    if a is None or b is None:
        return a is b
    return numbers_of(a) == numbers_of(b) and a.retired == b.retired
