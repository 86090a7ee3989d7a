"""The prompt of a lab of emulated switches."""

from __future__ import annotations

import os
import readline
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from controller.cli import render
from controller.emulator.fault_kinds import KINDS
from controller.emulator.shell.answer import Answer
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.session import LabController, server_of

_PROMPT = "heald> "
_OWN_HELP = """\
heald COMMAND...                      ask the controller: `heald status`, `heald links`, ...
sh COMMAND...                         a command of the shell, with HEALD_SERVER set
exit, or Ctrl-D                       end the lab"""


class Prompt:
    def __init__(self, lab: EmulatedLab, controller: LabController) -> None:
        self._lab = lab
        self._controller = controller
        self._environment = {
            **os.environ,
            "HEALD_SERVER": server_of(lab),
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        }

    def run(self) -> bool:
        """Until `exit` or the end of the input; returns whether no command failed. Raises LabError
        when the switches have ended."""
        well = True
        for line in self._lines():
            try:
                well = self._do(line) and well
            except KeyboardInterrupt:
                click.echo(err=True)
            code = self._controller.process.poll()
            if code is not None:
                click.echo(
                    f"heald: the controller has ended with exit code {code}: "
                    f"see {self._controller.log}; `exit` ends the lab",
                    err=True,
                )
        return well

    def _lines(self) -> Iterator[str]:
        terminal = sys.stdin.isatty()
        if terminal:
            words = self._words()
            readline.set_completer(lambda text, state: _nth(words, text, state))
            readline.set_completer_delims(" \t\n=")
            readline.parse_and_bind("tab: complete")
        while True:
            try:
                line = input(_PROMPT if terminal else "").strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                click.echo("\n`exit` or Ctrl-D ends the lab", err=True)
                continue
            if line in ("exit", "quit"):
                return
            if line and not line.startswith("#"):
                yield line

    def _words(self) -> list[str]:
        fabric = self._lab.fabric
        links = [link.name for link in fabric.links]
        names = [*fabric.switch_by_name, *fabric.host_by_name, *fabric.nic_by_id, *links]
        commands = [line.split()[0] for line in self._lab.command("help").text.splitlines()]
        commands += ["heald", "sh", "exit"]
        return [*commands, *names, *KINDS, "down", "up", "start", "stop"]

    def _do(self, line: str) -> bool:
        first, _, rest = line.partition(" ")
        if first == "sh":
            return self._call(rest, shell=True)
        if first == "heald":
            try:
                return self._call([sys.executable, "-m", "heald", *shlex.split(rest)])
            except ValueError as error:
                click.echo(f"heald: {error}", err=True)
                return False
        try:
            answer = self._lab.command(line)
        except LabError as error:
            if self._lab.emulator.poll() is not None:
                raise
            click.echo(f"heald: {error}", err=True)
            return False
        _print(answer)
        if line == "help":
            click.echo(_OWN_HELP)
        return True

    def _call(self, command: str | list[str], *, shell: bool = False) -> bool:
        sys.stdout.flush()
        done = subprocess.run(command, shell=shell, env=self._environment, check=False)
        return done.returncode == 0


def _print(answer: Answer) -> None:
    if answer.text:
        click.echo(answer.text)
    if answer.rows:
        numbers = [isinstance(value, int | float) for value in answer.rows[0]]
        titles = [_title(name) for name in answer.columns]
        made = render.table(*(f">{t}" if n else t for t, n in zip(titles, numbers, strict=True)))
        for row in answer.rows:
            made.add_row(*map(_cell, answer.columns, row))
        render.console().print(made)


def _title(column: str) -> str:
    return column.removesuffix("_bps").removesuffix("_share").replace("_", " ").upper()


def _cell(column: str, value: Any) -> RenderableType:
    if column.endswith("_bps"):
        return render.bps(value)
    if column.endswith("_share"):
        return render.percent(value)
    return str(value)


def _nth(words: list[str], text: str, state: int) -> str | None:
    found = sorted({word for word in words if word.startswith(text)})
    return found[state] + " " if state < len(found) else None
