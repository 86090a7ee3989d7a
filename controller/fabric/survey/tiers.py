"""Tiers of a fabric, by how far their switches are from hosts, and what they can carry upward."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from controller.fabric.build import natural
from controller.fabric.model import Fabric


@dataclass(frozen=True, slots=True)
class Tier:
    """Switches as many links from the nearest host as ``level`` says.

    Bits per second of each switch: ``down_bps`` from hosts or the tier below, ``up_bps`` to the
    tier above, ``across_bps`` to the same tier.
    """

    level: int
    switches: tuple[str, ...]
    roles: tuple[str, ...]
    down_bps: tuple[float, ...]
    up_bps: tuple[float, ...]
    across_bps: tuple[float, ...]

    @property
    def oversubscription(self) -> float | None:
        """Of the worst switch: what comes from below to what leads on. None if nothing leads on."""
        onward = self.up_bps if any(self.up_bps) else self.across_bps
        found = [down / on for down, on in zip(self.down_bps, onward, strict=True) if on]
        return max(found, default=None)


def tiers(fabric: Fabric) -> tuple[Tier, ...]:
    """From the hosts up. Switches that no host can reach are in none."""
    level = {name: 0 for name, nics in fabric.nics_on.items() if nics}
    frontier = list(level)
    while frontier:
        reached = [a.head.switch for name in frontier for a in fabric.arcs_from[name]]
        depth = level[frontier[0]] + 1
        frontier = [name for name in dict.fromkeys(reached) if name not in level]
        level |= dict.fromkeys(frontier, depth)
    toward: dict[tuple[str, int], float] = defaultdict(float)
    for nic in fabric.nics:
        for port in nic.attachments:
            toward[port.switch, -1] += nic.capacity_bps / len(nic.attachments)
    for arc in fabric.arcs:
        if arc.tail.switch in level and arc.head.switch in level:
            step = level[arc.head.switch] - level[arc.tail.switch]
            toward[arc.tail.switch, step] += arc.capacity_bps
    made = []
    for each in sorted(set(level.values())):
        names = sorted((name for name in level if level[name] == each), key=natural)
        rates = {step: tuple(toward[name, step] for name in names) for step in (-1, 0, 1)}
        roles = tuple(sorted({fabric.switch_by_name[name].role for name in names}))
        made.append(Tier(each, tuple(names), roles, rates[-1], rates[1], rates[0]))
    return tuple(made)
