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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller.fabric.model import Fabric
from controller.lab.errors import LabError
from controller.lab.session import Lab, LabController
from heald.v1 import fabric_pb2, intents_pb2

Progress = Callable[[str], None]

FLOW_BPS = 10e6
SOURCE_PORTS = 256
"""Enough that hashing them comes close to the weights: one sigma of a half is 3 %."""
PAYLOAD_BYTES = 1400
RINGS = (("h1", "h3", "h5", "h7"), ("h8", "h6", "h4", "h2"))
"""Each host sends to the next of its ring, the last to the first."""
PAIRS = tuple((ring[i], ring[(i + 1) % len(ring)]) for ring in RINGS for i in range(len(ring)))
OFFERED_BPS = FLOW_BPS * len(PAIRS)
SETTLE_S = 60.0
STEADY_CHANGE = 0.05
KNOWN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """One direction of a link."""

    link: str
    sender: str
    capacity_bps: float
    predicted_bps: float
    measured_bps: float


@dataclass(frozen=True, slots=True)
class Trial:
    """The traffic under one strategy. Utilisations are of the worst link."""

    strategy: str
    solver: str
    mlu_predicted: float
    bound: float
    mlu_measured: float
    links: tuple[LinkLoad, ...]
    plan: fabric_pb2.Plan


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
class Reroute:
    """What of all traffic arrived while a link was cut: as soon as the switches knew of it."""

    link: str
    offered_bps: float
    delivered_bps: float


@dataclass(frozen=True, slots=True)
class Report:
    """``mode`` says what the switches were. A cut link is a `Failover` where there are packets, to
    which that takes time, and a `Reroute` where traffic is a fluid."""

    mode: str
    fabric: Fabric
    switches: int
    intents: tuple[intents_pb2.Intent, ...]
    ecmp: Trial
    planned: Trial
    cut: Failover | Reroute
    seconds: float


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes that a port has sent, and when."""

    time_s: float
    tx_bytes: int


class Bed(AbstractContextManager["Bed"], Protocol):
    """Switches and hosts of the demo. ``measure_s`` is for how long counters are watched, and
    ``steady_s`` for how long before that nothing may have changed."""

    mode: str
    measure_s: float
    steady_s: float

    @property
    def lab(self) -> Lab: ...

    @property
    def controller_options(self) -> Sequence[str]: ...

    def start_traffic(self) -> None:
        """`FLOW_BPS` from each host to the next of its ring, until the bed ends or cuts."""

    def readings(self) -> Mapping[str, Reading]:
        """Of each port of a link, as ``switch:port``."""
        ...

    def cut(self, progress: Progress) -> Failover | Reroute:
        """Cut a link under traffic, and mend it."""
        ...


def run(start: Callable[[], Bed], intents: Path, progress: Progress) -> Report:
    """Raises LabError when this machine cannot do it or something does not come up."""
    began = time.monotonic()
    with start() as bed:
        lab, options = bed.lab, bed.controller_options
        with LabController.start(lab, options=[*options, "--fabric-strategy=ecmp"]) as controller:
            controller.wait_ready(progress=lambda text: progress(f"controller (ECMP): {text}"))
            _apply(controller, intents)
            bed.start_traffic()
            ecmp = _trial(bed, controller, "ECMP", progress)
        progress("controller stopped; the switches keep forwarding")
        with LabController.start(lab, options=options) as controller:
            controller.wait_ready(progress=lambda text: progress(f"controller (plan): {text}"))
            planned = _trial(bed, controller, "the plan", progress)
            cut = bed.cut(progress)
            with controller.client() as client:
                found = tuple(client.list())
                status = client.status()
        connected = sum(switch.connected for switch in status.switches)
        progress("stopping")
    seconds = time.monotonic() - began
    return Report(bed.mode, lab.fabric, connected, found, ecmp, planned, cut, seconds)


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


def _trial(bed: Bed, controller: LabController, name: str, progress: Progress) -> Trial:
    progress(f"traffic under {name}: waiting until the controller has measured it")
    _settle(controller, bed.steady_s)
    progress(f"traffic under {name}: measuring for {bed.measure_s:.0f} s")
    measured = _measure(bed)
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
        max(load.measured_bps / load.capacity_bps for load in links),
        links,
        plan,
    )


def _settle(controller: LabController, steady_s: float) -> None:
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
            known = abs(total - carried) < KNOWN_SHARE * carried and carried > OFFERED_BPS
            if (
                anchor is None
                or not known
                or report.plan != anchor[0]
                or abs(total - anchor[1]) > STEADY_CHANGE * OFFERED_BPS
            ):
                anchor, steady_since = (report.plan, total), now
            if now - steady_since >= steady_s:
                return
            if now > deadline:
                break
    raise LabError(
        f"The controller does not see the traffic of {OFFERED_BPS / 1e6:.0f} Mbit/s within "
        f"{SETTLE_S:.0f} s; the end of its log:\n{controller.log_tail()}"
    )


def _measure(bed: Bed) -> Mapping[str, float]:
    """Bits per second that each port of a link has sent meanwhile."""
    before = bed.readings()
    time.sleep(bed.measure_s)
    return {
        port: 8 * (now.tx_bytes - before[port].tx_bytes) / (now.time_s - before[port].time_s)
        for port, now in bed.readings().items()
    }


def worst(links: Iterable[LinkLoad]) -> LinkLoad:
    """The direction of a link with the highest measured utilisation."""
    return max(links, key=lambda load: load.measured_bps / load.capacity_bps)
