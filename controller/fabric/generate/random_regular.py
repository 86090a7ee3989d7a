"""Random graphs in which every switch has as many links.

Singla, Hong, Popa and Godfrey, "Jellyfish: Networking Data Centers Randomly" (NSDI 2012).
"""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
from pydantic import Field

from controller.fabric.generate.draft import MAX_ELEMENTS, Draft
from controller.fabric.generate.parameters import ParameterErrors, Some
from controller.fabric.generate.random_graphs import TRIES, RandomGraph
from controller.fabric.schema import Defaults


class RandomRegular(RandomGraph):
    """Random regular (Jellyfish): every switch has as many links, to switches drawn by lot."""

    kind = "random-regular"
    example = "--switches 32 --degree 6 --seed 7"

    degree: Some = Field(default=3, description="links of a switch")

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        if self.degree >= self.switches:
            yield (
                "degree",
                f"{self.degree} links to {self.switches - 1} others: give fewer, or more switches",
            )
        elif self.degree * self.switches % 2:
            yield (
                "degree",
                f"{self.degree} links of {self.switches} switches: make one of the two even",
            )
        elif self.degree * self.switches > 2 * MAX_ELEMENTS:
            yield "degree", f"more than {MAX_ELEMENTS:,} links: give fewer"

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        for attempt in range(TRIES):
            seed = self.seed + attempt * 2**32
            # Drawing pairs ends up in dead ends where nearly all are taken: draw who has none.
            most = self.switches - 1
            dense = 2 * self.degree > most
            degree = most - self.degree if dense else self.degree
            graph = nx.random_regular_graph(degree, self.switches, seed=seed)
            graph = nx.complement(graph) if dense else graph
            if nx.is_connected(graph):
                self._lay(draft, graph.edges())
                return
        raise ParameterErrors.of(
            "degree", f"none of {TRIES} such graphs hangs together: give more links, 3 or so"
        )
