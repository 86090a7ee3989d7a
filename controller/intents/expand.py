"""From intents to demands: who may talk to whom, and how much is assumed before it is measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey, Demands, PinnedFlow, Reach

MINOR_CLASS_SHARE = 0.01
"""What a class other than the default one is assumed to carry, relative to the default."""

BESIDE_FLOWS_SHARE = 0.01
"""What two NICs whose traffic has paths of its own are assumed to send beside it, such as
acknowledgements, relative to NICs without."""


def demands_of(
    fabric: Fabric, reaches: Iterable[Reach], flows: Iterable[PinnedFlow] = (), version: int = 0
) -> Demands:
    """What intents ask for that let the NICs of ``reaches`` talk and want ``flows`` besides.

    A NIC is assumed to send its line rate in equal parts to all NICs that some reach joins it with
    as its like, and very little to those that are its ``peers``, as that is what flows are for. A
    NIC on several switches sends equal parts through each. There is a key for every ingress switch,
    egress and class of the fabric that a permitted pair can use; pairs that meet in one switch have
    none, since that switch delivers by itself.

    Raises KeyError naming the intent and the NIC when the fabric has no such NIC.
    """
    reaches = tuple(sorted(reaches, key=lambda reach: reach.intent))
    rate = _best_effort(fabric, reaches)
    default = fabric.default_class
    asked = {
        DemandKey(ingress, egress, each.name): bps * (1 if each is default else MINOR_CLASS_SHARE)
        for (ingress, egress), bps in rate.items()
        for each in fabric.classes
    }
    keys = tuple(sorted(asked))
    return Demands(
        version,
        reaches,
        keys,
        tuple(asked[key] for key in keys),
        tuple(sorted(flows, key=lambda flow: flow.id)),
    )


def connectivity(
    fabric: Fabric, intents: Mapping[str, frozenset[str]], version: int = 0
) -> Demands:
    """All NICs (``host/nic``) of an intent reach each other, best effort; see ``demands_of``."""
    return demands_of(fabric, [Reach(name, nics) for name, nics in intents.items()], (), version)


def _best_effort(
    fabric: Fabric, reaches: Sequence[Reach]
) -> Mapping[tuple[str, AttachmentSet], float]:
    """Rate of each ingress switch and egress, in the default class."""
    zones: dict[str, set[str]] = defaultdict(set)
    likes: set[str] = set()
    facing: dict[str, str] = {}
    for reach in reaches:
        sides = reach.sides
        for side, opposite in zip(sides, sides[::-1], strict=True):
            facing[side.name] = opposite.name
            for nic_id in side.nics:
                if nic_id not in fabric.nic_by_id:
                    raise KeyError(f"intent {reach.intent}: the fabric has no NIC {nic_id}")
                zones[nic_id].add(side.name)
        if len(sides) == 1:
            likes.add(reach.intent)

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
        faced = frozenset(facing[side] for side in zone)
        share = {
            other: 1.0 if zone & other & likes else BESIDE_FLOWS_SHARE
            for other in members
            if faced & other
        }
        peers: dict[float, int] = defaultdict(int)
        for other, each in share.items():
            peers[each] += members[other] - (other == zone)
        for (other, far), receivers in count.items():
            if other not in share or near == far:
                continue
            sent = line_rate * share[other] / peers[share[other]] * receivers / len(near)
            for ingress in near:
                if ingress not in far:
                    rate[ingress, far] += sent
    return rate
