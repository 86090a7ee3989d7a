"""``heald intent``: what is asked of the network."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import suppress

import click
from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.cli.intent_apply import apply
from controller.cli.intent_explain import explain
from controller.cli.intent_tables import count, endpoints, kind, line, path, requirements, table
from controller.intents import words
from heald import Client, HealdError, UnreachableError, intent_name
from heald.v1 import intents_pb2 as pb

_PATHS = 4


@click.group()
def intent() -> None:
    """What is asked of the network. Names without a tenant are of tenants/default."""


intent.add_command(apply)
intent.add_command(explain)


@intent.command(
    epilog="\b\nExamples:\n  heald intent get train-a\n  heald intent get train-a --json"
)
@click.argument("name")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def get(server: str | None, name: str, as_json: bool) -> None:
    """Show one intent."""
    with render.controller(server) as client:
        found = client.get(name)
        if as_json:
            click.echo(render.to_json(found))
            return
        pinned = found.spec.WhichOneof("kind") == "point_to_point"
        flows = _flows(client.explain(name)) if pinned else {}
    status = found.status
    rows: dict[str, str | Text] = {
        "name": found.name,
        "state": render.state(render.state_of(found)),
        "reason": f"{status.reason}{f': {status.message}' if status.message else ''}",
        "since": render.local_time(status.transition_time),
        "kind": kind(found.spec),
        "endpoints": endpoints(found.spec),
        **flows,
        "labels": " ".join(f"{k}={v}" for k, v in sorted(found.labels.items())),
        "generation": f"{found.generation} (observed: {status.observed_generation})",
        "plan": str(status.plan or ""),
        "created": render.local_time(found.create_time),
        "updated": render.local_time(found.update_time),
        "etag": found.etag,
    }
    grid = Table.grid(padding=(0, 2))
    for key, value in rows.items():
        grid.add_row(Text(key, style="bold"), value)
    render.console().print(grid)


@intent.command(
    "list",
    epilog="""\b
Examples:
  heald intent list
  heald intent list --tenant - --label team=research
""",
)
@click.option("--tenant", default="default", show_default=True, help="- for all of them.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="May be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in each line.")
@click.pass_obj
def list_(server: str | None, tenant: str, labels: tuple[str, ...], as_json: bool) -> None:
    """List intents."""
    match: dict[str, str] = {}
    for label in labels:
        key, equals, value = label.partition("=")
        if not equals:
            raise click.BadParameter(f"{label!r} must be KEY=VALUE", param_hint="--label")
        match[key] = value
    with render.controller(server) as client:
        found = list(client.list(tenant, match))
    if as_json:
        for message in found:
            click.echo(render.to_json(message, indent=None))
    elif not found:
        click.echo("no intents; apply some with: heald intent apply FILE")
    else:
        render.console().print(table(found))


@intent.command(
    epilog="\b\nExamples:\n  heald intent watch\n  heald intent watch --json | jq .kind"
)
@click.option("--tenant", default="default", show_default=True, help="- for all of them.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in each line.")
@click.pass_obj
def watch(server: str | None, tenant: str, as_json: bool) -> None:
    """Print every change until Ctrl-C; goes on after a restart of the controller."""
    revision = 0
    out = render.console()
    with render.controller(server) as client, suppress(KeyboardInterrupt):
        while True:
            try:
                for event in client.watch(tenant, revision):
                    # An event of revision 0 would resume at the start.
                    revision = event.revision or revision
                    if as_json:
                        click.echo(render.to_json(event, indent=None))
                    elif event.kind != pb.IntentEvent.SYNCED:
                        out.print(line(event.intent), soft_wrap=True)
            except UnreachableError as error:
                if not revision:
                    raise
                click.echo(f"heald: {error.message}; trying again", err=True)
                time.sleep(1.0)


@intent.command(
    epilog="""\b
Examples:
  heald intent delete train-a
  heald intent delete train-a train-b --wait
"""
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--wait", is_flag=True, help="Return when no switch has rules for them.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="With --wait: give up after this.",
)
@click.option("--ignore-missing", is_flag=True, help="Deleting what is not there is no error.")
@click.pass_obj
def delete(
    server: str | None, names: tuple[str, ...], wait: bool, timeout: float, ignore_missing: bool
) -> None:
    """Withdraw intents: their rules are removed from the switches."""
    with render.controller(server) as client:
        for name in names:
            message = client.delete(name, allow_missing=ignore_missing)
            click.echo(f"{words.short_name(message.name)}: {render.state_of(message).lower()}")
        if wait:
            _wait_gone(client, {intent_name(name) for name in names}, timeout)


def _wait_gone(client: Client, names: set[str], timeout_s: float) -> None:
    there: set[str] = set()
    synced = False
    try:
        for event in client.watch(timeout_s=timeout_s):
            synced = synced or event.kind == pb.IntentEvent.SYNCED
            if event.kind == pb.IntentEvent.DELETED:
                there.discard(event.intent.name)
            elif event.intent.name in names:
                there.add(event.intent.name)
            if synced and not there:
                click.echo(f"{count(len(names))} gone")
                return
    except HealdError as error:
        if error.code != "DEADLINE_EXCEEDED":
            raise
    left = ", ".join(sorted(map(words.short_name, there)))
    click.echo(f"heald: not gone after {timeout_s:g} s: {left}; see heald status", err=True)
    sys.exit(render.EXIT_FAILED)


def _flows(explanation: pb.IntentExplanation) -> dict[str, str | Text]:
    """What a point-to-point intent asks for, and what it has got."""
    asked = requirements(explanation.intent.spec.point_to_point)
    rows: dict[str, str | Text] = {"asked": asked}
    if flows := explanation.flows:
        reserved = sum(flow.reserved_bps for flow in flows)
        wanted = sum(flow.asked_bps for flow in flows)
        rows["reserved"] = f"{words.rate(reserved)} of {words.rate(wanted)}"
        ways = Counter(path(flow.path) or _pathless(flow) for flow in flows)
        shown = [f"{way}{f'  ({n} flows)' if n > 1 else ''}" for way, n in ways.most_common(_PATHS)]
        more = [f"… {len(ways) - _PATHS} more: heald intent explain"] if len(ways) > _PATHS else []
        rows["paths"] = "\n".join(shown + more)
    return rows


def _pathless(flow: pb.FlowExplanation) -> str:
    return "none" if flow.shortage else f"within {flow.ingress}"
