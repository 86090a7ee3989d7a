"""Optimizers side by side on one problem, each in a process of its own, under one certificate."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from controller.optimizer import portfolio
from controller.optimizer.audit import audit, links_of, survivors
from controller.optimizer.baselines import BASELINES
from controller.optimizer.certificate import Found, Solution, finish, gap
from controller.optimizer.descent import descend
from controller.optimizer.enlarge import enlarge
from controller.optimizer.fairness import fair_rates
from controller.optimizer.forest import grow
from controller.optimizer.instances import Instance
from controller.optimizer.linear import Exact
from controller.optimizer.paths import Paths, load, trace
from controller.optimizer.problem import Demand, Network
from controller.optimizer.program import pdlp_parameters
from controller.optimizer.scaled import Scaled
from controller.optimizer.warm import warm_up

FAILURES = 5
PDLP_TOLERANCES = ("1e-2", "1e-3", "1e-4", "1e-5")


@dataclass(frozen=True, slots=True)
class Problem:
    """What was built, and the seconds of CPU that it took. With the shares that the trees were
    chosen by, the worst link is ``over_all_ways`` above the bound of any ways, on the trees or
    not."""

    instance: str
    links: int
    demands: int
    paths: int
    hops: int
    trees: int
    forest_s: float
    trace_s: float
    over_all_ways: float


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
    np.savez(
        file,
        nodes=network.nodes,
        **{name: getattr(network, name) for name in ("tail", "head", "capacity_bps")},
        **{name: getattr(demand, name) for name in ("source", "egress", "rate_bps")},
        **{f"path_{field}": getattr(paths, field) for field in Paths.__dataclass_fields__},
    )
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
    )


def run(name: str, file: Path, method: str, gap: float, limit_s: float) -> Run:
    """In a process of its own; what fails or takes longer than ``limit_s`` says so."""
    command = [sys.executable, "-m", __name__, name, str(file), method, str(gap), str(limit_s)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s + 60)
    except subprocess.TimeoutExpired:
        return _failed(name, method, f"not done in {limit_s:.0f} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return _failed(name, method, last[0])
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def operations(name: str, file: Path, gap: float, limit_s: float) -> Operations | None:
    """In a process of its own; None where it fails or takes longer than ``limit_s``."""
    command = [sys.executable, "-m", __name__, name, str(file), "operations", str(gap), "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s + 60)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else Operations(**json.loads(done.stdout.splitlines()[-1]))


def _failed(name: str, method: str, problem: str) -> Run:
    return Run(name, method, "", np.inf, 0.0, None, 0.0, 0.0, 0.0, 0, problem)


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
    elif method in BASELINES:
        share = BASELINES[method](network, demand, paths)
        found = Found(share, np.zeros(len(network.tail)), "", 0.0)
    else:
        solver, _, tolerance = method.upper().partition("-")
        parameters = {"PDLP": pdlp_parameters(float(tolerance))} if tolerance else {}
        exact = Exact(Scaled(network, demand, paths), (solver,), {solver: limit_s}, parameters)
        found = exact.optimise(refine=False)
    return finish(network, demand, paths, found.share, found, found.solver)


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


def peak_memory_mb() -> int:
    """Of this process alone: ``getrusage`` counts its parent's before it became this program."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def main() -> None:
    name, file, method, gap, limit = sys.argv[1:]
    with np.load(file) as data:
        network = Network(int(data["nodes"]), *(data[x] for x in ("tail", "head", "capacity_bps")))
        demand = Demand(*(data[x] for x in ("source", "egress", "rate_bps")))
        paths = Paths(*(data[f"path_{x}"] for x in Paths.__dataclass_fields__))
    warm_up()
    if method == "operations":
        print(json.dumps(asdict(_operate(name, network, demand, paths, float(gap)))))
        return
    wall, cpu = time.perf_counter(), time.process_time()
    solution = _solve(network, demand, paths, method, float(gap), float(limit))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
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
        peak_memory_mb(),
        "not solved in time" if solution.solver == "none" else "",
    )
    print(json.dumps(asdict(said)))


if __name__ == "__main__":
    main()
