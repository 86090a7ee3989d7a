"""The running plan: which trees exist, how ingress traffic is spread over them, how good that is.

A plan is state. It is stored before its first message is sent, and a restart adopts it; names
identify switches so that it outlives edits of the fabric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PATH_TREES = range(512, 1024)
"""Ids of trees that hold the paths of pins and nothing else: they lead to the egress from the
switches of those paths alone. Trees with lower ids lead there from everywhere."""


class PlacementKey(NamedTuple):
    """Same fields as ``controller.intents.demands.DemandKey``, which this room may not import."""

    ingress: str
    egress: tuple[str, ...]
    traffic_class: str


class PlacedFlow(NamedTuple):
    """Same fields as ``controller.intents.demands.FlowId``, which this room may not import."""

    intent: str
    source: str
    destination: str
    ingress: str
    udp_source_port: int


@dataclass(frozen=True, slots=True)
class Pin:
    """The path of a flow: ids of two trees of ``egress`` that may hold no more than a path each.

    ``primary`` None: it has none, and goes like everything else or, where its ingress is a switch
    of the egress, needs none (``shortage`` tells). ``rate_bps`` is reserved on either path.
    ``shortage`` is a code of ``reservation.Shortage`` by name, or ``SHADOWED``: another flow pins
    the same packets. ``binding`` names the links that stand in the way of more, ``rivals`` the
    intents that hold capacity there, or that pin the packets.
    """

    egress: tuple[str, ...]
    primary: int | None
    backup: int | None = None
    rate_bps: float = 0.0
    protection: str = "none"
    shortage: str = "NOTHING"
    binding: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    best_latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PlannedEgress:
    """``id`` (0..16383) goes into labels; ``members`` are the switches where trees may end."""

    id: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedTree:
    """``next_port[switch]`` is the port a packet of this tree leaves by; members have none.

    ``id`` (0..1023) is unique within the egress and goes into labels.
    """

    egress: int
    id: int
    next_port: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Certificate:
    """How good the plan is on the snapshots it was made from; see ``problem.Solution``.

    ``mlu`` is of the integer bucket weights as installed, so ``gap`` includes their rounding.

    ``churn``: (share of the hash slots moved, MLU then) on the way from the weights before to the
    best ones, of which ``moved`` were worth it. ``proof``: what a second solver made of it; empty
    while nobody has asked. Of plans made against failures, ``failed_mlu`` is the MLU after the
    worst of them alone, ``failure``, when demands have turned to their other trees, or before any;
    ``failed_bound`` no weights of these trees are below after some failure, however traffic turns;
    ``cut_off_bps`` is the most that any of them leaves without a way.
    """

    strategy: str
    solver: str
    mlu: float
    bound: float
    gap: float
    seconds: float
    moved: float = 0.0
    churn: tuple[tuple[float, float], ...] = ()
    proof: str = ""
    failure: str = ""
    failed_mlu: float = 0.0
    failed_bound: float = 0.0
    cut_off_bps: float = 0.0


@dataclass(frozen=True, slots=True)
class Retired:
    """Numbers that the plan does not use, but that rules in some switch may still stand for.

    ``trees`` are (egress id, tree id).
    """

    egresses: frozenset[int] = frozenset()
    trees: frozenset[tuple[int, int]] = frozenset()
    zones: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MadeFor:
    """The fabric that a plan was made for: a digest of what plans depend on, and whom the names in
    it stand for, as that outlives the names. Switches are known by their datapath ids, the NICs of
    pins by their MACs, classes by their DSCP (None: everything else)."""

    digest: str = ""
    switches: Mapping[str, int] = field(default_factory=dict)
    nics: Mapping[str, int] = field(default_factory=dict)
    classes: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """``weights[key]`` maps tree id to bucket weight (positive, summing to a power of two).

    ``zones`` gives each set of sides of intents that some NIC is on a small number, for the guard
    table. ``load_bps`` maps ``(switch, port)`` of each arc to predicted load.
    ``pins`` are the point-to-point flows, whose rates are in ``load_bps``; ``certificate`` is of
    everything else, on what they leave. ``asked`` has a digest of what each of their intents asks
    for. Of the ``refused`` ones switches hold nothing: not all that they ask for can be had.
    ``made_from`` are the versions of (Fabric, Demands, LinkState). Nothing new may have a number
    that is ``retired``.
    """

    id: int
    made_from: tuple[int, int, int]
    egresses: tuple[PlannedEgress, ...]
    trees: tuple[PlannedTree, ...]
    weights: Mapping[PlacementKey, Mapping[int, int]]
    zones: Mapping[frozenset[str], int]
    load_bps: Mapping[tuple[str, int], float]
    certificate: Certificate
    retired: Retired = Retired()
    pins: Mapping[PlacedFlow, Pin] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    made_for: MadeFor = MadeFor()
