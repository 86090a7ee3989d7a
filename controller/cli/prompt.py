"""The prompt of a lab: lines in, answers out, and no line that ends it but `exit`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from controller.cli import render
from controller.cli.live import bar, watch
from controller.cli.prompt_lines import PROMPT
from controller.emulator.shell.answer import Answer
from controller.lab.errors import LabError
from controller.lab.prompt.command import Command, Session
from controller.lab.prompt.vocabulary import answer, help_lines
from controller.lab.session import server_of_run_dir


def _handled_here(_session: Session, _words: object) -> Answer:
    raise AssertionError("the prompt does these itself")


OWN: Mapping[str, Command] = {
    "watch": Command(
        _handled_here,
        (
            ("watch [NAME...] [for=S]", "what cables carry, second by second, until Ctrl-C"),
            ("watch COMMAND...", "the same while a command goes on"),
        ),
        ("watch", "watch spine1 spine2 for=10", "watch collective ring h1..h8"),
    ),
    "heald": Command(
        _handled_here,
        (("heald COMMAND...", "ask the controller"),),
        ("heald status", "heald intent list", "heald drain spine2 --wait"),
    ),
    "sh": Command(
        _handled_here,
        (("sh COMMAND...", "a command of the shell, with HEALD_SERVER set"),),
        ("sh sleep 3",),
    ),
    "help": Command(_handled_here, (("help [COMMAND]", "this, or one command with examples"),)),
    "exit": Command(_handled_here, (("exit, or Ctrl-D", "end the lab"),)),
}
_IN_A_HOST = "HOST COMMAND...", "a command in a host, among the switches for a switch's name"


class Prompt:
    def __init__(self, session: Session, *, as_json: bool = False, echo: bool = False) -> None:
        """``echo``: write each command before what is said to it, as a terminal shows it."""
        self._session = session
        self._json = as_json
        self._echo = echo
        self._environment = {
            **os.environ,
            **session.ground.environment(),
            "HEALD_SERVER": server_of_run_dir(session.ground.run_dir),
        }
        path = self._environment.get("PATH", os.defpath)
        self._environment["PATH"] = f"{Path(sys.executable).parent}:{path}"

    def run(self, lines: Iterable[str]) -> bool:
        """Until `exit` or the end of the lines; returns whether no command failed. Raises LabError
        when the switches have ended."""
        well = True
        for line in lines:
            if line in ("exit", "quit"):
                break
            if not line or line.startswith("#"):
                continue
            if self._echo and not self._json:
                click.echo(f"{PROMPT}{line}")
            well = self._one(line) and well
            if self._session.ground.has_ended():
                raise LabError(
                    "the processes that play the switches have ended, and so has the lab"
                )
        return well

    def _one(self, line: str) -> bool:
        try:
            said = self._do(line)
        except LabError as error:
            self._say_error(line, str(error))
            return False
        except KeyboardInterrupt:
            click.echo(err=True)
            return True
        if isinstance(said, Answer):
            self._say(line, said)
            said = 0
        self._look_at_controller()
        return said == 0

    def _do(self, line: str) -> Answer | int:
        """An answer, or the exit code of a program that has said what there was to say."""
        first, _, rest = line.partition(" ")
        rest = rest.strip()
        fabric = self._session.ground.fabric
        if first == "help":
            text = "\n".join(help_lines(self._session, OWN, rest))
            if not rest:
                text += f"\n{_IN_A_HOST[0]:<36}  {_IN_A_HOST[1]}"
            return self._session.say(text)
        if first == "watch":
            if self._json:
                raise LabError("`watch` draws for people; `links for=5` has the numbers")
            return watch(self._session, rest)
        if (
            first in ("sh", "heald")
            or first in fabric.host_by_name
            or first in fabric.switch_by_name
        ):
            if not rest:
                raise LabError(
                    f"write {first} COMMAND, like: {first} {_EXAMPLE.get(first, 'ip addr')}"
                )
            return self._program(line, self._argv(first, rest))
        return answer(self._session, line)

    def _argv(self, first: str, rest: str) -> list[str]:
        if first == "sh":
            return ["bash", "-c", rest]
        if first == "heald":
            return ["bash", "-c", f"exec {sys.executable} -m heald {rest}"]
        into = self._session.ground.shell(first)
        if into is None:
            raise LabError(
                f"{first} is emulated and runs no programs; ping, flood, tcp and collective send, "
                "`switches` and `ports` look into switches"
            )
        return [*into, "bash", "-c", self._with_addresses(rest)]

    def _with_addresses(self, command: str) -> str:
        """As Mininet has it: `h1 ping h3` is about the address of h3."""
        hosts = self._session.ground.fabric.host_by_name
        words = []
        for word in command.split(" "):
            nics = hosts[word].nics if word in hosts else ()
            words.append(str(nics[0].addresses[0]) if nics and nics[0].addresses else word)
        return " ".join(words)

    def _program(self, line: str, argv: list[str]) -> int:
        sys.stdout.flush()
        terminal = sys.stdin.isatty() and not self._json
        done = subprocess.run(
            argv,
            env=self._environment,
            check=False,
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE if self._json else None,
            stderr=subprocess.STDOUT if self._json else None,
        )
        if self._json:
            text = done.stdout.decode(errors="replace")
            found: dict[str, Any] = {"command": line, "ok": done.returncode == 0, "text": text}
            click.echo(json.dumps({**found, "exit_code": done.returncode}))
        return done.returncode

    def _say(self, line: str, said: Answer) -> None:
        if self._json:
            click.echo(json.dumps({"command": line, "ok": True, **asdict(said)}))
        else:
            print_answer(said)

    def _say_error(self, line: str, error: str) -> None:
        if self._json:
            click.echo(json.dumps({"command": line, "ok": False, "error": error}))
        else:
            click.echo(f"heald: {error}", err=True)

    def _look_at_controller(self) -> None:
        controller = self._session.controller
        if controller is None or self._session.controller_killed:
            return
        code = controller.process.poll()
        if code is not None:
            click.echo(
                f"heald: the controller has ended with exit code {code}: see {controller.log}; "
                "`revive controller` starts it again",
                err=True,
            )
            self._session.controller_killed = True


_EXAMPLE = {"sh": "date", "heald": "status"}


def print_answer(said: Answer) -> None:
    if said.text:
        click.echo(said.text)
    if not said.rows:
        return
    titles = []
    for i, name in enumerate(said.columns):
        numbers = any(isinstance(row[i], int | float) for row in said.rows)
        titles.append(f">{_title(name)}" if numbers and name != "used_share" else _title(name))
    made = render.table(*titles)
    for row in said.rows:
        made.add_row(*map(_cell, said.columns, row))
    render.console().print(made)


_UNITS = ("_bps", "_share", "_bytes", "_ms", "_s")


def _title(column: str) -> str:
    for unit in _UNITS:
        column = column.removesuffix(unit)
    return column.replace("_", " ").upper()


def _cell(column: str, value: Any) -> RenderableType:
    if value is None:
        return "-"
    if column == "used_share":
        return Text.assemble(f"{render.percent(value):>6}  ", bar(value))
    if column.endswith("_bps"):
        return render.bps(value)
    if column.endswith("_share"):
        return render.percent(value)
    if column.endswith("_bytes") and not column.startswith(("rx", "tx")):
        return f"{render.bps(value)}B"
    if column.endswith("_ms"):
        return f"{value:.3g} ms"
    if column.endswith("_s"):
        return f"{value:.3g} s" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
    return str(value)
