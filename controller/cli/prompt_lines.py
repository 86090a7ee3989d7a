"""Where the lines of a prompt come from: a terminal, which completes words, or a script."""

from __future__ import annotations

import readline
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

import click

from controller.emulator.fault_kinds import KINDS
from controller.lab.collectives import ALGORITHMS
from controller.lab.prompt.command import Session
from controller.lab.prompt.vocabulary import COMMANDS
from controller.lab.prompt.words import cable_ends

PROMPT = "heald> "
_MORE_WORDS = ("all", "brain", "controller", "down", "silent", "up", "for=", "flows=", "class=")


def lines_of(script: TextIO | None, words: Iterable[str]) -> Iterator[str]:
    """Stripped, from the script, else from standard input; a terminal completes ``words``."""
    if script is not None:
        return (line.strip() for line in script)
    if not sys.stdin.isatty():
        return (line.strip() for line in sys.stdin)
    return _typed(words)


def _typed(words: Iterable[str]) -> Iterator[str]:
    readline.set_completer(completer(words))
    readline.set_completer_delims(" \t\n=")
    readline.parse_and_bind("tab: complete")
    while True:
        try:
            yield input(PROMPT).strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            click.echo("\n`exit` or Ctrl-D ends the lab", err=True)


def completer(words: Iterable[str]) -> Callable[[str, int], str | None]:
    """What readline asks: the n-th word that begins so."""
    known = sorted(set(words))

    def complete(text: str, state: int) -> str | None:
        found = [word for word in known if word.startswith(text)]
        if state >= len(found):
            return None
        return found[state] if found[state].endswith("=") else found[state] + " "

    return complete


def vocabulary(session: Session, own: Iterable[str]) -> set[str]:
    """All that can be typed in this lab."""
    fabric = session.ground.fabric
    usages = session.ground.own_help()
    words = {*own, *COMMANDS, *ALGORITHMS, *_MORE_WORDS, *(usage.split()[0] for usage, _ in usages)}
    words |= {*fabric.switch_by_name, *fabric.host_by_name, *cable_ends(fabric)}
    return words | set(KINDS) if "fault" in words else words
