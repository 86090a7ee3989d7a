"""Two leaves for each rail of a segment, and every NIC has a port on either (dual-ToR).

With two planes, the leaves of either side have spines of their own, so a packet stays in the plane
that it entered; with one, all leaves share the spines.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from controller.fabric import quantities
from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Some
from controller.fabric.generate.rail import Rail
from controller.fabric.schema import Defaults

Planes = Annotated[int, PlainValidator(lambda v: quantities.number(v, 1, 2, "count of planes"))]


class DualPlane(Rail):
    """Dual-plane: as rail, but every NIC has a port on two leaves, one of each plane."""

    kind = "dual-plane"
    example = "--segments 2 --hosts 4 --rails 2 --spines 2"

    rails: Some = Field(default=1, description="rails; 1 puts all NICs of a host on a pair")
    spines: Some = Field(default=2, description="spines of a plane")
    planes: Planes = Field(default=2, description="2, or 1: all leaves share the spines")

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        of_plane = [
            [draft.switch(f"spine{plane}{i + 1}", tier=1, role="spine") for i in range(self.spines)]
            for plane in ("-a", "-b")[: self.planes] * (self.planes == 2) or [""]
        ]
        self._segments(draft, defaults, {"a": of_plane[0], "b": of_plane[-1]})
