"""``heald intent explain``: which way traffic goes, and why."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.cli.intent_tables import heading, line, path, protection
from controller.intents import words
from heald.v1 import intents_pb2 as pb


@click.command(
    epilog="""\b
Examples:
  heald intent explain ckpt
  heald intent explain train-a --from h1 --to h8/eth0
  heald intent explain ckpt --json | jq '.flows[].path[].link'
"""
)
@click.argument("name")
@click.option("--from", "source", default="", metavar="HOST|NIC", help="Only what it sends.")
@click.option("--to", "destination", default="", metavar="HOST|NIC", help="Only what it gets.")
@click.option("--json", "as_json", is_flag=True, help="The answer of the controller.")
@click.pass_obj
def explain(server: str | None, name: str, source: str, destination: str, as_json: bool) -> None:
    """Show which way the traffic of an intent goes, and why it got no more.

    Of a point-to-point intent: each flow with path, backup, what is reserved on each link, and what
    stands in the way. Of others: how traffic spreads between each two switches.
    """
    with render.controller(server) as client:
        found = client.explain(name, source=source, destination=destination)
    if as_json:
        click.echo(render.to_json(found))
        return
    out = render.console()
    # What its flows say of a shortage is more than its status does.
    short = any(flow.shortage for flow in found.flows)
    out.print(heading(found.intent) if short else line(found.intent), soft_wrap=True)
    if not found.plan:
        out.print("There is no plan yet; heald status says why.")
        return
    for flow in found.flows:
        _print_flow(out, flow)
    if found.spreads:
        out.print()
        out.print(_spreads(found.spreads))
    if not found.flows and not found.spreads:
        out.print("\nNone of its traffic leaves the switch that it enters.")
    if found.omitted:
        out.print(f"\n{found.omitted} more are not shown; choose with --from and --to.")


def _print_flow(out: Console, flow: pb.FlowExplanation) -> None:
    port = f", UDP source port {flow.udp_source_port}" if flow.udp_source_port else ""
    title = f"{flow.source} → {flow.destination} from {flow.ingress}, {flow.traffic_class}{port}"
    out.print()
    out.print(Text(title, style="bold"))
    asked = _terms(flow.asked_bps, flow.asked_protection)
    has = _terms(flow.reserved_bps, flow.protection)
    if flow.shortage and not flow.path:
        has = "no path of its own"
    out.print(f"asked for {asked}; has {has}" if has != asked else f"has what it asked for: {has}")
    if flow.shortage:
        why = f"{flow.reason}: " if flow.reason else ""
        out.print(Text(f"{why}{flow.shortage}", style="bold red"), soft_wrap=True)
    elif not flow.path:
        out.print(f"{flow.ingress} joins the two")
    if flow.path or flow.backup:
        out.print(_hops(flow))


def _terms(bps: float, value: pb.PointToPoint.Protection) -> str:
    rate = words.rate(bps) if bps else "a path"
    return f"{rate}, protection {protection(value)}"


def _hops(flow: pb.FlowExplanation) -> Table:
    made = render.table("", "PORT", "TO", "LINK", ">CAPACITY", ">RESERVED", ">LATENCY")
    for title, hops, latency_s in (
        ("path", flow.path, flow.latency_s),
        ("backup", flow.backup, flow.backup_latency_s),
    ):
        for i, hop in enumerate(hops):
            made.add_row(
                f"{title}, {words.time(latency_s)}" if i == 0 else "",
                f"{hop.switch}:{hop.port}",
                hop.next_switch,
                Text(hop.link) if hop.up else Text(f"{hop.link} (down)", style="bold red"),
                render.bps(hop.capacity_bps),
                render.bps(hop.reserved_bps),
                words.time(hop.latency_s),
            )
    return made


def _spreads(spreads: Sequence[pb.Spread]) -> Table:
    made = render.table("FROM", "TO", "CLASS", ">SHARE", "PATH")
    for spread in spreads:
        ends = spread.ingress, ", ".join(spread.egress), spread.traffic_class
        if not spread.ways:
            made.add_row(*ends, "", Text("no live path", style="bold red"))
        for i, way in enumerate(spread.ways):
            first = ends if i == 0 else ("", "", "")
            made.add_row(*first, render.percent(way.share), path(way.path))
    return made
