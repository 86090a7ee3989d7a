"""What the northbound needs from the rest of the brain, and who asks.

The brain implements ``Brain`` and hands it to ``server.NorthboundServer``; it reads intents from,
and reports their states to, the ``book.IntentBook`` that both share. Everything here runs on one
event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from controller.engine.foresight import Foresight
from controller.engine.wiring import WiringReport
from controller.fabric.model import Fabric
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState
from heald.v1 import fabric_pb2


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, for the audit log: the name of an authenticated peer, or its address."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class NetworkView:
    """One consistent moment of the network, taken ``time_s`` seconds after the epoch.

    The arrays of ``links`` are in the order of ``fabric.arcs``. ``links`` is None before the first
    sample, ``plan`` before the first plan. ``plan_committed``: every reachable switch has
    acknowledged its last phase. ``drained``: names of links.
    """

    fabric: Fabric
    time_s: float
    links: LinkState | None = None
    plan: Plan | None = None
    plan_committed: bool = False
    drained: frozenset[str] = frozenset()


class Brain(Protocol):
    """The engine and its shell, as seen from the northbound. No method may block."""

    def view(self) -> NetworkView:
        """The newest view. The fabric is known before the northbound starts."""
        ...

    def views(self) -> AsyncGenerator[NetworkView, None]:
        """The newest view at once, then one after each sample, link event or new plan.

        A reader that is slower than that gets the newest and misses those between. Closing the
        iterator (``aclose``) frees all that it holds.
        """
        ...

    def status(self) -> fabric_pb2.Status:
        """All of Status but ``version``, ``fabric*``, ``intents_by_state`` and ``plan``."""
        ...

    def wiring(self) -> WiringReport:
        """What probes have shown of the cables."""
        ...

    def queues(self) -> list[fabric_pb2.SwitchQueues]:
        """What the switches have of the queues of the classes."""
        ...

    async def foresee(self, drained: frozenset[str]) -> Foresight | None:
        """What would become of the traffic if these links, and no others, were drained; None while
        there is no plan, and where none can be made."""
        ...

    def drains_changed(self) -> None:
        """Drains changed durably; read them from the DrainBook."""
        ...

    def intents_changed(self, revision: int) -> None:
        """Specs changed durably, up to ``revision``; read them from the IntentBook."""
        ...
