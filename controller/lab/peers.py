"""Methods side by side on one problem: each in a process of its own, its time measured there."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from controller.optimizer.paths import Paths
from controller.optimizer.problem import Demand, Network
from controller.optimizer.warm import warm_up

_T = TypeVar("_T")


class Problem(NamedTuple):
    """``paths`` None: none are listed."""

    network: Network
    demand: Demand
    paths: Paths | None


class Answer(NamedTuple):
    """What a process said, or what became of it instead."""

    said: dict[str, Any] | None
    problem: str = ""


def save(file: Path, problem: Problem) -> None:
    network, demand, paths = problem
    traced = {} if paths is None else {x: getattr(paths, x) for x in Paths.__dataclass_fields__}
    np.savez(
        file,
        nodes=network.nodes,
        **{name: getattr(network, name) for name in ("tail", "head", "capacity_bps")},
        **{name: getattr(demand, name) for name in ("source", "egress", "rate_bps")},
        **{f"path_{name}": array for name, array in traced.items()},
    )


def load(file: Path) -> Problem:
    """In the process of a method: the problem, after all kernels have been loaded."""
    with np.load(file) as data:
        network = Network(int(data["nodes"]), *(data[x] for x in ("tail", "head", "capacity_bps")))
        demand = Demand(*(data[x] for x in ("source", "egress", "rate_bps")))
        paths = None
        if "path_first" in data:
            paths = Paths(*(data[f"path_{x}"] for x in Paths.__dataclass_fields__))
    warm_up()
    return Problem(network, demand, paths)


def ask(module: str, arguments: Sequence[str], limit_s: float, after_s: float) -> Answer:
    """Run ``python -m module arguments``, which prints a line of JSON, for at most ``after_s``;
    ``limit_s`` is what it was told."""
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=after_s)
    except subprocess.TimeoutExpired:
        return Answer(None, f"not done in {limit_s:.0f} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Answer(None, last[0])
    return Answer(json.loads(done.stdout.splitlines()[-1]))


def timed(work: Callable[[], _T]) -> tuple[_T, float, float]:
    """What it returns, and the seconds that it took: wall and CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def peak_memory_mb() -> int:
    """Of this process alone: ``getrusage`` counts its parent's before it became this program."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10
