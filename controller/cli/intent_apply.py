"""``heald intent apply``: files of intents, and where in them a mistake is."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click
from rich.live import Live

from controller.cli import render
from controller.cli.intent_files import mistakes_of, open_intents, placed
from controller.cli.intent_tables import count, line, table
from controller.cli.nodes import Mistake
from heald import Client, HealdError
from heald.v1 import intents_pb2 as pb


@click.command(
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
    - name: ckpt
      point_to_point:
        source: {hosts: [h1]}             # chosen like endpoints
        destination: {nics: [h8/eth0]}
        rate: 40 Gbit/s                   # all from here on may be left out
        class: storage                    # of the topology; else that of unmarked packets
        max_latency: 20 us
        include: [spine1]                 # switches, links, shared risk groups
        avoid: ["leaf1:12-spine2:1"]
        protection: node                  # none, link, node, srlg
        bidirectional: true
        udp_source_ports: [49152, 49153]  # RoCE queue pairs, each with its own path
        priority: 10                      # higher ones come first
        on_shortage: degrade              # or reject
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
    documents = [open_intents(name) for name in files]
    _stop_at(mistakes_of(documents))
    batch = [message for document in documents for message in document.intents]
    if not batch:
        _stop_at(
            [Mistake(d.name, (1, 1), "has no intent; add one to `intents`") for d in documents]
        )
    with render.controller(server) as client:
        try:
            answer = client.apply(batch, validate_only=dry_run)
        except HealdError as error:
            _stop_at([placed(v.field, v.description, documents) for v in error.violations])
            raise
        if as_json and not wait:
            click.echo(render.to_json(answer))
        elif not as_json:
            done = "would be applied" if dry_run else f"applied, revision {answer.revision}"
            click.echo(f"{count(len(answer.intents))} {done}")
        if wait and not dry_run:
            names = [message.name for message in answer.intents]
            _wait(client, names, timeout, quiet=as_json)
            if as_json:
                now = [client.get(name) for name in names]
                click.echo(render.to_json(pb.ApplyResponse(intents=now, revision=answer.revision)))


def _stop_at(mistakes: Sequence[Mistake]) -> None:
    if mistakes:
        for mistake in sorted(mistakes):
            click.echo(mistake, err=True)
        sys.exit(render.EXIT_WRONG_INPUT)


def _wait(client: Client, names: Sequence[str], timeout_s: float, quiet: bool) -> None:
    seen: dict[str, pb.Intent] = {}
    started = time.monotonic()
    out = render.console()

    if quiet or not out.is_terminal:

        def tell(message: pb.Intent) -> None:
            if not quiet:
                out.print(line(message), soft_wrap=True)

        client.wait_active(names, timeout_s, tell)
    else:
        with Live(console=out, auto_refresh=False) as live:

            def show(message: pb.Intent) -> None:
                seen[message.name] = message
                live.update(table([seen[n] for n in names if n in seen]), refresh=True)

            client.wait_active(names, timeout_s, show)
    if not quiet:
        click.echo(f"{count(len(names))} active after {time.monotonic() - started:.1f} s")
