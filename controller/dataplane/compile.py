"""From what is wanted to what every switch holds."""

from __future__ import annotations

from controller.dataplane import neighbours
from controller.dataplane.classify import Classifier
from controller.dataplane.deliver import Delivery
from controller.dataplane.forest import Forest
from controller.dataplane.guard import install_guard, install_queues
from controller.dataplane.pins import Pins
from controller.dataplane.pipeline import SwitchBuilder
from controller.dataplane.policy import Policy, admitted
from controller.dataplane.repair import Adjacency
from controller.dataplane.tables import Tables
from controller.dataplane.transit import Transit
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan


def compile(fabric: Fabric, plan: Plan, demands: Demands) -> Tables:
    """The complete tables of every switch of the fabric: a function of its arguments alone, so that
    a restart compiles the same.

    Raises StalePlanError when the plan is not of this fabric and these demands.
    """
    demands = admitted(demands, plan.refused)
    policy = Policy.of(fabric, plan, demands)
    forest = Forest.of(fabric, plan)
    adjacency = Adjacency(fabric)
    delivery = Delivery(adjacency, forest, policy)
    pins = Pins.of(fabric, plan, forest, demands)
    transit = Transit.of(adjacency, forest, delivery.handed_over(), pins.labels())
    classifier = Classifier(fabric, plan, forest, policy, transit)
    out = {}
    for switch in fabric.switch_by_name:
        builder = SwitchBuilder()
        install_guard(fabric, policy, switch, builder)
        neighbours.install(fabric, policy, switch, builder)
        groups = classifier.install(switch, builder)
        pins.install(switch, builder, groups)
        install_queues(fabric, builder)
        transit.install(switch, builder)
        delivery.install(switch, builder)
        out[switch] = builder.tables()
    return out
