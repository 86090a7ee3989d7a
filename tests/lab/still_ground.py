"""A lab in which nothing happens, for tests of what is said at its prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.emulator.shell.answer import Answer
from controller.fabric.load import load
from controller.fabric.model import PortRef
from controller.lab.prompt.ground import Arrived, Echoes, Flow, Way

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml"


OF_EMULATED = ("fault", "faults", "traffic", "switches", "ports", "switch")


@dataclass(frozen=True)
class Sent:
    flow: Flow


class StillGround:
    """A lab in which nothing happens but what is remembered."""

    def __init__(self, topology: Path = TOPOLOGY, ways: Sequence[Way] = ()) -> None:
        self.fabric = load(topology.read_bytes(), str(topology))
        self._ways = ways
        self.run_dir = Path("/nowhere")
        self.now_s = 1.5
        self.done: list[tuple[Any, ...]] = []
        self.ended = False

    def has_ended(self) -> bool:
        return self.ended

    def ways(self, over_s: float) -> Sequence[Way]:
        return self._ways

    def cut(self, cables: Sequence[str], silently: bool) -> None:
        self.done.append(("cut", *cables, silently))

    def mend(self, cables: Sequence[str]) -> None:
        self.done.append(("mend", *cables))

    def cut_now(self) -> Sequence[str]:
        return ["leaf1:12-spine2:1"]

    def power(self, switch: str, on: bool) -> None:
        self.done.append(("power", switch, on))

    def swap(self, a: PortRef, b: PortRef) -> str:
        return f"{a} and {b} are exchanged"

    def send(self, flow: Flow) -> Sent:
        self.done.append(("send", flow))
        return Sent(flow)

    def stop(self, flowing: Sequence[Sent]) -> Sequence[Arrived]:
        return [
            Arrived(each.flow.rate_bps, each.flow.rate_bps / 2, 0.5, 7, 12.5, 1.0)
            for each in flowing
        ]

    def ping(self, source: Any, destination: Any, count: int, version: int) -> Echoes:
        return Echoes(count, count, 0.25)

    def tcp(self, source: Any, destination: Any, duration_s: float, version: int) -> float:
        return 40e6

    def exchange(self, ranks: Sequence[Any], steps: Sequence[Any], version: int) -> float:
        self.done.append(("exchange", [nic.id for nic in ranks], len(steps)))
        return 2.0

    def shell(self, node: str) -> Sequence[str] | None:
        return []

    def environment(self) -> Mapping[str, str]:
        return {}

    def own(self, line: str) -> Answer | None:
        return Answer(0.0, "as asked") if line.split()[0] in OF_EMULATED else None

    def own_help(self) -> Sequence[tuple[str, str]]:
        return [(name, "what emulated labs do") for name in OF_EMULATED]
