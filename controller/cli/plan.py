"""``heald plan``: which way the traffic goes, and how far from the best that is."""

from __future__ import annotations

import click

from controller.cli import render
from controller.cli.certificate import more_lines
from controller.cli.status import plan_line
from controller.fabric.model import STRATEGIES

_NAMES = click.Choice(STRATEGIES)


@click.command(
    epilog=f"""\b
Examples:
  heald plan
  heald plan --json | jq .certificate
  heald plan topologies/leaf-spine-asymmetric.yaml
  heald plan fabric.yaml --intents intents.yaml --demands traffic.yaml
  heald plan fabric.yaml --strategy auto --strategy pop --compare wcmp --links 40
  heald plan fabric.yaml --svg plan.svg --json | jq '.plans[] | [.strategy, .mlu]'

\b
A file of demands, the same as `heald emulate --traffic` takes:
  - {{from: h1, to: h3, rate: 10G}}              # hosts, or NICs as h1/eth0
  - {{from: h2, to: h4, rate: 5G, dscp: 26}}

Strategies: {", ".join(STRATEGIES)}.
"""
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path())
@click.option("--demands", metavar="FILE", type=click.Path(), help="The traffic; - for input.")
@click.option(
    "--intents",
    metavar="FILE",
    type=click.Path(),
    multiple=True,
    help="Who may talk to whom, and paths to reserve; may be given again. [all hosts to all]",
)
@click.option(
    "--strategy",
    "strategies",
    metavar="NAME",
    type=_NAMES,
    multiple=True,
    help="How to plan; given again: others to set beside it. [as FILE says, or auto]",
)
@click.option(
    "--compare", metavar="NAME", type=_NAMES, default="ecmp", help="What to start from. [ecmp]"
)
@click.option(
    "--links", metavar="N", type=click.IntRange(min=0), default=16, help="Show so many links. [16]"
)
@click.option("--svg", metavar="FILE", type=click.Path(), help="Draw the loads; - for output.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def plan(
    context: click.Context,
    file: str | None,
    demands: str | None,
    intents: tuple[str, ...],
    strategies: tuple[str, ...],
    compare: str,
    links: int,
    svg: str | None,
    as_json: bool,
) -> None:
    """The running plan; or, of the topology FILE, what a plan would be, without a controller.

    Without FILE: the trees of each pair of switches with their weights, as they are installed.

    With FILE, the load of each link before and after, the lower bound that no weights over the same
    trees can beat, which links and which traffic make that bound, and fair rates where there is
    more traffic than fits.
    """
    if file is not None:
        from controller.cli.plan_file import plan_file

        plan_file(file, demands, intents, strategies, compare, links, svg, as_json)
        return
    for name in ("demands", "intents", "strategies", "compare", "links", "svg"):
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = "strategy" if name == "strategies" else name
            raise click.UsageError(
                f"--{option} is about a plan without a controller: give the topology FILE as well"
            )
    _running(context.obj, as_json)


def _running(server: str | None, as_json: bool) -> None:
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
