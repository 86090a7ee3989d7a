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

    A counter that went back (a restart, a port made anew) starts over, and so does all after a
    reconnect: no rate spans such a break, so none is negative or absurd.

    Switches also zero the counters of a group's buckets whenever the group is modified. With
    ``bridge`` a counter that went back therefore continues, at its last rate through the gap, and
    one that is new is taken to have been 0 before.
    """

    def __init__(self, bridge: bool = False) -> None:
        self._bridge = bridge
        self._session: int | None = None
        self._raw: dict[Name, int] = {}
        self._readings: deque[tuple[float, dict[Name, int]]] = deque()

    @property
    def history_s(self) -> float:
        """Seconds between the oldest and the newest reading that are kept."""
        return self._readings[-1][0] - self._readings[0][0] if self._readings else 0.0

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
        raw = dict(zip(map(tuple, names.tolist()), values.tolist(), strict=True))
        self._readings.append((time_s, self._continued(time_s, raw) if self._readings else raw))
        self._raw = raw
        while len(self._readings) > 2 and time_s - self._readings[1][0] >= HISTORY_S:
            self._readings.popleft()
        return True

    def _continued(self, time_s: float, raw: Mapping[Name, int]) -> dict[Name, int]:
        """The reading on the scale of those before, which lose the counters that break here."""
        last_s, last = self._readings[-1]
        now: dict[Name, int] = {}
        for name, value in raw.items():
            if name in last and value >= self._raw[name]:
                now[name] = last[name] + value - self._raw[name]
            elif self._bridge:
                for _, older in self._readings:
                    older.setdefault(name, 0)
                assumed = 0.0
                if len(self._readings) > 1:
                    before_s, before = self._readings[-2]
                    rate = (last[name] - before.get(name, 0)) / (last_s - before_s)
                    assumed = rate * (time_s - last_s)
                now[name] = last[name] + max(value, round(assumed))
            else:
                now[name] = value
                self._forget(name)
        for name in last.keys() - raw.keys():
            self._forget(name)
        return now

    def _forget(self, name: Name) -> None:
        for _, older in self._readings:
            older.pop(name, None)

    def restart(self) -> None:
        """Forget all readings but the newest: averages span nothing that was before."""
        while len(self._readings) > 1:
            self._readings.popleft()

    def average(self, window_s: float, skip: int = 0) -> Mapping[Name, float]:
        """Counts per second over the last ``window_s`` (or a little more, or as long as there is).

        The window ends ``skip`` readings before the newest. A counter without two readings has
        none.
        """
        if len(self._readings) < 2 + skip:
            return {}
        readings = list(self._readings)[: len(self._readings) - skip]
        end_s, end = readings.pop()
        # The latest that fills the window; what began later is counted from where it began.
        first = max(
            (i for i, (start_s, _) in enumerate(readings) if end_s - start_s >= window_s * 0.95),
            default=0,
        )
        rates: dict[Name, float] = {}
        for start_s, start in readings[first:]:
            elapsed_s = end_s - start_s
            for name, value in start.items():
                if name not in rates and name in end:
                    rates[name] = (end[name] - value) / elapsed_s
            if len(rates) == len(end):
                break
        return rates
