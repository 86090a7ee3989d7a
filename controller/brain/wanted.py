"""What the intents of the book come to on a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.engine.events import WantedIntent
from controller.fabric.model import Fabric
from controller.intents.kinds import expand
from controller.intents.model import Intent, IntentSpec

_PROBLEMS = 3


class WantedIntents:
    """Expands each spec once: a point-to-point intent may be thousands of flows."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Fabric, IntentSpec, WantedIntent]] = {}

    def of(self, intents: Mapping[str, Intent], fabric: Fabric) -> dict[str, WantedIntent]:
        """All of ``intents`` that are not being withdrawn."""
        made = {}
        for name, intent in intents.items():
            if intent.withdrawing:
                continue
            known = self._made.get(name)
            if known is None or known[0] is not fabric or known[1] is not intent.spec:
                known = fabric, intent.spec, _expand(intent, fabric)
            made[name] = known[0], known[1], replace(known[2], generation=intent.generation)
        self._made = made
        return {name: wanted for name, (_, _, wanted) in made.items()}


def _expand(intent: Intent, fabric: Fabric) -> WantedIntent:
    found = expand(intent.name, intent.spec, fabric)
    said = [p.message for p in found.problems[:_PROBLEMS]]
    if len(found.problems) > _PROBLEMS:
        said.append(f"and {len(found.problems) - _PROBLEMS} more")
    return WantedIntent(
        intent.name,
        intent.generation,
        found.reach.nics,
        "; ".join(said) or None,
        found.reach.peers,
        found.flows,
    )
