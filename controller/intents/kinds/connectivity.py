"""All chosen endpoints reach each other, best effort."""

from __future__ import annotations

from controller.fabric.model import Fabric
from controller.intents.demands import Reach
from controller.intents.kinds.expansion import Expansion, choose
from controller.intents.model import Connectivity
from controller.intents.selectors import Problem


def check(spec: Connectivity, fabric: Fabric, hints: int) -> tuple[Problem, ...]:
    """All that is wrong with it; the first ``hints`` mistakes get a suggestion."""
    chosen = choose("endpoints", spec.endpoints, fabric, hints)
    if len(chosen.nics) < 2 and not chosen.problems:
        only = ", ".join(chosen.nics) or "no NIC"
        fault = f"chooses only {only}; connectivity needs two NICs"
        return (Problem("endpoints", fault),)
    return chosen.problems


def expand(name: str, spec: Connectivity, fabric: Fabric) -> Expansion:
    chosen = choose("endpoints", spec.endpoints, fabric, hints=0)
    return Expansion(Reach(name, chosen.nics), (), chosen.problems)
