"""A second opinion on a plan: what linear programming makes of the same trees."""

from __future__ import annotations

from dataclasses import dataclass

from controller.engine.events import Proven
from controller.engine.pinned import left, reserved
from controller.engine.view import demand_of, view_of
from controller.fabric.model import Fabric
from controller.intents.demands import Demands
from controller.optimizer import paths
from controller.optimizer.certificate import dual_bound
from controller.optimizer.linear import Exact
from controller.optimizer.plan import Plan
from controller.optimizer.program import pdlp_parameters
from controller.optimizer.scaled import Scaled
from controller.telemetry.link_state import LinkState

MOST_HOPS = 8_000_000
"""Arcs of all paths together: beyond that, a model alone takes gigabytes."""
LIMIT_S = {"PDLP": 25.0}
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Doubt:
    """A plan with its trees, and the snapshots it was made from."""

    fabric: Fabric
    demands: Demands
    link_state: LinkState
    plan: Plan


def prove(doubt: Doubt) -> Proven:
    """Within some 30 s; pure, so that it runs in any process."""
    fabric, demands, plan = doubt.fabric, doubt.demands, doubt.plan
    made_from = fabric.version, demands.version, doubt.link_state.version
    view = view_of(plan, fabric, doubt.link_state)
    keys = [key for key in demands.keys if key.egress in view.position]
    rate = dict(zip(demands.keys, demands.rate_bps, strict=True))
    demand = demand_of(fabric, keys, [rate[key] for key in keys], view.egresses)
    network = left(view.network, reserved(plan, fabric))
    traced = paths.trace(network, view.forest, demand)
    if len(traced.arcs) > MOST_HOPS:
        return Proven(made_from, 0.0, "not confirmed: size")
    scaled = Scaled(network, demand, traced)
    parameters = {"PDLP": pdlp_parameters(TOLERANCE)}
    found = Exact(scaled, ("PDLP",), LIMIT_S, parameters).optimise(refine=False)
    if found.solver == "none":
        return Proven(made_from, 0.0, f"not confirmed: PDLP needs more than {LIMIT_S['PDLP']:g} s")
    bound = dual_bound(network, demand, traced, found.price)
    reached = scaled.mlu(found.share)
    text = (
        f"confirmed by {found.solver} in {found.seconds:.2g} s: shares of {100 * reached:.2f} % "
        f"exist, none below {100 * bound:.2f} %"
    )
    return Proven(made_from, bound, text)
