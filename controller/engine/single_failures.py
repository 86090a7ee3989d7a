"""Everything that can fail alone: links, switches, and links that share a risk."""

from __future__ import annotations

from typing import NamedTuple

from controller.fabric.model import Fabric
from controller.optimizer.reservation import Protection


class Failure(NamedTuple):
    """``kind`` is link, switch or srlg; ``arcs`` die together."""

    kind: str
    name: str
    arcs: list[int]


def single_failures(fabric: Fabric, protection: Protection) -> list[Failure]:
    """Each level includes those before it; a risk of one link is that link's failure."""
    out: list[Failure] = []
    if protection >= Protection.LINK:
        out += [Failure("link", n.name, [2 * i, 2 * i + 1]) for i, n in enumerate(fabric.links)]
    if protection >= Protection.NODE:
        at: dict[str, list[int]] = {switch.name: [] for switch in fabric.switches}
        for arc in fabric.arcs:
            at[arc.tail.switch].append(arc.index)
            at[arc.head.switch].append(arc.index)
        out += [Failure("switch", name, arcs) for name, arcs in at.items()]
    if protection >= Protection.SRLG:
        risks: dict[str, list[int]] = {}
        for i, link in enumerate(fabric.links):
            for risk in link.srlgs:
                risks.setdefault(risk, []).extend((2 * i, 2 * i + 1))
        out += [Failure("srlg", name, arcs) for name, arcs in risks.items() if len(arcs) > 2]
    return out
