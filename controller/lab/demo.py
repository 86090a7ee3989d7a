"""The main job: a lab, intents, the same traffic under ECMP and under the plan, a cut cable.

What the numbers are: loads are bits per second at the sending port of each direction of a link,
from the counters of the switches; predictions are the controller's own, on the demands that it has
measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import heald
from controller.fabric.model import Fabric, PortRef
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from heald.v1 import fabric_pb2, intents_pb2

Progress = Callable[[str], None]

OPEN_VSWITCH, EMULATED = "openvswitch", "emulated"

FLOW_BPS = 10e6
SOURCE_PORTS = 256
"""Enough that hashing them comes close to the weights: one sigma of a half is 3 %."""
PAYLOAD_BYTES = 1400
RINGS = (("h1", "h3", "h5", "h7"), ("h8", "h6", "h4", "h2"))
"""Each host sends to the next of its ring, the last to the first."""
MEASURE_S = 6.0
SETTLE_S = 60.0
STEADY_S = 4.0
STEADY_CHANGE = 0.05
KNOWN_SHARE = 0.1
PROBE_PPS = 1000.0
AFTER_CUT_PACKETS = 3000


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """One direction of a link. ``measured_bps`` is None where no traffic ran."""

    link: str
    sender: str
    capacity_bps: float
    predicted_bps: float
    measured_bps: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """The traffic under one strategy. Utilisations are of the worst link; what was not measured
    is None."""

    strategy: str
    solver: str
    mlu_predicted: float
    bound: float
    mlu_measured: float | None
    links: tuple[LinkLoad, ...]
    plan: fabric_pb2.Plan
    offered_bps: float


@dataclass(frozen=True, slots=True)
class Failover:
    """What a flow of one packet a millisecond saw of a cut in its path, and of the repair.

    ``silence_ms`` is the longest time between two packets at the receiver; undisturbed it is 1.
    """

    link: str
    silence_ms: float
    sent: int
    lost: int


@dataclass(frozen=True, slots=True)
class Report:
    """``mode`` says what the switches were; ``failover`` is None where no packets could be sent."""

    mode: str
    fabric: Fabric
    switches: int
    intents: tuple[intents_pb2.Intent, ...]
    ecmp: Trial
    planned: Trial
    failover: Failover | None
    seconds: float


def run(topology: Path, intents: Path, progress: Progress) -> Report:
    """Raises LabError when this machine cannot do it or something does not come up."""
    began = time.monotonic()
    with ExitStack() as stack:
        lab = stack.enter_context(Lab.start(topology, progress=lambda t: progress(f"lab: {t}")))
        with LabController.start(lab, options=["--fabric-strategy=ecmp"]) as controller:
            controller.wait_ready(progress=lambda text: progress(f"controller (ECMP): {text}"))
            _apply(controller, intents)
            flows = stack.enter_context(_Traffic(lab))
            ecmp = _trial(lab, controller, "ECMP", flows.offered_bps, progress)
        progress("controller stopped; the switches keep forwarding")
        with LabController.start(lab) as controller:
            controller.wait_ready(progress=lambda text: progress(f"controller (plan): {text}"))
            planned = _trial(lab, controller, "the plan", flows.offered_bps, progress)
            flows.stop()
            failover = _cut(lab, progress)
            with controller.client() as client:
                found = tuple(client.list())
                status = client.status()
        connected = sum(switch.connected for switch in status.switches)
        progress("stopping")
    return Report(
        OPEN_VSWITCH,
        lab.fabric,
        connected,
        found,
        ecmp,
        planned,
        failover,
        time.monotonic() - began,
    )


def run_emulated(topology: Path, intents: Path, progress: Progress) -> Report:
    """The same on emulated switches, between which no traffic runs: the plans are for the demands
    that the controller assumes before it has measured any. Raises LabError."""
    began = time.monotonic()
    with ExitStack() as stack:
        lab = stack.enter_context(EmulatedLab(topology))
        trials = []
        for name, options in (("ECMP", ["--fabric-strategy=ecmp"]), ("the plan", [])):
            options = [*lab.controller_options, "--fabric-nometrics", *options]
            with LabController.start(lab, options=options) as controller:
                controller.wait_ready(progress=lambda text: progress(f"controller: {text}"))
                _apply(controller, intents)
                progress(f"installed under {name}")
                with controller.client() as client:
                    trials.append(_predicted(client))
                    found = tuple(client.list())
                    status = client.status()
            progress("controller stopped; the switches keep forwarding")
        connected = sum(switch.connected for switch in status.switches)
    ecmp, planned = trials
    seconds = time.monotonic() - began
    return Report(EMULATED, lab.fabric, connected, found, ecmp, planned, None, seconds)


def _predicted(client: heald.Client) -> Trial:
    plan = client.plan()
    report = next(iter(client.watch_links()))
    links = tuple(
        LinkLoad(load.link, load.from_port, load.capacity_bps, load.planned_bps, None)
        for load in report.links
    )
    certificate = plan.certificate
    return Trial(
        certificate.strategy,
        certificate.solver,
        certificate.mlu,
        certificate.bound,
        None,
        links,
        plan,
        0.0,
    )


class _Traffic:
    """The rings' flows, from `__enter__` to `stop`."""

    def __init__(self, lab: Lab) -> None:
        pairs = [(ring[i], ring[(i + 1) % len(ring)]) for ring in RINGS for i in range(len(ring))]
        self.offered_bps = FLOW_BPS * len(pairs)
        self._flows = [
            UdpFlow(
                lab,
                source,
                destination,
                rate_bps=FLOW_BPS,
                size=PAYLOAD_BYTES,
                source_ports=SOURCE_PORTS,
            )
            for source, destination in pairs
        ]
        self._stack = ExitStack()

    def __enter__(self) -> _Traffic:
        for flow in self._flows:
            self._stack.enter_context(flow)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stack.close()


def _apply(controller: LabController, intents: Path) -> None:
    """As a user would: through the command line, which shows its own progress."""
    command = [sys.executable, "-m", "heald", "intent", "apply", str(intents), "--wait"]
    environment = {**os.environ, "HEALD_SERVER": controller.server}
    done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise LabError(
            f"heald intent apply {intents} failed with exit code {done.returncode}; "
            f"the end of the controller's log:\n{controller.log_tail()}"
        )


def _trial(
    lab: Lab, controller: LabController, name: str, offered_bps: float, progress: Progress
) -> Trial:
    progress(f"traffic under {name}: waiting until the controller has measured it")
    _settle(controller, offered_bps)
    progress(f"traffic under {name}: measuring for {MEASURE_S:.0f} s")
    measured = _measure(lab)
    with controller.client() as client:
        plan = client.plan()
        report = next(iter(client.watch_links()))
    links = tuple(
        LinkLoad(
            load.link,
            load.from_port,
            load.capacity_bps,
            load.planned_bps,
            measured[load.from_port],
        )
        for load in report.links
    )
    return Trial(
        plan.certificate.strategy,
        plan.certificate.solver,
        plan.certificate.mlu,
        plan.certificate.bound,
        max(measured[load.sender] / load.capacity_bps for load in links),
        links,
        plan,
        offered_bps,
    )


def _settle(controller: LabController, offered_bps: float) -> None:
    """Wait until the running plan explains what links carry, and neither changes any more.

    At least half of what is offered must arrive: a busy machine sends less than it should.
    """
    deadline = time.monotonic() + SETTLE_S
    steady_since = time.monotonic()
    anchor: tuple[int, float] | None = None
    with controller.client() as client:
        for report in client.watch_links(timeout_s=SETTLE_S + 5):
            now = time.monotonic()
            total = sum(load.planned_bps for load in report.links)
            carried = sum(load.carried_bps for load in report.links)
            # Every flow crosses two links.
            known = abs(total - carried) < KNOWN_SHARE * carried and carried > offered_bps
            if (
                anchor is None
                or not known
                or report.plan != anchor[0]
                or abs(total - anchor[1]) > STEADY_CHANGE * offered_bps
            ):
                anchor, steady_since = (report.plan, total), now
            if now - steady_since >= STEADY_S:
                return
            if now > deadline:
                break
    raise LabError(
        f"The controller does not see the traffic of {offered_bps / 1e6:.0f} Mbit/s within "
        f"{SETTLE_S:.0f} s; the end of its log:\n{controller.log_tail()}"
    )


def _measure(lab: Lab) -> Mapping[str, float]:
    """Bits per second that each link port has sent over `MEASURE_S`, by ``switch:port``."""
    switches = sorted({arc.tail.switch for arc in lab.fabric.arcs})
    before = {name: (time.monotonic(), lab.port_counters(name)) for name in switches}
    time.sleep(MEASURE_S)
    found = {}
    for name in switches:
        counters, now = lab.port_counters(name), time.monotonic()
        then, earlier = before[name]
        for port, counter in counters.items():
            sent = counter.tx_bytes - earlier[port].tx_bytes
            found[f"{name}:{port}"] = 8 * sent / (now - then)
    return found


def _cut(lab: Lab, progress: Progress) -> Failover:
    """Cut the first link that the probe's flow crosses, and see what the flow loses."""
    source, destination = RINGS[0][0], RINGS[0][1]
    leaf = lab.nic(source).port.switch
    uplinks = [(leaf, arc.tail.port) for arc in lab.fabric.arcs_from[leaf]]
    with UdpFlow(lab, source, destination, rate_pps=PROBE_PPS) as probe:
        with PathWatch(lab, uplinks) as watch:
            _until_received(lab, destination, 500)
        (hop,) = {hop for hops in watch.packets.values() for hop in hops}
        arc = lab.fabric.arc_by_tail[PortRef(*hop)]
        progress(f"cutting {arc.link} under a probe of 1 kHz")
        lab.link_down(arc.tail.switch, arc.head.switch)
        _until_received(lab, destination, AFTER_CUT_PACKETS)
        lab.link_up(arc.tail.switch, arc.head.switch)
        progress(f"{arc.link} is back")
        _until_received(lab, destination, AFTER_CUT_PACKETS)
    return Failover(arc.link, probe.received.max_gap_ms, probe.sent.sent, probe.lost)


def _until_received(lab: Lab, host: str, packets: int) -> None:
    """Until so many more have left for the host."""
    port = lab.nic(host).port
    before = lab.port_counters(port.switch)[port.port].tx_packets
    deadline = time.monotonic() + 15.0
    while lab.port_counters(port.switch)[port.port].tx_packets < before + packets:
        if time.monotonic() > deadline:
            raise LabError(f"No packets of the probe reach {host}")
        time.sleep(0.05)


def worst(links: Iterable[LinkLoad]) -> LinkLoad:
    """The direction of a link with the highest measured utilisation, or else predicted one."""

    def utilisation(load: LinkLoad) -> float:
        bps = load.predicted_bps if load.measured_bps is None else load.measured_bps
        return bps / load.capacity_bps

    return max(links, key=utilisation)
