"""``heald lab``: a Mininet lab of a topology with the controller attached."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from controller.cli import render
from controller.cli.prompt import Prompt
from controller.distribution import require_own_packages
from controller.fabric.errors import TopologyErrors
from controller.lab import rundir
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.session import LabController, server_of


@click.command(
    epilog="""\b
Examples:
  sudo heald lab topologies/leaf-spine.yaml
  sudo heald lab fabric-400g.yaml --scale 1e-4
  sudo heald lab fabric.yaml --no-controller
  heald lab --emulated topologies/leaf-spine.yaml
  sudo heald lab fabric.yaml -- --fabric-strategy=ecmp --verbose
  echo 'h1 ping -c3 h5' | sudo heald lab fabric.yaml
  echo 'link leaf1 spine1 down' | heald lab --emulated topologies/leaf-spine.yaml

What follows -- are options of ryu-manager. At the prompt, `help` lists the commands; `h1 CMD`
runs a command on host h1, `link leaf1 spine1 down` cuts a cable, `exit` or Ctrl-D ends the lab.
Nothing of it is left afterwards, and several labs can run at the same time.
"""
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("ryu_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- RYU OPTIONS]")
@click.option(
    "--emulated",
    is_flag=True,
    help="Emulated switches instead: no root, no Open vSwitch; traffic without packets.",
)
@click.option("--no-controller", is_flag=True, help="Switches stay empty; start one yourself.")
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    metavar="FACTOR",
    help="Multiply all capacities; a lab does at most 1 Gbit/s a link.",
)
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep plans and intents here, beyond the end of the lab.",
)
@click.option("--json", "as_json", is_flag=True, help="No prompt: one JSON line, until input ends.")
def lab(
    file: Path,
    ryu_options: tuple[str, ...],
    emulated: bool,
    no_controller: bool,
    scale: float,
    state_dir: Path | None,
    as_json: bool,
) -> None:
    """Run the fabric that FILE describes on this machine, with Mininet and Open vSwitch.

    Needs root. Opens Mininet's prompt when the controller has all switches; ends with it. With
    --json, standard output gets one line that says how to reach the lab, and the lab lasts until
    standard input ends.

    With --emulated it needs no root, and the prompt is one for emulated switches, cables and
    traffic.
    """
    require_own_packages()
    began = time.monotonic()

    def progress(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    try:
        for removed in rundir.remove_dead():
            progress(f"removed the dead lab in {removed}")
        with ExitStack() as stack:
            if emulated:
                if no_controller or scale != 1.0:
                    raise LabError(
                        "an emulated lab carries any rate, so it takes no --scale; for switches "
                        "without a controller: heald emulate FILE"
                    )
                small = stack.enter_context(EmulatedLab(file))
                options = [*small.controller_options, *ryu_options]
                controller = LabController.start(small, options=options, state_dir=state_dir)
                stack.callback(controller.stop)
                controller.wait_ready(progress=progress)
                progress("ready")
                if as_json:
                    click.echo(json.dumps(_emulated_description(small)))
                    sys.stdin.read()
                    return
                click.echo(_emulated_welcome(small), err=True)
                if not Prompt(small, controller).run() and not sys.stdin.isatty():
                    raise SystemExit(render.EXIT_FAILED)
                return
            running = stack.enter_context(
                Lab.start(file, scale=scale, progress=progress, foreground=not as_json)
            )
            if not no_controller:
                controller = LabController.start(running, options=ryu_options, state_dir=state_dir)
                stack.callback(controller.stop)
                controller.wait_ready(progress=progress)
            progress("ready")
            if as_json:
                click.echo(json.dumps(_description(running, not no_controller)))
                sys.stdin.read()
            else:
                click.echo(_welcome(running, not no_controller), err=True)
                running.process.prompt()
    except KeyboardInterrupt:
        pass
    except TopologyErrors as errors:
        raise _failure(str(errors)) from None
    except LabError as error:
        raise _failure(f"heald: {error}") from None


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(2)


def _emulated_description(lab: EmulatedLab) -> dict[str, Any]:
    return {
        "run_dir": str(lab.run_dir),
        "pid": lab.emulator.pid,
        "server": server_of(lab),
        "topology": str(lab.topology_file),
        "listen": f"127.0.0.1:{lab.port}",
    }


def _emulated_welcome(lab: EmulatedLab) -> str:
    return (
        f"The lab is in {lab.run_dir}. From another terminal:\n"
        f"  export HEALD_SERVER={server_of(lab)}   # for heald intent, status, ...\n"
        f"  tail -f {lab.run_dir}/controller.log\n"
        "No traffic arrives before an intent lets it: heald intent apply --help\n"
        "`help` lists what can be done here."
    )


def _description(running: Lab, controller: bool) -> dict[str, Any]:
    return {
        "run_dir": str(running.run_dir),
        "pid": running.pid,
        "server": server_of(running) if controller else None,
        "topology": str(running.topology_file),
        "hosts": dict(running.description.host_pids),
        "switches": {b.switch: b.bridge for b in running.description.wiring.bridges},
    }


def _welcome(running: Lab, controller: bool) -> str:
    lines = [f"The lab is in {running.run_dir}. From another terminal, as root:"]
    if controller:
        lines += [f"  export HEALD_SERVER={server_of(running)}   # for heald intent, status, ..."]
        lines += [f"  tail -f {running.run_dir}/controller.log"]
        lines += ["No host reaches another before an intent lets it: heald intent apply --help"]
    else:
        lines += [f"  mnexec -a {running.pid} ryu-manager apps.fabric --fabric-topology \\"]
        lines += [f"    {running.topology_file} --fabric-northbound {server_of(running)}"]
    bridge = running.description.wiring.bridges[0].bridge
    lines += [f"  OVS_RUNDIR={running.run_dir} ovs-ofctl -O OpenFlow15 dump-flows {bridge}"]
    return "\n".join(lines)
