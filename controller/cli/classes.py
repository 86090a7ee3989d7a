"""``heald classes``: traffic classes, and whether switches have their queues."""

from __future__ import annotations

from collections import defaultdict

import click
from rich.table import Table

from controller.cli import render
from heald.v1 import fabric_pb2 as pb


@click.command(
    epilog="""\b
Examples:
  heald classes
  heald classes --json | jq '.switches[] | select(.state != "managed")'
"""
)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def classes(server: str | None, as_json: bool) -> None:
    """Traffic classes, and the queues of each switch for them.

    SHARE is what a class is guaranteed of a port, CEILING what it never gets more of. What others
    leave goes to the class of the highest PRIORITY first.

    QUEUES is managed (as declared, over OVSDB), changing, foreign QoS (made by others, left alone),
    unknown (the database does not answer) or declared, not managed (the switch has no `ovsdb` in
    the topology).
    """
    with render.controller(server) as client:
        found = client.classes()
    if as_json:
        click.echo(render.to_json(found))
        return
    out = render.console()
    out.print(_classes(found))
    if found.switches:
        out.print()
        out.print(_switches(found))


def _classes(found: pb.Classes) -> Table:
    made = render.table("CLASS", ">DSCP", ">QUEUE", ">SHARE", ">CEILING", ">PRIORITY", "LOSSLESS")
    for each in found.classes:
        made.add_row(
            each.name,
            " ".join(map(str, each.dscps)) or "others",
            str(each.queue),
            render.percent(each.share),
            render.percent(each.ceiling),
            str(each.priority),
            "yes" if each.lossless else "",
        )
    return made


def _switches(found: pb.Classes) -> Table:
    """Switches that are alike share a row."""
    alike: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for each in found.switches:
        alike[each.state, each.detail, each.ignores_queues].append(each.switch)
    made = render.table("SWITCHES", "QUEUES", "DETAIL", "NOTE")
    for (state, detail, ignores), names in alike.items():
        note = "userspace datapath: set_queue is accepted and does nothing" if ignores else ""
        made.add_row(" ".join(names), state, detail, note)
    return made
