"""What platforms ask of the network, and how far the network has got with it.

Times are seconds since the epoch. An intent is an immutable value: every change makes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Selector:
    """Chooses NICs; what each list names and what all of ``match_labels`` are on is added up.

    ``nics`` are ``host/nic``, ``accelerators`` ``host/accelerator`` and stand for their NIC.
    """

    all: bool = False
    hosts: tuple[str, ...] = ()
    nics: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    match_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connectivity:
    """All chosen endpoints reach each other, best effort."""

    endpoints: Selector


class Protection(str, Enum):
    """What of the primary path the backup keeps clear of."""

    NONE = "none"
    LINK = "link"
    NODE = "node"
    SRLG = "srlg"


class OnShortage(str, Enum):
    """What becomes of an intent that the network cannot give all that it asks for."""

    REJECT = "reject"
    DEGRADE = "degrade"


@dataclass(frozen=True, slots=True)
class PointToPoint:
    """Each chosen source NIC gets a path of its own to each chosen destination NIC.

    ``rate_bps`` is reserved in each direction for the intent as a whole, in equal parts for its
    pairs of NICs and, of each pair, for ``udp_source_ports``: each of them is a RoCE queue pair
    with a path of its own; without any, a pair is one flow. ``include`` and ``avoid`` name
    switches, links and shared risk groups. Higher ``priority`` comes first. An empty
    ``traffic_class`` is that of unmarked packets.
    """

    source: Selector
    destination: Selector
    rate_bps: float = 0.0
    traffic_class: str = ""
    max_latency_s: float | None = None
    include: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    protection: Protection = Protection.NONE
    bidirectional: bool = False
    udp_source_ports: tuple[int, ...] = ()
    priority: int = 0
    on_shortage: OnShortage = OnShortage.REJECT


IntentSpec: TypeAlias = Connectivity | PointToPoint


class IntentState(str, Enum):
    """Where an intent is in its life; ``lifecycle.TRANSITIONS`` says what may follow what."""

    PENDING = "PENDING"
    PLANNED = "PLANNED"
    INSTALLING = "INSTALLING"
    ACTIVE = "ACTIVE"
    DEGRADED = "DEGRADED"
    REJECTED = "REJECTED"
    WITHDRAWING = "WITHDRAWING"
    GONE = "GONE"


@dataclass(frozen=True, slots=True)
class IntentStatus:
    """``reason`` is a code for machines (``lifecycle.Reason``), ``message`` a sentence for people.

    ``observed_generation`` is the generation that this status speaks of, ``plan`` the id of the
    plan that carries it, 0 while there is none.
    """

    state: IntentState
    reason: str
    message: str = ""
    observed_generation: int = 0
    plan: int = 0
    transition_time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Intent:
    """``name`` is ``tenants/{tenant}/intents/{id}``.

    ``generation`` counts changes of the spec and never goes back, not even when an intent is
    applied again while it is being withdrawn; ``etag`` changes with labels and spec.
    """

    name: str
    spec: IntentSpec
    labels: Mapping[str, str] = field(default_factory=dict)
    generation: int = 1
    etag: str = ""
    create_time_s: float = 0.0
    update_time_s: float = 0.0
    status: IntentStatus = IntentStatus(IntentState.PENDING, "Accepted")

    @property
    def withdrawing(self) -> bool:
        """Deleted by its owner, but switches may still hold rules for it."""
        return self.status.state is IntentState.WITHDRAWING
