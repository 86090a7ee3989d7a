"""What the two kinds of random graphs share: switches, hosts, and cables along the edges."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Parameters, Seed, Some, Two

TRIES = 100
"""Graphs that are drawn before it is said that none of them hangs together."""


class RandomGraph(Parameters):
    """The same seed makes the same fabric, as long as networkx draws the same graphs."""

    switches: Two = Field(default=8, description="switches")
    hosts: Some = Field(default=1, description="hosts of a switch")
    seed: Seed = Field(default=0, description="another one makes another fabric")

    def _lay(self, draft: Draft, edges: Iterable[tuple[int, int]]) -> None:
        names = [draft.switch(f"s{i + 1}", hosts=self.hosts) for i in range(self.switches)]
        for name in names:
            for _ in range(self.hosts):
                draft.host([[name]], self.accelerators)
        for a, b in sorted((min(edge), max(edge)) for edge in edges):
            draft.cable(names[a], names[b])
