"""Fabrics for the tests of telemetry, intents and planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address

from controller.fabric.model import Fabric, Host, Link, Nic, PortRef, Switch, TrafficClass

HOST_PORT = 100


def fabric(
    switches: Sequence[str],
    links: Sequence[tuple[str, str, float]],
    hosts: Mapping[str, Sequence[str]],
    classes: Sequence[TrafficClass] = (TrafficClass("default", None, 0),),
    nic_bps: float = 100e9,
) -> Fabric:
    """Ports are numbered from 1 in the order of the links, hosts hang on 100 and above."""
    used: dict[str, int] = {}

    def port(switch: str, first: int) -> PortRef:
        key = f"{switch}/{first}"
        used[key] = used.get(key, first - 1) + 1
        return PortRef(switch, used[key])

    cables = tuple(
        Link(f"{a}-{b}-{i}", port(a, 1), port(b, 1), bps, 1e-6)
        for i, (a, b, bps) in enumerate(links)
    )
    machines = tuple(
        Host(
            name,
            (
                Nic(
                    name,
                    "eth0",
                    0x020000000000 + i,
                    (),
                    tuple(port(leaf, HOST_PORT) for leaf in leaves),
                    nic_bps,
                ),
            ),
        )
        for i, (name, leaves) in enumerate(hosts.items())
    )
    return Fabric(
        "test",
        tuple(Switch(name, i + 1, "leaf") for i, name in enumerate(switches)),
        machines,
        cables,
        tuple(classes),
        0x02FFFFFFFFFF,
        IPv4Address("10.0.0.1"),
        IPv6Address("fd00::1"),
        version=3,
    )


def leaf_spine(
    leaves: int = 4, spines: int = 2, slow: Mapping[tuple[int, int], float] | None = None
) -> Fabric:
    """Leaf i reaches spine s by port s + 1 and has one host ``h<i>``; links are 100 Gb/s."""
    names = [f"leaf{i}" for i in range(1, leaves + 1)]
    tops = [f"spine{s}" for s in range(1, spines + 1)]
    rate = slow or {}
    return fabric(
        [*names, *tops],
        [
            (leaf, top, rate.get((i, s), 100e9))
            for i, leaf in enumerate(names, 1)
            for s, top in enumerate(tops, 1)
        ],
        {f"h{i}": [leaf] for i, leaf in enumerate(names, 1)},
    )
