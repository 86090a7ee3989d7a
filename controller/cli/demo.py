"""``heald demo``: the main job in a lab on this machine, with a report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.fabric.errors import TopologyErrors
from controller.intents import words
from controller.lab import demo as lab_demo
from controller.lab import requirements
from controller.lab.demo import Failover, Report, Reroute, Trial
from controller.lab.demo_emulated import EmulatedBed
from controller.lab.demo_openvswitch import OpenVSwitchBed
from controller.lab.errors import LabError
from heald.distribution import topologies_dir


@click.command(
    epilog="""\b
Examples:
  sudo heald demo
  heald demo --emulated
  sudo heald demo --json | tail -n 1 | jq .mlu
"""
)
@click.option(
    "--emulated", is_flag=True, help="Emulated switches, also where there is root and Open vSwitch."
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON line; no report.")
def demo(emulated: bool, as_json: bool) -> None:
    """Run the whole loop in a lab on this machine and report what it measured.

    An asymmetric leaf-spine fabric on Open vSwitch, two jobs as intents, the same traffic under
    ECMP and under the plan, then a cut cable; takes about two minutes. Without root or Open vSwitch
    the switches are emulated, and traffic is a fluid: loads are measured all the same, but not how
    long a failover takes.
    """
    began = time.monotonic()

    def progress(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    directory = topologies_dir()
    topology = directory / "leaf-spine-asymmetric.yaml"
    intents = directory / "intents" / "two-jobs.yaml"
    try:
        lacks = "" if emulated else requirements.missing()
        if lacks is None:
            report = lab_demo.run(lambda: OpenVSwitchBed(topology, progress), intents, progress)
        else:
            progress(f"{lacks} The switches of this demo are emulated.".lstrip())
            report = lab_demo.run(lambda: EmulatedBed(topology), intents, progress)
    except (LabError, TopologyErrors) as error:
        raise _failure(f"heald: {error}") from None
    if as_json:
        click.echo(json.dumps(_as_json(report)))
    else:
        _print(report, intents)


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(render.EXIT_WRONG_INPUT)


def _as_json(report: Report) -> dict[str, Any]:
    failover = report.cut if isinstance(report.cut, Failover) else None
    return {
        "mode": report.mode,
        "solver": report.planned.solver,
        "fabric": report.fabric.name,
        "switches": report.switches,
        "intents_installed": _active(report),
        "mlu": report.planned.mlu_predicted,
        "mlu_bound": report.planned.bound,
        "mlu_ecmp": report.ecmp.mlu_predicted,
        "mlu_measured": report.planned.mlu_measured,
        "mlu_ecmp_measured": report.ecmp.mlu_measured,
        "failover_ms": failover.silence_ms if failover else None,
        "lost_packets": failover.lost if failover else None,
        "seconds": round(report.seconds, 1),
    }


def _active(report: Report) -> int:
    return sum(render.state_of(intent) == "ACTIVE" for intent in report.intents)


def _print(report: Report, intents: Path) -> None:
    out = render.console()
    fabric = report.fabric
    out.rule(f"fabric {fabric.name}")
    out.print(
        f"{len(fabric.switches)} switches ({report.switches} connected), "
        f"{len(fabric.links)} links, {len(fabric.hosts)} hosts; slowest link "
        f"{render.bps(min(link.capacity_bps for link in fabric.links))}bit/s, fastest "
        f"{render.bps(max(link.capacity_bps for link in fabric.links))}bit/s"
    )
    out.print()
    out.rule(f"intents of {intents.name}")
    _print_intents(out, report)
    out.rule("trees and weights from leaf1")
    _print_trees(out, report.planned)
    out.rule("load of each link: predicted and measured, % of capacity")
    _print_links(out, report)
    _print_summary(out, report)


def _print_intents(out: Console, report: Report) -> None:
    made = render.table("INTENT", "STATE", "ENDPOINTS", "REASON")
    for intent in report.intents:
        made.add_row(
            words.short_name(intent.name),
            render.state(render.state_of(intent)),
            render.endpoints(intent.spec.connectivity.endpoints),
            intent.status.message or intent.status.reason,
        )
    out.print(made)
    out.print()


def _print_trees(out: Console, trial: Trial) -> None:
    made = render.table("TO", ">TREE", ">WEIGHT", "PATH")
    for placement in trial.plan.placements:
        if placement.ingress != "leaf1":
            continue
        for i, tree in enumerate(placement.trees):
            made.add_row(
                "+".join(placement.egress) if i == 0 else "",
                str(tree.tree),
                str(tree.weight),
                " → ".join(tree.path),
            )
    out.print(made)
    out.print()


def _print_links(out: Console, report: Report) -> None:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("SENDER")
    made.add_column("CAPACITY", justify="right")
    for name in ("ECMP", "PLAN"):
        made.add_column(f"{name} predicted", justify="right")
        made.add_column("measured", justify="right")
        made.add_column("", min_width=render.BAR_CELLS)
    worst = {id(lab_demo.worst(trial.links)) for trial in (report.ecmp, report.planned)}
    for before, after in zip(report.ecmp.links, report.planned.links, strict=True):
        row: list[str | Text] = [before.sender, render.bps(before.capacity_bps)]
        for load in (before, after):
            predicted = load.predicted_bps / load.capacity_bps
            measured = load.measured_bps / load.capacity_bps
            row += [
                render.percent(predicted),
                render.percent(measured),
                render.bar(measured, "red" if id(load) in worst else "cyan"),
            ]
        made.add_row(*row)
    out.print(made)
    out.print()


def _print_summary(out: Console, report: Report) -> None:
    ecmp, plan = report.ecmp, report.planned
    made = render.table("WORST LINK", ">PREDICTED", ">MEASURED", "")
    made.add_row("ECMP", render.percent(ecmp.mlu_predicted), render.percent(ecmp.mlu_measured), "")
    made.add_row(
        "plan",
        render.percent(plan.mlu_predicted),
        render.percent(plan.mlu_measured),
        f"{plan.solver}; no placement over these trees is below {render.percent(plan.bound)}",
    )
    out.print(made)
    out.print()
    out.print(
        Panel(
            f"Before a link is full, traffic can grow {_gain(report):.2f} times as far as under "
            f"ECMP.\n{_cut(report.cut)}{_active(report)} intents are installed. "
            f"Everything took {report.seconds:.0f} s.",
            title="in short",
        )
    )


def _gain(report: Report) -> float:
    """By how much more the traffic could grow before a link is full."""
    return report.ecmp.mlu_measured / report.planned.mlu_measured


def _cut(cut: Failover | Reroute) -> str:
    if isinstance(cut, Failover):
        return (
            f"Cutting {cut.link}: {cut.lost} of {cut.sent} packets lost, the longest silence "
            f"{cut.silence_ms:.1f} ms.\n"
        )
    return (
        f"Cutting {cut.link}: the groups of the switches led {render.bps(cut.delivered_bps)}bit/s "
        f"of {render.bps(cut.offered_bps)}bit/s around it; they were emulated, which does not show "
        "how soon.\n"
    )
