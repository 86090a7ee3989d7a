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


IntentSpec: TypeAlias = Connectivity


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
