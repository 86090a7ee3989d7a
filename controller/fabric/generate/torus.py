"""Rings in every dimension: each router has two neighbours in each."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Annotated

from pydantic import Field, PlainValidator

from controller.fabric import quantities
from controller.fabric.addresses import NUMBERS
from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Parameters, Some
from controller.fabric.schema import Defaults


def _dimensions(value: object) -> tuple[int, ...]:
    """``4x4x2`` or a list of numbers."""
    words = value if isinstance(value, list) else str(value or "").split("x")
    sizes = tuple(quantities.number(word, 2, NUMBERS, "size of a dimension") for word in words)
    if not 1 <= len(sizes) <= 8:
        raise ValueError(f"{len(sizes)} dimensions: give 1 to 8, like 4x4x2")
    if prod(sizes) > NUMBERS:
        raise ValueError(f"{prod(sizes):,} routers, and {NUMBERS:,} are possible: choose fewer")
    return sizes


Dimensions = Annotated[tuple[int, ...], PlainValidator(_dimensions)]


class Torus(Parameters):
    """Torus: a router at each point of a grid, with a ring through it in every dimension."""

    kind = "torus"
    example = "--dimensions 4x4x4"

    dimensions: Dimensions = Field(
        default=(3, 3, 3), description="size of each dimension, like 4x4x2; 2 is one link, no ring"
    )
    hosts: Some = Field(default=1, description="hosts of a router")

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        points = list(product(*map(range, self.dimensions)))
        name = {
            point: draft.switch("node" + "-".join(map(str, point)), hosts=self.hosts)
            for point in points
        }
        for point in points:
            for _ in range(self.hosts):
                draft.host([[name[point]]], self.accelerators)
        for point in points:
            for axis, size in enumerate(self.dimensions):
                if point[axis] == size - 1 and size == 2:
                    continue  # The same two routers again.
                further = (point[axis] + 1) % size
                draft.cable(name[point], name[(*point[:axis], further, *point[axis + 1 :])])
