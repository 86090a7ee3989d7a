"""From intents to demands: who may talk to whom, and how much is assumed before it is measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from controller.fabric.model import AttachmentSet, Fabric, TrafficClass
from controller.intents.demands import DemandKey, Demands, Reach

MINOR_CLASS_SHARE = 0.01
"""What a class other than the default one is assumed to carry, relative to the default."""


def connectivity(
    fabric: Fabric, intents: Mapping[str, frozenset[str]], version: int = 0
) -> Demands:
    """All NICs (``host/nic``) of an intent reach each other, best effort.

    A NIC is assumed to send its line rate in equal parts to all NICs that some intent lets it
    talk to, and a NIC on several switches sends equal parts through each. There is a key for
    every ingress switch, egress and class of the fabric that a permitted pair can use; pairs that
    meet in one switch have none, since that switch delivers by itself.

    Raises KeyError naming the intent and the NIC when the fabric has no such NIC.
    """
    zones: dict[str, set[str]] = defaultdict(set)
    for name, nics in intents.items():
        for nic_id in nics:
            if nic_id not in fabric.nic_by_id:
                raise KeyError(f"intent {name}: the fabric has no NIC {nic_id}")
            zones[nic_id].add(name)

    # NICs with the same zone and attachments are alike, so count them instead of pairing them.
    count: dict[tuple[frozenset[str], AttachmentSet], int] = defaultdict(int)
    capacity: dict[tuple[frozenset[str], AttachmentSet], float] = defaultdict(float)
    members: dict[frozenset[str], int] = defaultdict(int)
    for nic_id in sorted(zones):
        nic = fabric.nic_by_id[nic_id]
        kind = (frozenset(zones[nic_id]), nic.attachment_set)
        count[kind] += 1
        capacity[kind] += nic.capacity_bps
        members[kind[0]] += 1

    rate: dict[tuple[str, AttachmentSet], float] = defaultdict(float)
    for (zone, near), line_rate in capacity.items():
        peers = sum(n for other, n in members.items() if zone & other) - 1
        for (other, far), receivers in count.items():
            if not zone & other or near == far:
                continue
            for ingress in near:
                if ingress not in far:
                    rate[ingress, far] += line_rate / peers * receivers / len(near)

    default = _default_class(fabric)
    asked = {
        DemandKey(ingress, egress, each.name): bps * (1 if each is default else MINOR_CLASS_SHARE)
        for (ingress, egress), bps in rate.items()
        for each in fabric.classes
    }
    keys = tuple(sorted(asked))
    reaches = tuple(Reach(name, frozenset(intents[name])) for name in sorted(intents))
    return Demands(version, reaches, keys, tuple(asked[key] for key in keys))


def _default_class(fabric: Fabric) -> TrafficClass:
    """The class of unmarked packets, or the first."""
    return next((c for c in fabric.classes if c.dscp is None), fabric.classes[0])
