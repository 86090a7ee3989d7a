"""``heald plan``: which way the traffic goes, and how far from the best that is."""

from __future__ import annotations

import click

from controller.cli import render
from controller.cli.certificate import more_lines
from controller.cli.status import plan_line


@click.command(epilog="\b\nExamples:\n  heald plan\n  heald plan --json | jq .certificate")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def plan(server: str | None, as_json: bool) -> None:
    """The running plan: the trees of each pair of switches with their weights."""
    with render.controller(server) as client:
        found = client.plan()
    if as_json:
        click.echo(render.to_json(found))
        return
    out = render.console()
    out.print(plan_line(found))
    for line in more_lines(found.certificate):
        out.print(line)
    out.print()
    made = render.table("FROM", "TO", "CLASS", ">TREE", ">WEIGHT", ">SHARE", "PATH")
    for placement in found.placements:
        total = sum(tree.weight for tree in placement.trees)
        for i, tree in enumerate(placement.trees):
            head = (placement.ingress, "+".join(placement.egress), placement.traffic_class)
            made.add_row(
                *(head if i == 0 else ("", "", "")),
                str(tree.tree),
                str(tree.weight),
                render.percent(tree.weight / total if total else 0.0),
                " → ".join(tree.path),
            )
    out.print(made)
