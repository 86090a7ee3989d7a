"""A fabric for Graphviz."""

from __future__ import annotations

from controller.fabric.model import Fabric
from controller.fabric.quantities import rate_text
from controller.fabric.survey.tiers import tiers


def dot(fabric: Fabric) -> str:
    """A rank for each tier, hosts below; a fabric of one tier as Graphviz's neato lays it out.

    Links have their rate, and at each end the number of the port.
    """
    found = tiers(fabric)
    level = {name: tier.level for tier in found for name in tier.switches}
    lines = [
        f'graph "{fabric.name}" {{',
        *(["  rankdir=BT;"] if len(found) > 1 else ["  layout=neato; overlap=false;"]),
        "  node [shape=box, fontsize=11];",
        "  edge [fontsize=8, labelfontsize=8];",
    ]
    for tier in found if len(found) > 1 else ():
        names = " ".join(f'"{name}";' for name in tier.switches)
        lines.append(f"  {{ rank=same; {names} }}")
    lines += [f'  "{host.name}" [shape=ellipse];' for host in fabric.hosts]
    for nic in fabric.nics:
        rate = rate_text(nic.capacity_bps)
        for at in nic.attachments:
            labels = f'label="{rate}", headlabel="{at.port}"'
            lines.append(f'  "{nic.host}" -- "{at.switch}" [{labels}];')
    for link in fabric.links:
        # From below to above, for that is how ranks are found.
        low, high = sorted((link.a, link.b), key=lambda end: level.get(end.switch, -1))
        rate = rate_text(link.capacity_bps)
        labels = f'label="{rate}", taillabel="{low.port}", headlabel="{high.port}"'
        lines.append(f'  "{low.switch}" -- "{high.switch}" [{labels}];')
    return "\n".join([*lines, "}"]) + "\n"
