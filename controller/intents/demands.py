"""What is asked of the network, in the form that the optimizer and the compiler read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from controller.fabric.model import AttachmentSet


class DemandKey(NamedTuple):
    """Traffic of one class that enters at one switch and leaves at one attachment set."""

    ingress: str
    egress: AttachmentSet
    traffic_class: str


@dataclass(frozen=True, slots=True)
class Reach:
    """NICs (``host/nic``) that one intent lets talk to each other."""

    intent: str
    nics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Demands:
    """All that is asked for. ``rate_bps[i]`` belongs to ``keys[i]``; keys are sorted and unique."""

    version: int
    reaches: tuple[Reach, ...]
    keys: tuple[DemandKey, ...]
    rate_bps: tuple[float, ...]
