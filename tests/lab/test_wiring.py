"""What a lab is made of, and what it refuses; needs no root."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_interface
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.model import (
    Fabric,
    Host,
    IpAddress,
    Link,
    Nic,
    PortRef,
    Provenance,
    Switch,
    TrafficClass,
)
from controller.lab.description import read_wiring, write_wiring
from controller.lab.errors import LabError
from controller.lab.wiring import scaled, wire

names = st.text("abcXYZ019._-", min_size=1, max_size=30).filter(lambda s: s[0].isalnum())


def fabric(
    switches: list[str],
    addresses: list[IpAddress],
    capacity_bps: float = 50e6,
    nic_name: str = "e0",
) -> Fabric:
    """A chain of switches, with one host for each address on the first switch."""
    links = tuple(
        Link(f"{a}-{b}", PortRef(a, 901), PortRef(b, 902), capacity_bps, 0.0)
        for a, b in pairwise(switches)
    )
    hosts = tuple(
        Host(
            f"h{i}",
            (Nic(f"h{i}", nic_name, i + 1, (a,), (PortRef(switches[0], i + 1),), capacity_bps),),
        )
        for i, a in enumerate(addresses)
    )
    return Fabric(
        "f",
        tuple(Switch(name, i + 1, "leaf") for i, name in enumerate(switches)),
        hosts,
        links,
        (TrafficClass("default", None, 0), TrafficClass("bulk", 26, 3)),
        0x0A00000000FE,
        IPv4Address("10.255.255.254"),
        IPv6Address("fd00:ffff::1"),
    )


@given(st.lists(names, min_size=1, max_size=12, unique=True), names)
def test_every_interface_has_a_name_of_its_own_that_the_kernel_takes(
    switches: list[str], nic_name: str
) -> None:
    wiring = wire(fabric(switches, [IPv4Address("10.0.0.1")], nic_name=nic_name))
    together = [b.bridge for b in wiring.bridges] + [p.interface for p in wiring.ports]
    assert len(set(together)) == len(together)
    for name in [*together, *(nic.interface for nic in wiring.nics)]:
        assert len(name) <= 15
        assert not set("/: \t") & set(name)
        assert name not in ("lo", "ovs-netdev", "all", "default", ".", "..")


@given(
    st.lists(st.ip_addresses(v=4).filter(lambda a: 0 < int(a) < 2**32 - 1), min_size=1, unique=True)
    | st.lists(st.ip_addresses(v=6).filter(lambda a: int(a) > 0), min_size=1, unique=True)
)
def test_every_host_finds_all_others_and_the_gateway_on_its_link(
    addresses: list[IpAddress],
) -> None:
    plan = fabric(["s1"], addresses)
    gateway = plan.gateway_ipv4 if addresses[0].version == 4 else plan.gateway_ipv6
    for nic in wire(plan).nics:
        network = ip_interface(nic.addresses[0]).network
        for other in [*addresses, gateway]:
            assert other in network
            edges = (network.network_address, network.broadcast_address)
            assert other not in edges or network.prefixlen == 0


def test_hosts_added_later_are_on_the_same_link() -> None:
    first = wire(fabric(["s1"], [IPv4Address("10.0.0.1")])).nics[0].addresses
    more = wire(fabric(["s1"], [IPv4Address("10.0.0.1"), IPv4Address("10.77.1.1")])).nics[0]
    assert first == more.addresses == ("10.0.0.1/8",)


def test_a_wiring_survives_its_file(tmp_path: Path) -> None:
    wiring = wire(fabric(["s1", "s2"], [IPv4Address("10.0.0.1"), IPv6Address("fd00::1")]))
    write_wiring(wiring, tmp_path)
    assert read_wiring(tmp_path) == wiring


@given(st.floats(min_value=1.01e9, max_value=1e13))
def test_too_fast_a_fabric_is_refused_with_a_scale_that_works(capacity_bps: float) -> None:
    fast = fabric(["s1", "s2"], [IPv4Address("10.0.0.1")], capacity_bps)
    with pytest.raises(LabError, match=r"link s1-s2 has .* Gbit/s") as refused:
        wire(fast)
    wire(scaled(fast, float(str(refused.value).rsplit(" ", 1)[1])))


def test_a_nic_on_two_switches_is_refused_with_its_place() -> None:
    plan = fabric(["s1", "s2"], [IPv4Address("10.0.0.1")])
    nic = replace(
        plan.nics[0],
        attachments=(PortRef("s1", 1), PortRef("s2", 1)),
        source=Provenance("f.yaml", 7, 3),
    )
    plan = replace(plan, hosts=(Host("h0", (nic,)),))
    with pytest.raises(LabError, match=r"f\.yaml:7:3: NIC h0/e0 is attached to s1:1, s2:1"):
        wire(plan)


def test_all_packets_have_a_queue_even_if_no_class_names_queue_zero() -> None:
    plan = replace(fabric(["s1"], []), classes=(TrafficClass("only", None, 5),))
    assert [q.queue for q in wire(plan).queues] == [0, 5]
