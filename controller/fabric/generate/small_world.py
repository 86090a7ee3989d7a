"""A ring with some of its links led elsewhere.

Watts and Strogatz, "Collective dynamics of 'small-world' networks" (Nature 393, 1998).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import networkx as nx
from pydantic import Field, PlainValidator

from controller.fabric import quantities
from controller.fabric.generate.draft import MAX_ELEMENTS, Draft
from controller.fabric.generate.parameters import ParameterErrors, Two
from controller.fabric.generate.random_graphs import TRIES, RandomGraph
from controller.fabric.schema import Defaults


def _percent(value: object) -> int:
    found = quantities.text(value, "a share like 20%")
    return quantities.number(found.removesuffix("%"), 0, 100, "share in per cent")


Percent = Annotated[int, PlainValidator(_percent)]


class SmallWorld(RandomGraph):
    """Small world: a ring in which every switch knows its nearest, and some links lead far away."""

    kind = "small-world"
    example = "--switches 24 --nearest 4 --rewired 20% --seed 7"

    nearest: Two = Field(default=4, description="neighbours on the ring, an even number")
    rewired: Percent = Field(default=20, description="per cent of the links that lead elsewhere")

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        if self.nearest % 2:
            yield "nearest", f"{self.nearest}: as many on either side, so give an even number"
        if self.nearest >= self.switches:
            yield (
                "nearest",
                f"{self.nearest} of {self.switches - 1} others: give fewer, or more switches",
            )
        elif self.nearest * self.switches > 2 * MAX_ELEMENTS:
            yield "nearest", f"more than {MAX_ELEMENTS:,} links: give fewer"

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        try:
            graph = nx.connected_watts_strogatz_graph(
                self.switches, self.nearest, self.rewired / 100, TRIES, self.seed
            )
        except nx.NetworkXError:
            raise ParameterErrors.of(
                "nearest", f"none of {TRIES} such graphs hangs together: give more neighbours"
            ) from None
        self._lay(draft, graph.edges())
