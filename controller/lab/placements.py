"""Placements of flows side by side on one problem, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from controller.lab.optimizers import peak_memory_mb
from controller.optimizer.clos import candidates, recognise
from controller.optimizer.forest import grow
from controller.optimizer.instances import Instance
from controller.optimizer.packing import pack_best
from controller.optimizer.paths import Paths, trace
from controller.optimizer.pinning import MOST_CELLS, place
from controller.optimizer.placement import certify, routes_of
from controller.optimizer.placement_baselines import BASELINES
from controller.optimizer.problem import Demand, Network
from controller.optimizer.warm import warm_up

PEERS = ("heald", "cp-sat", *BASELINES)


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
    fields: dict[str, Any] = {}
    if recognise(network, ends) is None:
        sources = set(demand.source.tolist())
        forest = grow(network, instance.members, instance.trees, sources=sources)
        paths = trace(network, forest, demand)
        fields = {f"path_{x}": getattr(paths, x) for x in Paths.__dataclass_fields__}
    np.savez(
        file,
        nodes=network.nodes,
        **{name: getattr(network, name) for name in ("tail", "head", "capacity_bps")},
        **{name: getattr(demand, name) for name in ("source", "egress", "rate_bps")},
        **fields,
    )


def run(name: str, file: Path, method: str, limit_s: float) -> Run:
    """In a process of its own; what fails or takes much longer than ``limit_s`` says so."""
    command = [sys.executable, "-m", __name__, name, str(file), method, str(limit_s)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * limit_s + 60)
    except subprocess.TimeoutExpired:
        return _failed(name, method, f"not done in {limit_s:.0f} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return _failed(name, method, last[0])
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def _failed(name: str, method: str, problem: str) -> Run:
    return Run(name, method, 0, "", float("inf"), 0.0, 0.0, 0.0, 0, problem)


def main() -> None:
    name, file, method, limit = sys.argv[1:]
    with np.load(file) as data:
        network = Network(int(data["nodes"]), *(data[x] for x in ("tail", "head", "capacity_bps")))
        demand = Demand(*(data[x] for x in ("source", "egress", "rate_bps")))
        paths = None
        if "path_first" in data:
            paths = Paths(*(data[f"path_{x}"] for x in Paths.__dataclass_fields__))
    warm_up()
    members = [[n] for n in range(int(demand.egress.max()) + 1)]
    if method != "heald" and paths is None:
        ends = np.unique(np.concatenate((demand.source, demand.egress))).astype(np.int64)
        clos = recognise(network, ends)
        assert clos is not None
        if len(demand.source) * (clos.up.shape[1] + clos.to_core.shape[1]) > MOST_CELLS:
            sys.exit("too many paths to list")
        paths = candidates(clos, network, demand.source, demand.egress)
    wall, cpu = time.perf_counter(), time.process_time()
    if method == "heald":
        placed = place(network, demand, members, paths)
    else:
        assert paths is not None
        if method == "cp-sat":
            rows, bound = pack_best(network, demand, paths, float(limit))
        else:
            rows, bound = BASELINES[method](network, demand, paths, 0), 0.0
        if rows is None:
            sys.exit(f"nothing found in {limit} s")
        path = np.full(len(demand.source), -1, np.int64)
        path[paths.demand[paths.starts]] = rows
        placed = certify(network, demand, routes_of(paths, path), path, bound, method, 0.0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    said = Run(
        name,
        method,
        len(demand.source),
        placed.method,
        placed.mlu,
        placed.bound,
        wall,
        cpu,
        peak_memory_mb(),
    )
    print(json.dumps(asdict(said)))


if __name__ == "__main__":
    main()
