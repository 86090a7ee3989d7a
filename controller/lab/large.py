"""How long the controller takes to connect a fabric and to install an intent for all its hosts, and
what each of its processes needs for that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import heald
from controller.lab.errors import LabError
from controller.lab.session import Lab, LabController
from heald.v1 import intents_pb2

Progress = Callable[[str], None]

POLL_S = 0.1
INTENT = "everything"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since its start, and the most memory that a process has held."""

    cpu_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ScaleReport:
    """``connected_s``: from the start of the controller until it had read every switch.
    ``planned_s`` and ``installed_s``: from when the intent was applied until it was planned, and
    until every switch had acknowledged its rules; ``messages`` it took, and in how many cases a
    session broke meanwhile. ``ready_s``: of all that
    the sum, of connecting and installing."""

    fabric: str
    switches_by: str
    switches: int
    hosts: int
    cpus: int
    connected_s: float
    planned_s: float
    installed_s: float
    ready_s: float
    flows: int
    groups: int
    messages: int
    reconnects: int
    switch_processes: Mapping[str, Usage]
    controller_processes: Mapping[str, Usage]


class ScaleLab(Lab, Protocol):
    """Switches that connect to this machine, and by which processes."""

    @property
    def controller_options(self) -> list[str]: ...

    @property
    def processes(self) -> Mapping[str, int]: ...


def measure(
    start: Callable[[Path], AbstractContextManager[ScaleLab]],
    switches_by: str,
    topology: Path,
    timeout_s: float,
    progress: Progress,
) -> ScaleReport:
    """Raises LabError when something does not come up within ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    with start(topology) as lab:
        began = time.monotonic()
        # Counters would be read meanwhile, and plans made of them.
        options = [*lab.controller_options, "--fabric-nometrics"]
        with LabController.start(lab, options=options) as controller:
            controller.wait_ready(max(1.0, deadline - time.monotonic()))
            connected_s = time.monotonic() - began
            progress(f"{len(lab.fabric.switches)} switches connected in {connected_s:.1f} s")
            with controller.client() as client:
                began = time.monotonic()
                client.apply([heald.connectivity(INTENT, all=True)])
                planned_s = wait_state(client, intents_pb2.PLANNED, controller, deadline) - began
                progress(f"planned in {planned_s:.1f} s")
                installed_s = wait_state(client, intents_pb2.ACTIVE, controller, deadline) - began
                progress(f"installed in {installed_s:.1f} s")
                status: Any = client.status()
            controller_processes = usages(processes(controller, status))
            switch_processes = usages(lab.processes)
    return ScaleReport(
        lab.fabric.name,
        switches_by,
        len(lab.fabric.switches),
        len(lab.fabric.hosts),
        len(os.sched_getaffinity(0)),
        round(connected_s, 2),
        round(planned_s, 2),
        round(installed_s, 2),
        round(connected_s + installed_s, 2),
        sum(switch.flows for switch in status.switches),
        sum(switch.groups for switch in status.switches),
        sum(switch.messages_sent for switch in status.switches),
        sum(switch.connects - 1 for switch in status.switches),
        switch_processes,
        controller_processes,
    )


def wait_state(
    client: heald.Client, state: int, controller: LabController, deadline: float
) -> float:
    """When the intent was first seen in this state or a later one."""
    while time.monotonic() < deadline:
        try:
            found = client.get(INTENT).status.state
        except heald.HealdError as error:
            raise LabError(f"{error}; the end of the log:\n{controller.log_tail()}") from None
        # A switch whose session broke meanwhile makes it DEGRADED, until that is back.
        if found == intents_pb2.ACTIVE or state <= found < intents_pb2.ACTIVE:
            return time.monotonic()
        time.sleep(POLL_S)
    raise LabError(f"Out of time; the end of the controller's log:\n{controller.log_tail()}")


def processes(controller: LabController, status: Any) -> dict[str, int]:
    """Those of the controller, by what they are."""
    found = {"session": controller.process.pid}
    for name, text in status.processes.items():
        word, _, pid = text.partition(" ")
        if word == "pid" and pid.isdigit():
            found[name] = int(pid)
    return found


def usages(pids: Mapping[str, int]) -> dict[str, Usage]:
    """See ``usage``."""
    return {name: usage(pid) for name, pid in pids.items()}


def usage(pid: int) -> Usage:
    """Of a process that lives."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    peak_kib = int(status.partition("VmHWM:")[2].split()[0])
    return Usage((int(fields[11]) + int(fields[12])) / _TICKS_PER_S, peak_kib * 1024)
