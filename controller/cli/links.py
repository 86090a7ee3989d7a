"""``heald links``: what each link carries, and what of that is planned or foreign."""

from __future__ import annotations

from contextlib import suppress

import click
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller.cli import render
from heald.v1 import fabric_pb2 as pb

_BAR = 24


@click.command(
    epilog="""\b
Examples:
  heald links
  heald links --watch
  heald links --link leaf1:11-spine1:1 --watch --json
"""
)
@click.option("--watch", is_flag=True, help="After every sample, until Ctrl-C.")
@click.option("--link", "names", multiple=True, metavar="NAME", help="Only this; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in each line.")
@click.pass_obj
def links(server: str | None, watch: bool, names: tuple[str, ...], as_json: bool) -> None:
    """Load of each direction of each link.

    USED is all that the port sends, of the capacity. OWN (█ in the bar) is the part of it that
    Heald's traffic makes, which PLANNED foresaw; FOREIGN (▒) is the rest.
    """
    with render.controller(server) as client, suppress(KeyboardInterrupt):
        reports = client.watch_links(names)
        if as_json:
            for report in reports:
                click.echo(render.to_json(report, indent=None))
                if not watch:
                    return
        elif watch and render.console().is_terminal:
            with Live(console=render.console(), auto_refresh=False, screen=True) as live:
                for report in reports:
                    live.update(_view(report), refresh=True)
        else:
            for report in reports:
                render.console().print(_view(report))
                if not watch:
                    return


def _view(report: pb.LinkReport) -> Group:
    head = Text(f"{render.local_time(report.time)}, plan {report.plan or 'none yet'}")
    if not report.links:
        return Group(head, Text("nothing is measured yet; the first sample comes within seconds"))
    return Group(head, _table(report))


def _table(report: pb.LinkReport) -> Table:
    made = render.table(
        "LINK", "FROM", "TO", ">CAPACITY", ">USED", "", ">PLANNED", ">OWN", ">FOREIGN", ">DROPS/S"
    )
    for load in report.links:
        made.add_row(
            load.link,
            load.from_port,
            load.to_port,
            render.bps(load.capacity_bps),
            render.percent(load.carried_bps / load.capacity_bps) if load.up else "",
            _state(load),
            render.bps(load.planned_bps),
            render.bps(_own_bps(load)),
            render.bps(load.foreign_bps),
            f"{load.dropped_pps:.0f}" if load.dropped_pps else "",
        )
    return made


def _state(load: pb.LinkLoad) -> Text:
    if load.drained:
        return Text("drained", style="yellow")
    return bar(load) if load.up else Text("down", style="bold red")


def bar(load: pb.LinkLoad) -> Text:
    """Own load, then foreign load, of the capacity; a load above 0 is never drawn as none."""
    own, foreign = _own_bps(load), load.foreign_bps
    own_cells, both_cells = _cells(own, load), _cells(own + foreign, load)
    if foreign > 0:
        both_cells = max(both_cells, own_cells + 1)
    own_cells, both_cells = min(own_cells, _BAR - (foreign > 0)), min(both_cells, _BAR)
    style = "red" if own + foreign > 0.9 * load.capacity_bps else "green"
    return Text.assemble(
        ("█" * own_cells, style),
        ("▒" * (both_cells - own_cells), "yellow"),
        ("·" * (_BAR - both_cells), "dim"),
    )


def _cells(rate_bps: float, load: pb.LinkLoad) -> int:
    share = rate_bps / load.capacity_bps if load.capacity_bps else 0.0
    return max(round(share * _BAR), 1) if rate_bps > 0 else 0


def _own_bps(load: pb.LinkLoad) -> float:
    return max(0.0, load.carried_bps - load.foreign_bps)
