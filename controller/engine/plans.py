"""What a plan is for, and whether two are the same."""

from __future__ import annotations

from collections.abc import Mapping

from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey, Demands
from controller.optimizer.plan import PlacementKey, Plan


def zones_of(demands: Demands) -> Mapping[str, frozenset[str]]:
    """The intents that each NIC takes part in."""
    zones: dict[str, set[str]] = {}
    for reach in demands.reaches:
        for nic in reach.nics:
            zones.setdefault(nic, set()).add(reach.intent)
    return {nic: frozenset(intents) for nic, intents in zones.items()}


def covers(plan: Plan, fabric: Fabric, demands: Demands) -> bool:
    """Whether the plan can be compiled for these demands on this fabric as it stands, and serves
    nothing else: same zones, every demand placed, every tree over links that exist."""
    ports = {(arc.tail.switch, arc.tail.port) for arc in fabric.arcs}
    return (
        set(plan.zones) == set(zones_of(demands).values())
        and set(plan.weights) == {PlacementKey(*key) for key in demands.keys}
        and all(hop in ports for tree in plan.trees for hop in tree.next_port.items())
    )


def same_on_switches(a: Plan, b: Plan) -> bool:
    """Whether switches hold the same under both."""
    return (a.egresses, a.trees, a.weights, a.zones) == (b.egresses, b.trees, b.weights, b.zones)


def unroutable(plan: Plan, demands: Demands) -> tuple[DemandKey, ...]:
    """Demands that the plan has no path for."""
    return tuple(key for key in demands.keys if PlacementKey(*key) not in plan.weights)


def differ_in_weights_only(a: Plan, b: Plan) -> bool:
    """Whether tables of one become those of the other by other weights of the same groups."""
    return (a.egresses, a.trees, a.zones) == (b.egresses, b.trees, b.zones) and (
        a.weights.keys() == b.weights.keys()
    )
