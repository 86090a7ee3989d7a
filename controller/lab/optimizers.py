"""Optimizers side by side on one problem, each in a process of its own, under one certificate."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from controller.lab import peers
from controller.optimizer import portfolio
from controller.optimizer.audit import audit, links_of, survivors
from controller.optimizer.baselines import BASELINES, shares
from controller.optimizer.baselines.pop import SETTINGS as POP
from controller.optimizer.buckets import evaluate, quantise
from controller.optimizer.certificate import Found, Solution, finish, gap
from controller.optimizer.descent import descend
from controller.optimizer.enlarge import enlarge
from controller.optimizer.fairness import fair_rates
from controller.optimizer.forest import grow
from controller.optimizer.instances import Instance
from controller.optimizer.linear import Exact
from controller.optimizer.paths import Paths, load, trace
from controller.optimizer.problem import Demand, Floats, Network
from controller.optimizer.program import pdlp_parameters
from controller.optimizer.scaled import Scaled
from controller.optimizer.warm import warm_up

FAILURES = 5
SETTINGS: Mapping[str, Sequence[str]] = {
    "pdlp": [f"pdlp-{tolerance}" for tolerance in ("1e-2", "1e-3", "1e-4", "1e-5")],
    "pop": list(POP),
}
"""Methods of peers that can be set, from the fastest to the most exact."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What was built, and the seconds of CPU that it took. With the shares that the trees were
    chosen by, the worst link is ``over_all_ways`` above the bound of any ways, on the trees or
    not; rounded to bucket weights, it is ``lost`` above that."""

    instance: str
    links: int
    demands: int
    paths: int
    hops: int
    trees: int
    forest_s: float
    trace_s: float
    over_all_ways: float
    lost: float
    buckets: float
    buckets_most: int
    rounding_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one problem: ``gap`` over its own bound, None where it proves none. ``wall_s``
    and ``cpu_s`` without start, kernels and file; ``solver_s`` is what OR-Tools says of itself."""

    instance: str
    method: str
    solver: str
    mlu: float
    bound: float
    gap: float | None
    wall_s: float
    cpu_s: float
    solver_s: float
    memory_mb: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Operations:
    """Work on a solution that is in force, in seconds of CPU: after each of ``failures`` links
    failed alone, to a certified ``gap`` (median and worst); and the audit of every link, whose
    worst MLU is ``audit_worst`` of that without failures. ``fair_s`` for max-min fair rates of
    demands twice as large as fit: ``fair_part`` of them is granted."""

    instance: str
    failures: int
    repair_s: float
    optimise_median_s: float
    optimise_worst_s: float
    gap_worst: float
    audit_links: int
    audit_s: float
    audit_worst: float
    fair_s: float
    fair_part: float


def build(name: str, instance: Instance, file: Path) -> Problem:
    """Grow the forest, trace the paths, and leave them in ``file`` for the runs."""
    warm_up()
    began = time.process_time()
    sources = set(instance.demand.source.tolist())
    network, demand = instance.network, instance.demand
    few = grow(network, instance.members, instance.trees, sources=sources)
    wider = enlarge(network, instance.members, few, demand)
    forest = wider.forest
    grown = time.process_time()
    paths = trace(network, forest, demand)
    traced = time.process_time()
    units = quantise(paths, wider.share, demand, network)
    rounded = time.process_time()
    _, mlu = evaluate(paths, units, demand, network)
    of_demand = np.bincount(paths.demand, units > 0)
    peers.save(file, peers.Problem(network, demand, paths))
    return Problem(
        name,
        len(network.tail) // 2,
        len(demand.source),
        len(paths),
        len(paths.arcs),
        len(forest.egress),
        grown - began,
        traced - grown,
        gap(wider.mlu, wider.bound),
        gap(mlu, wider.mlu),
        float(of_demand[of_demand > 0].mean()),
        int(of_demand.max()),
        rounded - traced,
    )


def run(name: str, file: Path, method: str, gap: float, limit_s: float) -> Run:
    """In a process of its own; what fails or takes longer than ``limit_s`` says so."""
    arguments = [name, str(file), method, str(gap), str(limit_s)]
    said, problem = peers.ask(__name__, arguments, limit_s, limit_s + 60)
    if said is None:
        return Run(name, method, "", np.inf, 0.0, None, 0.0, 0.0, 0.0, 0, problem)
    return Run(**said)


def operations(name: str, file: Path, gap: float, limit_s: float) -> Operations | None:
    """In a process of its own; None where it fails or takes longer than ``limit_s``."""
    arguments = [name, str(file), "operations", str(gap), "0"]
    said, _ = peers.ask(__name__, arguments, limit_s, limit_s + 60)
    return None if said is None else Operations(**said)


def compile_seconds(directory: Path) -> float:
    """CPU that compiling all kernels takes, with nothing in the cache."""
    text = (
        "import time; from controller.optimizer.warm import warm_up; t = time.process_time(); "
        "warm_up(); print(time.process_time() - t)"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"NUMBA_CACHE_DIR": str(directory), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def _solve(
    network: Network, demand: Demand, paths: Paths, method: str, gap: float, limit_s: float
) -> Solution:
    if method == "heald":
        found = portfolio.optimum(network, demand, paths, None, gap)
    elif method in POP or method in BASELINES:
        found = Found(_shares(method, network, demand, paths), np.zeros(len(network.tail)), "", 0.0)
    else:
        solver, _, tolerance = method.upper().partition("-")
        parameters = {"PDLP": pdlp_parameters(float(tolerance))} if tolerance else {}
        exact = Exact(Scaled(network, demand, paths), (solver,), {solver: limit_s}, parameters)
        found = exact.optimise(refine=False)
    return finish(network, demand, paths, found.share, found, found.solver)


def _shares(method: str, network: Network, demand: Demand, paths: Paths) -> Floats:
    if method in POP:
        return POP[method](network, demand, paths)
    return shares(method, network, demand, paths)


def _operate(name: str, network: Network, demand: Demand, paths: Paths, gap: float) -> Operations:
    """Links that carry something, picked at random, fail one at a time."""
    before = descend(Scaled(network, demand, paths), None, gap)
    carried = load(paths, before.share * demand.rate_bps[paths.demand], len(network.tail))
    links = [link for link in links_of(network) if carried[link].any()]
    clock = time.process_time
    repaired, optimised, gaps = [], [], []
    for i in np.random.default_rng(0).choice(len(links), FAILURES, replace=False).tolist():
        began = clock()
        rest, share = survivors(paths, before.share, links[i])
        repaired.append(clock() - began)
        scaled = Scaled(network, demand, rest)
        found = descend(scaled, share, gap, price=before.price)
        solution = finish(network, demand, rest, found.share, found, found.solver)
        optimised.append(clock() - began)
        gaps.append(solution.gap)
    began = clock()
    said = audit(network, demand, paths, before.share, links)
    audited = clock() - began
    excess = 2 / Scaled(network, demand, paths).mlu(before.share)
    asked = Demand(demand.source, demand.egress, demand.rate_bps * excess)
    began = clock()
    granted = fair_rates(network, asked, paths)
    fair_s = clock() - began
    return Operations(
        name,
        FAILURES,
        max(repaired),
        sorted(optimised)[FAILURES // 2],
        max(optimised),
        max(gaps),
        len(links),
        audited,
        float(said.mlu.max()) / Scaled(network, demand, paths).mlu(before.share),
        fair_s,
        float(granted.sum() / asked.rate_bps.sum()),
    )


def main() -> None:
    name, file, method, gap, limit = sys.argv[1:]
    network, demand, paths = peers.load(Path(file))
    assert paths is not None
    if method == "operations":
        print(json.dumps(asdict(_operate(name, network, demand, paths, float(gap)))))
        return
    solution, wall, cpu = peers.timed(
        partial(_solve, network, demand, paths, method, float(gap), float(limit))
    )
    proven = solution.bound > 0
    said = Run(
        name,
        method,
        solution.solver,
        solution.mlu,
        solution.bound,
        solution.gap if proven else None,
        wall,
        cpu,
        solution.seconds,
        peers.peak_memory_mb(),
        "not solved in time" if solution.solver == "none" else "",
    )
    print(json.dumps(asdict(said)))


if __name__ == "__main__":
    main()
