"""The network as messages of ``heald.v1``."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from controller.discovery.swaps import Cable
from controller.engine.pinned import Ways
from controller.engine.wiring import WiringReport
from controller.fabric.classes import shares
from controller.fabric.model import Fabric, Host, Nic
from controller.northbound.convert import timestamp
from controller.northbound.ports import NetworkView
from controller.optimizer.plan import PlacementKey, Plan
from heald.v1 import fabric_pb2 as pb


def topology(fabric: Fabric) -> pb.Topology:
    return pb.Topology(
        name=fabric.name,
        version=fabric.version,
        switches=[
            pb.Switch(name=s.name, dpid=s.dpid, role=s.role, pod=s.pod or "", site=s.site or "")
            for s in fabric.switches
        ],
        hosts=[_host(host) for host in fabric.hosts],
        links=[
            pb.Link(
                name=link.name,
                a=str(link.a),
                b=str(link.b),
                capacity_bps=link.capacity_bps,
                latency_s=link.latency_s,
                srlgs=link.srlgs,
            )
            for link in fabric.links
        ],
    )


def links(view: NetworkView, wanted: Collection[str] = ()) -> pb.LinkReport:
    """Both directions of the links in ``wanted``, of all if it is empty; none before a sample."""
    message = pb.LinkReport(time=timestamp(view.time_s), plan=view.plan.id if view.plan else 0)
    state = view.links
    if state is None:
        return message
    planned = view.plan.load_bps if view.plan else {}
    for arc in view.fabric.arcs:
        if wanted and arc.link not in wanted:
            continue
        message.links.add(
            link=arc.link,
            from_port=str(arc.tail),
            to_port=str(arc.head),
            up=bool(state.up[arc.index]),
            capacity_bps=arc.capacity_bps,
            usable_bps=float(state.usable_bps[arc.index]),
            carried_bps=float(state.carried_bps[arc.index]),
            foreign_bps=float(state.foreign_bps[arc.index]),
            planned_bps=planned.get((arc.tail.switch, arc.tail.port), 0.0),
            dropped_pps=float(state.dropped_pps[arc.index]),
            drained=arc.link in view.drained,
        )
    return message


def wiring(found: WiringReport, time_s: float) -> pb.Wiring:
    return pb.Wiring(
        time=timestamp(time_s),
        links=[
            pb.WiredLink(
                link=link.name,
                a=str(link.a),
                b=str(link.b),
                state=verdict.wired.value,
                detail=verdict.detail,
                seen=map(_cable, verdict.cables),
                barred=verdict.barred,
            )
            for link, verdict in found.links
        ],
        unexpected=map(_cable, found.unexpected),
        swaps=[
            pb.SuspectedSwap(
                a=str(swap.a), b=str(swap.b), far=map(str, swap.far or ()), text=str(swap)
            )
            for swap in found.swaps
        ],
        ignored=[
            pb.IgnoredFrames(where=each.where, why=each.why.value, frames=each.frames)
            for each in found.ignored
        ],
        shed_frames=found.shed,
        probed_ports=found.probed,
        round_s=found.round_s,
    )


def _cable(cable: Cable) -> pb.Cable:
    return pb.Cable(a=str(cable.a), b=str(cable.b))


def classes(fabric: Fabric, queues: Iterable[pb.SwitchQueues]) -> pb.Classes:
    guaranteed = shares(fabric.classes)
    return pb.Classes(
        classes=[
            pb.TrafficClass(
                name=each.name,
                dscps=each.dscps,
                queue=each.queue,
                share=guaranteed[each.name],
                ceiling=each.ceiling,
                priority=each.priority,
                lossless=each.lossless,
            )
            for each in sorted(fabric.classes, key=lambda c: c.queue)
        ],
        switches=queues,
    )


def plan_summary(plan: Plan, committed: bool) -> pb.Plan:
    """Without placements."""
    certificate = plan.certificate
    return pb.Plan(
        id=plan.id,
        committed=committed,
        certificate=pb.Certificate(
            strategy=certificate.strategy,
            solver=certificate.solver,
            mlu=certificate.mlu,
            bound=certificate.bound,
            gap=certificate.gap,
            seconds=certificate.seconds,
            churn=[pb.Churn(moved=moved, mlu=mlu) for moved, mlu in certificate.churn],
            moved=certificate.moved,
            proof=certificate.proof,
            failure=pb.FailureCertificate(
                name=certificate.failure,
                mlu=certificate.failed_mlu,
                bound=certificate.failed_bound,
                cut_off_bps=certificate.cut_off_bps,
            )
            if certificate.failure
            else None,
        ),
    )


def plan(plan: Plan, fabric: Fabric, committed: bool) -> pb.Plan:
    """With placements and the way of each tree, as far as ``fabric`` has its switches."""
    ways = Ways(plan, fabric)

    def path(key: PlacementKey, tree: int) -> list[str]:
        arcs = ways.of(key.ingress, key.egress, tree) or ()
        return [key.ingress, *(fabric.arcs[arc].head.switch for arc in arcs)]

    message = plan_summary(plan, committed)
    for key, weights in sorted(plan.weights.items()):
        message.placements.add(
            ingress=key.ingress,
            egress=key.egress,
            traffic_class=key.traffic_class,
            trees=[
                pb.TreeWeight(tree=id, weight=weight, path=path(key, id))
                for id, weight in sorted(weights.items())
            ],
        )
    return message


def _host(host: Host) -> pb.Host:
    return pb.Host(
        name=host.name,
        labels=host.labels,
        nics=[_nic(nic) for nic in host.nics],
        accelerators=[
            pb.Accelerator(name=a.name, kind=a.kind, model=a.model or "", nic=a.nic)
            for a in host.accelerators
        ],
    )


def _nic(nic: Nic) -> pb.Nic:
    return pb.Nic(
        name=nic.name,
        mac=nic.mac.to_bytes(6, "big").hex(":"),
        addresses=[str(address) for address in nic.addresses],
        attachments=[str(port) for port in nic.attachments],
        capacity_bps=nic.capacity_bps,
    )
