"""What of a fabric plans and switches can tell, whatever things are called and in whatever order.

Two fabrics of the same meaning have the same tables under the same plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from hashlib import blake2b

from controller.fabric.model import Fabric, Link, PortRef


def meaning(fabric: Fabric) -> Hashable:
    """Equal for fabrics that differ in names, order, descriptions and provenance alone. Switches
    are known by their datapath ids, NICs by their MACs, classes by their DSCP, links by their
    ends."""
    dpid = {s.name: s.dpid for s in fabric.switches}

    def end(ref: PortRef) -> tuple[int, int]:
        return dpid[ref.switch], ref.port

    def ends(link: Link) -> frozenset[tuple[int, int]]:
        return frozenset((end(link.a), end(link.b)))

    risks: dict[str, set[frozenset[tuple[int, int]]]] = defaultdict(set)
    for link in fabric.links:
        for srlg in link.srlgs:
            risks[srlg].add(ends(link))
    return (
        frozenset(dpid.values()),
        frozenset((ends(link), link.capacity_bps, link.latency_s) for link in fabric.links),
        frozenset(map(frozenset, risks.values())),
        frozenset(
            (
                nic.mac,
                frozenset(nic.addresses),
                frozenset(map(end, nic.attachments)),
                nic.capacity_bps,
            )
            for nic in fabric.nics
        ),
        frozenset(
            (c.dscp, c.queue, frozenset(c.dscps), c.share, c.ceiling, c.priority, c.lossless)
            for c in fabric.classes
        ),
        fabric.default_class.dscp,
        (fabric.gateway_mac, fabric.gateway_ipv4, fabric.gateway_ipv6),
    )


def digest(fabric: Fabric) -> str:
    """The meaning in a few characters, the same in every process."""
    return blake2b(_said(meaning(fabric)).encode(), digest_size=8).hexdigest()


def _said(what: object) -> str:
    if isinstance(what, frozenset):
        return f"{{{','.join(sorted(map(_said, what)))}}}"
    if isinstance(what, tuple):
        return f"({','.join(map(_said, what))})"
    return repr(what)
