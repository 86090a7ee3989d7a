"""A lab of emulated switches as the prompt sees it: traffic is a fluid, and its rates are known."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.emulator.shell.answer import Answer
from controller.fabric.model import Fabric, Nic, PortRef
from controller.lab import rundir
from controller.lab.collectives import Step
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.prompt.ground import Arrived, Echoes, Flow, Way

_FRAME_BYTES = 1442
_PING_BPS = 1000.0
_TCP = 6
_SOURCE_PORT = 20000
_FIRST_PORT = 4791
"""That of RoCE; each further demand to the same NIC has the next."""
_LOOK_S = 0.1
"""So often a collective looks at its rates, which change with what happens to the network."""
_STUCK_S = 15.0

Demand = dict[str, Any]


class EmulatedGround:
    def __init__(self, lab: EmulatedLab) -> None:
        self._lab = lab
        self._began_s = time.monotonic()
        self._cut: set[str] = set()
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
        return self._lab.emulator.poll() is not None

    # ---- Cables and switches ----

    def ways(self, over_s: float) -> Sequence[Way]:
        records = self._lab.command("links").records()
        names = ("link", "from", "to", "state", "capacity_bps", "load_bps")
        return [Way(*(record[name] for name in names)) for record in records]

    def cut(self, cables: Sequence[str], silently: bool) -> None:
        if silently:
            raise LabError(
                "emulated cables that lose packets in silence are faults, with an end: "
                f"fault silent-loss wire={cables[0]} rate=1 for=10"
            )
        for cable in cables:
            self._lab.command(f"link {cable} down")
            self._cut.add(cable)

    def mend(self, cables: Sequence[str]) -> None:
        for cable in cables:
            self._lab.command(f"link {cable} up")
            self._cut.discard(cable)

    def cut_now(self) -> Sequence[str]:
        return sorted(self._cut)

    def power(self, switch: str, on: bool) -> None:
        self._lab.command(f"switch {switch} {'start' if on else 'stop'}")

    def swap(self, a: PortRef, b: PortRef) -> str:
        return self._lab.command(f"swap {a} {b}").text

    # ---- Traffic ----

    def send(self, flow: Flow) -> _Sent:
        demand = self._demand(flow.source, flow.destination, flow.rate_bps, flow.version)
        demand |= {"flows": flow.flows, "dscp": flow.dscp, "adapts": False}
        self._offer([demand])
        return _Sent(flow, demand, time.monotonic())

    def stop(self, flowing: Sequence[_Sent]) -> Sequence[Arrived]:
        """Rates are those of now, not of the time that has passed."""
        try:
            records = [self._record(each.demand) for each in flowing]
        finally:
            self._end([each.demand for each in flowing])
        found = []
        for each, record in zip(flowing, records, strict=True):
            sent, arrived = record["sent_bps"], record["delivered_bps"]
            lost = 1.0 - arrived / sent if sent else 0.0
            duration_s = time.monotonic() - each.began_s
            found.append(Arrived(sent, arrived, lost, None, None, duration_s))
        return found

    def ping(self, source: Nic, destination: Nic, count: int, version: int) -> Echoes:
        """As a trickle in both directions: which share of it arrives, and how late."""
        ends = ((source, destination), (destination, source))
        demands = [self._demand(a, b, _PING_BPS, version) for a, b in ends]
        self._offer(demands)
        try:
            there, back = (self._record(demand) for demand in demands)
        finally:
            self._end(demands)
        share = there["delivered_bps"] * back["delivered_bps"] / _PING_BPS**2
        times = there["latency_s"], back["latency_s"]
        took = None if None in times else sum(times) * 1e3
        return Echoes(count, round(count * share), took if share else None)

    def tcp(self, source: Nic, destination: Nic, duration_s: float, version: int) -> float:
        demand = self._demand(source, destination, source.capacity_bps, version)
        self._offer([demand | {"protocol": _TCP}])
        try:
            time.sleep(duration_s)
            return float(self._record(demand)["delivered_bps"])
        finally:
            self._end([demand | {"protocol": _TCP}])

    def exchange(self, ranks: Sequence[Nic], steps: Sequence[Step], version: int) -> float:
        """Each step begins when the last transfer of the one before has ended."""
        took_s = 0.0
        for step in steps:
            left = []
            for transfer in step:
                source, destination = ranks[transfer.source], ranks[transfer.destination]
                demand = self._demand(source, destination, source.capacity_bps, version)
                left.append((demand | {"protocol": _TCP}, 8.0 * transfer.size_bytes))
            took_s += self._carry(left)
        return took_s

    def _carry(self, left: list[tuple[Demand, float]]) -> float:
        """Seconds until every demand has got so many bits through, at the rates that the network
        has meanwhile. The fluid flows on while it is asked about, which is not counted."""
        took_s = stuck_s = 0.0
        self._offer([demand for demand, _ in left])
        while left:
            records = self._records()
            rates = [records[_key(demand)]["delivered_bps"] for demand, _ in left]
            ends = [bits / rate for (_, bits), rate in zip(left, rates, strict=True) if rate > 0]
            passed_s = min([*ends, _LOOK_S])
            stuck_s = 0.0 if ends else stuck_s + passed_s
            if stuck_s > _STUCK_S:
                demand = left[0][0]
                self._end([demand for demand, _ in left])
                raise LabError(
                    f"nothing gets from {demand['from']} to {demand['to']} for {_STUCK_S:g} s; do "
                    "intents let them talk? `allow` does"
                )
            time.sleep(passed_s)
            took_s += passed_s
            after = [
                (demand, bits - rate * passed_s)
                for (demand, bits), rate in zip(left, rates, strict=True)
            ]
            done = [demand for demand, bits in after if bits < 1.0]
            if done:
                self._end(done)
            left = [(demand, bits) for demand, bits in after if bits >= 1.0]
        return took_s

    def _demand(self, source: Nic, destination: Nic, rate_bps: float, version: int) -> Demand:
        busy = self._busy_ports.setdefault(destination.id, set())
        port = next(p for p in range(_FIRST_PORT, 1 << 16) if p not in busy)
        busy.add(port)
        return {
            "from": source.id,
            "to": destination.id,
            "rate": f"{round(rate_bps)}bps" if rate_bps < 1e3 else f"{rate_bps / 1e3:.6f}K",
            "version": version,
            "flows": 1,
            "frame_bytes": _FRAME_BYTES,
            "source_port": _SOURCE_PORT,
            "port": port,
        }

    def _offer(self, demands: Sequence[Demand]) -> None:
        self._lab.command(f"traffic {self._file(demands)}")

    def _end(self, demands: Sequence[Demand]) -> None:
        self._lab.command(f"traffic stop {self._file(demands)}")
        for demand in demands:
            self._busy_ports[demand["to"]].discard(demand["port"])

    def _file(self, demands: Sequence[Demand]) -> Path:
        # JSON is YAML.
        path = self.run_dir / "demands.yaml"
        path.write_text(json.dumps(list(demands)))
        return path

    def _records(self) -> Mapping[tuple[Any, ...], dict[str, Any]]:
        found = self._lab.command("traffic").records()
        return {(each["from"], each["to"], each["port"]): each for each in found}

    def _record(self, demand: Demand) -> dict[str, Any]:
        found = self._records().get(_key(demand))
        if found is None:
            raise LabError(f"the flow from {demand['from']} to {demand['to']} was ended meanwhile")
        return found

    # ---- The rest ----

    def shell(self, node: str) -> Sequence[str] | None:
        return None

    def environment(self) -> Mapping[str, str]:
        return {rundir.MARKER: str(self.run_dir)}

    def own(self, line: str) -> Answer | None:
        if line.split()[0] not in {"help", *(usage.split()[0] for usage, _ in self.own_help())}:
            return None
        return self._lab.command(line)

    def own_help(self) -> Sequence[tuple[str, str]]:
        lines = self._lab.command("help").text.splitlines()
        parts = [line.partition("  ") for line in lines]
        return [(usage, what.strip()) for usage, _, what in parts if usage != "help [COMMAND]"]


@dataclass(frozen=True, slots=True)
class _Sent:
    """A fluid under way."""

    flow: Flow
    demand: Demand
    began_s: float


def _key(demand: Demand) -> tuple[Any, ...]:
    return demand["from"], demand["to"], demand["port"]
