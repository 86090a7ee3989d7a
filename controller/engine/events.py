"""What can happen to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from controller.dataplane.black_holes import Pair
from controller.dataplane.tables import Groups, SwitchTables, Tables, with_groups
from controller.engine.repair import Crossings
from controller.fabric.model import Fabric
from controller.intents.demands import PinnedFlow, Reach
from controller.openflow.decode import Description
from controller.optimizer.plan import Certificate, Plan


@dataclass(frozen=True, slots=True)
class WantedIntent:
    """An intent as the northbound holds it, expanded on the current fabric.

    ``nics`` and ``peers`` are those of its ``reach``. ``problem`` is for people: what of the names
    that it uses no longer exists, None when all do.
    """

    name: str
    generation: int
    nics: frozenset[str]
    problem: str | None = None
    peers: frozenset[str] = frozenset()
    flows: tuple[PinnedFlow, ...] = ()

    @property
    def reach(self) -> Reach:
        return Reach(self.name, self.nics, self.peers)

    @property
    def endpoints(self) -> frozenset[str]:
        return self.nics | self.peers


@dataclass(frozen=True, slots=True)
class IntentsChanged:
    """All intents that are wanted from now on."""

    intents: Mapping[str, WantedIntent]


@dataclass(frozen=True, slots=True)
class SwitchConnected:
    switch: str
    session: int
    openflow: str
    peer: str
    ports: Mapping[int, bool]
    """Port number to whether it is live."""


@dataclass(frozen=True, slots=True)
class SwitchDescribed:
    """What the switch says that it is."""

    switch: str
    session: int
    description: Description


@dataclass(frozen=True, slots=True)
class SwitchDisconnected:
    switch: str
    session: int
    reason: str


@dataclass(frozen=True, slots=True)
class SwitchRead:
    """Everything that a switch holds: Heald's own entries, and how many others."""

    switch: str
    session: int
    tables: SwitchTables
    foreign: int


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """The switch sent what cannot be understood."""

    switch: str
    session: int
    error: str


@dataclass(frozen=True, slots=True)
class PortChanged:
    switch: str
    session: int
    port: int
    live: bool


@dataclass(frozen=True, slots=True)
class HeardFrame:
    """An LLDP frame that a switch has handed up."""

    switch: str
    session: int
    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class FramesHeard:
    """``shed``: so many more were not passed on, because there were too many."""

    frames: tuple[HeardFrame, ...]
    shed: int = 0


@dataclass(frozen=True, slots=True)
class ProbesDue:
    """Time passes for probes; sent many times a second, while they can be sent."""


@dataclass(frozen=True, slots=True)
class DrainsChanged:
    """All links that shall carry nothing because people ordered it."""

    links: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class FabricChanged:
    """People have edited the topology: the fabric from now on, with all intents that are wanted, as
    they expand on it, all links of it that are drained, and how plans are made."""

    fabric: Fabric
    intents: Mapping[str, WantedIntent]
    drained: frozenset[str]
    strategy: str


@dataclass(frozen=True, slots=True)
class BatchDone:
    switch: str
    session: int
    batch: int


@dataclass(frozen=True, slots=True)
class BatchFailed:
    switch: str
    session: int
    batch: int
    error: str


@dataclass(frozen=True, slots=True, eq=False)
class CountersRead:
    """Counters of one switch: columns of equal length for each kind of row."""

    switch: str
    session: int
    time_s: float
    port: npt.NDArray[np.int64]
    tx_bytes: npt.NDArray[np.int64]
    tx_dropped: npt.NDArray[np.int64]
    bucket_group: npt.NDArray[np.int64]
    bucket_index: npt.NDArray[np.int64]
    bucket_bytes: npt.NDArray[np.int64]
    queue_port: npt.NDArray[np.int64]
    queue_id: npt.NDArray[np.int64]
    queue_errors: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """How a plan does on given snapshots."""

    made_from: tuple[int, int, int]
    load_bps: Mapping[tuple[str, int], float]
    certificate: Certificate

    def of(self, plan: Plan) -> Plan:
        """The plan as foreseen."""
        return replace(
            plan,
            made_from=self.made_from,
            load_bps=self.load_bps,
            certificate=self.certificate,
        )


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a plan means for every switch, and which of its paths cross which arc."""

    tables: Tables
    crossings: Crossings

    def with_groups(self, groups: Groups) -> Compiled:
        return Compiled(with_groups(self.tables, groups), self.crossings)


@dataclass(frozen=True, slots=True)
class Respread:
    """By switch the groups of the previous plan that are others in this one, each the message that
    makes it. All else is the same, and so the plan comes without trees, egresses and zones."""

    groups: Groups

    def with_groups(self, groups: Groups) -> Respread:
        old = self.groups
        return Respread({s: {**old.get(s, {}), **groups.get(s, {})} for s in {**old, **groups}})


@dataclass(frozen=True, slots=True)
class PlanMade:
    """Answer to ``RequestPlan``: the plan and what it means for switches.

    ``worth``: its gain over the plan that it was to replace beats the churn. ``running`` is how
    that one does on the newest snapshots. ``body`` is what ``plan_codec.body`` says of the plan.
    """

    request: int
    plan: Plan
    means: Compiled | Respread
    worth: bool = True
    running: Forecast | None = None
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class PlanFailed:
    request: int
    error: str


@dataclass(frozen=True, slots=True)
class Proven:
    """What a second solver says of the plan ``made_from`` these snapshots: no weights over its
    trees have an MLU below ``bound``; ``text`` is for people."""

    made_from: tuple[int, int, int]
    bound: float
    text: str


@dataclass(frozen=True, slots=True)
class BlackHolesFound:
    """``error``: why they could not be found out, in words."""

    plan_id: int
    pairs: tuple[Pair, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class PlanStored:
    """``asked_s``: when writing it began."""

    plan_id: int
    asked_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Continued:
    """Answer to ``Continue``."""


@dataclass(frozen=True, slots=True)
class LinksDue:
    """Answer to ``FollowLinks``."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes; sent a few times a second. ``queues_ready``: the queues are there that flows of
    the fabric lead to."""

    queues_ready: bool = True


Event: TypeAlias = (
    IntentsChanged
    | SwitchConnected
    | SwitchDescribed
    | SwitchDisconnected
    | SwitchRead
    | ReadFailed
    | PortChanged
    | FramesHeard
    | ProbesDue
    | DrainsChanged
    | FabricChanged
    | BatchDone
    | BatchFailed
    | CountersRead
    | PlanMade
    | PlanFailed
    | Proven
    | BlackHolesFound
    | PlanStored
    | Continued
    | LinksDue
    | Tick
)
