"""The tables and ports of a switch, for a walk of which is noted what it looked at."""

from __future__ import annotations

from collections.abc import Sequence

from controller.emulator.flow_table import Entry, FlowTable
from controller.emulator.ports import PortTable


class Examined:
    """The tables of a switch, noting which bits of the headers lookups after the first depend
    on. The first finds the entry that it is told."""

    def __init__(self, tables: Sequence[FlowTable]) -> None:
        self._tables = tables
        self._table = tables[0]
        self._number = 0
        self._first: Entry | None = None
        self._begins = True
        self._known: dict[tuple[int, int], Entry | None] = {}
        self.mask = 0

    def another_class(self, first: Entry | None) -> None:
        self._first = first
        self._known.clear()
        self.mask = 0

    def begin(self) -> None:
        self._begins = True

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> Examined:
        self._table = self._tables[number]
        self._number = number
        return self

    def find(self, headers: int) -> Entry | None:
        if self._begins:
            self._begins = False
            return self._first
        key = self._number, headers
        if key in self._known:
            return self._known[key]
        entry, examined = self._table.examine(headers)
        self._known[key] = entry
        self.mask |= examined
        return entry


class Consulted:
    """The ports of a switch, noting whose state was asked for; None stands for that of all."""

    def __init__(self, ports: PortTable) -> None:
        self._ports = ports
        self.numbers: set[int | None] = set()

    def is_live(self, number: int) -> bool:
        self.numbers.add(number)
        return self._ports.is_live(number)

    def forwards(self, number: int) -> bool:
        self.numbers.add(number)
        return self._ports.forwards(number)

    def flooded(self) -> list[int]:
        self.numbers.add(None)
        return self._ports.flooded()
