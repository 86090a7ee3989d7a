"""The handle by which tests, the demo and the command line hold a lab.

    with Lab.start(fabric) as lab:
        lab.exec("h1", ["ping", "-c1", "10.0.0.2"])

The lab lives in a process of its own (`controller.lab.process`) and ends with this one, however
this one ends. Several labs run side by side: each has its own namespaces, Open vSwitch and run
directory.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.lab import inside, ovs, requirements
from controller.lab.errors import LabError
from controller.lab.launch import LabProcess, Progress
from controller.lab.ovsdb_addresses import with_ovsdb
from controller.lab.scale import scaled_topology
from controller.lab.wiring import HostNic, scaled, wire

DEFAULT_CONTROLLER = "tcp:127.0.0.1:6653"


@dataclass(frozen=True, slots=True)
class PortCounters:
    """What one switch port has carried since it was made. HTB drops are not in here."""

    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int


class Lab:
    """A running lab; made by `Lab.start`, ended by `close` or by leaving the ``with`` block."""

    def __init__(self, fabric: Fabric, topology_file: Path | None, process: LabProcess) -> None:
        self.fabric = fabric
        """What the lab emulates, with the capacities that it really has."""
        self.topology_file = topology_file
        """The file that says so, for the controller; None if the lab was made of a `Fabric`."""
        self.process = process
        self.run_dir = process.run_dir
        self.description = process.description
        wiring = process.description.wiring
        self._interface = {(p.switch, p.port): p.interface for p in wiring.ports}
        self._bridge = {b.switch: b.bridge for b in wiring.bridges}

    @classmethod
    def start(
        cls,
        topology: Fabric | Path,
        *,
        scale: float = 1.0,
        controller: str | None = DEFAULT_CONTROLLER,
        progress: Progress = lambda _text: None,
    ) -> Lab:
        """Build a lab and return when it is ready (IPv6 addresses usable, bridges up).

        Args:
            topology: a fabric, or its YAML file.
            scale: factor on every capacity; above 1 Gbit/s a lab refuses. A scaled copy of the
                file is written to the run directory. So is one with the address of the lab's OVSDB
                if the file declares BFD or classes.
            controller: OpenFlow target of every bridge, seen from inside the lab's namespace. Set
                once: a bridge that gets its first controller later forgets its flows.
            progress: called with a few words at each step.

        Raises:
            LabError: this machine or this fabric does not allow it; the text has the cure.
            TopologyErrors: the file is no valid topology.
        """
        requirements.require()
        fabric, text = _scaled(topology, scale)
        wiring = wire(fabric)
        process = LabProcess(wiring, controller, progress)
        file = topology if isinstance(topology, Path) else None
        if file is not None and (len(fabric.classes) > 1 or any(x.bfd for x in fabric.links)):
            text = with_ovsdb(
                file.read_text(encoding="utf-8-sig") if text is None else text,
                f"unix:{process.run_dir}/db.sock",
            )
        if file is not None and text is not None:
            file = process.run_dir / file.name
            file.write_text(text, encoding="utf-8")
        return cls(fabric, file, process)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything that runs in the lab and remove it; also after its process has crashed."""
        self.process.close()

    @property
    def pid(self) -> int:
        """The lab process; its network namespace holds the switches and the controller."""
        return self.description.pid

    # Programs inside

    def nic(self, host: str, name: str | None = None) -> HostNic:
        """A NIC of a host: the first, or the one of that name."""
        for nic in self.description.wiring.nics:
            if nic.host == host and name in (None, nic.nic):
                return nic
        raise LabError(f"There is no NIC {host}/{name or '*'} in the lab of {self.fabric.name}")

    def address(self, host: str, version: int = 4, nic: str | None = None) -> str:
        """The first IPv4 or IPv6 address of a host's NIC."""
        for address in self.nic(host, nic).addresses:
            if (":" in address) == (version == 6):
                return address.split("/")[0]
        raise LabError(f"Host {host} has no IPv{version} address")

    def popen(self, host: str, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program in a host's namespace; it ends with the lab at the latest."""
        return inside.popen(self._host_pid(host), self.run_dir, argv, options)

    def exec(
        self, host: str, argv: Sequence[str], *, timeout: float = 60.0, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in a host's namespace to its end, with text output."""
        return inside.run(self._host_pid(host), self.run_dir, argv, timeout=timeout, check=check)

    def popen_in_namespace(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program, such as the controller, among the switches of the lab."""
        return inside.popen(self.pid, self.run_dir, argv, options)

    def exec_in_namespace(
        self, argv: Sequence[str], *, timeout: float = 60.0, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program among the switches to its end, with text output."""
        return inside.run(self.pid, self.run_dir, argv, timeout=timeout, check=check)

    def _host_pid(self, host: str) -> int:
        pids = self.description.host_pids
        if host not in pids:
            raise LabError(f"There is no host {host} in the lab; it has {', '.join(pids)}")
        return pids[host]

    # Switches

    def bridge(self, switch: str) -> str:
        """The name of a switch in Open vSwitch."""
        if switch not in self._bridge:
            raise LabError(f"There is no switch {switch}; the lab has {', '.join(self._bridge)}")
        return self._bridge[switch]

    def interface(self, switch: str, port: int) -> str:
        """The kernel's name of a switch port, in the lab's namespace."""
        if (switch, port) not in self._interface:
            raise LabError(f"Nothing is connected to {switch}:{port}")
        return self._interface[switch, port]

    def ovs_ofctl(self, command: str, switch: str, *args: str) -> str:
        """``ovs-ofctl -O OpenFlow15 command bridge args``."""
        argv = ["ovs-ofctl", "-O", "OpenFlow15", command, self.bridge(switch), *args]
        return self.exec_in_namespace(argv).stdout

    def vsctl(self, *args: str) -> str:
        return ovs.vsctl(self.run_dir, args)

    def flows(self, switch: str) -> list[str]:
        """``dump-flows``, a line each."""
        return _entries(self.ovs_ofctl("dump-flows", switch, "--no-names"))

    def groups(self, switch: str) -> list[str]:
        """``dump-groups``, a line each."""
        return _entries(self.ovs_ofctl("dump-groups", switch))

    def port_counters(self, switch: str) -> Mapping[int, PortCounters]:
        """Counters by OpenFlow port number, connected ports only."""
        text = self.ovs_ofctl("dump-ports", switch, "--no-names").replace("\n           tx", " tx")
        found = {}
        for line in text.splitlines():
            match = re.search(
                r"port +(\d+): rx pkts=(\d+), bytes=(\d+).* tx pkts=(\d+), bytes=(\d+)", line
            )
            if match:
                port, *counters = map(int, match.groups())
                found[port] = PortCounters(*counters)
        return found

    def set_controller(self, target: str | None) -> None:
        """Point every bridge elsewhere. None, and the first target after None, flush all flows."""
        wiring = self.description.wiring
        args = [x for b in wiring.bridges for x in ("--", "del-controller", b.bridge)]
        if target is not None:
            args = ovs.controller_commands(wiring, target)
        self.vsctl(*args[1:])

    # Failures

    def link_down(self, a: str, b: str) -> None:
        """Cut every cable between two nodes: both ends lose carrier."""
        self._set_interfaces(self._interfaces_between(a, b), "down")

    def link_up(self, a: str, b: str) -> None:
        self._set_interfaces(self._interfaces_between(a, b), "up")

    def cable_down(self, cable: str) -> None:
        """Cut one cable: a link, or the one of a NIC (``h1/eth0``)."""
        self._set_interfaces(self._interfaces_of(cable), "down")

    def cable_up(self, cable: str) -> None:
        self._set_interfaces(self._interfaces_of(cable), "up")

    def end_down(self, switch: str, port: int) -> None:
        """Take one end of a cable down: there the port is down, at the other end carrier is."""
        self._set_interfaces([self.interface(switch, port)], "down")

    def end_up(self, switch: str, port: int) -> None:
        self._set_interfaces([self.interface(switch, port)], "up")

    def link_silent(self, a: str, b: str) -> None:
        """Every cable between two switches loses all packets, and neither end sees it."""
        self._silence(self._interfaces_between(a, b))

    def link_heard(self, a: str, b: str) -> None:
        """The end of `link_silent`."""
        self._hear(self._interfaces_between(a, b))

    def cable_silent(self, cable: str) -> None:
        """The same of one cable; from a NIC to its switch, packets still pass."""
        self._silence(self._interfaces_of(cable))

    def cable_heard(self, cable: str) -> None:
        self._hear(self._interfaces_of(cable))

    def switch_down(self, switch: str) -> None:
        """Cut every cable of a switch; its OpenFlow session stays."""
        self._set_interfaces([i for (s, _), i in self._interface.items() if s == switch], "down")

    def switch_up(self, switch: str) -> None:
        self._set_interfaces([i for (s, _), i in self._interface.items() if s == switch], "up")

    def swap_cables(self, switch: str, one: int, other: int) -> None:
        """Plug the cables of two ports of a switch into each other's; the same again undoes it. The
        interfaces keep their names and change their ports."""
        a, b = self._interface[switch, one], self._interface[switch, other]
        self.vsctl(
            *("set", "interface", a, f"ofport_request={other}"),
            *("--", "set", "interface", b, f"ofport_request={one}"),
        )
        self._interface[switch, one], self._interface[switch, other] = b, a

    def switch_off(self, switch: str) -> None:
        """As without power: no cable has carrier, the session is gone, and soon the tables."""
        self.switch_down(switch)
        self.vsctl("del-controller", self.bridge(switch))

    def switch_on(self, switch: str, controller: str = DEFAULT_CONTROLLER) -> None:
        """It comes back with empty tables, and looks for its controller."""
        wiring = self.description.wiring
        only = replace(wiring, bridges=tuple(b for b in wiring.bridges if b.switch == switch))
        # A bridge that gets its first controller forgets all flows.
        self.vsctl(*ovs.controller_commands(only, controller)[1:])
        self.switch_up(switch)

    def port_down(self, switch: str, port: int) -> None:
        """Administratively, through OpenFlow."""
        self.ovs_ofctl("mod-port", switch, str(port), "down")

    def port_up(self, switch: str, port: int) -> None:
        self.ovs_ofctl("mod-port", switch, str(port), "up")

    def _interfaces_between(self, a: str, b: str) -> Sequence[str]:
        """Those of switches, on all cables between two nodes."""
        wiring = self.description.wiring
        found = [
            end.interface
            for cable in wiring.cables
            if {cable.a.switch, cable.b.switch} == {a, b}
            for end in (cable.a, cable.b)
        ]
        found += [
            nic.port.interface for nic in wiring.nics if {nic.host, nic.port.switch} == {a, b}
        ]
        if not found:
            raise LabError(f"There is no cable between {a} and {b}")
        return found

    def _interfaces_of(self, cable: str) -> Sequence[str]:
        """Those of switches, on one cable."""
        wiring = self.description.wiring
        for each in wiring.cables:
            if each.link == cable:
                return each.a.interface, each.b.interface
        for nic in wiring.nics:
            if f"{nic.host}/{nic.nic}" == cable:
                return (nic.port.interface,)
        raise LabError(f"There is no link or NIC {cable} in the lab of {self.fabric.name}")

    def _silence(self, interfaces: Sequence[str]) -> None:
        for interface in interfaces:
            self._tc(f"qdisc add dev {interface} clsact")
            # One instruction: return TC_ACT_SHOT. It comes before the queues of Open vSwitch.
            self._tc(f"filter add dev {interface} egress bpf da bytecode '1,6 0 0 2'")

    def _hear(self, interfaces: Sequence[str]) -> None:
        for interface in interfaces:
            self._tc(f"qdisc del dev {interface} clsact")

    def _tc(self, command: str) -> None:
        inside.run(self.pid, self.run_dir, ["tc", *shlex.split(command)])

    def _set_interfaces(self, interfaces: Sequence[str], state: str) -> None:
        script = "".join(f"link set dev {interface} {state}\n" for interface in interfaces)
        inside.run(self.pid, self.run_dir, ["ip", "-batch", "-"], script=script)


def _scaled(topology: Fabric | Path, scale: float) -> tuple[Fabric, str | None]:
    """The fabric of the lab, and the text of its file where that differs from the one given."""
    if isinstance(topology, Fabric):
        return (topology if scale == 1.0 else scaled(topology, scale)), None
    try:
        raw = topology.read_bytes()
    except OSError as error:
        raise LabError(f"Cannot read the topology {topology}: {error.strerror}") from None
    fabric = load(raw, str(topology))
    if scale == 1.0:
        return fabric, None
    text = scaled_topology(raw.decode("utf-8-sig"), scale)
    return load(text.encode(), str(topology)), text


def _entries(dump: str) -> list[str]:
    lines = (line.strip() for line in dump.splitlines())
    return [line for line in lines if line and not line.startswith("OFPST_")]
