"""``heald bench``: how large a fabric this machine's controller can carry."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import click

from controller.cli import render
from controller.cli.bench_fabric import fat_tree
from controller.cli.bench_failover import failover
from controller.cli.bench_optimizer import optimizer
from controller.distribution import require_own_packages
from controller.fabric.generate.parameters import ParameterErrors
from controller.lab import large
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.large import ScaleReport, Usage
from controller.lab.large_ovs import OvsLab

_SWITCHES = {"emulated": EmulatedLab, "openvswitch": OvsLab}


@click.group()
def bench() -> None:
    """Measure the controller on this machine."""


bench.add_command(failover)
bench.add_command(optimizer)


@bench.command(
    epilog="""\b
Examples:
  heald bench scale --k 8
  heald bench scale --k 16 --switches both --json
"""
)
@click.option(
    "--fabric", type=click.Choice(["fat-tree"]), default="fat-tree", help="Its shape [fat-tree]"
)
@click.option("--k", default=8, help="Ports of a switch: k³/4 hosts on 5k²/4 switches [8]")
@click.option(
    "--switches",
    type=click.Choice([*_SWITCHES, "both"]),
    default="emulated",
    help="Emulated ones, or bridges of an Open vSwitch without a data path [emulated]",
)
@click.option("--timeout", default=600.0, metavar="SECONDS", help="Give up after so long [600]")
@click.option("--json", "as_json", is_flag=True, help="One JSON line for each kind of switch.")
def scale(fabric: str, k: int, switches: str, timeout: float, as_json: bool) -> None:
    """Connect all switches of a large fabric, and install an intent for all of its hosts.

    The time, the CPU and the memory that the controller's processes need, and apart from them
    those of the switches. Needs no root.
    """
    require_own_packages()
    began = time.monotonic()

    def progress(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    by = list(_SWITCHES) if switches == "both" else [switches]
    with tempfile.TemporaryDirectory(prefix="heald-bench-") as directory:
        topology = Path(directory) / "fabric.yaml"
        try:
            topology.write_text(fat_tree(k))
        except ParameterErrors as error:
            raise _failure(f"heald: {error}") from None
        for kind in by:
            try:
                report = large.measure(_SWITCHES[kind], kind, topology, timeout, progress)
            except LabError as error:
                raise _failure(f"heald: {error}") from None
            if as_json:
                click.echo(json.dumps(asdict(report)))
            else:
                _print(report)


def _print(report: ScaleReport) -> None:
    out = render.console()
    out.print(
        f"{report.fabric}: {report.switches} switches ({report.switches_by}), {report.hosts} hosts,"
        f" on {report.cpus} CPUs: connected in {report.connected_s:.1f} s, planned in "
        f"{report.planned_s:.1f} s, installed in {report.installed_s:.1f} s: "
        f"{report.flows} flows and {report.groups} groups by {report.messages} messages, "
        f"{report.reconnects} sessions broke"
    )
    made = render.table("PROCESS", ">CPU", ">MEMORY")
    for name, used in {**report.controller_processes, **report.switch_processes}.items():
        made.add_row(name, f"{used.cpu_s:.1f} s", _mib(used))
    out.print(made)


def _mib(used: Usage) -> str:
    return f"{used.memory_bytes >> 20} MiB"


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(render.EXIT_WRONG_INPUT)
