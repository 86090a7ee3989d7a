"""What people write about networks, in scripts and at prompts, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, TypeVar

import yaml

T = TypeVar("T")

_FEW = 8


def parse_list(text: str, source: str, what: str, error: type[ValueError]) -> list[Any]:
    """The YAML list that a text is; ``what`` says so in words. Raises ``error``."""
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise error(f"{source}: {problem}") from problem
    if not isinstance(given, list):
        raise error(f"{source}: {what}")
    return given


def read_each(
    given: Sequence[Any],
    source: str,
    noun: str,
    read: Callable[[dict[str, Any]], T | list[str]],
    error: type[ValueError],
) -> tuple[T, ...]:
    """What ``read`` makes of each mapping; where it gives back what is wrong instead, raises
    ``error`` with all of that, each with its place."""
    problems: list[str] = []
    found: list[T] = []
    for number, each in enumerate(given, 1):
        made: T | list[str] = ["it is not a mapping"]
        if isinstance(each, dict):
            made = read({str(key): value for key, value in each.items()})
        if isinstance(made, list):
            problems += [f"{source}: {noun} {number}: {text}" for text in made]
        else:
            found.append(made)
    if problems:
        raise error("\n".join(problems))
    return tuple(found)


def what_is_wrong(kind: type[Any], given: Mapping[str, Any], name: str) -> list[str]:
    """Of values for the fields of a dataclass that is called ``name``."""
    known = {field.name: field for field in fields(kind)}
    problems = [
        f"{name} has no {key!r}{did_you_mean(key, known)}" for key in given if key not in known
    ]
    for key, field in known.items():
        if key not in given:
            if field.default is MISSING:
                problems.append(f"{name} needs `{key}`")
        elif not _fits(given[key], str(field.type)):
            problems.append(f"`{key}` is {given[key]!r}, not a {field.type}")
    return problems


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return kind.endswith("None")
    if kind.startswith("float"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind.startswith("int"):
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, bool if kind.startswith("bool") else str)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known: one that is near, or all if few."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are {', '.join(names)}" if 0 < len(names) <= _FEW else ""
