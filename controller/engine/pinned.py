"""The ways of pins over the arcs of a fabric, and what they leave to everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from controller.fabric.model import Fabric, PortRef
from controller.intents.demands import FlowId
from controller.optimizer.plan import Plan
from controller.optimizer.problem import Network
from controller.optimizer.reservation import Grant, Protection
from controller.telemetry.link_state import Floats

Way: TypeAlias = tuple[int, ...]

LEAST_LEFT = 0.05
"""Of what a link has, so much is planned with however much is reserved: reservations are seldom
used to the full, and traffic without any has to go somewhere."""


class Ways:
    """``of(ingress, egress, tree)``: arcs of the way by a tree of the plan, None where the fabric
    or the plan has none."""

    def __init__(self, plan: Plan, fabric: Fabric) -> None:
        self._fabric = fabric
        number = {egress.id: egress.members for egress in plan.egresses}
        self._trees = {(number[t.egress], t.id): t.next_port for t in plan.trees}

    def of(self, ingress: str, egress: tuple[str, ...], tree: int | None) -> Way | None:
        next_port = self._trees.get((egress, tree)) if tree is not None else None
        if next_port is None:
            return None
        way: list[int] = []
        at = ingress
        while at not in egress:
            arc = self._fabric.arc_by_tail.get(PortRef(at, next_port.get(at, -1)))
            if arc is None or len(way) > len(next_port):
                return None
            way.append(arc.index)
            at = arc.head.switch
        return tuple(way)


def grants_of(plan: Plan, fabric: Fabric) -> Mapping[FlowId, Grant]:
    """What each flow that has a way was given."""
    ways = Ways(plan, fabric)
    out = {}
    for flow, pin in plan.pins.items():
        primary = ways.of(flow.ingress, pin.egress, pin.primary)
        if primary is not None:
            backup = ways.of(flow.ingress, pin.egress, pin.backup)
            protection = Protection[pin.protection.upper()]
            out[FlowId(*flow)] = Grant(primary, backup, pin.rate_bps, protection)
    return out


def reserved(plan: Plan, fabric: Fabric) -> Floats:
    """What pins have reserved on their primaries, ``[A]``. Backups carry nothing until something
    fails, so what they reserve counts between pins alone."""
    ways = Ways(plan, fabric)
    return on_primaries(
        fabric,
        (
            (pin.rate_bps, ways.of(flow.ingress, pin.egress, pin.primary))
            for flow, pin in plan.pins.items()
        ),
    )


def on_primaries(fabric: Fabric, ways: Iterable[tuple[float, Way | None]]) -> Floats:
    """The sum of rates over each arc, ``[A]``."""
    total = np.zeros(len(fabric.arcs))
    for rate_bps, way in ways:
        if way:
            total[list(way)] += rate_bps
    return total


def left(network: Network, reserved_bps: Floats) -> Network:
    """The network with the capacity that is not reserved, but never less than ``LEAST_LEFT``;
    ``reserved_bps[A]`` of the fabric's arcs, without the dead one behind them."""
    if not reserved_bps.any():
        return network
    capacity = network.capacity_bps
    rest = np.maximum(capacity - np.append(reserved_bps, 0.0), LEAST_LEFT * capacity)
    return replace(network, capacity_bps=rest)
