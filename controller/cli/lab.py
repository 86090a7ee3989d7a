"""``heald lab``: a lab of a topology with the controller attached, and a prompt."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import click

from controller.cli import render
from controller.cli.prompt import OWN, Prompt
from controller.cli.prompt_lines import lines_of, vocabulary
from controller.distribution import require_own_packages
from controller.fabric.errors import TopologyErrors
from controller.lab import rundir
from controller.lab.capture import capture
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.prompt.command import Session
from controller.lab.prompt.emulated import EmulatedGround
from controller.lab.prompt.openvswitch import OpenVSwitchGround
from controller.lab.session import LabController, server_of

Progress = Callable[[str], None]

_OPENFLOW_PORT = 6653


@click.command(
    epilog="""\b
Examples:
  sudo heald lab topologies/leaf-spine.yaml
  sudo heald lab fabric-400g.yaml --scale 1e-4
  sudo heald lab fabric.yaml --no-controller
  sudo heald lab fabric.yaml --pcap control.pcap
  sudo heald lab fabric.yaml --commands script.txt
  heald lab --emulated topologies/leaf-spine.yaml
  sudo heald lab fabric.yaml -- --fabric-strategy=ecmp --verbose
  echo 'collective ring h1..h8' | sudo heald lab fabric.yaml

What follows -- are options of ryu-manager. At the prompt, `help` lists the commands: `allow all`
lets hosts talk, `flood h1 h3` sends, `watch` shows what links carry, `cut leaf1 spine1` pulls a
cable, `h1 CMD` runs a command on host h1, `exit` or Ctrl-D ends the lab.
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
@click.option(
    "--commands",
    "script",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="Take the commands from here, and end with them.",
)
@click.option(
    "--pcap",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what switches and controller say to each other, for Wireshark.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line for the lab and each command.")
def lab(
    file: Path,
    ryu_options: tuple[str, ...],
    emulated: bool,
    no_controller: bool,
    scale: float,
    state_dir: Path | None,
    script: TextIO | None,
    pcap: Path | None,
    as_json: bool,
) -> None:
    """Run the fabric that FILE describes on this machine, with Mininet and Open vSwitch.

    Needs root. Opens a prompt when the controller has all switches; ends with it. Commands may come
    from a file or a pipe instead; then the exit code is 1 when one of them failed. With --json,
    standard output gets one line that says how to reach the lab, then one for each command.

    With --emulated it needs no root, and traffic is a fluid; the prompt is the same.
    """
    require_own_packages()
    began = time.monotonic()

    def progress(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    try:
        for removed in rundir.remove_dead():
            progress(f"removed the dead lab in {removed}")
        _check(emulated, no_controller, scale, pcap)
        with ExitStack() as stack:
            running: Lab | EmulatedLab
            if emulated:
                running = stack.enter_context(EmulatedLab(file))
                ground: Any = EmulatedGround(running)
                options, port = [*running.controller_options, *ryu_options], running.port
            else:
                running = stack.enter_context(Lab.start(file, scale=scale, progress=progress))
                ground = OpenVSwitchGround(running)
                options, port = list(ryu_options), _OPENFLOW_PORT
            if pcap is not None:
                stack.enter_context(capture(running, pcap, port, progress))

            def start_controller() -> LabController:
                started = LabController.start(running, options=options, state_dir=state_dir)
                stack.callback(started.stop)
                started.wait_ready(progress=progress)
                return started

            controller = None if no_controller else start_controller()
            progress("ready")
            session = Session(ground, controller, start_controller)
            stack.callback(_end_flows, session)
            if as_json:
                click.echo(json.dumps(_description(running, controller)))
            elif script is None:
                click.echo(_welcome(running, controller), err=True)
            lines = lines_of(script, vocabulary(session, OWN))
            well = Prompt(session, as_json=as_json, echo=script is not None).run(lines)
            if not well and (script is not None or not sys.stdin.isatty()):
                raise SystemExit(render.EXIT_FAILED)
    except KeyboardInterrupt:
        pass
    except TopologyErrors as errors:
        raise _failure(str(errors)) from None
    except LabError as error:
        raise _failure(f"heald: {error}") from None


def _check(emulated: bool, no_controller: bool, scale: float, pcap: Path | None) -> None:
    """Before anything is started."""
    if emulated and (no_controller or scale != 1.0):
        raise LabError(
            "an emulated lab carries any rate, so it takes no --scale; for switches "
            "without a controller: heald emulate FILE"
        )
    if pcap is not None and not os.access(
        pcap if pcap.exists() else pcap.resolve().parent, os.W_OK
    ):
        raise LabError(f"cannot write {pcap}; name a file in a directory that exists and is yours")


def _end_flows(session: Session) -> None:
    try:
        session.ground.stop(session.flowing)
    except LabError:
        pass  # They end with the lab.


def _failure(text: str) -> SystemExit:
    click.echo(text, err=True)
    return SystemExit(2)


def _description(running: Lab | EmulatedLab, controller: LabController | None) -> dict[str, Any]:
    found = {
        "run_dir": str(running.run_dir),
        "server": server_of(running) if controller else None,
        "topology": str(running.topology_file),
    }
    if isinstance(running, EmulatedLab):
        return {**found, "pid": running.emulator.pid, "listen": f"127.0.0.1:{running.port}"}
    return {
        **found,
        "pid": running.pid,
        "hosts": dict(running.description.host_pids),
        "switches": {b.switch: b.bridge for b in running.description.wiring.bridges},
    }


def _welcome(running: Lab | EmulatedLab, controller: LabController | None) -> str:
    emulated = isinstance(running, EmulatedLab)
    who = "" if emulated else ", as root"
    lines = [f"The lab is in {running.run_dir}. From another terminal{who}:"]
    if controller:
        lines += [f"  export HEALD_SERVER={server_of(running)}   # for heald intent, status, ..."]
        lines += [f"  tail -f {running.run_dir}/controller.log"]
    if isinstance(running, Lab):
        if not controller:
            lines += [f"  mnexec -a {running.pid} ryu-manager apps.fabric --fabric-topology \\"]
            lines += [f"    {running.topology_file} --fabric-northbound {server_of(running)}"]
        bridge = running.description.wiring.bridges[0].bridge
        lines += [f"  OVS_RUNDIR={running.run_dir} ovs-ofctl -O OpenFlow15 dump-flows {bridge}"]
    if controller:
        lines += ["No host reaches another before an intent lets it: `allow all`"]
    return "\n".join([*lines, "`help` lists what can be done here."])
