"""Plans and intents in other words: who is called what after an edit of the topology.

A switch is the same while its datapath id is, a NIC while its MAC is, a class while its DSCP is. A
plan keeps its numbers and its trees however they are called.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from controller.engine.events import WantedIntent
from controller.fabric.meaning import digest
from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey, Demands, PinnedFlow, Reach
from controller.optimizer.plan import MadeFor, Pin, PlacedFlow, PlacementKey, Plan

Identity = TypeVar("Identity", bound=Hashable)
Value = TypeVar("Value")


def made_for(fabric: Fabric, flows: Iterable[PinnedFlow]) -> MadeFor:
    """What a plan for this fabric says of it."""
    pinned = {nic for flow in flows for nic in (flow.id.source, flow.id.destination)}
    nics = {nic: fabric.nic_by_id[nic].mac for nic in sorted(pinned)}
    return replace(everybody(fabric), digest=digest(fabric), nics=nics)


def everybody(fabric: Fabric) -> MadeFor:
    """Whom all names of the fabric stand for."""
    return MadeFor(
        switches={s.name: s.dpid for s in fabric.switches},
        nics={nic.id: nic.mac for nic in fabric.nics},
        classes={c.name: c.dscp for c in fabric.classes},
    )


def in_words_of(fabric: Fabric, plan: Plan) -> Plan:
    """The plan by the names of today: the fabric may have been edited since it was stored."""
    return Names.since(plan.made_for, fabric).plan(plan)


@dataclass(frozen=True, slots=True)
class Names:
    """Old names to new ones; what is not in it is called as before."""

    switches: Mapping[str, str]
    nics: Mapping[str, str]
    classes: Mapping[str, str]

    @staticmethod
    def since(before: MadeFor, fabric: Fabric) -> Names:
        """What has other names on ``fabric`` than it had ``before``."""
        return Names(
            _renamed(before.switches, {s.name: s.dpid for s in fabric.switches}),
            _renamed(before.nics, {nic.id: nic.mac for nic in fabric.nics}),
            _renamed(before.classes, {c.name: c.dscp for c in fabric.classes}),
        )

    @property
    def same(self) -> bool:
        return not (self.switches or self.nics or self.classes)

    def switch(self, name: str) -> str:
        return self.switches.get(name, name)

    def nic(self, name: str) -> str:
        return self.nics.get(name, name)

    def members(self, egress: AttachmentSet) -> AttachmentSet:
        return tuple(sorted(map(self.switch, egress)))

    def by_switch(self, what: Mapping[str, Value]) -> dict[str, Value]:
        return {self.switch(name): value for name, value in what.items()}

    def placement(self, key: PlacementKey) -> PlacementKey:
        return PlacementKey(*self.demand(DemandKey(*key)))

    def demand(self, key: DemandKey) -> DemandKey:
        name = self.classes.get(key.traffic_class, key.traffic_class)
        return DemandKey(self.switch(key.ingress), self.members(key.egress), name)

    def plan(self, plan: Plan) -> Plan:
        """``plan`` itself, if that is what it is."""
        if self.same:
            return plan
        return replace(
            plan,
            egresses=tuple(replace(e, members=self.members(e.members)) for e in plan.egresses),
            trees=tuple(replace(t, next_port=self.by_switch(t.next_port)) for t in plan.trees),
            weights={self.placement(key): row for key, row in plan.weights.items()},
            load_bps={(self.switch(s), port): bps for (s, port), bps in plan.load_bps.items()},
            pins={self._placed(flow): self._pin(pin) for flow, pin in plan.pins.items()},
            made_for=replace(
                plan.made_for,
                switches=self.by_switch(plan.made_for.switches),
                nics={self.nic(name): mac for name, mac in plan.made_for.nics.items()},
                classes={
                    self.classes.get(name, name): dscp
                    for name, dscp in plan.made_for.classes.items()
                },
            ),
        )

    def _placed(self, flow: PlacedFlow) -> PlacedFlow:
        return flow._replace(
            source=self.nic(flow.source),
            destination=self.nic(flow.destination),
            ingress=self.switch(flow.ingress),
        )

    def _pin(self, pin: Pin) -> Pin:
        return replace(pin, egress=self.members(pin.egress))

    def demands(self, demands: Demands) -> Demands:
        if self.same:
            return demands
        rates = {self.demand(k): r for k, r in zip(demands.keys, demands.rate_bps, strict=True)}
        keys = tuple(sorted(rates))
        return replace(
            demands,
            reaches=tuple(map(self._reach, demands.reaches)),
            keys=keys,
            rate_bps=tuple(rates[key] for key in keys),
            flows=tuple(sorted(map(self._flow, demands.flows), key=lambda flow: flow.id)),
        )

    def _reach(self, reach: Reach) -> Reach:
        return replace(reach, nics=self._nics(reach.nics), peers=self._nics(reach.peers))

    def _nics(self, nics: frozenset[str]) -> frozenset[str]:
        return frozenset(map(self.nic, nics))

    def _flow(self, flow: PinnedFlow) -> PinnedFlow:
        identity = flow.id._replace(
            source=self.nic(flow.id.source),
            destination=self.nic(flow.id.destination),
            ingress=self.switch(flow.id.ingress),
        )
        name = self.classes.get(flow.traffic_class, flow.traffic_class)
        return replace(flow, id=identity, egress=self.members(flow.egress), traffic_class=name)

    def intent(self, intent: WantedIntent) -> WantedIntent:
        if self.same:
            return intent
        return replace(
            intent,
            nics=self._nics(intent.nics),
            peers=self._nics(intent.peers),
            flows=tuple(sorted(map(self._flow, intent.flows), key=lambda flow: flow.id)),
        )


def _renamed(before: Mapping[str, Identity], after: Mapping[str, Identity]) -> dict[str, str]:
    name_of = {identity: name for name, identity in after.items()}
    out = {
        name: name_of[identity]
        for name, identity in before.items()
        if identity in name_of and name_of[identity] != name
    }
    taken = set(out.values())
    for name, identity in before.items():
        if name in taken and identity not in name_of:
            # Somebody else is called so now; a plan may speak of both.
            out[name] = f"{name} (was {identity})"
    return out
