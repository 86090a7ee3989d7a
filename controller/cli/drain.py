"""``heald drain``: move traffic off links and switches before somebody touches them."""

from __future__ import annotations

import sys
from collections.abc import Collection

import click

from controller.cli import render
from controller.intents.selectors import did_you_mean
from controller.intents.words import short_name
from heald import Client, HealdError
from heald.v1 import fabric_pb2 as pb


@click.command(
    epilog="""\b
Examples:
  heald drain                                     what is drained
  heald drain leaf1:11-spine1:1 --dry-run         what it would do
  heald drain spine2 --reason "fan 3" --wait      returns when it may be switched off
  heald undrain spine2
"""
)
@click.argument("names", nargs=-1, metavar="[LINK|SWITCH]...")
@click.option("--reason", default="", help="For those who look later.")
@click.option("--dry-run", is_flag=True, help="Only say what it would do.")
@click.option("--force", is_flag=True, help="Even if it leaves hosts without a way.")
@click.option("--wait", is_flag=True, help="Return once no plan uses them and switches follow it.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Of --wait, in seconds.",
)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def drain(
    server: str | None,
    names: tuple[str, ...],
    reason: str,
    dry_run: bool,
    force: bool,
    wait: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Move traffic off links, and off switches with all their links; without a name, list drains.

    Traffic moves without loss. A drain holds, through restarts too, until `heald undrain`; alarms
    of what is drained are not raised. What is drained is still the last resort when other links
    fail before the controller acts. Hosts on a drained switch cannot move: that takes --force.

    The exit code is 1 if it would leave a pair without a way and --force is not given.
    """
    with render.controller(server) as client:
        if not names:
            _list(client.status(), as_json)
            return
        topology = client.topology()
        links, switches = _sort(topology, names)
        answer = client.drain(links, switches, reason=reason, validate_only=dry_run, force=force)
        if as_json:
            click.echo(render.to_json(answer))
        else:
            _say(answer, dry_run)
        if dry_run and answer.effect.cut_off:
            sys.exit(render.EXIT_FAILED)
        if wait and not dry_run:
            of_switches = [x.name for x in topology.links if _ends(x) & set(switches)]
            _await_idle(client, [*links, *of_switches], timeout, as_json)


def _list(found: pb.Status, as_json: bool) -> None:
    if as_json:
        click.echo(render.to_json(pb.DrainResponse(drains=found.drains)))
    elif not found.drains:
        click.echo("nothing is drained")
    else:
        made = render.table("DRAINED", "KIND", ">AGE", "BY", "REASON")
        for each in found.drains:
            kind = each.WhichOneof("element") or ""
            age = render.age(each.time, found.time)
            made.add_row(getattr(each, kind), kind, age, each.principal, each.reason)
        render.console().print(made)


def _sort(topology: pb.Topology, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    links, switches = {x.name for x in topology.links}, {x.name for x in topology.switches}
    unknown = [name for name in names if name not in links | switches]
    if unknown:
        hints = (
            f"{name!r}{did_you_mean(name, links | switches)}" for name in dict.fromkeys(unknown)
        )
        text = f"fabric {topology.name!r} has no link or switch {', no '.join(hints)}"
        render.fail(HealdError("INVALID_ARGUMENT", text))
    return [n for n in names if n in links], [n for n in names if n not in links]


def _ends(link: pb.Link) -> set[str]:
    """The switches that it joins."""
    return {port.rpartition(":")[0] for port in (link.a, link.b)}


def _say(answer: pb.DrainResponse, dry_run: bool) -> None:
    if answer.HasField("effect"):
        effect = answer.effect
        if effect.HasField("mlu_after"):
            click.echo(
                f"worst link: {render.percent(effect.mlu_before)} now, "
                f"{render.percent(effect.mlu_after)} {'then' if dry_run else 'when it is done'}"
            )
        for pair in effect.cut_off:
            click.echo(f"cut off: {pair}")
        for name in effect.degraded:
            click.echo(f"would not have all it asks for: {short_name(name)}")
    names = ", ".join(getattr(each, each.WhichOneof("element") or "") for each in answer.drains)
    click.echo(f"{'would be drained' if dry_run else 'drained'}: {names}")


def _await_idle(client: Client, names: Collection[str], timeout_s: float, is_aside: bool) -> None:
    """``names``: the links that were ordered, those of switches among them. ``is_aside``: standard
    output is for machines."""
    try:
        for report in client.watch_links(names, timeout_s=timeout_s):
            loads = [load for load in report.links if load.drained]
            used = any(load.planned_bps > 0 for load in loads)
            if loads and not used and client.status().plan.committed:
                click.echo(
                    "no plan uses what is drained, and every reachable switch follows the plan",
                    err=is_aside,
                )
                return
    except HealdError as error:
        if error.code != "DEADLINE_EXCEEDED":
            raise
    text = f"not clear of traffic after {timeout_s:g} s; see heald links and heald status"
    render.fail(HealdError("DEADLINE_EXCEEDED", text))
