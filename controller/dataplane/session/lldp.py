"""LLDP frames that a switch hands up: which they are, and how many of them are looked at. Pure."""

from __future__ import annotations

HEARD_BYTES = 256
"""More of a frame is not passed on; no probe is longer."""
RATE_PPS = 1000
BURST_FRAMES = 1000
"""What a switch's own meter lets through; one that has none, or lies, gets no more."""

_ETHERTYPE = b"\x88\xcc"
_ETHERTYPE_AT = 12


def is_lldp(frame: bytes) -> bool:
    return frame.startswith(_ETHERTYPE, _ETHERTYPE_AT)


class Budget:
    """A token bucket of RATE_PPS and BURST_FRAMES; full at first."""

    def __init__(self) -> None:
        self._tokens = float(BURST_FRAMES)
        self._filled_s: float | None = None

    def take(self, now: float) -> bool:
        """Whether there is room for one more frame."""
        if self._filled_s is not None:
            filled = self._tokens + (now - self._filled_s) * RATE_PPS
            self._tokens = min(filled, float(BURST_FRAMES))
        self._filled_s = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
