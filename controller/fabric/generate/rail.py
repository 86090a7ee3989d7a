"""Rail-optimised: NIC i of every host of a segment hangs on the segment's leaf of rail i.

So GPUs of the same place in their hosts talk over one leaf; traffic between rails or segments goes
over the spines. Leaves can come in pairs (dual-ToR): then every NIC has a port on either.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from controller.fabric.generate.draft import Draft
from controller.fabric.generate.parameters import Accelerators, Any_, Oversubscribed, Some
from controller.fabric.schema import Defaults, Maybe


class Rail(Oversubscribed):
    """Rail-optimised: NIC i of every host of a segment is on the segment's leaf of rail i."""

    kind = "rail"
    example = "--segments 2 --hosts 4 --rails 4 --spines 2"

    segments: Some = Field(default=2, description="segments, each with a leaf for each rail")
    hosts: Some = Field(default=4, description="hosts of a segment")
    rails: Some = Field(default=4, description="rails; 1 puts all NICs of a host on one leaf")
    nics: Maybe[Some] = Field(default=None, description="NICs of a host [one for each rail]")
    spines: Any_ = Field(default=2, description="spines; 0 joins nothing but the rails")
    accelerators: Maybe[Accelerators] = Field(  # type: ignore[assignment]
        default=None, description="accelerators of a host [one for each NIC]"
    )

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        yield from super().problems(defaults)
        nics = self._nics()
        if nics % self.rails:
            yield "nics", f"{nics} NICs on {self.rails} rails: give a multiple of the rails"
        if (self.accelerators or 0) % nics:
            yield (
                "accelerators",
                f"{self.accelerators} accelerators for {nics} NICs: give a multiple of the NICs",
            )
        if not self.spines and self.segments > 1:
            yield "spines", "nothing joins the segments: give at least 1, or one segment"

    def _nics(self) -> int:
        return self.rails if self.nics is None else self.nics

    def draw(self, draft: Draft, defaults: Defaults) -> None:
        spines = [draft.switch(f"spine{i + 1}", tier=1, role="spine") for i in range(self.spines)]
        self._segments(draft, defaults, {"": spines})

    def _segments(self, draft: Draft, defaults: Defaults, above: dict[str, list[str]]) -> None:
        """Leaves of each side (a letter, or none) below the spines of that side, and the hosts."""
        nics = self._nics()
        on_leaf = self.hosts * nics // self.rails
        accelerators = nics if self.accelerators is None else self.accelerators
        for segment in range(1, self.segments + 1):
            leaves = {
                side: [
                    draft.switch(
                        self._leaf(segment, rail, side),
                        tier=2 * (side == "b"),
                        hosts=on_leaf,
                        role="leaf",
                        pod=f"seg{segment}",
                    )
                    for rail in range(self.rails)
                ]
                for side in above
            }
            for _ in range(self.hosts):
                rails = [i % self.rails for i in range(nics)]
                draft.host(
                    [[leaves[side][rail] for side in above] for rail in rails],
                    accelerators,
                    rails if self.rails > 1 else None,
                )
            for side, spines in above.items():
                rates = self.uplinks(defaults, on_leaf / len(above), len(spines) * self.cables)
                for leaf in leaves[side]:
                    for spine in spines:
                        draft.cable(leaf, spine, rates, self.cables)

    def _leaf(self, segment: int, rail: int, side: str) -> str:
        name = f"seg{segment}-rail{rail}" if self.rails > 1 else f"leaf{segment}"
        return f"{name}-{side}" if side else name
