"""Which entries of a switch are Heald's. All others are foreign: reported, never touched."""

from __future__ import annotations

COOKIE_PREFIX = 0x4845
"""``HE``: the 16 leading bits of the cookie of each of Heald's flows."""
COOKIE_PREFIX_MASK = 0xFFFF << 48
GROUPS = range(0x48000000, 0x49000000)
METERS = range(0x20000, 0x30000)


def owns_flow(cookie: int) -> bool:
    return cookie >> 48 == COOKIE_PREFIX


def owns_group(group_id: int) -> bool:
    return group_id in GROUPS


def owns_meter(meter_id: int) -> bool:
    return meter_id in METERS
