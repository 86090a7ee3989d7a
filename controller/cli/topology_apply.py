"""``heald topology apply`` and ``watch``: edits over the API, and what becomes of edits."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import click

from controller.cli import render
from controller.cli.topology_file import read_file
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from heald import HealdError, UnreachableError
from heald.v1 import fabric_pb2 as pb

_SHOWN = 40


@click.command(
    epilog="""\b
Examples:
  heald topology apply fabric.yaml
  heald topology apply edited.yaml --dry-run
  ./my-generator | heald topology apply - --json
"""
)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--json", "as_json", is_flag=True, help="The answer of the controller.")
@click.pass_obj
def apply(server: str | None, file: str, dry_run: bool, as_json: bool) -> None:
    """Have the controller run the topology in FILE (- is standard input).

    It does the same as saving the file that the controller watches, and is durable when this
    returns. It counts, through restarts too, until that file is saved with other content; while
    the two differ, this and `heald status` say so.

    Exit status: 0 done, 1 the controller is out of reach or failed, 2 FILE is wrong.
    """
    shown = "<stdin>" if file == "-" else click.format_filename(file)
    try:
        text = read_file(file, shown)
        # An answer has no room for hundreds of mistakes, so they are found here.
        load(text, shown)
    except TopologyErrors as errors:
        click.echo(str(errors), err=True)
        sys.exit(render.EXIT_WRONG_INPUT)
    with render.controller(server) as client:
        try:
            answer = client.apply_topology(text, name=shown, validate_only=dry_run)
        except HealdError as error:
            for violation in error.violations:
                click.echo(f"{violation.field}: {violation.description}", err=True)
            if error.violations:
                sys.exit(render.EXIT_WRONG_INPUT)
            raise
    if as_json:
        click.echo(render.to_json(answer))
        return
    for line in _lines(answer.changes):
        click.echo(line)
    if not answer.changes:
        click.echo(f"it runs already (version {answer.version})")
    elif dry_run:
        click.echo(f"would be taken into use instead of version {answer.version}")
    else:
        click.echo(f"taken into use as version {answer.version}")
    if answer.file_differs:
        click.echo(
            f"{answer.file} differs: this counts until that file is saved with other content"
        )


@click.command(epilog="\b\nExamples:\n  heald topology watch\n  heald topology watch --json")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def watch(server: str | None, as_json: bool) -> None:
    """Follow what becomes of edits until Ctrl-C, also over a restart of the controller."""
    connected = False
    with render.controller(server) as client, suppress(KeyboardInterrupt):
        while True:
            try:
                for event in client.watch_topology():
                    connected = True
                    if as_json:
                        click.echo(render.to_json(event, indent=None))
                    else:
                        click.echo("\n".join(_told(event)))
            except UnreachableError as error:
                if not connected:
                    raise
                click.echo(f"heald: {error.message}; trying again", err=True)
                time.sleep(1.0)


def _told(event: pb.TopologyEvent) -> list[str]:
    at, status = render.local_time(event.time), event.status
    if event.kind == pb.TopologyEvent.CHANGED:
        by = f", applied by {status.running.principal}" if status.running.applied else ""
        head = f"{at} version {event.version} of {status.running.name}{by}:"
        return [head, *(f"  {line}" for line in _lines(event.changes))]
    if event.kind == pb.TopologyEvent.CLEARED:
        return [f"{at} {status.file} is right again, and changes nothing"]
    running = f"version {event.version} runs"
    if status.problems:
        head = f"{at} {status.file} is not used as it is, {running}:"
        return [head, *(f"  {line}" for line in problem_lines(status))]
    return [f"{at} {running}"]


def problem_lines(status: pb.TopologyStatus) -> list[str]:
    return [f"{p.file}:{p.line}:{p.column}: {p.text}" for p in status.problems]


def _lines(changes: Sequence[pb.TopologyChange]) -> list[str]:
    lines = []
    for change in changes[:_SHOWN]:
        name = f"{change.was} → {change.name}" if change.was else change.name
        line = f"{change.element} {name} {change.kind}"
        if change.kind in ("changed", "renamed") and change.fields:
            line += ": " + ", ".join(
                f"{f.field} {f.before or 'none'} → {f.after or 'none'}" for f in change.fields
            )
        lines.append(line + " (cosmetic)" * change.cosmetic)
    if len(changes) > _SHOWN:
        lines.append(f"and {len(changes) - _SHOWN} more changes")
    return lines
