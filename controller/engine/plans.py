"""What a plan is for, and whether two are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.dataplane.policy import admitted
from controller.engine.placing import digests
from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey, Demands
from controller.optimizer.plan import PlacedFlow, PlacementKey, Plan


def zones_of(demands: Demands) -> Mapping[str, frozenset[str]]:
    """The sides of intents that each NIC is on."""
    zones: dict[str, set[str]] = {}
    for reach in demands.reaches:
        for side in reach.sides:
            for nic in side.nics:
                zones.setdefault(nic, set()).add(side.name)
    return {nic: frozenset(sides) for nic, sides in zones.items()}


def covers(plan: Plan, fabric: Fabric, demands: Demands) -> bool:
    """Whether the plan can be compiled for these demands on this fabric as it stands, and serves
    nothing else: same zones, every demand placed, flows that ask for the same, every tree over
    links that exist."""
    ports = {(arc.tail.switch, arc.tail.port) for arc in fabric.arcs}
    return (
        plan.asked == digests(demands.flows)
        and {flow: pin.egress for flow, pin in plan.pins.items()}
        == {PlacedFlow(*flow.id): flow.egress for flow in demands.flows}
        and set(plan.zones) == set(zones_of(admitted(demands, plan.refused)).values())
        and set(plan.weights) == {PlacementKey(*key) for key in demands.keys}
        and all(hop in ports for tree in plan.trees for hop in tree.next_port.items())
    )


def same_on_switches(a: Plan, b: Plan) -> bool:
    """Whether switches hold the same under both, and intents are given the same."""
    return _content(a) == _content(b)


def _content(plan: Plan) -> tuple[object, ...]:
    pinned = plan.pins, plan.asked, plan.refused
    return plan.egresses, plan.trees, plan.weights, plan.zones, pinned


def unroutable(plan: Plan, demands: Demands) -> tuple[DemandKey, ...]:
    """Demands that the plan has no path for."""
    return tuple(key for key in demands.keys if PlacementKey(*key) not in plan.weights)


def differ_in_weights_only(a: Plan, b: Plan) -> bool:
    """Whether tables of one become those of the other by other weights of the same groups."""
    same = replace(b, weights=a.weights)
    return same_on_switches(a, same) and a.weights.keys() == b.weights.keys()
