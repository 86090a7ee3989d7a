"""Fat trees of k-port switches.

Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture" (SIGCOMM
2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k³/4 hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, PlainValidator

from controller.fabric import quantities
from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Oversubscribed, Some
from controller.fabric.schema import Defaults, Maybe

K = Annotated[int, PlainValidator(lambda value: quantities.number(value, 2, 128, "port count"))]


class FatTree(Oversubscribed):
    """Fat tree: k pods of k/2 edge and k/2 aggregation switches, under (k/2)² cores."""

    kind = "fat-tree"
    example = "--k 8"

    k: K = Field(default=4, description="ports of a switch, an even number")
    hosts: Maybe[Some] = Field(default=None, description="hosts of an edge switch [k/2]")

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        yield from super().problems(defaults)
        if self.k % 2:
            yield "k", f"{self.k} ports have no half: give an even number"

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        half = self.k // 2
        hosts = half if self.hosts is None else self.hosts
        rates = self.uplinks(defaults, hosts, half * self.cables)
        edges: list[str] = []
        above: list[list[str]] = []
        for pod in range(1, self.k + 1):
            inside = [
                draft.switch(f"edge{pod}-{i + 1}", hosts=hosts, role="leaf", pod=f"pod{pod}")
                for i in range(half)
            ]
            for edge in inside:
                for _ in range(hosts):
                    draft.host([[edge]], self.accelerators)
            above.append(
                [
                    draft.switch(f"agg{pod}-{i + 1}", tier=1, role="aggregation", pod=f"pod{pod}")
                    for i in range(half)
                ]
            )
            edges += inside
            for edge in inside:
                for aggregation in above[-1]:
                    draft.cable(edge, aggregation, rates, self.cables)
        cores = [draft.switch(f"core{i + 1}", tier=2, role="core") for i in range(half * half)]
        for aggregations in above:
            for i, aggregation in enumerate(aggregations):
                for core in cores[i * half : (i + 1) * half]:
                    draft.cable(aggregation, core, rates, self.cables)
