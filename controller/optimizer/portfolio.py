"""Strategy ``auto``: the method that suits the problem's size and shape.

Linear programming while that is quick, for it balances what does not bind as well as can be;
descent for what is larger; PDLP where descent stays above ``ACCEPTED_GAP``: symmetric problems with
many paths, such as permutations on a torus. Without compiled kernels, linear programming alone.
"""

from __future__ import annotations

from controller.optimizer import kernels
from controller.optimizer.certificate import Found, Solution, dual_bound, finish
from controller.optimizer.descent import descend
from controller.optimizer.hedging import toward_plain
from controller.optimizer.linear import Exact
from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Floats, Network
from controller.optimizer.program import pdlp_parameters
from controller.optimizer.scaled import Scaled

EXACT_PATHS = 4_000
TARGET_GAP = 1e-3
ACCEPTED_GAP = 1e-2
PDLP_LIMIT_S = {"PDLP": 20.0}


def solve(network: Network, demand: Demand, paths: Paths, start: Floats | None = None) -> Solution:
    """Shares of least MLU over the paths, with a certificate; ``start[P]`` are shares to begin
    from, such as those in force.

    Demands without rate get shares in proportion to the bottleneck capacity of their shortest
    paths.
    """
    scaled = Scaled(network, demand, paths)
    found = _exact(scaled, refine=True)
    if found is not None:
        return finish(network, demand, paths, found.share, found, found.solver)
    found = _descended(network, demand, scaled, start, TARGET_GAP)
    share = toward_plain(scaled, found.share, scaled.mlu(found.share))
    return finish(network, demand, paths, share, found, found.solver)


def optimum(
    network: Network,
    demand: Demand,
    paths: Paths,
    start: Floats | None = None,
    target_gap: float = TARGET_GAP,
) -> Found:
    """Shares and prices of the MLU problem alone, without balancing what does not bind."""
    scaled = Scaled(network, demand, paths)
    found = _exact(scaled, refine=False)
    return found or _descended(network, demand, scaled, start, target_gap)


def _exact(scaled: Scaled, refine: bool) -> Found | None:
    """By linear programming, where that is quick or all there is."""
    if kernels.problem:
        return Exact(scaled).optimise(refine)
    if len(scaled.columns) > EXACT_PATHS:
        return None
    found = Exact(scaled, ("GLOP",)).optimise(refine)
    return found if found.solver == "GLOP" or not len(scaled.columns) else None


def _descended(
    network: Network, demand: Demand, scaled: Scaled, start: Floats | None, target_gap: float
) -> Found:
    best = tight = descend(scaled, start, target_gap, ACCEPTED_GAP)
    seconds, solver = best.seconds, best.solver
    mlu, bound = scaled.mlu(best.share), dual_bound(network, demand, scaled.paths, best.price)
    for tolerance in (target_gap / 10, target_gap / 100):
        if mlu <= bound * (1 + ACCEPTED_GAP):
            break
        exact = Exact(scaled, ("PDLP",), PDLP_LIMIT_S, {"PDLP": pdlp_parameters(tolerance)})
        found = exact.optimise(refine=False)
        seconds, solver = seconds + found.seconds, "descent, PDLP"
        reached = scaled.mlu(found.share)
        proven = dual_bound(network, demand, scaled.paths, found.price)
        if reached < mlu:
            best, mlu = found, reached
        if proven > bound:
            tight, bound = found, proven
    return Found(best.share, tight.price, solver, seconds)
