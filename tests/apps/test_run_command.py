"""`heald run` becomes ryu-manager with the same options."""

from __future__ import annotations

import os
import sys

import pytest
from click.testing import CliRunner

from controller.cli.run import run


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, argv: calls.append(argv))
    return calls


def test_options_are_those_of_ryu_manager(executed: list[list[str]]) -> None:
    arguments = "f.yaml --northbound unix:/n --listen [::1]:7 --no-metrics --strategy ecmp"
    result = CliRunner().invoke(run, [*arguments.split(), "--", "--verbose"])
    assert result.exit_code == 0, result.output
    (argv,) = executed
    assert argv[0] == sys.executable
    assert argv[argv.index("apps.fabric") + 1 :] == [
        "--fabric-topology=f.yaml",
        "--fabric-northbound=unix:/n",
        "--fabric-strategy=ecmp",
        "--fabric-nometrics",
        "--ofp-listen-host=::1",
        "--ofp-tcp-listen-port=7",
        "--verbose",
    ]


def test_what_is_not_given_is_left_to_the_defaults(executed: list[list[str]]) -> None:
    assert CliRunner().invoke(run, ["--brain", "unix:/b", "--", "--verbose"]).exit_code == 0
    (argv,) = executed
    assert argv[argv.index("apps.fabric") :] == [
        "apps.fabric",
        "--fabric-brain=unix:/b",
        "--verbose",
    ]


def test_a_wrong_address_is_said_before_anything_starts(executed: list[list[str]]) -> None:
    result = CliRunner().invoke(run, ["f.yaml", "--listen", "here"])
    assert result.exit_code == 2
    assert "give HOST:PORT" in result.output
    assert not executed
