"""The demo on Open vSwitch, between hosts that send packets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from controller.fabric.model import PortRef
from controller.lab import demo
from controller.lab.demo import Failover, Progress, Reading
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.traffic import PathWatch, UdpFlow

PROBE_PPS = 1000.0
AFTER_CUT_PACKETS = 3000
_RECEIVED_S = 15.0


class OpenVSwitchBed:
    mode = "openvswitch"
    measure_s = 6.0
    steady_s = 4.0

    def __init__(self, topology: Path, progress: Progress) -> None:
        """Raises LabError, and TopologyErrors."""
        self._stack = ExitStack()
        self._flows = ExitStack()
        self.lab = self._stack.enter_context(
            Lab.start(topology, progress=lambda text: progress(f"lab: {text}"))
        )
        self._stack.push(self._flows)

    def __enter__(self) -> OpenVSwitchBed:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def controller_options(self) -> Sequence[str]:
        return ()

    def start_traffic(self) -> None:
        for source, destination in demo.PAIRS:
            self._flows.enter_context(
                UdpFlow(
                    self.lab,
                    source,
                    destination,
                    rate_bps=demo.FLOW_BPS,
                    size=demo.PAYLOAD_BYTES,
                    source_ports=demo.SOURCE_PORTS,
                )
            )

    def readings(self) -> Mapping[str, Reading]:
        found = {}
        for name in sorted({arc.tail.switch for arc in self.lab.fabric.arcs}):
            counters, now = self.lab.port_counters(name), time.monotonic()
            for port, counter in counters.items():
                found[f"{name}:{port}"] = Reading(now, counter.tx_bytes)
        return found

    def cut(self, progress: Progress) -> Failover:
        """Cut the first link that the probe's flow crosses, and see what the flow loses."""
        self._flows.close()
        lab = self.lab
        source, destination = demo.PAIRS[0]
        leaf = lab.nic(source).port.switch
        uplinks = [(leaf, arc.tail.port) for arc in lab.fabric.arcs_from[leaf]]
        with UdpFlow(lab, source, destination, rate_pps=PROBE_PPS) as probe:
            with PathWatch(lab, uplinks) as watch:
                self._until_received(destination, 500)
            (hop,) = {hop for hops in watch.packets.values() for hop in hops}
            arc = lab.fabric.arc_by_tail[PortRef(*hop)]
            progress(f"cutting {arc.link} under a probe of 1 kHz")
            lab.link_down(arc.tail.switch, arc.head.switch)
            self._until_received(destination, AFTER_CUT_PACKETS)
            lab.link_up(arc.tail.switch, arc.head.switch)
            progress(f"{arc.link} is back")
            self._until_received(destination, AFTER_CUT_PACKETS)
        return Failover(arc.link, probe.received.max_gap_ms, probe.sent.sent, probe.lost)

    def _until_received(self, host: str, packets: int) -> None:
        """Until so many more have left for the host."""
        port = self.lab.nic(host).port
        before = self.lab.port_counters(port.switch)[port.port].tx_packets
        deadline = time.monotonic() + _RECEIVED_S
        while self.lab.port_counters(port.switch)[port.port].tx_packets < before + packets:
            if time.monotonic() > deadline:
                raise LabError(f"No packets of the probe reach {host}")
            time.sleep(0.05)
