"""All commands that every lab has, and how one line is carried out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from controller.emulator.shell.answer import Answer
from controller.intents.selectors import did_you_mean
from controller.lab.errors import LabError
from controller.lab.prompt import failing, looking, sending
from controller.lab.prompt.command import Command, Session, UsageError
from heald import HealdError

COMMANDS: Mapping[str, Command] = {**sending.COMMANDS, **failing.COMMANDS, **looking.COMMANDS}


def answer(session: Session, line: str) -> Answer:
    """Carry out one command. Raises LabError with what is wrong, and what to write."""
    try:
        name, *words = shlex.split(line)
    except ValueError as error:
        raise LabError(f"{line!r}: {error}") from None
    command = COMMANDS.get(name)
    if command is None:
        own = session.ground.own(line)
        if own is not None:
            return own
        known = [*COMMANDS, *(usage.split()[0] for usage, _ in session.ground.own_help())]
        near = did_you_mean(name, known) or ";"
        raise LabError(f"there is no command {name!r}{near} `help` lists all")
    try:
        return command.act(session, words)
    except UsageError:
        usages = " or ".join(usage for usage, _ in command.usages if not usage.startswith(" "))
        raise LabError(f"write {usages}") from None
    except HealdError as error:
        raise LabError(f"the controller: {error.message}") from None


def help_lines(session: Session, more: Mapping[str, Command], name: str = "") -> Iterator[str]:
    """Of one command with its examples, or of all; ``more`` has those of whoever asks."""
    known = {**COMMANDS, **more}
    own = [usage for usage in session.ground.own_help() if usage[0].split()[0] not in known]
    if not name:
        for command in known.values():
            yield from map(_line, command.usages)
        yield from map(_line, own)
        return
    if name in known:
        yield from map(_line, known[name].usages)
        yield from (f"  {example}" for example in known[name].examples)
        return
    found = [usage for usage in own if usage[0].split()[0] == name]
    if not found:
        names = [*known, *(usage.split()[0] for usage, _ in own)]
        raise LabError(f"there is no command {name!r}{did_you_mean(name, names)}")
    said = session.ground.own(f"help {name}")
    yield from said.text.splitlines() if said is not None else map(_line, found)


def _line(usage: tuple[str, str]) -> str:
    return f"{usage[0]:<36}  {usage[1]}"
