"""Turning pins away from dead links without a solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.engine.pinned import Way, Ways
from controller.fabric.model import Fabric
from controller.optimizer.plan import Pin, PlacedFlow, Plan
from controller.telemetry.link_state import LinkState


def swap_dead(plan: Plan, fabric: Fabric, link_state: LinkState) -> Mapping[PlacedFlow, Pin]:
    """The plan's pins with those that have lost their primary on their backup.

    Where that is dead too, a pin has no path until the next plan, and goes like everything else.
    Returns ``plan.pins`` itself when no primary is dead.
    """
    ways = Ways(plan, fabric)

    def dead(flow: PlacedFlow, pin: Pin, tree: int | None) -> Way:
        """The arcs of the way that are down."""
        way = ways.of(flow.ingress, pin.egress, tree)
        return tuple(arc for arc in way or () if not link_state.up[arc])

    def lives(flow: PlacedFlow, pin: Pin, tree: int | None) -> bool:
        way = ways.of(flow.ingress, pin.egress, tree)
        return way is not None and not dead(flow, pin, tree)

    changed = {}
    for flow, pin in plan.pins.items():
        if pin.primary is None or lives(flow, pin, pin.primary):
            continue
        if lives(flow, pin, pin.backup):
            changed[flow] = replace(pin, primary=pin.backup, backup=pin.primary)
        else:
            broken = dead(flow, pin, pin.primary) + dead(flow, pin, pin.backup)
            names = tuple(sorted({fabric.arcs[arc].link for arc in broken}))
            changed[flow] = replace(
                pin,
                primary=None,
                backup=None,
                rate_bps=0.0,
                protection="none",
                shortage="UNREACHABLE",
                binding=names,
                rivals=(),
            )
    return {**plan.pins, **changed} if changed else plan.pins
