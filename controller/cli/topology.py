"""``heald topology``: topology files, what edits of them would do, and what becomes of edits."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from controller.cli.topology_apply import apply, watch
from controller.cli.topology_diff import diff
from controller.cli.topology_file import read_file
from controller.cli.topology_generate import generate
from controller.cli.topology_show import show
from controller.fabric.errors import Problem, TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric


@click.group()
def topology() -> None:
    """Make, check and compare topology files, and have the controller run one."""


topology.add_command(generate)
topology.add_command(show)
topology.add_command(diff)
topology.add_command(apply)
topology.add_command(watch)


@topology.command(
    epilog="""\b
Examples:
  heald topology check topologies/leaf-spine.yaml
  heald topology check topologies/*.yaml
  ./my-generator | heald topology check -
  heald topology check --json fabric.yaml | jq '.[].problems'
"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON list with an object for each file.")
def check(files: tuple[str, ...], as_json: bool) -> None:
    """Say everything that is wrong with topology files.

    Each problem is one line, FILE:line:column: what, and the cure. FILE may be - for standard
    input. Exit status: 0 if all files are right, 2 if not.
    """
    reports = []
    for file in files:
        shown = "<stdin>" if file == "-" else click.format_filename(file)
        report: dict[str, Any] = {"file": shown, "ok": False, "problems": [], "summary": None}
        try:
            fabric = load(read_file(file, shown), shown)
        except TopologyErrors as errors:
            report["problems"] = [_as_dict(problem) for problem in errors.problems]
            if not as_json:
                click.echo(str(errors))
        else:
            report |= {"ok": True, "summary": _summary(fabric)}
            if not as_json:
                counts = ", ".join(f"{n} {what}" for what, n in _summary(fabric)["counts"].items())
                click.echo(f"{shown}: fabric {fabric.name} is right: {counts}")
        reports.append(report)
    if as_json:
        click.echo(json.dumps(reports, indent=2))
    if not all(report["ok"] for report in reports):
        sys.exit(2)


def _summary(fabric: Fabric) -> dict[str, Any]:
    return {
        "fabric": fabric.name,
        "counts": {
            "switches": len(fabric.switches),
            "hosts": len(fabric.hosts),
            "NICs": len(fabric.nics),
            "accelerators": sum(len(host.accelerators) for host in fabric.hosts),
            "links": len(fabric.links),
        },
    }


def _as_dict(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {"file": where.file, "line": where.line, "column": where.column, "text": problem.text}
