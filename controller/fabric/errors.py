"""What is wrong with a fabric, wherever it came from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from controller.fabric.model import Provenance

MAX_PROBLEMS = 1000


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


class Problems:
    """Collects problems, and stops the work when there are more than anybody reads."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, where: Provenance, text: str) -> None:
        self._found.append(Problem(where, text))
        if len(self._found) >= MAX_PROBLEMS:
            raise self.stop(where, f"{MAX_PROBLEMS} problems, and no end: cure these first")

    def stop(self, where: Provenance, text: str) -> TopologyErrors:
        """The error to raise for a last problem."""
        return TopologyErrors([*self._found, Problem(where, text)])

    def errors(self) -> TopologyErrors:
        return TopologyErrors(self._found)


def twice(uses: Iterable[tuple[Hashable, str, Provenance]]) -> Iterator[Problem]:
    """A problem at every use of a thing but the first in the file."""
    first: dict[Hashable, Provenance] = {}
    for thing, what, where in sorted(uses, key=lambda use: (use[2].line, use[2].column)):
        if thing in first:
            yield Problem(
                where,
                f"{what} is used twice, first at line {first[thing].line}: change one of them",
            )
        else:
            first[thing] = where


def quoted(value: str) -> str:
    """``value`` in quotes and short enough for one line, control characters escaped."""
    return repr(value if len(value) <= 60 else value[:57] + "...")
