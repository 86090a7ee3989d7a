"""Placements of flows side by side on one problem, each in a process of its own."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from controller.lab import peers
from controller.lab.peers import Problem
from controller.optimizer.baselines import WHOLE
from controller.optimizer.clos import candidates, recognise
from controller.optimizer.forest import grow
from controller.optimizer.instances import Instance
from controller.optimizer.packing import pack_best
from controller.optimizer.paths import Paths, trace
from controller.optimizer.pinning import MOST_CELLS, place
from controller.optimizer.placement import Placement, certify, routes_of

PEERS = ("heald", "cp-sat", *WHOLE)


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one instance: ``bound`` is 0 where it proves none; ``wall_s`` and ``cpu_s``
    without start, kernels and listing of paths (``heald`` on a Clos fabric lists its own)."""

    instance: str
    method: str
    flows: int
    solver: str
    mlu: float
    bound: float
    wall_s: float
    cpu_s: float
    memory_mb: int
    problem: str = ""


def build(instance: Instance, file: Path) -> None:
    """Leave the instance in ``file``; with the paths of a forest where it is no Clos fabric."""
    network, demand = instance.network, instance.demand
    ends = np.unique(np.concatenate((demand.source, demand.egress))).astype(np.int64)
    paths = None
    if recognise(network, ends) is None:
        sources = set(demand.source.tolist())
        forest = grow(network, instance.members, instance.trees, sources=sources)
        paths = trace(network, forest, demand)
    peers.save(file, Problem(network, demand, paths))


def run(name: str, file: Path, method: str, limit_s: float) -> Run:
    """In a process of its own; what fails or takes much longer than ``limit_s`` says so."""
    arguments = [name, str(file), method, str(limit_s)]
    said, problem = peers.ask(__name__, arguments, limit_s, 2 * limit_s + 60)
    if said is None:
        return Run(name, method, 0, "", float("inf"), 0.0, 0.0, 0.0, 0, problem)
    return Run(**said)


def _paths(problem: Problem) -> Paths:
    """For those that choose from a list, also on a Clos fabric."""
    network, demand, paths = problem
    if paths is not None:
        return paths
    ends = np.unique(np.concatenate((demand.source, demand.egress))).astype(np.int64)
    clos = recognise(network, ends)
    assert clos is not None
    if len(demand.source) * (clos.up.shape[1] + clos.to_core.shape[1]) > MOST_CELLS:
        sys.exit("too many paths to list")
    return candidates(clos, network, demand.source, demand.egress)


def _choose(problem: Problem, paths: Paths, method: str, limit_s: float) -> Placement:
    network, demand, _ = problem
    if method == "cp-sat":
        rows, bound = pack_best(network, demand, paths, limit_s)
    else:
        rows, bound = WHOLE[method](network, demand, paths, 0), 0.0
    if rows is None:
        sys.exit(f"nothing found in {limit_s} s")
    path = np.full(len(demand.source), -1, np.int64)
    path[paths.demand[paths.starts]] = rows
    return certify(network, demand, routes_of(paths, path), path, bound, method, 0.0)


def main() -> None:
    name, file, method, limit = sys.argv[1:]
    problem = peers.load(Path(file))
    network, demand, paths = problem
    if method == "heald":
        members = [[n] for n in range(int(demand.egress.max()) + 1)]
        work = partial(place, network, demand, members, paths)
    else:
        work = partial(_choose, problem, _paths(problem), method, float(limit))
    placed, wall, cpu = peers.timed(work)
    said = Run(
        name,
        method,
        len(demand.source),
        placed.method,
        placed.mlu,
        placed.bound,
        wall,
        cpu,
        peers.peak_memory_mb(),
    )
    print(json.dumps(asdict(said)))


if __name__ == "__main__":
    main()
