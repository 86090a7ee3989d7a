"""Switches that send what is malformed stay away for a while: what they cost is bounded, in log
lines and in work for the brain, however often they come back. Pure."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_S, LAST_S = 1.0, 30.0
FORGIVEN_S = 60.0
"""A switch that was not barred again for so long after its quarantine begins anew."""


@dataclass(slots=True)
class _Term:
    until_s: float
    length_s: float


class Quarantine:
    """Datapath ids and how long they may not connect; each time twice as long."""

    def __init__(self) -> None:
        self._terms: dict[int, _Term] = {}

    def bar(self, dpid: int, now_s: float) -> None:
        self._terms = {d: t for d, t in self._terms.items() if now_s < t.until_s + FORGIVEN_S}
        last = self._terms.get(dpid)
        length_s = min(2 * last.length_s, LAST_S) if last is not None else FIRST_S
        self._terms[dpid] = _Term(now_s + length_s, length_s)

    def left_s(self, dpid: int, now_s: float) -> float:
        """0 for a switch that may connect."""
        term = self._terms.get(dpid)
        return max(0.0, term.until_s - now_s) if term is not None else 0.0
