"""What is wrong with a fabric, wherever it came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controller.fabric.model import Provenance


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, what it is and how it is cured."""

    where: Provenance
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


class TopologyErrors(Exception):  # noqa: N818 -- it holds all of them
    """Every problem of one topology, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        unique = dict.fromkeys(problems)
        self.problems = tuple(sorted(unique, key=lambda p: (p.where.line, p.where.column)))
        super().__init__("\n".join(map(str, self.problems)))


def quoted(value: str) -> str:
    """``value`` in quotes and short enough for one line, control characters escaped."""
    return repr(value if len(value) <= 60 else value[:57] + "...")
