"""``heald emulate``: every switch of a topology, in one process, over TCP or TLS."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from controller.cli import render
from controller.emulator import demand_file, fault_script, personas
from controller.emulator.fault_kinds import Fault, FaultError
from controller.emulator.routes import Demand
from controller.emulator.shell import address, commands
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.fleet import Counts, Fleet
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load

_VERSIONS = {"1.3": 4, "1.4": 5, "1.5": 6}
_STATUS_S = 0.5


@click.command(
    epilog="""\b
Examples:
  heald emulate topologies/leaf-spine.yaml
  heald emulate fabric.yaml --controller tcp:127.0.0.1:6653 --openflow 1.5
  heald emulate fabric.yaml --persona ofp13-strict
  heald emulate fabric.yaml --faults faults.yaml --seed 7 --traffic traffic.yaml
  echo 'traffic h1 h3 10M' | heald emulate fabric.yaml --commands
  heald emulate fabric.yaml --controller ssl:10.0.0.1:6653 --private-key sw.key \\
      --certificate sw.crt --ca-cert controllers.crt

Ctrl-C or SIGTERM ends it. Scripts of faults and traffic, and the commands, are in docs/emulator.md.
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
@click.option(
    "--faults",
    "faults_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What goes wrong when: a YAML list, times from the start on.",
)
@click.option("--seed", default=0, metavar="N", help="Of all that is random in faults [0]")
@click.option(
    "--traffic",
    "traffic_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What hosts send from the start on: a YAML list of demands.",
)
@click.option(
    "--commands",
    "as_commands",
    is_flag=True,
    help="Take commands from standard input until that ends (`help` lists them); each is answered "
    "by a JSON line.",
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
    faults_file: Path | None,
    seed: int,
    traffic_file: Path | None,
    as_commands: bool,
    as_json: bool,
) -> None:
    """Play every switch of the topology FILE, each with a connection to the controller.

    The switches forward, time out, fail over and refuse as Open vSwitch does, without root and
    without Open vSwitch. They connect again whenever their connection ends, after a pause that
    grows from 0.25 s to 8 s.
    """
    script: Sequence[Fault] = ()
    demands: Sequence[Demand] = ()
    try:
        where = address.parse(controller, private_key, certificate, ca_cert)
        fabric = load(file.read_bytes(), str(file))
        if faults_file is not None:
            script = fault_script.parse(faults_file.read_text(), str(faults_file))
        if traffic_file is not None:
            demands = demand_file.parse(traffic_file.read_text(), str(traffic_file), fabric)
    except TopologyErrors as errors:
        raise _failure(str(errors)) from None
    except (FaultError, demand_file.DemandError) as error:
        raise _failure(str(error)) from None
    except (ValueError, OSError) as error:
        raise _failure(f"heald: {error}") from None
    kind = personas.load(persona)
    if openflow is not None:
        version = _VERSIONS[openflow]
        if version not in kind.versions:
            raise _failure(f"heald: {persona} does not speak OpenFlow {openflow}")
        kind = replace(kind, versions=(version,))

    def start() -> Fleet:
        fleet = Fleet(fabric, kind, where, seed=seed)
        fleet.install(script)
        fleet.offer(demands)
        return fleet

    try:
        counts = asyncio.run(_run(start, where, as_commands, quiet=as_json or as_commands))
    except FaultError as error:
        place = f"{faults_file}: "
        raise _failure(place + str(error).replace("\n", f"\n{place}")) from None
    if as_json:
        click.echo(json.dumps(asdict(counts)))
    else:
        click.echo(
            f"{counts.switches} switches used {counts.cpu_s:.1f} s of CPU in {counts.seconds:.1f} s"
            f" and at most {counts.memory_bytes >> 20} MiB",
            err=True,
        )


async def _run(
    start: Callable[[], Fleet], where: ControllerAddress, as_commands: bool, quiet: bool
) -> Counts:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    fleet = start()
    tasks = [loop.create_task(fleet.run()), loop.create_task(stopping.wait())]
    if as_commands:
        tasks.append(loop.create_task(_obey(fleet)))
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


async def _obey(fleet: Fleet) -> None:
    """Until standard input ends."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        # Not by `sys.stdin`: its lock would be held when this process wants to end.
        rest = b""
        while data := os.read(0, 1 << 16):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                loop.call_soon_threadsafe(lines.put_nowait, line.decode(errors="replace"))
        loop.call_soon_threadsafe(lines.put_nowait, rest.decode(errors="replace"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    # A thread, because standard input may be a file, for which an event loop cannot wait.
    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        if not line.strip():
            continue
        try:
            said = asdict(commands.answer(fleet, line))
        except commands.CommandError as error:
            said = {"time_s": fleet.now, "error": str(error)}
        said["time_s"] = round(said["time_s"], 6)
        click.echo(json.dumps(said))


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
        if why := fleet.why_not_connected():
            text += f" ({why})"
        if text != said:
            sys.stderr.write(f"\r\x1b[K{text}" if terminal else f"{text}\n")
            sys.stderr.flush()
            said = text
        await asyncio.sleep(_STATUS_S)


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(render.EXIT_WRONG_INPUT)
