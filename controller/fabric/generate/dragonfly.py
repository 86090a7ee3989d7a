"""Groups of fully meshed routers, and links between every two groups.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology" (ISCA 2008):
with a routers to a group, p hosts and h global links to a router there are up to a·h + 1 groups;
balanced is a = 2p = 2h.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from controller.fabric.generate.draft import Draft, pairs
from controller.fabric.generate.parameters import Parameters, Rates, Some, Two
from controller.fabric.schema import Defaults, Maybe


class Dragonfly(Parameters):
    """Dragonfly: groups of fully meshed routers, with links between every two groups."""

    kind = "dragonfly"
    example = "--routers 4 --globals 2 --hosts 2"

    routers: Some = Field(default=4, description="routers of a group")
    hosts: Some = Field(default=2, description="hosts of a router")
    globals: Some = Field(default=2, description="links of a router to other groups")
    groups: Maybe[Two] = Field(default=None, description="groups [routers · globals + 1]")
    global_link: Rates = Field(default=Rates(), description="links between groups")

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        most = self.routers * self.globals + 1
        if self.groups is not None and self.groups > most:
            yield (
                "groups",
                f"{self.groups}, and {most} can be joined: give fewer, or more routers or globals",
            )

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        groups = self.groups or self.routers * self.globals + 1
        group = [
            [
                draft.switch(f"g{g + 1}-r{r + 1}", hosts=self.hosts, pod=f"group{g + 1}")
                for r in range(self.routers)
            ]
            for g in range(groups)
        ]
        for routers in group:
            for router in routers:
                for _ in range(self.hosts):
                    draft.host([[router]], self.accelerators)
            for a, b in pairs(self.routers):
                draft.cable(routers[a], routers[b])
        # The n-th global link of a group leads to the group that is n + 1 further on, round and
        # round while every other group gets as many.
        others = groups - 1
        copies = self.routers * self.globals // others
        for q, t in pairs(groups):
            for copy in range(copies):
                here = copy * others + t - q - 1
                there = copy * others + groups - (t - q) - 1
                draft.cable(
                    group[q][here // self.globals],
                    group[t][there // self.globals],
                    self.global_link,
                )
