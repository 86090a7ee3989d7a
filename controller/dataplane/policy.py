"""Who may talk to whom, as the guard and classify tables need it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from controller.fabric.model import Fabric, Nic
from controller.intents.demands import Demands
from controller.optimizer.plan import Plan


class StalePlanError(ValueError):
    """The plan was not made for these snapshots; the text lists every mismatch."""


def admitted(demands: Demands, refused: Collection[str]) -> Demands:
    """The demands without what intents that are ``refused`` let talk and pin. Their share of the
    best-effort demands stays: it is only assumed until it is measured."""
    if not refused:
        return demands
    return replace(
        demands,
        reaches=tuple(reach for reach in demands.reaches if reach.intent not in refused),
        flows=tuple(flow for flow in demands.flows if flow.id.intent not in refused),
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """``zone_of[nic id]`` for NICs that some intent names; no other NIC may send or receive.
    ``peers[zone]`` are the NICs that a NIC of the zone may send to, sorted by id; itself too, which
    is no use, as a switch sends nothing back by the port that it came in by."""

    zone_of: Mapping[str, int]
    peers: Mapping[int, tuple[Nic, ...]]

    @staticmethod
    def of(fabric: Fabric, plan: Plan, demands: Demands) -> Policy:
        intents: dict[str, set[str]] = {}
        problems = []
        for reach in demands.reaches:
            for nic in reach.nics:
                if nic in fabric.nic_by_id:
                    intents.setdefault(nic, set()).add(reach.intent)
                else:
                    problems.append(f"intent {reach.intent} names NIC {nic}, not in the fabric")
        members: dict[frozenset[str], set[str]] = {}
        for nic, of_nic in intents.items():
            members.setdefault(frozenset(of_nic), set()).add(nic)
        reachable: dict[str, set[str]] = {}
        for reach in demands.reaches:
            reachable.setdefault(reach.intent, set()).update(reach.nics)
        zone_of: dict[str, int] = {}
        peers: dict[int, tuple[Nic, ...]] = {}
        for zone_intents, nics in members.items():
            zone = plan.zones.get(zone_intents)
            if zone is None:
                problems.append(f"no zone for NICs of intents {', '.join(sorted(zone_intents))}")
                continue
            zone_of.update(dict.fromkeys(nics, zone))
            reached = set().union(*(reachable[intent] for intent in zone_intents))
            peers[zone] = tuple(
                fabric.nic_by_id[nic] for nic in sorted(reached) if nic in fabric.nic_by_id
            )
        if problems:
            raise StalePlanError(
                f"plan {plan.id} is for other demands: " + "; ".join(sorted(problems))
            )
        return Policy(zone_of, peers)
