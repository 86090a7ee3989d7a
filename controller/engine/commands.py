"""What the engine wants done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from controller.dataplane.tables import Phase
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.intents.model import IntentStatus
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import Bools, LinkState


class PlanKind(Enum):
    """ADOPT compiles the given plan as it stands; OPTIMISE makes a new one."""

    ADOPT = "adopt"
    OPTIMISE = "optimise"


@dataclass(frozen=True, slots=True, eq=False)
class PlanRequest:
    """Work for a worker; everything that it needs, and nothing that changes meanwhile.

    ``settled``: every switch of the fabric holds ``previous`` and nothing older. ``compiled``: its
    tables are there, for demands that join the same NICs; if the new plan has other weights and
    nothing else, these suffice. ``least_gain``: of MLU, for a plan that only has better weights;
    ``sticky``: without it the weights of ``previous`` stay, in a plan that is else the new one.
    """

    id: int
    kind: PlanKind
    strategy: str
    fabric: Fabric
    demands: Demands
    link_state: LinkState
    previous: Plan | None
    settled: bool
    compiled: bool
    least_gain: float
    sticky: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RequestPlan:
    request: PlanRequest


@dataclass(frozen=True, slots=True, eq=False)
class FindBlackHoles:
    """Find out which pairs of switches lose packets under the plan that switches hold, while only
    the arcs that are ``live`` carry any; answered by ``BlackHolesFound``."""

    fabric: Fabric
    plan: Plan
    live: Bools


@dataclass(frozen=True, slots=True)
class StorePlan:
    """Make the plan durable, then answer ``PlanStored``: nothing of it is sent before.

    ``base`` is the plan that was last stored in full, if this one differs from it in nothing but
    weights, so that these will do. Else ``body`` may be what ``plan_codec.body`` says of it.
    """

    plan: Plan
    base: Plan | None = None
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class SendBatch:
    switch: str
    session: int
    plan_id: int
    phase: Phase
    batch: int
    messages: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ReadSwitch:
    """Read back all that the switch holds; answered by ``SwitchRead``."""

    switch: str
    session: int


@dataclass(frozen=True, slots=True)
class OutgoingProbe:
    """A frame to send out of a port."""

    switch: str
    session: int
    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class SendProbes:
    """Send them now, or never: a probe that waits proves nothing."""

    probes: tuple[OutgoingProbe, ...]


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Tell the northbound how an intent fares."""

    intent: str
    status: IntentStatus


@dataclass(frozen=True, slots=True)
class Continue:
    """There is more to work out; answer ``Continued``, after whatever else waits."""


@dataclass(frozen=True, slots=True)
class FollowLinks:
    """Answer ``LinksDue`` after so long, and after whatever else waits: links fail in bursts."""

    after_s: float


@dataclass(frozen=True, slots=True)
class LinksMeasured:
    """New link state is to be had from the engine."""


@dataclass(frozen=True, slots=True)
class Log:
    """``level`` is a name of the logging module, in lower case."""

    level: str
    message: str


Command: TypeAlias = (
    RequestPlan
    | FindBlackHoles
    | StorePlan
    | SendBatch
    | ReadSwitch
    | SendProbes
    | Continue
    | FollowLinks
    | SetStatus
    | LinksMeasured
    | Log
)
