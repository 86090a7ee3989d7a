"""The queues that a port should have for the fabric's classes, and what is between them and those
that it has. Pure.

A class's share is its queue's ``min-rate``, its ceiling the ``max-rate``, of the port's capacity;
Open vSwitch's HTB gives what others leave to the lowest ``priority`` number first, and among equals
in proportion to what they are guaranteed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.fabric.classes import shares
from controller.fabric.model import Fabric, PortRef, TrafficClass
from controller.ovsdb.rows import MARK, QosRow, QueueRow

HTB = "linux-htb"
OURS = "queues"
"""Value of the mark on rows of Heald."""
_FIRST = 7
"""Priority that HTB serves last; 0 is what it serves first."""
_BURST_S = 0.010
_MIN_BURST_BYTES, _MAX_BURST_BYTES = 15_000, 1_000_000
"""Ten full packets, so that a timer that is late wastes nothing; more than the upper bound would be
a burst that no buffer of the next switch holds."""


def wanted(fabric: Fabric) -> Mapping[PortRef, QosRow]:
    """Of every port with a link or a NIC; none where there are no classes to tell apart."""
    if len(fabric.classes) < 2:
        return {}
    rates = {end: link.capacity_bps for link in fabric.links for end in (link.a, link.b)}
    rates |= {port: nic.capacity_bps for nic in fabric.nics for port in nic.attachments}
    of_rate = {rate: port_queues(fabric.classes, rate) for rate in set(rates.values())}
    return {port: of_rate[rate] for port, rate in rates.items()}


def port_queues(classes: Sequence[TrafficClass], capacity_bps: float) -> QosRow:
    """Of a port of this rate."""
    guaranteed = shares(classes)
    queues = {c.queue: _queue(c, guaranteed[c.name], capacity_bps) for c in classes}
    return QosRow(HTB, {"max-rate": f"{capacity_bps:.0f}"}, queues, ours=True)


def _queue(traffic_class: TrafficClass, share: float, capacity_bps: float) -> QueueRow:
    most = capacity_bps * traffic_class.ceiling
    burst = min(max(_MIN_BURST_BYTES, most * _BURST_S / 8), _MAX_BURST_BYTES)
    ids = {MARK: OURS, "class": traffic_class.name}
    if traffic_class.dscps:
        ids["dscp"] = " ".join(map(str, sorted(traffic_class.dscps)))
    return QueueRow(
        {
            "min-rate": f"{capacity_bps * share:.0f}",
            "max-rate": f"{most:.0f}",
            "burst": f"{burst * 8:.0f}",
            "priority": str(_FIRST - traffic_class.priority),
        },
        ids,
    )


def is_foreign(known: QosRow | None) -> bool:
    return known is not None and not known.ours


def target(known: QosRow | None, wanted: QosRow | None, may_remove: bool) -> QosRow | None:
    """What the port should have now. While flows may still lead to queues that are wanted no
    longer, these stay. What others have made stays, too."""
    if known is None or not known.ours:
        return known if is_foreign(known) else wanted
    if may_remove:
        return wanted
    if wanted is None:
        return known
    return replace(wanted, queues={**known.queues, **wanted.queues})
