"""Who says how plans are made: the topology file, unless an option does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml"


@pytest.mark.parametrize(("option", "used"), [((), "wcmp"), (("--strategy=pop",), "pop")])
def test_the_strategy_of_the_topology_counts_unless_an_option_is_given(
    tmp_path: Path, option: tuple[str, ...], used: str
) -> None:
    topology = tmp_path / "fabric.yaml"
    topology.write_text("strategy: wcmp\n" + TOPOLOGY.read_text())
    command = [sys.executable, "-m", "controller.brain", f"--topology={topology}"]
    command += [f"--session-socket={tmp_path}/s.sock", f"--northbound=unix:{tmp_path}/n.sock"]
    command += [f"--state-dir={tmp_path}/state", *option]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as brain:
        assert brain.stderr is not None
        planned = next((line for line in brain.stderr if "plan 1 by" in line), "")
        brain.terminate()
        assert f"plan 1 by {used} (bound" in planned
