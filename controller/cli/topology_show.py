"""``heald topology show``: what a topology is like, and a drawing of it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from controller.cli import render
from controller.cli.topology_file import read_file
from controller.engine.failures import all_to_all
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.fabric.survey.bisection import bisection
from controller.fabric.survey.dot import dot as as_dot
from controller.fabric.survey.reachability import ways, weak_points
from controller.fabric.survey.svg import svg as as_svg
from controller.fabric.survey.tiers import tiers

SHOWN = 8
"""Lines of a list that can be long; --json has all."""
PNG_PIXELS = 16_000
"""Width and height of a PNG at most."""


@click.command(
    epilog="""\b
Examples:
  heald topology show topologies/fat-tree.yaml
  heald topology show fabric.yaml --svg fabric.svg
  heald topology show fabric.yaml --dot - | dot -Tpdf > fabric.pdf
  heald topology show fabric.yaml --json | jq .bisection
"""
)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--svg", metavar="FILE", type=click.Path(), help="Draw it into FILE; - for output.")
@click.option("--png", metavar="FILE", type=click.Path(), help="The same, by the extra `draw`.")
@click.option("--dot", metavar="FILE", type=click.Path(), help="Write it for Graphviz.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(file: str, svg: str | None, png: str | None, dot: str | None, as_json: bool) -> None:
    """Say what a topology can carry and what it cannot lose, and draw it.

    Tiers with their oversubscription, the bisection, shortest paths between edge switches, single
    points of failure, and what each failure costs all-to-all traffic under Heald's plan.
    """
    alone_on_output(svg, dot, png, "-" if as_json else None)
    shown = "<stdin>" if file == "-" else click.format_filename(file)
    try:
        fabric = load(read_file(file, shown), shown)
    except TopologyErrors as errors:
        click.echo(str(errors), err=True)
        sys.exit(render.EXIT_WRONG_INPUT)
    if svg:
        write(svg, as_svg(fabric).encode())
    if dot:
        write(dot, as_dot(fabric).encode())
    if png:
        write(png, _png(as_svg(fabric)))
    if as_json:
        click.echo(json.dumps(_report(fabric), indent=2))
    elif not (svg or png or dot):
        _print(fabric)


def alone_on_output(*files: str | None) -> None:
    """Two things on standard output are nothing that a program can read."""
    if files.count("-") > 1:
        raise click.UsageError("only one drawing, or the JSON, can go to standard output")


def write(file: str, data: bytes) -> None:
    """- is standard output; what cannot be written ends the command."""
    try:
        if file == "-":
            sys.stdout.buffer.write(data)
        else:
            Path(file).write_bytes(data)
    except BrokenPipeError:
        raise  # Whoever reads has enough: no mistake, and nothing to say.
    except OSError as error:
        click.echo(f"heald: {file} cannot be written ({error.strerror})", err=True)
        sys.exit(render.EXIT_WRONG_INPUT)


def _png(drawing: str) -> bytes:
    try:
        import cairosvg
    except (ImportError, OSError):
        click.echo(
            "heald: --png needs CairoSVG and libcairo: pip install 'heald[draw]' and the system's "
            "libcairo2; or use --svg",
            err=True,
        )
        sys.exit(render.EXIT_FAILED)
    # Smaller than drawn where cairo could not hold it.
    widest = max(float(size) for size in re.findall(r' (?:width|height)="([\d.]+)"', drawing[:200]))
    scale = min(1.0, PNG_PIXELS / widest)
    drawn: bytes = cairosvg.svg2png(bytestring=drawing.encode(), scale=scale)
    return drawn


def _report(fabric: Fabric) -> dict[str, Any]:
    across = bisection(fabric)
    mesh = all_to_all(fabric)
    return {
        "fabric": fabric.name,
        "tiers": [asdict(t) | {"oversubscription": t.oversubscription} for t in tiers(fabric)],
        "bisection": asdict(across),
        "ways": asdict(ways(fabric)),
        "weak_points": [asdict(weak) for weak in weak_points(fabric)],
        "all_to_all": {"share": mesh.share, "bound": mesh.bound},
        "failures": [asdict(cost) | {"lost": cost.lost} for cost in mesh.costs],
    }


def _print(fabric: Fabric) -> None:
    out = render.console()
    table = render.table(
        "TIER", "ROLE", ">SWITCHES", "NAMES", ">DOWN", ">UP", ">ACROSS", ">OVERSUB"
    )
    for tier in reversed(tiers(fabric)):
        ratio = tier.oversubscription
        table.add_row(
            str(tier.level),
            ", ".join(tier.roles),
            str(len(tier.switches)),
            " ".join(tier.switches[:6]) + " …" * (len(tier.switches) > 6),
            *(render.bps(max(rates)) for rates in (tier.down_bps, tier.up_bps, tier.across_bps)),
            "" if ratio is None else f"{ratio:.3g}:1",
        )
    hosts = f"{len(fabric.hosts)} hosts, {len(fabric.nics)} NICs"
    out.print(f"{fabric.name}: {len(fabric.switches)} switches, {len(fabric.links)} links, {hosts}")
    out.print(table)
    across, found = bisection(fabric), ways(fabric)
    sure = "of all" if across.all else "the least of"
    out.print(
        f"bisection     {render.bps(across.bps)}bit/s, {_of(across.bps, across.half_bps)} of what "
        f"the NICs of a half can send ({sure} {across.tried} halves)"
    )
    out.print(
        f"paths         {found.fewest} to {found.most} shortest between two edge switches (median "
        f"{found.median:g}), of up to {found.most_hops} links"
    )
    mesh = all_to_all(fabric)
    out.print(
        f"all-to-all    every NIC can send {render.percent(mesh.share)} of its rate (no weights "
        f"over these trees give more than {render.percent(mesh.bound)})"
    )
    weak = weak_points(fabric)
    if not weak:
        out.print("weak points   none: no switch or link cuts a host off")
    else:
        out.print("weak points   cut off from most others by the loss of one:")
        for each in weak[:SHOWN]:
            some = " ".join(each.hosts[:6]) + " …" * (len(each.hosts) > 6)
            out.print(f"  {each.kind} {each.name}: {some}")
        _more(out, len(weak))
    out.print("failures      what one takes of all-to-all, before there is a new plan:")
    costs = render.table("  LOST", ">LOSES", ">CUT OFF", ">SLOWER")
    for cost in mesh.costs[:SHOWN]:
        shares = (render.percent(share) for share in (cost.lost, cost.cut_off, cost.slower))
        costs.add_row(f"  {cost.kind} {cost.name}", *shares)
    out.print(costs)
    _more(out, len(mesh.costs))


def _of(part: float, whole: float) -> str:
    return render.percent(part / whole) if whole else "nothing"


def _more(out: Any, count: int) -> None:
    if count > SHOWN:
        out.print(f"  and {count - SHOWN} more: --json")
