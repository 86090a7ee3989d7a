"""Makes the intents that ``Client.apply`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from heald.v1 import intents_pb2 as pb


def intent_name(name: str, tenant: str = "default") -> str:
    """``train-a`` → ``tenants/default/intents/train-a``; full names stay."""
    return name if "/" in name else f"tenants/{tenant}/intents/{name}"


def connectivity(
    name: str,
    *,
    all: bool = False,
    hosts: Iterable[str] = (),
    nics: Iterable[str] = (),
    accelerators: Iterable[str] = (),
    match_labels: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> pb.Intent:
    """An intent that lets all chosen endpoints reach each other; ``labels`` are its own."""
    selector = pb.Selector(
        all=all, hosts=hosts, nics=nics, accelerators=accelerators, match_labels=match_labels
    )
    spec = pb.IntentSpec(connectivity=pb.Connectivity(endpoints=selector))
    return pb.Intent(name=intent_name(name), labels=labels, spec=spec)


def point_to_point(
    name: str,
    source: str | pb.Selector,
    destination: str | pb.Selector,
    *,
    rate_bps: float = 0.0,
    traffic_class: str = "",
    max_latency_s: float = 0.0,
    include: Iterable[str] = (),
    avoid: Iterable[str] = (),
    protection: Literal["none", "link", "node", "srlg"] = "none",
    bidirectional: bool = False,
    udp_source_ports: Iterable[int] = (),
    priority: int = 0,
    on_shortage: Literal["reject", "degrade"] = "reject",
    labels: Mapping[str, str] | None = None,
) -> pb.Intent:
    """An intent for a path, with ``rate_bps`` reserved, from each source NIC to each destination.

    ``source`` and ``destination`` are a host (``h1``), a NIC (``h1/eth0``), or a selector of more.
    0 is no reservation, any latency. ``include`` and ``avoid`` name switches, links and shared risk
    groups. Raises ValueError for another ``protection`` or ``on_shortage``.
    """
    asked = pb.PointToPoint(
        source=_selector(source),
        destination=_selector(destination),
        rate_bps=rate_bps,
        traffic_class=traffic_class,
        max_latency_s=max_latency_s,
        include=include,
        avoid=avoid,
        protection=protection.upper(),
        bidirectional=bidirectional,
        udp_source_ports=udp_source_ports,
        priority=priority,
        on_shortage=on_shortage.upper(),
    )
    spec = pb.IntentSpec(point_to_point=asked)
    return pb.Intent(name=intent_name(name), labels=labels, spec=spec)


def _selector(chosen: str | pb.Selector) -> pb.Selector:
    if not isinstance(chosen, str):
        return chosen
    return pb.Selector(nics=[chosen]) if "/" in chosen else pb.Selector(hosts=[chosen])
