"""What all hosts can send each other, and what every single failure leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.engine.planning import TREES_PER_EGRESS
from controller.engine.single_failures import single_failures
from controller.engine.view import demand_of, network_of
from controller.fabric.model import Fabric
from controller.intents.expand import connectivity
from controller.optimizer import forest, portfolio
from controller.optimizer.audit import audit
from controller.optimizer.enlarge import enlarge
from controller.optimizer.reservation import Protection


@dataclass(frozen=True, slots=True)
class Cost:
    """What the loss of a switch, of a link or of all links of a shared risk takes: ``cut_off`` of
    the traffic between switches has no way any more; all-to-all goes on at ``slower`` less than
    before. Both are shares."""

    kind: str
    name: str
    cut_off: float
    slower: float

    @property
    def lost(self) -> float:
        return 1 - (1 - self.cut_off) * (1 - self.slower)


@dataclass(frozen=True, slots=True)
class AllToAll:
    """``share`` of its rate that every NIC can send, in equal parts to all others, by the trees and
    weights that Heald plans; ``bound`` no weights over these trees exceed. ``costs``, worst first:
    right after the failure, before a new plan."""

    share: float
    bound: float
    costs: tuple[Cost, ...]


def all_to_all(fabric: Fabric) -> AllToAll:
    demands = connectivity(fabric, {"all": frozenset(nic.id for nic in fabric.nics)})
    usual = fabric.default_class.name
    asked = [
        (key, bps)
        for key, bps in zip(demands.keys, demands.rate_bps, strict=True)
        if key.traffic_class == usual
    ]
    keys = [key for key, _ in asked]
    egresses = sorted({key.egress for key in keys})
    network = network_of(fabric, None)
    demand = demand_of(fabric, keys, [bps for _, bps in asked], egresses)
    if not keys:
        return AllToAll(1.0, 1.0, ())
    members = [[fabric.switch_index[s] for s in egress] for egress in egresses]
    sources = {fabric.switch_index[key.ingress] for key in keys}
    grown = forest.grow(network, members, TREES_PER_EGRESS, None, sources)
    wider = enlarge(network, members, grown, demand)
    paths = wider.paths
    solution = portfolio.solve(network, demand, paths, wider.share)
    failing = single_failures(fabric, Protection.SRLG)
    found = audit(network, demand, paths, solution.share, [failure.arcs for failure in failing])
    total = float(demand.rate_bps.sum())
    costs = [
        Cost(kind, name, float(gone) / total, 1 - _rate(float(mlu), solution.mlu))
        for (kind, name, _), mlu, gone in zip(failing, found.mlu, found.cut_off_bps, strict=True)
    ]
    costs.sort(key=lambda cost: (-round(cost.lost, 6), cost.kind, cost.name))
    return AllToAll(
        min(1.0, 1 / solution.mlu), min(1.0, 1 / max(solution.bound, 1e-12)), tuple(costs)
    )


def _rate(after: float, before: float) -> float:
    """Of the rate before; neither exceeds what the NICs can send."""
    return min(1.0, max(before, 1.0) / max(after, 1.0)) if np.isfinite(after) else 0.0
