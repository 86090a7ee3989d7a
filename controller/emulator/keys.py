"""What people write about networks, in scripts and at prompts, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

_FEW = 8


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
