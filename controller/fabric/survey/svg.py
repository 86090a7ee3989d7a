"""A fabric as a drawing in SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import hypot
from xml.sax.saxutils import escape

from controller.fabric.model import Fabric, Link
from controller.fabric.quantities import rate_text
from controller.fabric.survey.places import HEIGHT, MARGIN, Place, Places, places

_COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fae8ff", "#fee2e2")
_IDLE = "#64748b"
_HEAT = ((1.0, "#7f1d1d"), (0.8, "#dc2626"), (0.5, "#d97706"), (1e-9, "#16a34a"), (-1.0, _IDLE))
"""Colours of links by how much of them is used: from that share on."""
_BEND = 9
"""Pixels between two parallel links, in the middle."""
_INWARD = 0.4
"""On a circle: how far links bend to its centre, so that they keep clear of the boxes."""


def svg(fabric: Fabric, used: Mapping[str, float] | None = None) -> str:
    """Tiers as rows, a fabric of one tier as a circle; the faster a link, the wider its line.

    A title on each element says what it is: a browser shows it under the pointer. Links get colours
    by how much of each is ``used``, by its name.
    """
    hosts = {
        name: list(dict.fromkeys(nic.host for _, nic in nics))
        for name, nics in fabric.nics_on.items()
    }
    under = {name: _some(on) for name, on in hosts.items() if on}
    drawing = places(fabric, under)
    caption = _caption(fabric)
    width, height = max(drawing.width, 2 * MARGIN + 8 * len(caption)), drawing.height
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f"<title>{escape(fabric.name)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN / 2 + 6}" font-size="13">{escape(caption)}</text>',
        *_links(fabric, drawing, used),
    ]
    for name, place in drawing.of.items():
        title = escape(" ".join([name, *hosts.get(name, ())]))
        out.append(_box(name, title, under.get(name, ""), place, drawing))
    return "\n".join([*out, "</svg>"]) + "\n"


def _some(hosts: list[str]) -> str:
    return " ".join(hosts) if len(hosts) < 3 else f"{hosts[0]} … {hosts[-1]}"


def _caption(fabric: Fabric) -> str:
    rates = sorted({link.capacity_bps for link in fabric.links})
    shown = " to ".join(dict.fromkeys(rate_text(rates[i]) for i in (0, -1))) if rates else ""
    links = f"{len(fabric.links)} links" + (f" of {shown}" if shown else "")
    return f"{fabric.name}: {len(fabric.switches)} switches, {links}, {len(fabric.hosts)} hosts"


def _links(fabric: Fabric, drawing: Places, used: Mapping[str, float] | None) -> list[str]:
    """Straight, but parallel ones side by side, and those within a row above it."""
    between: dict[tuple[str, str], list[Link]] = defaultdict(list)
    for link in fabric.links:
        between[link.a.switch, link.b.switch].append(link)
    fastest = max((link.capacity_bps for link in fabric.links), default=1.0)
    out = []
    for (a, b), links in between.items():
        (ax, ay), (bx, by) = drawing.of[a].joint, drawing.of[b].joint
        length = max(1.0, hypot(bx - ax, by - ay))
        for i, link in enumerate(links):
            # Twice as far off as the curve's middle, which is halfway to its control point.
            off = 2 * _BEND * (i - (len(links) - 1) / 2) / length
            x, y = (ax + bx) / 2 + off * (ay - by), (ay + by) / 2 + off * (bx - ax)
            if drawing.centre is not None:
                x += _INWARD * (drawing.centre[0] - x)
                y += _INWARD * (drawing.centre[1] - y)
            elif ay == by:
                y -= HEIGHT + 20 + abs(bx - ax) / 16
            wide = 0.6 + 1.8 * link.capacity_bps / fastest
            share = None if used is None else used.get(link.name, 0.0)
            said = "" if share is None else f", {100 * share:.1f} % used"
            title = escape(f"{link.name} {rate_text(link.capacity_bps)}{said}")
            out.append(
                f'<path d="M{ax:.1f} {ay:.1f}Q{x:.1f} {y:.1f} {bx:.1f} {by:.1f}" fill="none" '
                f'stroke="{_heat(share)}" stroke-width="{wide:.1f}"><title>{title}</title></path>'
            )
    return out


def _heat(share: float | None) -> str:
    if share is None:
        return _IDLE
    return next(colour for least, colour in _HEAT if share >= least)


def _box(name: str, title: str, under: str, place: Place, drawing: Places) -> str:
    colour = _COLOURS[drawing.level[name] % len(_COLOURS)]
    if place.outward:
        x, anchor = place.outward * (drawing.box / 2 + 6), "start" if place.outward > 0 else "end"
        where = f'x="{x:.1f}" y="4" text-anchor="{anchor}"'
    else:
        where = f'y="{HEIGHT / 2 + 14:.0f}" text-anchor="middle"'
    beside = f'<text {where} fill="#475569">{escape(under)}</text>' if under else ""
    return (
        f'<g transform="translate({place.x:.1f} {place.y:.1f}) rotate({place.turn:.2f})">'
        f'<title>{title}</title><rect x="{-drawing.box / 2:.1f}" y="{-HEIGHT / 2:.1f}" '
        f'width="{drawing.box:.1f}" height="{HEIGHT}" rx="4" fill="{colour}" stroke="#334155"/>'
        f'<text y="4" text-anchor="middle">{escape(name)}</text>{beside}</g>'
    )
