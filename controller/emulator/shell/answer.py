"""What is said to a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """``rows`` have a value for each of ``columns``, whose names end in their units. ``time_s`` is
    that of the network."""

    time_s: float
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def records(self) -> list[dict[str, Any]]:
        """The rows, with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
