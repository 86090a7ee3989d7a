"""Which way the traffic of an intent goes, and why it got no more, as messages of ``heald.v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import product

from controller.engine.pinned import Way
from controller.engine.shortages import REASONS
from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey, PinnedFlow
from controller.intents.kinds import expand
from controller.intents.kinds.expansion import Expansion
from controller.intents.lifecycle import Reason
from controller.intents.model import Intent
from controller.intents.selectors import Problem, did_you_mean
from controller.northbound.convert import intent_to_message
from controller.northbound.holdings import Holdings
from controller.northbound.ports import NetworkView
from controller.northbound.remedies import Remedies
from controller.optimizer.plan import PlacedFlow, PlacementKey, Plan
from heald.v1 import intents_pb2 as pb

MAX_EXPLAINED = 1_000
"""Flows of an answer, and spreads."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Hosts or NICs that traffic comes from and goes to; empty is any."""

    source: str = ""
    destination: str = ""

    def problems(self, fabric: Fabric) -> Iterator[Problem]:
        for field, name in (("source", self.source), ("destination", self.destination)):
            if name and name not in fabric.host_by_name and name not in fabric.nic_by_id:
                known = (*fabric.host_by_name, *fabric.nic_by_id)
                fault = f"fabric {fabric.name!r} has no host or NIC {name!r}"
                yield Problem(field, fault + did_you_mean(name, known))

    def passes(self, source: str, destination: str) -> bool:
        return _is(source, self.source) and _is(destination, self.destination)


def explain(
    view: NetworkView, intents: Mapping[str, Intent], intent: Intent, only: Filter
) -> pb.IntentExplanation:
    """Of ``intent``, one of ``intents``, which are all that there are."""
    message = pb.IntentExplanation(intent=intent_to_message(intent))
    plan = view.plan
    if plan is None:
        return message
    message.plan, message.committed = plan.id, view.plan_committed
    expansion = expand(intent.name, intent.spec, view.fabric)
    holdings = Holdings(plan, view.fabric, view.links.up if view.links is not None else None)
    answer = _Answer(view, plan, holdings, Remedies(view.fabric, holdings, intents))
    flows = [f for f in expansion.flows if only.passes(f.id.source, f.id.destination)]
    message.flows.extend(answer.flow(flow) for flow in flows[:MAX_EXPLAINED])
    keys = _unpinned(plan, flows) if expansion.flows else _pairs(view.fabric, expansion, only)
    message.spreads.extend(answer.spread(key) for key in nsmallest(MAX_EXPLAINED, keys))
    message.omitted = max(0, len(flows) - MAX_EXPLAINED) + max(0, len(keys) - MAX_EXPLAINED)
    return message


def _unpinned(plan: Plan, flows: Iterable[PinnedFlow]) -> set[DemandKey]:
    """How flows go that have no path of their own, though they need one."""
    found = set()
    for flow in flows:
        pin = plan.pins.get(PlacedFlow(*flow.id))
        if pin is None or pin.primary is not None or flow.id.ingress in flow.egress:
            continue
        if flow.id.intent not in plan.refused and pin.shortage != "SHADOWED":
            found.add(DemandKey(flow.id.ingress, flow.egress, flow.traffic_class))
    return found


def _pairs(fabric: Fabric, expansion: Expansion, only: Filter) -> set[DemandKey]:
    """Of NICs that reach each other; those that one switch joins need no way."""

    def sets(nics: Iterable[str], name: str) -> set[AttachmentSet]:
        return {fabric.nic_by_id[nic].attachment_set for nic in nics if _is(nic, name)}

    found: set[DemandKey] = set()
    for side in expansion.reach.sides:
        entries = {ingress for near in sets(side.nics, only.source) for ingress in near}
        for ingress, far in product(entries, sets(side.peers, only.destination)):
            if ingress not in far:
                found.update(DemandKey(ingress, far, each.name) for each in fabric.classes)
    return found


def _is(nic: str, name: str) -> bool:
    """Whether ``name`` is that of the NIC or of its host, or empty."""
    return not name or nic == name or nic.startswith(f"{name}/")


@dataclass(frozen=True, slots=True)
class _Answer:
    view: NetworkView
    plan: Plan
    holdings: Holdings
    remedies: Remedies

    def flow(self, flow: PinnedFlow) -> pb.FlowExplanation:
        pin = self.plan.pins.get(PlacedFlow(*flow.id))
        message = pb.FlowExplanation(
            source=flow.id.source,
            destination=flow.id.destination,
            ingress=flow.id.ingress,
            udp_source_port=flow.id.udp_source_port,
            traffic_class=flow.traffic_class,
            asked_bps=flow.rate_bps,
            reserved_bps=pin.rate_bps if pin else 0.0,
            asked_protection=flow.protection.name,
            protection=pin.protection.upper() if pin else "NONE",
        )
        if pin is None:
            message.reason = Reason.ACCEPTED.value
            message.shortage = f"plan {self.plan.id} is older than this; wait for the next one"
            return message
        ways = self.holdings.ways
        message.path.extend(self._hops(ways.of(flow.id.ingress, pin.egress, pin.primary)))
        message.backup.extend(self._hops(ways.of(flow.id.ingress, pin.egress, pin.backup)))
        message.latency_s = sum(hop.latency_s for hop in message.path)
        message.backup_latency_s = sum(hop.latency_s for hop in message.backup)
        message.binding.extend(pin.binding)
        message.rivals.extend(pin.rivals)
        if pin.shortage in REASONS:
            message.reason = REASONS[pin.shortage].value
            message.shortage = self.remedies.of(flow, pin)
        elif flow.id.intent in self.plan.refused:
            message.shortage = "could be had, but other flows of the intent cannot"
        return message

    def spread(self, key: DemandKey) -> pb.Spread:
        message = pb.Spread(ingress=key.ingress, egress=key.egress, traffic_class=key.traffic_class)
        weights = self.plan.weights.get(PlacementKey(*key), {})
        for tree, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
            path = self._hops(self.holdings.ways.of(key.ingress, key.egress, tree))
            message.ways.add(tree=tree, share=weight / sum(weights.values()), path=path)
        return message

    def _hops(self, way: Way | None) -> Iterator[pb.Hop]:
        links = self.view.links
        for index in way or ():
            arc = self.view.fabric.arcs[index]
            yield pb.Hop(
                switch=arc.tail.switch,
                port=arc.tail.port,
                link=arc.link,
                next_switch=arc.head.switch,
                capacity_bps=arc.capacity_bps,
                reserved_bps=self.holdings.total_bps(index),
                latency_s=arc.latency_s,
                up=links is None or bool(links.up[index]),
            )
