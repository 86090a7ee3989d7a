"""Where the switches of a drawing stand: tiers in rows, or all on a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, degrees, pi, sin

from controller.fabric.build import natural
from controller.fabric.model import Fabric
from controller.fabric.survey.tiers import tiers

HEIGHT = 26
"""Of the box of a switch, in pixels, as all lengths here."""
MARGIN = 40
_BETWEEN, _ROW, _GAP = 18, 130, 24
_CHARACTER = 6.6
_STEEPEST = 10
"""Rows are as far apart as their width needs for links that are not nearly level."""


@dataclass(frozen=True, slots=True)
class Place:
    """Centre of a box, ``turn`` degrees clockwise from level, and where its links begin."""

    x: float
    y: float
    turn: float
    joint: tuple[float, float]
    outward: int = 0
    """On a circle, the side on which hosts are named: 1 to the right, -1 to the left."""


@dataclass(frozen=True, slots=True)
class Places:
    """``width`` and ``height`` of the drawing; ``box`` is the width of every switch."""

    of: Mapping[str, Place]
    level: Mapping[str, int]
    """Tier of each switch, -1 for those that no host reaches."""
    box: float
    width: float
    height: float
    centre: tuple[float, float] | None = None
    """Of the circle, if that is how they stand."""


def places(fabric: Fabric, under: Mapping[str, str]) -> Places:
    """``under`` is what is written beside a switch; it fits where the switch does."""
    found = tiers(fabric)
    rows = [list(tier.switches) for tier in reversed(found)]
    level = {name: tier.level for tier in found for name in tier.switches}
    if apart := [s.name for s in fabric.switches if s.name not in level]:
        level |= dict.fromkeys(apart, -1)
        rows.append(apart)
    names = max((len(name) for name in level), default=0) * _CHARACTER + 14
    texts = max((len(text) for text in under.values()), default=0) * _CHARACTER
    if len(rows) > 1:
        return _in_rows(rows, level, names, max(names, texts) + _BETWEEN)
    return _on_a_circle(_by_group(fabric, level), level, names, texts)


def _in_rows(
    rows: Sequence[Sequence[str]], level: Mapping[str, int], box: float, column: float
) -> Places:
    across = max(map(len, rows)) * column
    apart = max(_ROW, across / _STEEPEST)
    of: dict[str, Place] = {}
    for down, row in enumerate(rows):
        for i, name in enumerate(row):
            x = MARGIN + across * (i + 0.5) / len(row)
            y = 2 * MARGIN + HEIGHT / 2 + apart * down
            of[name] = Place(x, y, 0.0, (x, y))
    bottom = 2 * MARGIN + apart * (len(rows) - 1) + HEIGHT + 20 + MARGIN
    return Places(of, level, box, across + 2 * MARGIN, bottom)


def _by_group(fabric: Fabric, level: Mapping[str, int]) -> list[str]:
    """Switches of a pod or site side by side."""

    def key(name: str) -> tuple[object, ...]:
        switch = fabric.switch_by_name[name]
        return natural(switch.site or ""), natural(switch.pod or ""), natural(name)

    return sorted(level, key=key)


def _on_a_circle(
    names: Sequence[str], level: Mapping[str, int], box: float, texts: float
) -> Places:
    """Boxes point outward, so that no link crosses one, whatever the links are."""
    inner = max(170.0, len(names) * (HEIGHT + 8) / (2 * pi))
    centre = MARGIN + inner + box + _GAP + texts
    of: dict[str, Place] = {}
    for i, name in enumerate(names):
        angle = 2 * pi * i / max(1, len(names)) - pi / 2
        right = 1 if cos(angle) > -1e-9 else -1
        middle = inner + box / 2
        joint = (centre + inner * cos(angle), MARGIN + centre + inner * sin(angle))
        turn = degrees(angle) if right > 0 else degrees(angle) - 180
        x, y = centre + middle * cos(angle), MARGIN + centre + middle * sin(angle)
        of[name] = Place(x, y, turn, joint, right)
    return Places(of, level, box, 2 * centre, 2 * centre + MARGIN, (centre, MARGIN + centre))
