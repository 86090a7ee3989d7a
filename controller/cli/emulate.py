"""``heald emulate``: every switch of a topology, in one process, over TCP or TLS."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path

import click

from controller.cli import render
from controller.emulator import personas
from controller.emulator.shell import address
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.fleet import Counts, Fleet
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric

_VERSIONS = {"1.3": 4, "1.4": 5, "1.5": 6}
_STATUS_S = 0.5


@click.command(
    epilog="""\b
Examples:
  heald emulate topologies/leaf-spine.yaml
  heald emulate fabric.yaml --controller tcp:127.0.0.1:6653 --openflow 1.5
  heald emulate fabric.yaml --persona ofp13-strict
  heald emulate fabric.yaml --controller ssl:10.0.0.1:6653 --private-key sw.key \\
      --certificate sw.crt --ca-cert controllers.crt

Ctrl-C or SIGTERM ends it.
"""
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--controller",
    default="tcp:127.0.0.1:6653",
    metavar="ADDRESS",
    help="tcp:HOST:PORT or ssl:HOST:PORT [tcp:127.0.0.1:6653]",
)
@click.option(
    "--openflow", type=click.Choice(list(_VERSIONS)), help="Speak this version alone [all it can]"
)
@click.option(
    "--persona",
    type=click.Choice(personas.names()),
    default="openvswitch-3.1",
    help="What kind of switch they all are [openvswitch-3.1]",
)
@click.option("--private-key", type=click.Path(path_type=Path), metavar="FILE", help="For ssl:")
@click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE", help="For ssl:")
@click.option(
    "--ca-cert", type=click.Path(path_type=Path), metavar="FILE", help="Who signs controllers."
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON line; no status.")
def emulate(
    file: Path,
    controller: str,
    openflow: str | None,
    persona: str,
    private_key: Path | None,
    certificate: Path | None,
    ca_cert: Path | None,
    as_json: bool,
) -> None:
    """Play every switch of the topology FILE, each with a connection to the controller.

    The switches forward, time out, fail over and refuse as Open vSwitch does, without root and
    without Open vSwitch. They connect again whenever their connection ends, after a pause that
    grows from 0.25 s to 8 s.
    """
    try:
        where = address.parse(controller, private_key, certificate, ca_cert)
        fabric = load(file.read_bytes(), str(file))
    except (ValueError, OSError) as error:
        raise _failure(f"heald: {error}") from None
    except TopologyErrors as errors:
        raise _failure(str(errors)) from None
    kind = personas.load(persona)
    if openflow is not None:
        version = _VERSIONS[openflow]
        if version not in kind.versions:
            raise _failure(f"heald: {persona} does not speak OpenFlow {openflow}")
        kind = replace(kind, versions=(version,))
    counts = asyncio.run(_run(fabric, kind, where, quiet=as_json))
    if as_json:
        click.echo(json.dumps(asdict(counts)))
    else:
        click.echo(
            f"{counts.switches} switches used {counts.cpu_s:.1f} s of CPU in {counts.seconds:.1f} s"
            f" and at most {counts.memory_bytes >> 20} MiB",
            err=True,
        )


async def _run(
    fabric: Fabric, kind: personas.Persona, where: ControllerAddress, quiet: bool
) -> Counts:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    fleet = Fleet(fabric, kind, where)
    tasks = [loop.create_task(fleet.run()), loop.create_task(stopping.wait())]
    if not quiet:
        tasks.append(loop.create_task(_status(fleet, where)))
    done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    counts = fleet.counts()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for task in done:
        task.result()
    return counts


async def _status(fleet: Fleet, where: ControllerAddress) -> None:
    """One line, written over where standard error is a terminal, and only when it has changed."""
    said = ""
    terminal = sys.stderr.isatty()
    while True:
        counts = fleet.counts()
        text = (
            f"{counts.connected} of {counts.switches} switches are connected to {where}; "
            f"they hold {counts.flows} flows, {counts.groups} groups"
        )
        if text != said:
            sys.stderr.write(f"\r\x1b[K{text}" if terminal else f"{text}\n")
            sys.stderr.flush()
            said = text
        await asyncio.sleep(_STATUS_S)


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(render.EXIT_WRONG_INPUT)
