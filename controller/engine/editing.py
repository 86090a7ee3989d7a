"""An edit of the topology: which of the new fabric's parts are those of the old one.

Things are told apart by what they are, never by position: a switch by its datapath id, a port by
its switch and number, a link by its two ports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from controller.engine.accepted import Accepted
from controller.engine.events import Compiled, Respread
from controller.engine.names import Names, everybody
from controller.engine.placing import digests
from controller.engine.repair import Crossings, Repaired
from controller.fabric.meaning import meaning
from controller.fabric.model import Fabric, PortRef
from controller.optimizer.plan import Plan

Value = TypeVar("Value")
Scalar = TypeVar("Scalar", bound=np.generic)

NOT_STORED = 0
"""Id of a base that is not in the store as it stands, so that nothing is stored as a change of
it."""


@dataclass(frozen=True, eq=False)
class Edit:
    """``switches`` has the new name of each old switch that is still there. ``arc[new]`` is the
    index that the arc of the new fabric had in the old one, -1 where that had none. ``cosmetic``:
    no switch and no plan can tell the two fabrics apart."""

    before: Fabric
    after: Fabric
    names: Names
    switches: Mapping[str, str]
    arc: npt.NDArray[np.intp]
    cosmetic: bool

    @staticmethod
    def of(before: Fabric, after: Fabric) -> Edit:
        by_dpid = after.switch_by_dpid
        switches = {s.name: by_dpid[s.dpid].name for s in before.switches if s.dpid in by_dpid}
        known = {
            (_moved(arc.tail, switches), _moved(arc.head, switches)): arc.index
            for arc in before.arcs
        }
        arcs = [known.get((arc.tail, arc.head), -1) for arc in after.arcs]
        return Edit(
            before,
            after,
            Names.since(everybody(before), after),
            switches,
            np.array(arcs, np.intp),
            meaning(before) == meaning(after),
        )

    def port(self, ref: PortRef) -> PortRef | None:
        """What the old fabric's port is called now; None if its switch has gone."""
        return _moved(ref, self.switches)

    def of_switches(self, what: Mapping[str, Value]) -> dict[str, Value]:
        """What is known of each switch, by the new names of those that stay."""
        return {self.switches[s]: value for s, value in what.items() if s in self.switches}

    @cached_property
    def kept_links(self) -> Mapping[str, str]:
        """Old names of links to new ones."""
        return {
            self.before.links[old // 2].name: link.name
            for link, old in zip(self.after.links, self.arc[::2].tolist(), strict=True)
            if old >= 0
        }

    def by_arc(self, values: npt.NDArray[Scalar], new: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Values of the old arcs in the order of the new ones; of arcs that are new, those of
        ``new``."""
        if not len(values):
            return new
        return np.where(self.arc >= 0, values[self.arc], new)

    def accepted(self, accepted: Accepted) -> Accepted:
        """The same on the new fabric. Its tables are still those for the old one, if the edit is
        not cosmetic."""
        names = self.names
        flows = names.demands(accepted.demands).flows
        before = digests(accepted.demands.flows)
        asked = {i: d for i, d in digests(flows).items() if accepted.plan.asked.get(i) == before[i]}

        def renamed(plan: Plan) -> Plan:
            plan = names.plan(plan)
            return (
                plan
                if asked.items() <= plan.asked.items()
                else replace(plan, asked={**plan.asked, **asked})
            )

        plan, base, moved = renamed(accepted.plan), renamed(accepted.base), accepted.moved
        if not self.cosmetic:
            # What a repair is the difference to may cross links that are no more.
            base, moved = replace(plan, id=NOT_STORED), None
        elif base is not accepted.base:
            base = replace(base, id=NOT_STORED)
        if moved is not None:
            weights = {names.placement(key): row for key, row in moved.weights.items()}
            moved = Repaired(moved.up[self.arc], weights)
        tables_of = accepted.fabric
        return replace(
            accepted,
            plan=plan,
            base=base,
            crossings=self._crossings(accepted.crossings),
            demands=names.demands(accepted.demands),
            means=self._means(accepted.means),
            moved=moved,
            fabric=self.after if self.cosmetic and tables_of is self.before else tables_of,
        )

    def _means(self, means: Compiled | Respread) -> Compiled | Respread:
        """Without what is for switches that have gone: nobody is to be sent it, and another may
        have such a name some day. Crossings stay those of the old fabric."""
        if isinstance(means, Respread):
            return Respread(self.of_switches(means.groups))
        return replace(means, tables=self.of_switches(means.tables))

    def _crossings(self, crossings: Crossings) -> Crossings:
        parts: list[Any] = [
            crossings.path[crossings.begin[old] : crossings.begin[old + 1]] if old >= 0 else _NONE
            for old in self.arc.tolist()
        ]
        begin = np.cumsum([0, *map(len, parts)])
        return replace(crossings, begin=begin, path=np.concatenate([_NONE, *parts]))


def _moved(ref: PortRef, switches: Mapping[str, str]) -> PortRef | None:
    name = switches.get(ref.switch)
    return PortRef(name, ref.port) if name is not None else None


_NONE = np.zeros(0, np.int32)
