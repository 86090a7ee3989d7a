"""Topology files out of what is generated, as a person would write them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping

from controller.fabric.generate.draft import Elements, Value

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*(?::[0-9]+)?\Z")
_WIDTH = 98


def expanded(name: str, defaults: Value, made: Elements, about: Iterable[str] = ()) -> str:
    """A file with every element, one a line; ``about`` are paragraphs of comment above."""
    lines = [*_head(name, defaults, about), "", "switches:"]
    lines += _entries(made.switches)
    lines += ["", "hosts:", *_entries(made.hosts)]
    lines += ["", "links:", *(f"  - {flow(link)}" for link in made.links)]
    return "\n".join(lines) + "\n"


def block(
    name: str,
    defaults: Value,
    given: Mapping[str, Value],
    notes: Mapping[str, str],
    about: Iterable[str] = (),
) -> str:
    """A file with a ``generate`` block of these parameters; ``notes`` explain them."""
    lines = [*_head(name, defaults, about), "", "generate:"]
    lines += [
        f"  {key}: {flow(value)}" + (f" # {notes[key]}" if key in notes else "")
        for key, value in given.items()
    ]
    return "\n".join(lines) + "\n"


def flow(value: Value) -> str:
    """On one line, as YAML's flow style has it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value if _PLAIN.match(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]"


def _head(name: str, defaults: Value, about: Iterable[str]) -> list[str]:
    lines = [f"# {line}" for text in about for line in textwrap.wrap(text, _WIDTH - 2)]
    lines += [""] * bool(lines) + [f"fabric: {flow(name)}", "", "defaults:"]
    assert isinstance(defaults, dict)
    return [*lines, *(f"  {key}: {flow(value)}" for key, value in defaults.items())]


def _entries(of: Mapping[str, Value], indent: str = "  ") -> list[str]:
    """One a line; those that would be too long, over several."""
    lines: list[str] = []
    for name, value in of.items():
        line = f"{indent}{name}: {flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, dict):
            lines.append(line.rstrip())
        else:
            lines += [f"{indent}{name}:", *_entries(value, indent + "  ")]
    return lines
