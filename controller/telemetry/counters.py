"""Rates from successive readings of counters that only count up."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy.typing as npt

Name: TypeAlias = tuple[int, ...]
"""What a counter belongs to on its switch: (port,), (group, bucket) or (port, queue)."""

HISTORY_S = 12.0


class Rates:
    """One kind of counter of one switch, read again and again.

    A counter that went back (a restart, a port or bucket made anew) starts over, and so does all
    after a reconnect: no rate spans such a break, so none is negative or absurd.
    """

    def __init__(self) -> None:
        self._session: int | None = None
        self._readings: deque[tuple[float, dict[Name, int]]] = deque()

    def add(
        self, session: int, time_s: float, names: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> bool:
        """Take in one reading: ``values[R]`` of the counters ``names[R, K]`` at ``time_s``.

        Returns whether it was newer than the last; others are ignored.
        """
        if self._session is not None and session < self._session:
            return False
        if session != self._session:
            self._session = session
            self._readings.clear()
        if self._readings and time_s <= self._readings[-1][0]:
            return False
        now = dict(zip(map(tuple, names.tolist()), values.tolist(), strict=True))
        if self._readings:
            last = self._readings[-1][1]
            for name in [n for n, value in last.items() if n not in now or now[n] < value]:
                for _, older in self._readings:
                    older.pop(name, None)
        self._readings.append((time_s, now))
        while len(self._readings) > 2 and time_s - self._readings[1][0] >= HISTORY_S:
            self._readings.popleft()
        return True

    def average(self, window_s: float, skip: int = 0) -> Mapping[Name, float]:
        """Counts per second over the last ``window_s`` (or a little more, or as long as there is).

        The window ends ``skip`` readings before the newest. A counter without two readings has
        none.
        """
        if len(self._readings) < 2 + skip:
            return {}
        end_s, end = self._readings[-1 - skip]
        rates: dict[Name, float] = {}
        for start_s, start in list(self._readings)[: len(self._readings) - 1 - skip]:
            # From the oldest on, later ones overwrite while they still fill the window.
            enough = end_s - start_s >= window_s * 0.95
            for name, value in start.items():
                if name in end and (enough or name not in rates):
                    rates[name] = (end[name] - value) / (end_s - start_s)
        return rates
