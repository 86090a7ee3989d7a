"""``heald bench failover``: how soon traffic is turned away from links that are lost."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import click

from controller.cli import render
from controller.cli.bench_fabric import fat_tree
from controller.distribution import require_own_packages
from controller.fabric.generate.parameters import ParameterErrors
from controller.lab import failover as lab
from controller.lab.errors import LabError
from controller.lab.failover import FailoverReport

_STAGES = {
    "heard_s": "port status reaches the brain",
    "gathered_s": "what came with it is read",
    "planned_s": "dead trees lose their weight",
    "stored_s": "the plan is stored",
    "installed_s": "groups are changed, barriers answered",
}


@click.command(
    epilog="""\b
Examples:
  heald bench failover --k 8
  heald bench failover --k 16 --links 100 --json
"""
)
@click.option("--k", default=16, help="Ports of a switch of the fat tree [16]")
@click.option(
    "--links",
    type=click.IntRange(min=1),
    default=50,
    help="How many are cut, one after the other [50]",
)
@click.option("--seed", default=1, help="Of the choice of links and pauses [1]")
@click.option("--metrics", is_flag=True, help="With the counters of all switches read each second.")
@click.option("--timeout", default=600.0, metavar="SECONDS", help="To come up [600]")
@click.option("--json", "as_json", is_flag=True, help="One JSON line at the end.")
def failover(k: int, links: int, seed: int, metrics: bool, timeout: float, as_json: bool) -> None:
    """Cut links of an emulated fat tree, and measure until the last barrier is answered.

    Every host talks to every other. Links between edge and aggregation and between aggregation and
    core are cut in turn, none is mended. Needs no root.
    """
    require_own_packages()
    began = time.monotonic()

    def progress(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    with tempfile.TemporaryDirectory(prefix="heald-bench-") as directory:
        topology = Path(directory) / "fabric.yaml"
        try:
            topology.write_text(fat_tree(k))
            report = lab.measure(topology, links, seed, metrics, timeout, progress)
        except (LabError, ParameterErrors) as error:
            click.echo(f"heald: {error}", err=True)
            raise SystemExit(render.EXIT_WRONG_INPUT) from None
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        _print(report)


def _print(report: FailoverReport) -> None:
    out = render.console()
    out.print(
        f"{report.fabric}: {report.switches} switches on {report.cpus} CPUs, metrics "
        f"{'on' if report.metrics else 'off'}; {report.links} links cut one after the other, "
        f"{report.idle_links} of them without traffic"
    )
    out.print(
        f"loss of a link to last barrier: median {_ms(report.p50_s)}, p99 {_ms(report.p99_s)}, "
        f"worst {_ms(report.max_s)}; {report.messages:.0f} messages on average, at most "
        f"{report.messages_max}"
    )
    out.print(
        f"optimised anew, in the background: median {report.optimised_p50_s:.1f} s, worst "
        f"{report.optimised_max_s:.1f} s"
    )
    stages = render.table("STEP", ">MEAN", ">SHARE")
    whole = sum(report.stage_s.values())
    for name, text in _STAGES.items():
        stages.add_row(text, _ms(report.stage_s[name]), f"{report.stage_s[name] / whole:.0%}")
    out.print(stages)
    used = render.table("PROCESS", ">CPU FOR EACH LINK, WITH OPTIMISING")
    for name, cpu_s in report.cpu_s.items():
        used.add_row(name, _ms(cpu_s))
    out.print(used)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
