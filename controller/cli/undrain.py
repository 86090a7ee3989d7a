"""``heald undrain``: use drained links and switches again."""

from __future__ import annotations

import click

from controller.cli import render
from controller.intents.selectors import did_you_mean
from heald import HealdError


@click.command(epilog="\b\nExamples:\n  heald undrain spine2\n  heald undrain --all")
@click.argument("names", nargs=-1, metavar="[LINK|SWITCH]...")
@click.option("--all", "everything", is_flag=True, help="Take all drains back.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def undrain(server: str | None, names: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Use drained links and switches again. A link of a drained switch stays drained."""
    if bool(names) == everything:
        raise click.UsageError("name what to undrain, or give --all")
    with render.controller(server) as client:
        drained = {
            getattr(each, each.WhichOneof("element") or "link"): each.WhichOneof("element")
            for each in client.status().drains
        }
        unknown = [name for name in names if name not in drained]
        if unknown:
            hints = (f"{name!r} is not drained{did_you_mean(name, drained)}" for name in unknown)
            render.fail(HealdError("INVALID_ARGUMENT", "; ".join(hints)))
        chosen = list(drained) if everything else list(names)
        if not chosen:
            click.echo("nothing is drained")
            return
        answer = client.undrain(
            [name for name in chosen if drained[name] == "link"],
            [name for name in chosen if drained[name] == "switch"],
        )
        if as_json:
            click.echo(render.to_json(answer))
        else:
            click.echo(f"back in use: {', '.join(chosen)}; {len(answer.drains)} drains hold")
