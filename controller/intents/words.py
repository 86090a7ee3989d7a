"""How quantities and names stand in sentences: as people write them in files."""

from __future__ import annotations

from collections.abc import Iterable

_RATES = (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3))
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def rate(bps: float) -> str:
    """``94.2 Gbit/s``."""
    for unit, size in _RATES:
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps:.4g} bit/s"


def time(seconds: float) -> str:
    """``1.5 us``."""
    for unit, size in _TIMES:
        if seconds >= size * (1 - 1e-9):
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def short_name(name: str) -> str:
    """Without what is the same for most: ``tenants/default/intents/a`` → ``a``."""
    return name.removeprefix("tenants/default/intents/")


def some(names: Iterable[str], most: int = 6) -> str:
    """``leaf1, leaf2, leaf3, leaf4, leaf5, leaf6 and 58 more``."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
