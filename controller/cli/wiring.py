"""``heald wiring``: is the fabric cabled as its topology says."""

from __future__ import annotations

import sys

import click
from rich.table import Table
from rich.text import Text

from controller.cli import render
from heald.v1 import fabric_pb2 as pb

_STYLES = {"ok": "green", "unproven": "yellow"}


@click.command(
    epilog="""\b
Examples:
  heald wiring
  heald wiring --json | jq -r '.links[] | select(.state != "ok") | .link'
  until heald wiring >/dev/null; do sleep 1; done
"""
)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def wiring(server: str | None, as_json: bool) -> None:
    """Each link of the topology, and what probes have shown of its cable.

    STATE is ok (both ends are proven), unproven (not yet known), missing (a port is down, or no
    probe arrives), one-way (probes arrive in one direction only) or miswired. A miswired link
    carries nothing until it is ok again.

    The exit code is 1 unless every link is ok and no other cable was seen.
    """
    with render.controller(server) as client:
        found = client.wiring()
    if as_json:
        click.echo(render.to_json(found))
    else:
        _print(found)
    if found.unexpected or any(link.state != "ok" for link in found.links):
        sys.exit(render.EXIT_FAILED)


def _print(found: pb.Wiring) -> None:
    out = render.console()
    out.print(_table(found))
    out.print()
    ok = sum(link.state == "ok" for link in found.links)
    out.print(
        f"{ok} of {len(found.links)} links are wired as declared; {found.probed_ports} ports are "
        f"probed, each every {found.round_s:.3g} s"
    )
    for each in found.ignored:
        out.print(f"ignored at {each.where}: {each.frames} frames ({each.why})")
    if found.shed_frames:
        out.print(f"{found.shed_frames} more frames were not looked at: there were too many")
    for swap in found.swaps:
        out.print(Text.assemble(("! ", "bold red"), swap.text))
    for cable in found.unexpected:
        text = f"{cable.a} is joined to {cable.b}, which the topology does not have"
        out.print(Text.assemble(("! ", "bold red"), text))


def _table(found: pb.Wiring) -> Table:
    made = render.table("LINK", "A", "B", "STATE", "SEEN")
    for link in found.links:
        seen = link.detail + ("; not in use" if link.barred else "")
        state = Text(link.state, style=_STYLES.get(link.state, "bold red"))
        made.add_row(link.link, link.a, link.b, state, seen)
    return made
