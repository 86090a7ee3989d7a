"""A fabric as a drawing: Graphviz DOT, or SVG."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

import networkx as nx

from controller.fabric.model import Fabric
from controller.fabric.quantities import rate_text
from controller.fabric.survey.tiers import tiers

_BOX, _ROW, _COLUMN, _MARGIN = (86, 26), 130, 104, 40
_IDLE = "#64748b"
_HEAT = ((1.0, "#7f1d1d"), (0.8, "#dc2626"), (0.5, "#d97706"), (1e-9, "#16a34a"), (-1.0, _IDLE))
_COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fae8ff", "#fee2e2")


def dot(fabric: Fabric) -> str:
    """For Graphviz: a rank for each tier, hosts below."""
    lines = [f'graph "{fabric.name}" {{', "  rankdir=BT;", "  node [shape=box];"]
    for tier in tiers(fabric):
        names = " ".join(f'"{name}";' for name in tier.switches)
        lines.append(f"  {{ rank=same; {names} }}")
    lines += [f'  "{host.name}" [shape=ellipse];' for host in fabric.hosts]
    for nic in fabric.nics:
        for port in nic.attachments:
            label = f"{rate_text(nic.capacity_bps)} port {port.port}"
            lines.append(f'  "{nic.host}" -- "{port.switch}" [label="{label}"];')
    for link in fabric.links:
        label = f"{rate_text(link.capacity_bps)} {link.a.port}-{link.b.port}"
        lines.append(f'  "{link.a.switch}" -- "{link.b.switch}" [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def svg(fabric: Fabric, used: Mapping[str, float] | None = None) -> str:
    """Tiers as rows; a fabric of one tier as its links pull it together. A title on each element
    says what it is. Links get colours by how much of each is ``used``, by its name."""
    at, level = _places(fabric)
    right = max((x for x, _ in at.values()), default=0) + _BOX[0] + _MARGIN
    bottom = max((y for _, y in at.values()), default=0) + _BOX[1] + _MARGIN + 20
    box = f'viewBox="0 0 {right:.0f} {bottom:.0f}" width="{right:.0f}" height="{bottom:.0f}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="11">',
        f"<title>{escape(fabric.name)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    fastest = max((link.capacity_bps for link in fabric.links), default=1.0)
    for link in fabric.links:
        (ax, ay), (bx, by) = at[link.a.switch], at[link.b.switch]
        width = 0.6 + 1.8 * link.capacity_bps / fastest
        share = None if used is None else used.get(link.name, 0.0)
        said = "" if share is None else f", {100 * share:.1f} % used"
        title = escape(f"{link.name} {rate_text(link.capacity_bps)}{said}")
        out.append(
            f'<line x1="{ax + _BOX[0] / 2:.1f}" y1="{ay + _BOX[1] / 2:.1f}" '
            f'x2="{bx + _BOX[0] / 2:.1f}" y2="{by + _BOX[1] / 2:.1f}" stroke="{_heat(share)}" '
            f'stroke-width="{width:.1f}"><title>{title}</title></line>'
        )
    for name, (x, y) in at.items():
        hosts = list(dict.fromkeys(nic.host for _, nic in fabric.nics_on[name]))
        colour = _COLOURS[level[name] % len(_COLOURS)]
        out.append(
            f'<g><title>{escape(" ".join([name, *hosts]))}</title><rect x="{x:.1f}" y="{y:.1f}" '
            f'width={quoteattr(str(_BOX[0]))} height={quoteattr(str(_BOX[1]))} rx="4" '
            f'fill="{colour}" stroke="#334155"/>'
            f'<text x="{x + _BOX[0] / 2:.1f}" y="{y + 17:.1f}" text-anchor="middle">'
            f"{escape(name)}</text></g>"
        )
        if hosts:
            some = hosts[0] if len(hosts) == 1 else f"{hosts[0]} … {hosts[-1]}"
            out.append(
                f'<text x="{x + _BOX[0] / 2:.1f}" y="{y + _BOX[1] + 14:.1f}" fill="#475569" '
                f'text-anchor="middle">{escape(some)}</text>'
            )
    return "\n".join([*out, "</svg>"]) + "\n"


def _heat(share: float | None) -> str:
    if share is None:
        return _IDLE
    return next(colour for least, colour in _HEAT if share >= least)


def _places(fabric: Fabric) -> tuple[Mapping[str, tuple[float, float]], Mapping[str, int]]:
    """Upper left corner of each switch, and its tier."""
    found = tiers(fabric)
    level = {name: tier.level for tier in found for name in tier.switches}
    level |= {s.name: 0 for s in fabric.switches if s.name not in level}
    if len(found) > 1:
        widest = max(len(tier.switches) for tier in found)
        at = {}
        for tier in found:
            gap = widest / len(tier.switches) * _COLUMN
            for i, name in enumerate(tier.switches):
                row = len(found) - 1 - tier.level
                at[name] = (_MARGIN + gap * (i + 0.5), _MARGIN + float(_ROW * row))
        for i, name in enumerate(s.name for s in fabric.switches if s.name not in at):
            at[name] = (_MARGIN + float(_COLUMN * i), _MARGIN + float(_ROW * len(found)))
        return at, level
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(level)
    graph.add_edges_from((link.a.switch, link.b.switch) for link in fabric.links)
    size = 90 * len(level) ** 0.5 + 60
    pulled = nx.spring_layout(graph, seed=1, iterations=200)
    return {
        name: (_MARGIN + (float(x) + 1) / 2 * size, _MARGIN + (float(y) + 1) / 2 * size)
        for name, (x, y) in pulled.items()
    }, level
