"""What is asked of the network, in the form that the optimizer and the compiler read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from controller.fabric.model import AttachmentSet
from controller.intents.model import OnShortage, Protection


class DemandKey(NamedTuple):
    """Traffic of one class that enters at one switch and leaves at one attachment set."""

    ingress: str
    egress: AttachmentSet
    traffic_class: str


class Side(NamedTuple):
    """NICs that may talk to the same ``peers`` for the same reason, which ``name`` stands for."""

    name: str
    nics: frozenset[str]
    peers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reach:
    """NICs (``host/nic``) that one intent lets talk: all of ``nics`` to each other or, where there
    are ``peers``, each of ``nics`` to each of ``peers`` and back, but not among themselves."""

    intent: str
    nics: frozenset[str]
    peers: frozenset[str] = frozenset()

    @property
    def sides(self) -> tuple[Side, ...]:
        """A NIC is in the zone that the names of all its sides make."""
        if not self.peers:
            return (Side(self.intent, self.nics, self.nics),)
        return (
            Side(f"{self.intent}:source", self.nics, self.peers),
            Side(f"{self.intent}:destination", self.peers, self.nics),
        )


class FlowId(NamedTuple):
    """One flow of a point-to-point intent, as it enters at one switch of its source NIC.

    NICs are ``host/nic``. ``udp_source_port`` is 0 where the flow is all traffic between the two.
    """

    intent: str
    source: str
    destination: str
    ingress: str
    udp_source_port: int

    def __str__(self) -> str:
        port = f" from UDP port {self.udp_source_port}" if self.udp_source_port else ""
        return f"{self.source} to {self.destination}{port}"


@dataclass(frozen=True, slots=True)
class PinnedFlow:
    """A flow that wants a path of its own; see ``intents.model.PointToPoint``. ``include`` and
    ``avoid`` name switches, links and shared risk groups of the fabric."""

    id: FlowId
    egress: AttachmentSet
    traffic_class: str
    rate_bps: float
    max_latency_s: float | None = None
    include: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    protection: Protection = Protection.NONE
    priority: int = 0
    on_shortage: OnShortage = OnShortage.REJECT


@dataclass(frozen=True, slots=True)
class Demands:
    """All that is asked for. ``rate_bps[i]`` belongs to ``keys[i]``; keys are sorted and unique,
    and so are ``flows`` by their ids."""

    version: int
    reaches: tuple[Reach, ...]
    keys: tuple[DemandKey, ...]
    rate_bps: tuple[float, ...]
    flows: tuple[PinnedFlow, ...] = ()
