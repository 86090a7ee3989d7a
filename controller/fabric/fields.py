"""The fields of every element of a fabric, in the words of its file; "" where there is nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from controller.fabric.check import mac_text
from controller.fabric.model import (
    Accelerator,
    Fabric,
    Host,
    Link,
    Nic,
    Switch,
    TrafficClass,
)
from controller.fabric.quantities import rate_text, share_text, time_text

Values: TypeAlias = Mapping[str, str]

COSMETIC = frozenset({"role", "pod", "site", "medium", "rail", "plane", "kind", "model", "domain"})
"""Fields that neither plans nor rules depend on."""


def _text(value: object) -> str:
    return "" if value is None else str(value)


def of_fabric(fabric: Fabric) -> Values:
    return {
        "fabric": fabric.name,
        "gateway mac": mac_text(fabric.gateway_mac),
        "gateway ipv4": str(fabric.gateway_ipv4),
        "gateway ipv6": str(fabric.gateway_ipv6),
        "strategy": fabric.strategy,
    }


def of_class(each: TrafficClass) -> Values:
    return {
        "dscp": " ".join(map(str, each.dscps)),
        "queue": str(each.queue),
        "share": "" if each.share is None else share_text(each.share),
        "ceiling": share_text(each.ceiling),
        "priority": str(each.priority),
        "lossless": str(each.lossless).lower(),
    }


def of_switch(switch: Switch) -> Values:
    return {
        "dpid": f"{switch.dpid:#x}",
        "role": switch.role,
        "pod": _text(switch.pod),
        "site": _text(switch.site),
        "limit of flows": _text(switch.flow_limit),
        "limit of groups": _text(switch.group_limit),
        "ovsdb": _text(switch.ovsdb),
    }


def of_host(host: Host) -> Values:
    return {f"label {key}": value for key, value in host.labels.items()}


def of_nic(nic: Nic) -> Values:
    return {
        "attach": ", ".join(map(str, nic.attachments)),
        "capacity": rate_text(nic.capacity_bps),
        "mac": mac_text(nic.mac),
        "ips": ", ".join(map(str, nic.addresses)),
        "rail": _text(nic.rail),
        "plane": _text(nic.plane),
    }


def of_accelerator(each: Accelerator) -> Values:
    return {
        "nic": each.nic,
        "kind": each.kind,
        "model": _text(each.model),
        "domain": _text(each.domain),
    }


def of_link(link: Link) -> Values:
    return {
        "ends": f"{link.a} – {link.b}",
        "capacity": rate_text(link.capacity_bps),
        "latency": time_text(link.latency_s),
        "srlgs": ", ".join(link.srlgs),
        "medium": _text(link.medium),
        "bfd": f"{link.bfd.interval_ms} ms × {link.bfd.multiplier}" if link.bfd else "",
    }
