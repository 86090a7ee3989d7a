"""``heald topology diff``: what an edit will do, before it is saved."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NoReturn

import click
from rich.console import Console

from controller.cli import render
from controller.cli.intent_file import read as read_intents
from controller.cli.topology_file import read_file
from controller.engine.prospect import IntentProspect, Pairs, Prospect, prospect
from controller.fabric.difference import Change, Difference, Kind, difference
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from controller.fabric.meaning import meaning
from controller.fabric.model import Fabric
from controller.intents.model import Connectivity, IntentSpec, Selector
from controller.intents.words import short_name
from controller.northbound.convert import spec_from_message
from heald import HealdError, connect
from heald.v1 import intents_pb2 as pb

SHOWN = 40
"""Changes of each list that are printed; --json has all."""
ALL_PAIRS = "all pairs"
EXIT_SAME, EXIT_DIFFERENT, EXIT_TROUBLE = 0, 1, 2


@click.command(
    epilog="""\b
Examples:
  heald topology diff fabric.yaml edited.yaml
  heald topology diff fabric.yaml edited.yaml --intents intents.yaml
  heald topology diff --running edited.yaml       against the controller's, with its intents
  git show HEAD:fabric.yaml | heald topology diff - fabric.yaml
  heald topology diff a.yaml b.yaml --json | jq '.changes[] | select(.cosmetic | not)'
"""
)
@click.argument("files", nargs=-1, required=True, metavar="[BEFORE] AFTER", type=click.Path())
@click.option("--running", is_flag=True, help="BEFORE is what the controller runs.")
@click.option(
    "--intents",
    "intent_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="Judge by the intents of FILE, as `heald intent apply` takes it; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def diff(
    server: str | None,
    files: tuple[str, ...],
    running: bool,
    intent_files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what changes from one topology to another, and what that does to traffic.

    Elements that are added, removed, renamed (a switch of the same datapath id, a link with the
    same ends) or changed, with old and new values; cosmetic changes, on which neither plans nor
    rules depend, stand apart. Then who gains or loses a way, and the worst link before and after
    as planned for the intents; without any, for all NICs sending to each other. One of the files
    may be - for standard input.

    Exit status: 0 the topologies are the same, 1 they differ, 2 a file is wrong or the controller
    out of reach.
    """
    if len(files) != (1 if running else 2):
        raise click.UsageError("give AFTER with --running, else BEFORE and AFTER")
    intents = _intents(intent_files)
    if running:
        before, theirs = _running(server)
        intents = intents or theirs
    else:
        before = _load(files[0])
    after = _load(files[-1])
    found = difference(before, after)
    outlook = None
    if found and not found.is_cosmetic:
        pairs: dict[str, IntentSpec] = {ALL_PAIRS: Connectivity(Selector(all=True))}
        outlook = prospect(before, after, intents or pairs)
    if as_json:
        click.echo(json.dumps(_report(found, outlook), indent=2))
    else:
        renamed = all(c.is_cosmetic or c.kind is Kind.RENAMED for c in found.changes)
        _print(found, outlook, is_silent=renamed and meaning(before) == meaning(after))
    sys.exit(EXIT_DIFFERENT if found else EXIT_SAME)


def _load(file: str) -> Fabric:
    shown = "<stdin>" if file == "-" else click.format_filename(file)
    try:
        return load(read_file(file, shown), shown)
    except TopologyErrors as errors:
        _stop(str(errors))


def _running(server: str | None) -> tuple[Fabric, dict[str, IntentSpec]]:
    with connect(server) as client:
        try:
            source = client.topology(source=True).source
            intents = _specs(client.list())
        except HealdError as error:
            _stop(f"heald: {error.message}")
    try:
        return load(source.text, source.name), intents
    except TopologyErrors as errors:
        _stop(str(errors))


def _intents(files: tuple[str, ...]) -> dict[str, IntentSpec]:
    found: dict[str, IntentSpec] = {}
    for file in files:
        try:
            with click.open_file(file, "rb") as stream:
                document = read_intents(file, stream.read())
        except OSError as error:
            _stop(f"{file}:1:1: cannot be read: {error.strerror}")
        if document.mistakes:
            _stop("\n".join(map(str, sorted(document.mistakes))))
        found |= _specs(document.intents)
    return found


def _specs(intents: Any) -> dict[str, IntentSpec]:
    messages: list[pb.Intent] = [m for m in intents if m.status.state != pb.WITHDRAWING]
    return {short_name(m.name): spec_from_message(m.spec) for m in messages}


def _stop(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(EXIT_TROUBLE)


# ---- for machines --------------------------------------------------------------------------------


def _report(found: Difference, outlook: Prospect | None) -> Mapping[str, Any]:
    return {
        "different": bool(found),
        "cosmetic": found.is_cosmetic,
        "changes": [_change(change) for change in found.changes],
        "worst_link": outlook and {"before": outlook.mlu_before, "after": outlook.mlu_after},
        "intents": [asdict(each) for each in outlook.intents] if outlook else [],
    }


def _change(change: Change) -> Mapping[str, Any]:
    return {
        "kind": change.kind.value,
        "element": change.element,
        "name": change.name,
        "was": change.was or None,
        "fields": [asdict(each) for each in change.fields],
        "cosmetic": change.is_cosmetic,
    }


# ---- for people ----------------------------------------------------------------------------------


def _print(found: Difference, outlook: Prospect | None, is_silent: bool) -> None:
    out = render.console()
    if not found:
        out.print("the same fabric: nothing would be sent to any switch")
        return
    real = [change for change in found.changes if not change.is_cosmetic]
    cosmetic = [change for change in found.changes if change.is_cosmetic]
    if real:
        _table(out, real)
    if cosmetic:
        out.print("cosmetic:")
        _table(out, cosmetic)
    if is_silent:
        out.print("neither plans nor rules depend on it: nothing would be sent to any switch")
    if outlook is None:
        return
    out.print(
        f"worst link    {render.percent(outlook.mlu_before)} before, "
        f"{render.percent(outlook.mlu_after)} after, as planned for "
        + ", ".join(each.name for each in outlook.intents[:3])
        + f" and {len(outlook.intents) - 3} more" * (len(outlook.intents) > 3)
    )
    touched = [each for each in outlook.intents if each.is_touched]
    for each in touched:
        for line in _words(each):
            out.print(f"{each.name}: {line}", soft_wrap=True)
    if not touched:
        out.print("every pair keeps its way, and no other gains one")


def _table(out: Console, changes: list[Change]) -> None:
    made = render.table("EDIT", "ELEMENT", "NAME", "WHAT")
    for change in changes[:SHOWN]:
        name = f"{change.was} → {change.name}" if change.was else change.name
        made.add_row(change.kind.value, change.element, name, change.details)
    out.print(made)
    if len(changes) > SHOWN:
        out.print(f"and {len(changes) - SHOWN} more: --json")


def _words(each: IntentProspect) -> list[str]:
    said = [f"problem: {problem}" for problem in each.problems]
    if each.refused_now != each.refused_then:
        then = "cannot" if each.refused_then else "can"
        said.append(f"what it asks for {then} be had then")
    for what, nics in (("joins", each.joining), ("leaves", each.leaving)):
        if nics:
            said.append(f"{what}: {_some(nics)}")
    for what, pairs in (("a way", each.gained), ("no way any more", each.lost)):
        if pairs.count:
            said.append(f"{what} for {_count(pairs)}: {_some(pairs.examples)}")
    return said


def _count(pairs: Pairs) -> str:
    return "1 pair of NICs" if pairs.count == 1 else f"{pairs.count:,} pairs of NICs"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
