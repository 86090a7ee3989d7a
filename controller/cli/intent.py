"""``heald intent``: what is asked of the network."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence

import click
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.cli.intent_file import IntentFile, Mistake, read
from heald import Client, HealdError, UnreachableError, intent_name
from heald.client import Violation
from heald.v1 import intents_pb2 as pb

_BATCH_INDEX = re.compile(r"intents\[(\d+)\]")


@click.group()
def intent() -> None:
    """What is asked of the network. Names without a tenant are of tenants/default."""


@intent.command(
    epilog="""\b
Examples:
  heald intent apply intents.yaml
  heald intent apply a.yaml b.json --wait --timeout 30
  generate-intents | heald intent apply -
  heald intent apply intents.yaml --dry-run

\b
A file:
  intents:
    - name: train-a                       # tenants/default/intents/train-a
      labels: {team: research}
      connectivity:
        endpoints: {hosts: [h1, h2]}      # or nics, accelerators, labels, all: true
"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--wait", is_flag=True, help="Return when all of them are active.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="With --wait: give up after this.",
)
@click.option("--dry-run", is_flag=True, help="Only check them; nothing is changed.")
@click.option("--json", "as_json", is_flag=True, help="The answer of the controller.")
@click.pass_obj
def apply(
    server: str | None,
    files: tuple[str, ...],
    wait: bool,
    timeout: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Create or replace all intents in FILEs, or none if anything is wrong (- is standard input).

    They are durable when this returns. Mistakes are printed as FILE:line:column: what, and the
    cure. Exit status: 0 done, 1 the controller is out of reach or an intent did not become
    active, 2 mistakes.
    """
    documents = [_read(name) for name in files]
    mistakes = [mistake for document in documents for mistake in document.mistakes]
    _stop_at([*mistakes, *_duplicates(documents)])
    batch = [message for document in documents for message in document.intents]
    if not batch:
        _stop_at(
            [Mistake(d.name, (1, 1), "has no intent; add one to `intents`") for d in documents]
        )
    with render.controller(server) as client:
        try:
            answer = client.apply(batch, validate_only=dry_run)
        except HealdError as error:
            _stop_at([_placed(violation, documents) for violation in error.violations])
            raise
        if as_json and not wait:
            click.echo(render.to_json(answer))
        elif not as_json:
            done = "would be applied" if dry_run else f"applied, revision {answer.revision}"
            click.echo(f"{_count(len(answer.intents))} {done}")
        if wait and not dry_run:
            names = [message.name for message in answer.intents]
            _wait(client, names, timeout, quiet=as_json)
            if as_json:
                now = [client.get(name) for name in names]
                click.echo(render.to_json(pb.ApplyResponse(intents=now, revision=answer.revision)))


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
    status = found.status
    rows: dict[str, str | Text] = {
        "name": found.name,
        "state": render.state(render.state_of(found)),
        "reason": f"{status.reason}{f': {status.message}' if status.message else ''}",
        "since": render.local_time(status.transition_time),
        "endpoints": render.endpoints(found.spec.connectivity.endpoints),
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
        render.console().print(_table(found))


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
    with render.controller(server) as client:
        while True:
            try:
                for event in client.watch(tenant, revision):
                    # An event of revision 0 would resume at the start.
                    revision = event.revision or revision
                    if as_json:
                        click.echo(render.to_json(event, indent=None))
                    elif event.kind != pb.IntentEvent.SYNCED:
                        out.print(_line(event.intent))
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
            click.echo(f"{render.short_name(message.name)}: {render.state_of(message).lower()}")
        if wait:
            _wait_gone(client, {intent_name(name) for name in names}, timeout)


def _read(name: str) -> IntentFile:
    try:
        with click.open_file(name, "rb") as stream:
            return read(name, stream.read())
    except OSError as error:
        mistake = Mistake(name, (1, 1), f"cannot be read: {error.strerror}")
        return IntentFile(name, mistakes=[mistake])


def _stop_at(mistakes: Sequence[Mistake]) -> None:
    if mistakes:
        for mistake in sorted(mistakes):
            click.echo(mistake, err=True)
        sys.exit(render.EXIT_WRONG_INPUT)


def _duplicates(documents: Sequence[IntentFile]) -> Iterator[Mistake]:
    first: dict[str, str] = {}
    for document in documents:
        for i, message in enumerate(document.intents):
            place = document.place_of(f"[{i}].name")
            here = f"{document.name}:{place[0]}:{place[1]}"
            there = first.setdefault(message.name, here)
            if there != here and message.name:
                text = f"{render.short_name(message.name)!r} is also the name at {there}"
                yield Mistake(document.name, place, f"{text}; give each its own")


def _placed(violation: Violation, documents: Sequence[IntentFile]) -> Mistake:
    """Where the field of a request stands in the files that the request was made of."""
    match = _BATCH_INDEX.match(violation.field)
    index = int(match[1]) if match else 0
    for document in documents:
        if index < len(document.intents):
            break
        index -= len(document.intents)
    rest = violation.field[match.end() :] if match else ""
    return Mistake(document.name, document.place_of(f"[{index}]{rest}"), violation.description)


def _wait(client: Client, names: Sequence[str], timeout_s: float, quiet: bool) -> None:
    seen: dict[str, pb.Intent] = {}
    started = time.monotonic()
    out = render.console()

    if quiet or not out.is_terminal:

        def tell(message: pb.Intent) -> None:
            if not quiet:
                out.print(_line(message))

        client.wait_active(names, timeout_s, tell)
    else:
        with Live(console=out, auto_refresh=False) as live:

            def show(message: pb.Intent) -> None:
                seen[message.name] = message
                live.update(_table([seen[n] for n in names if n in seen]), refresh=True)

            client.wait_active(names, timeout_s, show)
    if not quiet:
        click.echo(f"{_count(len(names))} active after {time.monotonic() - started:.1f} s")


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
                click.echo(f"{_count(len(names))} gone")
                return
    except HealdError as error:
        if error.code != "DEADLINE_EXCEEDED":
            raise
    left = ", ".join(sorted(map(render.short_name, there)))
    click.echo(f"heald: not gone after {timeout_s:g} s: {left}; see heald status", err=True)
    sys.exit(render.EXIT_FAILED)


def _table(intents: Sequence[pb.Intent]) -> Table:
    made = render.table("NAME", "STATE", ">GEN", "ENDPOINTS", "LABELS", "REASON")
    for message in intents:
        status = message.status
        made.add_row(
            render.short_name(message.name),
            render.state(render.state_of(message)),
            str(message.generation),
            render.endpoints(message.spec.connectivity.endpoints),
            " ".join(f"{k}={v}" for k, v in sorted(message.labels.items())),
            status.message or status.reason,
        )
    return made


def _line(message: pb.Intent) -> Text:
    status = message.status
    return Text.assemble(
        f"{render.short_name(message.name)}  ",
        render.state(render.state_of(message)),
        f"  {status.message or status.reason}",
    )


def _count(number: int) -> str:
    return "1 intent" if number == 1 else f"{number} intents"
