"""BFD on the two ends of a link: what they should have, and whether that can be had in peace.

A switch takes a port for dead while its BFD session is not up, so an end that has BFD alone has no
link. RFC 5880 (6.8.3) lets a session that is not up send once a second, so even with both ends told
at once a link is out of use for a second or two.
"""

from __future__ import annotations

from enum import Enum

from controller.fabric.model import Bfd
from controller.ovsdb.rows import BfdSettings, InterfaceRow

UP = "up"
KEYS = ("enable", "min_tx", "min_rx", "mult")


def settings(bfd: Bfd | None) -> BfdSettings:
    """Of Open vSwitch's column ``bfd``."""
    if bfd is None:
        return {}
    interval = str(bfd.interval_ms)
    return dict(zip(KEYS, ("true", interval, interval, str(bfd.multiplier)), strict=True))


def is_on(row: InterfaceRow) -> bool:
    return row.bfd.get("enable") == "true"


def has(row: InterfaceRow, wanted: BfdSettings) -> bool:
    """Where nothing is wanted, what others have set stays."""
    return row.ours and row.bfd == wanted if wanted else not row.ours


class Step(Enum):
    """What a link needs: NOTHING, MEND where the ends differ, so that there is nothing to lose,
    START or CHANGE where the link works as it is."""

    NOTHING = "nothing"
    MEND = "mend"
    START = "start"
    CHANGE = "change"


def step(wanted: BfdSettings, a: InterfaceRow, b: InterfaceRow) -> Step:
    if has(a, wanted) and has(b, wanted):
        return Step.NOTHING
    if is_on(a) != is_on(b):
        return Step.MEND
    return Step.CHANGE if is_on(a) else Step.START
