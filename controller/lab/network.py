"""The Mininet network of a lab: its nodes and links, made fast and quiet.

Mininet's own ways to make a link or configure a host run several shell commands for each; here the
kernel gets one batch for all switches and one for each host.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Node, OVSSwitch

from controller.lab.errors import LabError
from controller.lab.shaping import host_batch, queue_batch
from controller.lab.wiring import HostNic, Wiring

_DAD_S = 10.0
_TENTATIVE, _DAD_FAILED = 0x40, 0x08  # linux/if_addr.h
_FIRST_TABLE = 100
_logger = logging.getLogger(__name__)


class FabricHost(Node):  # type: ignore[misc]
    """A host: a shell in a network namespace of its own."""


class FabricSwitch(OVSSwitch):  # type: ignore[misc]
    """A bridge of the lab's Open vSwitch."""

    @classmethod
    def setup(cls) -> None:
        """Mininet asks the system's Open vSwitch for its version here; the lab has its own."""


class FabricIntf(Intf):  # type: ignore[misc]
    """An interface that the kernel has been told about already."""

    def config(self, **params: Any) -> dict[str, Any]:
        return {}


class FabricLink(Link):  # type: ignore[misc]
    """A cable that exists already."""

    @classmethod
    def makeIntfPair(cls, *args: Any, **params: Any) -> None:  # noqa: N802 - Mininet's name
        """The lab makes all pairs at once."""


class FabricNet(Mininet):  # type: ignore[misc]
    """Mininet without its set-up, which would change limits and sysctls of the whole machine."""

    def __init__(self) -> None:
        Mininet.inited = True
        super().__init__(
            controller=None,
            build=False,
            switch=FabricSwitch,
            host=FabricHost,
            link=FabricLink,
            intf=FabricIntf,
        )
        self.built = True


def build(wiring: Wiring, run_dir: Path) -> FabricNet:
    """Make hosts, interfaces and cables in the current network namespace; bridges come later."""
    _run(["ip", "link", "set", "lo", "up"])
    # The kernel must not speak IPv6 from a switch port into the fabric.
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    net = FabricNet()
    for host in wiring.hosts:
        net.addHost(host, ip=None)
    for bridge in wiring.bridges:
        net.addSwitch(bridge.switch, dpid=f"{bridge.dpid:x}")
    _run(["ip", "-batch", "-"], _interfaces_batch(wiring, net))
    for cable in wiring.cables:
        net.addLink(
            cable.a.switch,
            cable.b.switch,
            port1=cable.a.port,
            port2=cable.b.port,
            intfName1=cable.a.interface,
            intfName2=cable.b.interface,
        )
    for nic in wiring.nics:
        net.addLink(
            nic.host,
            nic.port.switch,
            port2=nic.port.port,
            intfName1=nic.interface,
            intfName2=nic.port.interface,
            addr1=nic.mac,
        )
    for host in wiring.hosts:
        nics = [nic for nic in wiring.nics if nic.host == host]
        _run(["mnexec", "-a", str(net[host].pid), "sh", "-e"], _host_script(nics))
    return net


def shorten_queues(wiring: Wiring) -> None:
    """Bound the delay of every shaped switch port; after Open vSwitch has made its HTB."""
    _run(["tc", "-batch", "-"], queue_batch((port, wiring.queues) for port in wiring.ports))


def wait_for_addresses(net: FabricNet) -> None:
    """Wait until duplicate address detection has passed for every IPv6 address of every host."""
    deadline = time.monotonic() + _DAD_S
    for host in net.hosts:
        while pending := _unusable_addresses(host.pid):
            if time.monotonic() > deadline:
                raise LabError(
                    f"Duplicate address detection does not end on host {host.name} for "
                    f"{', '.join(pending)}; look for another owner of that address in the topology"
                )
            time.sleep(0.02)


def terminate(net: FabricNet) -> None:
    for node in [*net.hosts, *net.switches]:
        node.waitExited = False
        node.terminate()


def _unusable_addresses(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines()
    fields = [line.split() for line in lines]
    return [f"{f[5]}/{f[0]}" for f in fields if int(f[4], 16) & (_TENTATIVE | _DAD_FAILED)]


def _interfaces_batch(wiring: Wiring, net: FabricNet) -> str:
    lines = [
        f"link add {cable.a.interface} type veth peer name {cable.b.interface}"
        for cable in wiring.cables
    ]
    lines += [
        f"link add {nic.port.interface} type veth "
        f"peer name {nic.interface} address {nic.mac} netns {net[nic.host].pid}"
        for nic in wiring.nics
    ]
    lines += [f"link set {port.interface} up" for port in wiring.ports]
    return "\n".join(lines) + "\n"


def _host_script(nics: list[HostNic]) -> str:
    """Shell commands that configure one host; it gets neither a gateway nor neighbours.

    A userspace switch sees packets before the kernel would fill in checksums, hence ``tx off``;
    without ``gso off`` 64 KB would leave as one burst.
    """
    lines = ["ip link set lo up"]
    lines += ["echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore"]
    lines += ["echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce"]
    for i, nic in enumerate(nics):
        dev = nic.interface
        conf = f"/proc/sys/net/ipv6/conf/{dev}"
        lines += [f"echo 0 >{conf}/disable_ipv6", f"echo 0 >{conf}/accept_ra"]
        lines += [f"echo 0 >{conf}/router_solicitations"]
        # Only bounds the random wait before detection starts; the detection itself stays on.
        lines += [f"echo 0 >{conf}/router_solicitation_delay", f"echo 1 >{conf}/accept_dad"]
        lines += [f"ethtool -K {dev} tx off gso off >/dev/null", f"ip link set {dev} up"]
        lines += [f"ip addr add {address} dev {dev}" for address in nic.addresses]
        if len(nics) > 1:
            lines += _source_routes(nic, _FIRST_TABLE + i)
        lines += ["tc -batch - <<'END'", host_batch(nic) + "END"]
    return "\n".join(lines) + "\n"


def _source_routes(nic: HostNic, table: int) -> list[str]:
    """With several NICs on one link, packets leave by the NIC that has their source address."""
    lines = []
    for address in nic.addresses:
        family = "-6" if ":" in address else "-4"
        plain = address.split("/")[0]
        lines += [f"ip {family} rule add from {plain} lookup {table}"]
        lines += [
            f"ip {family} route replace {_network(address)} dev {nic.interface} table {table}"
        ]
    return lines


def _network(address: str) -> str:
    return str(ip_interface(address).network)


def _run(argv: list[str], script: str = "") -> None:
    done = subprocess.run(
        argv, input=script, capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(argv)} failed: {done.stderr.strip() or done.stdout.strip()}")
    if done.stderr:
        _logger.info("%s: %s", argv[0], done.stderr.strip())
