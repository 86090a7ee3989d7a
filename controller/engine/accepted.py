"""A plan that is to be or has been installed, and how it follows the links."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from controller.dataplane.ingress import respread
from controller.dataplane.tables import Groups
from controller.engine.events import Compiled, Forecast, Proven, Respread
from controller.engine.repair import Crossings, Repaired
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer.certificate import gap
from controller.optimizer.plan import Plan
from controller.telemetry.link_state import LinkState


@dataclass(frozen=True, slots=True)
class Accepted:
    """``plan`` is ``base``, but for weights that are ``moved``.

    ``serial`` is that of the snapshots it serves. ``means``: all that switches should hold, or the
    groups that are others than under the plan before. ``fabric`` is the one that the tables are
    for; ``crossings`` follow the newest.
    """

    plan: Plan
    base: Plan
    crossings: Crossings
    serial: int
    demands: Demands
    means: Compiled | Respread
    fabric: Fabric
    moved: Repaired | None = None

    def foreseen(self, forecast: Forecast) -> Accepted:
        """The same with loads and certificate as on newer snapshots. While weights are moved they
        are the loads of these, not of the base."""
        plan = forecast.of(self.plan)
        base = (
            self.base if self.moved is not None and self.moved.weights else forecast.of(self.base)
        )
        return replace(self, plan=plan, base=base)

    def proven(self, proof: Proven) -> Accepted:
        """The same with the better bound, if its certificate is of the same snapshots."""
        if self.plan.made_from != proof.made_from:
            return self
        said = self.plan.certificate
        bound = min(said.mlu, max(said.bound, proof.bound))
        better = replace(said, bound=bound, gap=gap(said.mlu, bound), proof=proof.text)
        return replace(self, plan=replace(self.plan, certificate=better))

    def turned(self, fabric: Fabric, link_state: LinkState) -> tuple[Accepted, Groups]:
        """The same turned to the links that live, and the groups that are then others; itself if
        that is what it is."""
        plan, base = self.plan, self.base
        moved = self.crossings.repaired(base, link_state.up, self.moved)
        before = self.moved.weights if self.moved is not None else {}
        weights = {**base.weights, **moved.weights}
        others = [key for key in {**before, **moved.weights} if weights[key] != plan.weights[key]]
        if not others:
            return self, {}
        made_from = (*plan.made_from[:2], link_state.version)
        # What the others carry is known with the next plan, or the next forecast.
        dead = [fabric.arcs[arc].tail for arc in np.flatnonzero(~link_state.up).tolist()]
        load_bps = {**base.load_bps, **{(end.switch, end.port): 0.0 for end in dead}}
        turned = replace(plan, weights=weights, made_from=made_from, load_bps=load_bps)
        return replace(self, plan=turned, moved=moved), respread(turned, fabric.classes, others)
