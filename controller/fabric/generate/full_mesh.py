"""A link between every two switches."""

from __future__ import annotations

from pydantic import Field

from controller.fabric.generate.draft import Draft, pairs
from controller.fabric.generate.parameters import Parameters, Some
from controller.fabric.schema import Defaults


class FullMesh(Parameters):
    """Full mesh: a link between every two switches."""

    kind = "full-mesh"
    example = "--switches 6 --hosts 4"

    switches: Some = Field(default=4, description="switches")
    hosts: Some = Field(default=2, description="hosts of a switch")
    cables: Some = Field(default=1, description="parallel links between two switches")

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        names = [draft.switch(f"s{i + 1}", hosts=self.hosts) for i in range(self.switches)]
        for name in names:
            for _ in range(self.hosts):
                draft.host([[name]], self.accelerators)
        for a, b in pairs(self.switches):
            draft.cable(names[a], names[b], count=self.cables)
