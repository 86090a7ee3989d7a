"""Shares by any strategy, and what single failures leave of plans that are made against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from controller.engine.single_failures import Failure, single_failures
from controller.fabric.model import Fabric
from controller.optimizer import robust, strategies
from controller.optimizer.audit import audit
from controller.optimizer.certificate import Solution
from controller.optimizer.paths import Paths, normalised, spread
from controller.optimizer.plan import Certificate
from controller.optimizer.problem import Demand, Floats, Ints, Network
from controller.optimizer.reservation import Protection

PROTECTING: Mapping[str, Protection] = {
    "protect-link": Protection.LINK,
    "protect-node": Protection.NODE,
    "protect-srlg": Protection.SRLG,
}
"""Strategies that minimise the worst case over single failures; see ``robust``."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """``bound``: see ``Certificate.failed_bound``; without ``failures`` there is none."""

    solution: Solution
    failures: Sequence[Failure] = ()
    bound: float = 0.0

    def audited(
        self, certificate: Certificate, network: Network, demand: Demand, paths: Paths, units: Ints
    ) -> Certificate:
        """The certificate of the bucket weights ``units[P]``, with what failures leave of them."""
        if not self.failures:
            return certificate
        share = normalised(paths, units.astype(float), spread(paths, by_capacity=True))
        found = audit(network, demand, paths, share, [each.arcs for each in self.failures])
        worst = self.failures[int(found.mlu.argmax())]
        return replace(
            certificate,
            failure=f"{worst.kind} {worst.name}",
            failed_mlu=float(found.mlu.max()),
            failed_bound=self.bound,
            cut_off_bps=float(found.cut_off_bps.max()),
        )


def solve(
    strategy: str,
    fabric: Fabric,
    network: Network,
    demand: Demand,
    paths: Paths,
    start: Floats | None = None,
) -> Solved:
    """Raises ValueError for an unknown strategy."""
    if strategy not in PROTECTING:
        return Solved(strategies.solve(strategy, network, demand, paths, start))
    failures = single_failures(fabric, PROTECTING[strategy])
    arcs = [failure.arcs for failure in failures]
    found = robust.protect(network, demand, paths, arcs, start)
    return Solved(found.solution, failures, found.bound)
