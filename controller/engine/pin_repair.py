"""Turning pins away from dead links without a solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.engine.pinned import Ways
from controller.fabric.model import Fabric
from controller.optimizer.plan import Pin, PlacedFlow, Plan
from controller.telemetry.link_state import LinkState


def swap_dead(plan: Plan, fabric: Fabric, link_state: LinkState) -> Mapping[PlacedFlow, Pin]:
    """The plan's pins with those that have lost their primary on their backup.

    Where that is dead too, a pin has no path until the next plan, and goes like everything else.
    Returns ``plan.pins`` itself when no primary is dead.
    """
    if not plan.pins:
        return plan.pins
    dead = {arc.tail: arc for arc in fabric.arcs if not link_state.up[arc.index]}
    hurt = {
        (tree.egress, tree.id)
        for tree in plan.trees
        if any(tree.next_port.get(port.switch) == port.port for port in dead)
    }
    if not hurt:
        return plan.pins
    ways = Ways(plan, fabric)
    number = {egress.members: egress.id for egress in plan.egresses}

    def broken(flow: PlacedFlow, pin: Pin, tree: int | None) -> frozenset[str]:
        """Links of the way that are down."""
        if (number[pin.egress], tree) not in hurt:
            return frozenset()
        way = ways.of(flow.ingress, pin.egress, tree) or ()
        return frozenset(fabric.arcs[arc].link for arc in way if not link_state.up[arc])

    changed = {}
    for flow, pin in plan.pins.items():
        down = broken(flow, pin, pin.primary)
        if not down:
            continue
        also_down = broken(flow, pin, pin.backup)
        if pin.backup is not None and not also_down:
            changed[flow] = replace(pin, primary=pin.backup, backup=pin.primary)
        else:
            changed[flow] = replace(
                pin,
                primary=None,
                backup=None,
                rate_bps=0.0,
                protection="none",
                shortage="UNREACHABLE",
                binding=tuple(sorted(down | also_down)),
                rivals=(),
            )
    return {**plan.pins, **changed} if changed else plan.pins
