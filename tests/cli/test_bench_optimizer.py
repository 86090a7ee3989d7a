"""``heald bench optimizer`` on small problems; the large ones are for people."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from controller.cli import bench_optimizer
from controller.cli.bench import bench
from controller.lab import optimizers

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizers, "compile_seconds", lambda directory: 12.5)


@pytest.mark.timeout(400)
def test_peers_solve_the_same_problem_in_processes_of_their_own() -> None:
    arguments = ["optimizer", "--instances", "ft8_a2a", "--operations", "--json"]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    kernels, problem, *runs, work = map(json.loads, done.output.splitlines())
    assert kernels == {"kernels_compile_s": 12.5}
    assert problem["demands"] == 992
    asked = bench_optimizer.PEERS
    assert len(runs) == len(asked)
    for run, peer in zip(runs, asked, strict=True):
        assert run["method"].startswith(peer), run
    assert not [run["problem"] for run in runs if run["problem"]]
    bound = max(run["bound"] for run in runs)
    for run in runs:
        assert run["mlu"] >= bound * (1 - 1e-9), run
        if run["method"] in ("heald", "glop"):
            assert run["gap"] <= 0.01, run
    assert work["gap_worst"] <= 0.01
    assert work["audit_links"] > 200
    assert work["audit_worst"] >= 1
    assert 0.5 <= work["fair_part"] <= 1


def test_a_table_for_people() -> None:
    arguments = ["optimizer", "--instances", "ft8_a2a", "--peers", "heald,ecmp"]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    assert "compiling all kernels, once for a user: 12.5 s of CPU" in done.output
    assert "992 demands" in done.output
    assert "PROVEN GAP" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--instances", "ft9"], "no instance 'ft9'"),
        (["--instances", "kdl"], "kdl needs --network"),
        (["--peers", "cplex"], "no peer 'cplex': use some of heald"),
    ],
)
def test_unknown_names_are_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(bench, ["optimizer", *arguments])
    assert done.exit_code != 0
    assert said in done.output


def test_a_peer_that_fails_says_so(tmp_path: object) -> None:
    said = optimizers.run("x", optimizers.Path(str(tmp_path), "none.npz"), "heald", 0.01, 10.0)
    assert "No such file" in said.problem


def test_placements_are_compared_too() -> None:
    arguments = ["optimizer", "--instances", "placement_ft16", "--json"]
    arguments += ["--peers", "heald,ecmp-hash,round-robin,least-loaded"]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    heald, *others = map(json.loads, done.output.splitlines())
    assert heald["mlu"] == 1
    assert heald["bound"] == pytest.approx(1)
    assert len(others) == 3
    assert all(said["mlu"] > 1 for said in others), others
    wrong = CliRunner().invoke(bench, ["optimizer", "--instances", "placement_x"])
    assert "no instance 'placement_x'" in wrong.output
