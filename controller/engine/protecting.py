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
    """``bound``: see ``Certificate.failed_bound``."""

    solution: Solution
    bound: float = 0.0


def audited(
    certificate: Certificate,
    fabric: Fabric,
    network: Network,
    demand: Demand,
    paths: Paths,
    units: Ints,
) -> Certificate:
    """The certificate of the bucket weights ``units[P]``, with what those failures leave of them
    that its strategy plans against."""
    failures = _failures(certificate.strategy, fabric)
    if not failures:
        return certificate
    share = normalised(paths, units.astype(float), spread(paths, by_capacity=True))
    found = audit(network, demand, paths, share, [each.arcs for each in failures])
    worst = failures[int(found.mlu.argmax())]
    return replace(
        certificate,
        failure=f"{worst.kind} {worst.name}",
        # Less than before it where every failure takes load off the worst link, as ``Robust``.
        failed_mlu=max(certificate.mlu, float(found.mlu.max())),
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
    arcs = [failure.arcs for failure in _failures(strategy, fabric)]
    found = robust.protect(network, demand, paths, arcs, start)
    return Solved(found.solution, found.bound)


def _failures(strategy: str, fabric: Fabric) -> Sequence[Failure]:
    """None for strategies that do not look at any."""
    return single_failures(fabric, PROTECTING.get(strategy, Protection.NONE))
