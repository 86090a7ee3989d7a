"""Kinds of intents: each says what an intent of it comes to on a fabric, and what is wrong."""

from __future__ import annotations

from controller.fabric.model import Fabric
from controller.intents.kinds import connectivity, point_to_point
from controller.intents.kinds.expansion import Expansion
from controller.intents.model import Connectivity, IntentSpec
from controller.intents.selectors import HINTS, Problem


def check(spec: IntentSpec, fabric: Fabric) -> tuple[Problem, ...]:
    """All that is wrong with an intent, for its owner; paths are fields of the kind's message."""
    if isinstance(spec, Connectivity):
        return connectivity.check(spec, fabric, HINTS)
    return point_to_point.check(spec, fabric, HINTS)


def expand(name: str, spec: IntentSpec, fabric: Fabric) -> Expansion:
    """What the intent ``name`` comes to, as far as the fabric has what it speaks of."""
    if isinstance(spec, Connectivity):
        return connectivity.expand(name, spec, fabric)
    return point_to_point.expand(name, spec, fabric)
