"""The ``heald`` command. Each subcommand is loaded only when it is used."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

import heald
from heald.distribution import require_own_packages

SERVER_VARIABLE = "HEALD_SERVER"

# The module controller.cli.NAME defines the click command called NAME, with _ for -.
COMMANDS = {
    "run": "Start the controller",
    "demo": "See it all at work in a lab on this machine",
    "lab": "A lab from a topology file on this machine, with a prompt",
    "emulate": "Every switch of a topology, without Open vSwitch and without root",
    "bench": "How large a fabric this machine's controller can carry",
    "warm-up": "Compile the optimizer's kernels, so that the first plan does not wait for it",
    "topology": "Make, check and compare topology files, and have the controller run one",
    "intent": "Apply, get, list, watch, delete and explain intents",
    "status": "How the controller, its switches and its intents fare",
    "switches": "Each switch: its session, what it is, what was last wrong with it",
    "links": "Load of each link: planned, carried, foreign",
    "classes": "Traffic classes: shares, ceilings, priorities, and the queues of each switch",
    "wiring": "Is the fabric cabled as its topology says, and which cables look swapped",
    "drain": "Move traffic off links and switches before somebody touches them",
    "undrain": "Use drained links and switches again",
    "plan": "The running plan: trees, weights, and how good they are",
}


class LazyGroup(click.Group):
    """Knows its commands by name, so that ``heald --help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"controller.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  heald run topologies/leaf-spine.yaml
  heald intent apply intents.yaml --wait
  heald links --watch
  heald --server unix:/run/heald/api.sock status
""",
)
@click.option(
    "--server",
    envvar=SERVER_VARIABLE,
    metavar="ADDRESS",
    help=f"The controller: HOST:PORT or unix:PATH [${SERVER_VARIABLE}, or 127.0.0.1:50051]",
)
@click.version_option(heald.__version__, prog_name="heald", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, server: str | None) -> None:
    """Heald: an OpenFlow controller for accelerator fabrics."""
    ctx.obj = server


def main() -> None:
    require_own_packages()
    try:
        cli(prog_name="heald")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # What is still buffered would fail again when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"heald: cannot write: {error.strerror}", err=True)
        sys.exit(1)
