"""Leaf-spine sites, joined by border switches over wide-area links."""

from __future__ import annotations

from pydantic import Field

from controller.fabric.generate.draft import Draft, pairs
from controller.fabric.generate.leaf_spine import LeafSpine
from controller.fabric.generate.parameters import Rates, Some, Two
from controller.fabric.schema import Defaults

WAN = Rates.model_construct(latency=5e-3)


class MultiSite(LeafSpine):
    """Multi-site: a leaf-spine fabric at each site; border switches join every two sites."""

    kind = "multi-site"
    example = "--sites 3 --wan 100G --wan-latency 12ms"

    sites: Two = Field(default=2, description="sites")
    leaves: Some = Field(default=2, description="leaf switches of a site")
    spines: Some = Field(default=2, description="spine switches of a site")
    hosts: Some = Field(default=2, description="hosts of a leaf")
    borders: Some = Field(default=2, description="border switches of a site, on all its spines")
    wan: Rates = Field(default=WAN, description="links between sites")

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        borders: list[list[str]] = []
        for number in range(1, self.sites + 1):
            site = f"site{number}"
            spines = self._site(draft, defaults, site)
            borders.append(
                [
                    draft.switch(f"{site}-border{i + 1}", tier=2, role="border", site=site)
                    for i in range(self.borders)
                ]
            )
            for spine in spines:
                for border in borders[-1]:
                    draft.cable(spine, border)
        for a, b in pairs(self.sites):
            for here, there in zip(borders[a], borders[b], strict=True):
                draft.cable(here, there, self.wan)
