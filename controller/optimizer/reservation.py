"""Requests for paths of their own with reserved capacity, and what each was given: arrays only.

Unlike demands, which spread over a forest, a request takes one path, and a second one beside it
where it asks for protection. Paths are sequences of arc indices from the source to a member of the
egress.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from controller.optimizer.problem import Floats, Ints, Network


class Protection(IntEnum):
    """What the backup shares with the primary at most: nothing but what ``source`` and egress
    force on both. Each level includes those before it."""

    NONE = 0
    LINK = 1
    NODE = 2
    SRLG = 3


@dataclass(frozen=True, slots=True, eq=False)
class Terrain:
    """A network with what constraints speak of: ``latency_s[A]``, ``link[A]`` (both directions of
    a link have the same number), ``risks[link]`` the shared risk groups of each link."""

    network: Network
    latency_s: Floats
    link: Ints
    risks: Sequence[frozenset[int]]


@dataclass(frozen=True, slots=True)
class Request:
    """One flow. ``members`` are the nodes where it may end. Reserves ``rate_bps`` on every arc of
    its primary, and as much on its backup. ``max_latency_s`` holds for both; inf is none.

    The primary passes each of ``via`` (each a set of arcs, any one of which will do); neither path
    uses ``avoid``. A higher ``priority`` may displace lower ones. ``degrade``: take what can be had
    (first less protection, then less rate) instead of nothing.
    """

    source: int
    members: frozenset[int]
    rate_bps: float
    protection: Protection = Protection.NONE
    max_latency_s: float = float("inf")
    via: tuple[frozenset[int], ...] = ()
    avoid: frozenset[int] = frozenset()
    priority: int = 0
    degrade: bool = False


class Shortage(IntEnum):
    """Why a request got less than it asked for; in the order in which they are found out."""

    NOTHING = 0
    UNREACHABLE = 1  # no path at all, whatever its rate
    CONSTRAINED = 2  # none that passes via and avoids what it must
    TOO_SLOW = 3  # none within max_latency_s
    NOT_DISJOINT = 4  # no two that are as disjoint as protection asks
    NO_CAPACITY = 5  # such paths exist, but they are full


@dataclass(frozen=True, slots=True)
class Grant:
    """What a request got. ``primary`` is None if nothing (an empty path: source is a member).

    ``binding`` are the arcs without which, or with more room on which, it would have got more:
    those on the ways where the fewest stand in the way (UNREACHABLE: dead ones; CONSTRAINED: those
    avoided, or of the vias that cannot be passed; NOT_DISJOINT: what any two paths share).
    ``rivals`` are the requests, by index, of no lower priority that hold capacity there.
    ``best_latency_s`` is the least that was possible where ``shortage`` is TOO_SLOW. ``proven`` is
    False where a search for more had to stop at a limit.
    """

    primary: tuple[int, ...] | None
    backup: tuple[int, ...] | None = None
    rate_bps: float = 0.0
    protection: Protection = Protection.NONE
    shortage: Shortage = Shortage.NOTHING
    binding: tuple[int, ...] = ()
    rivals: tuple[int, ...] = ()
    best_latency_s: float = 0.0
    proven: bool = True
