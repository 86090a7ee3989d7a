"""What the prompt needs of a lab, whatever its switches are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from controller.emulator.shell.answer import Answer
from controller.fabric.model import Fabric, Nic, PortRef
from controller.lab.collectives import Step


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of a cable, between two ports, or a port and a NIC. ``state`` is ``up``, or
    says why not."""

    cable: str
    tail: str
    head: str
    state: str
    capacity_bps: float
    load_bps: float

    @property
    def used(self) -> float:
        return self.load_bps / self.capacity_bps


@dataclass(frozen=True, slots=True)
class Flow:
    """What a NIC is to send to another: ``rate_bps`` of frames, in ``flows`` that differ in their
    source port."""

    source: Nic
    destination: Nic
    rate_bps: float
    flows: int
    dscp: int
    version: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """Of a flow: rates are of frames, while it lasted. ``silence_ms`` is the longest time between
    two packets, None where there are none."""

    sent_bps: float
    arrived_bps: float
    lost_share: float
    lost_packets: int | None
    silence_ms: float | None
    duration_s: float


class Flowing(Protocol):
    """A flow that is being sent."""

    @property
    def flow(self) -> Flow: ...


@dataclass(frozen=True, slots=True)
class Echoes:
    """What came back of ``sent`` pings, and how long it took: the mean."""

    sent: int
    came_back: int
    round_trip_ms: float | None


class Ground(Protocol):
    """Calls raise LabError. Cables are called as `controller.lab.prompt.words.cables` has it."""

    @property
    def fabric(self) -> Fabric: ...

    @property
    def run_dir(self) -> Path: ...

    @property
    def now_s(self) -> float:
        """Since the lab began."""

    def has_ended(self) -> bool:
        """Whether the processes that play the switches are gone, so that nothing works any more."""

    def ways(self, over_s: float) -> Sequence[Way]:
        """Loads are means over this time, which passes meanwhile, or those of now."""

    def cut(self, cables: Sequence[str], silently: bool) -> None: ...

    def mend(self, cables: Sequence[str]) -> None: ...

    def cut_now(self) -> Sequence[str]:
        """Those that were cut and not mended."""

    def power(self, switch: str, on: bool) -> None: ...

    def swap(self, a: PortRef, b: PortRef) -> str:
        """In words, what is joined to what now."""

    def send(self, flow: Flow) -> Flowing: ...

    def stop(self, flowing: Sequence[Any]) -> Sequence[Arrived]:
        """End these (which it has given out) at the same time, and say what of each arrived."""
        ...

    def ping(self, source: Nic, destination: Nic, count: int, version: int) -> Echoes: ...

    def tcp(self, source: Nic, destination: Nic, duration_s: float, version: int) -> float:
        """Bits per second of payload that one connection carries."""

    def exchange(self, ranks: Sequence[Nic], steps: Sequence[Step], version: int) -> float:
        """Seconds until the last rank has everything."""

    def shell(self, node: str) -> Sequence[str] | None:
        """What to put before a command to run it in a host, or among the switches for a switch;
        None where that cannot be."""

    def environment(self) -> Mapping[str, str]:
        """What programs in the lab need beside their own."""

    def own(self, line: str) -> Answer | None:
        """What this lab alone can do; None when it has no such command."""

    def own_help(self) -> Sequence[tuple[str, str]]:
        """Usage and what it does, of each of those."""
