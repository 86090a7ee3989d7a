"""A lab of Open vSwitch as the prompt sees it: hosts that send packets, interfaces that count."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from controller.emulator.shell.answer import Answer
from controller.fabric.model import Fabric, Nic, PortRef
from controller.lab import inside
from controller.lab.collectives import Step
from controller.lab.errors import LabError
from controller.lab.exchange import exchange
from controller.lab.handle import Lab
from controller.lab.probe_send import frame_bytes
from controller.lab.prompt.ground import Arrived, Echoes, Flow, Way
from controller.lab.traffic import UdpFlow, tcp_throughput

_FIRST_PORT = 4791
"""That of RoCE; each further flow to the same host has the next."""
_PAYLOAD_BYTES = 1400
_SILENT = "silent"


class OpenVSwitchGround:
    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._began_s = time.monotonic()
        self._cut: dict[str, str] = {}
        self._busy_ports: dict[str, set[int]] = {}

    @property
    def fabric(self) -> Fabric:
        return self._lab.fabric

    @property
    def run_dir(self) -> Path:
        return self._lab.run_dir

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._began_s

    def has_ended(self) -> bool:
        return self._lab.process.popen.poll() is not None

    # ---- Cables and switches ----

    def ways(self, over_s: float) -> Sequence[Way]:
        before, began = self._interfaces(), time.monotonic()
        time.sleep(over_s)
        after, passed = self._interfaces(), time.monotonic() - began

        def way(cable: str, tail: str, head: str, ends: Sequence[str], counter: str) -> Way:
            first, now = before[ends[0]], after[ends[0]]
            sent = now["stats64"][counter]["bytes"] - first["stats64"][counter]["bytes"]
            up = all(after[end]["operstate"] == "UP" for end in ends)
            state = self._cut.get(cable, "up") if up else "down"
            load = max(0.0, sent * 8 / passed)
            return Way(cable, tail, head, state, capacity[cable], load)

        wiring = self._lab.description.wiring
        capacity = {c.link: c.a.capacity_bps for c in wiring.cables}
        capacity |= {f"{n.host}/{n.nic}": n.capacity_bps for n in wiring.nics}
        found = []
        for cable in wiring.cables:
            for one, other in ((cable.a, cable.b), (cable.b, cable.a)):
                names = (f"{one.switch}:{one.port}", f"{other.switch}:{other.port}")
                ends = (one.interface, other.interface)
                found.append(way(cable.link, *names, ends, "tx"))
        for nic in wiring.nics:
            name, port = f"{nic.host}/{nic.nic}", f"{nic.port.switch}:{nic.port.port}"
            # The other end is in the host's namespace; its carrier is that of this one.
            found.append(way(name, name, port, [nic.port.interface], "rx"))
            found.append(way(name, port, name, [nic.port.interface], "tx"))
        return found

    def _interfaces(self) -> Mapping[str, Any]:
        shown = self._lab.exec_in_namespace(["ip", "-j", "-s", "link", "show"]).stdout
        return {each["ifname"]: each for each in json.loads(shown)}

    def cut(self, cables: Sequence[str], silently: bool) -> None:
        for cable in cables:
            if self._cut.get(cable) == _SILENT:
                self._lab.cable_heard(cable)
            if silently:
                self._lab.cable_up(cable)
                self._lab.cable_silent(cable)
            else:
                self._lab.cable_down(cable)
            self._cut[cable] = _SILENT if silently else "down"

    def mend(self, cables: Sequence[str]) -> None:
        for cable in cables:
            if self._cut.pop(cable, "") == _SILENT:
                self._lab.cable_heard(cable)
            self._lab.cable_up(cable)

    def cut_now(self) -> Sequence[str]:
        return list(self._cut)

    def power(self, switch: str, on: bool) -> None:
        if not on:
            self._lab.switch_off(switch)
            return
        self._lab.switch_on(switch)
        for cable, how in self._cut.items():
            if how != _SILENT:
                self._lab.cable_down(cable)

    def swap(self, a: PortRef, b: PortRef) -> str:
        if a.switch != b.switch:
            raise LabError(
                f"{a} and {b} are ports of two switches; here, cables are swapped at two of one"
            )
        self._lab.swap_cables(a.switch, a.port, b.port)
        return f"the cables of {a} and {b} are exchanged"

    # ---- Traffic ----

    def send(self, flow: Flow) -> _Sent:
        busy = self._busy_ports.setdefault(flow.destination.host, set())
        port = next(p for p in range(_FIRST_PORT, 1 << 16) if p not in busy)
        udp = UdpFlow(
            self._lab,
            flow.source.id,
            flow.destination.id,
            rate_bps=flow.rate_bps,
            size=_PAYLOAD_BYTES,
            version=flow.version,
            port=port,
            source_ports=flow.flows,
            dscp=flow.dscp,
        )
        udp.start()
        busy.add(port)
        return _Sent(flow, udp, busy, port)

    def stop(self, flowing: Sequence[_Sent]) -> Sequence[Arrived]:
        # At once: what goes on alone has the links for itself.
        with ThreadPoolExecutor(max(1, len(flowing))) as pool:
            return list(pool.map(_Sent.stop, flowing))

    def ping(self, source: Nic, destination: Nic, count: int, version: int) -> Echoes:
        lab = self._lab
        to = lab.address(destination.host, version, destination.name)
        own = lab.address(source.host, version, source.name)
        argv = ["ping", f"-{version}", "-n", f"-c{count}", "-i0.2", "-W1", "-I", own, to]
        said = lab.exec(source.host, argv, timeout=count * 2.0 + 10, check=False).stdout
        received = re.search(r"(\d+) received", said)
        times = re.search(r"= [\d.]+/([\d.]+)/", said)
        if received is None:
            raise LabError(f"ping from {source.id} to {to} says nothing that is known: {said}")
        return Echoes(count, int(received[1]), float(times[1]) if times else None)

    def tcp(self, source: Nic, destination: Nic, duration_s: float, version: int) -> float:
        return tcp_throughput(
            self._lab, source.id, destination.id, duration_s=duration_s, version=version
        ).bps

    def exchange(self, ranks: Sequence[Nic], steps: Sequence[Step], version: int) -> float:
        return exchange(self._lab, ranks, steps, version)

    # ---- The rest ----

    def shell(self, node: str) -> Sequence[str] | None:
        pid = self._lab.description.host_pids.get(node, self._lab.pid)
        return ["mnexec", "-a", str(pid)]

    def environment(self) -> Mapping[str, str]:
        return inside.environment(self.run_dir)

    def own(self, line: str) -> Answer | None:
        return None

    def own_help(self) -> Sequence[tuple[str, str]]:
        return ()


class _Sent:
    """UDP under way."""

    def __init__(self, flow: Flow, udp: UdpFlow, busy: set[int], port: int) -> None:
        self.flow = flow
        self._udp = udp
        self._busy = busy
        self._port = port

    def stop(self) -> Arrived:
        self._udp.stop()
        self._busy.discard(self._port)
        sent, received = self._udp.sent, self._udp.received
        bits = 8 * frame_bytes(_PAYLOAD_BYTES, self.flow.version)
        seconds = sent.duration_s or 1.0
        silence = received.max_gap_ms if received.received > 1 else None
        return Arrived(
            sent.sent * bits / seconds,
            received.received * bits / seconds,
            self._udp.lost / sent.sent if sent.sent else 0.0,
            self._udp.lost,
            silence,
            seconds,
        )
