"""Two tiers: every leaf has a link to every spine."""

from __future__ import annotations

from pydantic import Field

from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Oversubscribed, Some
from controller.fabric.schema import Defaults


class LeafSpine(Oversubscribed):
    """Leaf-spine: every leaf has a link to every spine."""

    kind = "leaf-spine"
    example = "--leaves 8 --spines 4 --hosts 16 --oversubscription 2"

    leaves: Some = Field(default=4, description="leaf switches")
    spines: Some = Field(default=2, description="spine switches")
    hosts: Some = Field(default=2, description="hosts of a leaf")

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        self._site(draft, defaults)

    def _site(self, draft: Draft, defaults: Defaults, site: str | None = None) -> list[str]:
        """Leaves with their hosts, and the spines, which are returned."""
        before = "" if site is None else f"{site}-"
        rates = self.uplinks(defaults, self.hosts, self.spines * self.cables)
        leaves = [
            draft.switch(f"{before}leaf{i + 1}", hosts=self.hosts, role="leaf", site=site)
            for i in range(self.leaves)
        ]
        spines = [
            draft.switch(f"{before}spine{i + 1}", tier=1, role="spine", site=site)
            for i in range(self.spines)
        ]
        for leaf in leaves:
            for _ in range(self.hosts):
                draft.host([[leaf]], self.accelerators)
            for spine in spines:
                draft.cable(leaf, spine, rates, self.cables)
        return spines
