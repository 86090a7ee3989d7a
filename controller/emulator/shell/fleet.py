"""All switches of a fabric in one process: their network, their connections, how they fare."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.emulator import faults
from controller.emulator.fault_kinds import Fault
from controller.emulator.network import Network
from controller.emulator.personas import Persona
from controller.emulator.routes import Demand
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.connection import Player, Turns
from controller.emulator.shell.pace import Pace
from controller.emulator.state import State
from controller.emulator.traffic import Traffic
from controller.fabric.model import Fabric, PortRef

START_GAP_S = 0.002
"""Between two switches that begin to connect; a listener's backlog is short."""
HOP_S = 0.001
"""A frame's way to the next switch takes at least that: the event loop knows no shorter time."""


@dataclass(frozen=True, slots=True)
class Counts:
    """``cpu_s`` and ``memory_bytes`` (the most it ever held) are of the whole process. ``behind_s``
    is what time in the network has lost where the machine did not keep up."""

    switches: int
    connected: int
    connects: int
    flows: int
    groups: int
    meters: int
    frames_lost: int
    behind_s: float
    cpu_s: float
    memory_bytes: int
    seconds: float


class Fleet:
    """To be made in a running event loop; ``run`` plays until it is cancelled. Time begins at 0."""

    def __init__(
        self, fabric: Fabric, persona: Persona, controller: ControllerAddress, *, seed: int = 0
    ) -> None:
        self.fabric = fabric
        self.network = Network(fabric, persona, seed=seed, hop_s=HOP_S)
        self._pace = Pace(self.network, self._send, self._close)
        turns = Turns()
        self.players: Mapping[str, Player] = {
            each.name: Player(each.name, controller, self._pace, turns) for each in fabric.switches
        }
        self._traffic: Traffic | None = None
        self._seed = seed
        self._scripts = 0
        self._loop = asyncio.get_running_loop()
        self._began_s = time.monotonic()

    async def run(self) -> None:
        playing = []
        self._pace.catch_up()
        try:
            for player in self.players.values():
                playing.append(self._loop.create_task(player.play()))
                await asyncio.sleep(START_GAP_S)
            await asyncio.gather(*playing)
        finally:
            for task in playing:
                task.cancel()
            await asyncio.gather(*playing, return_exceptions=True)
            self._pace.stop()

    # ---- What happens to the network ----

    @property
    def now(self) -> float:
        return self._pace.now

    def happen(self, note: Callable[[float], None]) -> None:
        """Let ``note`` note something in the network for now, which it is given."""
        note(self.now)
        self._pace.catch_up()

    def set_link(self, wire: str, up: bool) -> None:
        """Mend a wire, by its name, or cut it. KeyError when there is none of that name."""
        found = self.network.wires[wire].name
        act = self.network.mend if up else self.network.cut
        self.happen(lambda now: act(found, now))

    def swap(self, a: PortRef, b: PortRef) -> None:
        """Exchange the cables of two ports. KeyError for a port without a cable, ValueError for the
        two ends of one."""
        self.happen(lambda now: self.network.swap(a, b, now))

    def set_power(self, switch: str, on: bool) -> None:
        """KeyError when there is no such switch."""
        found = self.network.nodes[switch].name
        act = self.network.power_on if on else self.network.power_off
        self.happen(lambda now: act(found, now))

    def install(self, script: Iterable[Fault]) -> None:
        """Note faults, the times of which are those of the network. Raises FaultError."""
        faults.install(self.network, script, f"{self._seed}/{self._scripts}")
        self._scripts += 1
        self._pace.catch_up()

    def offer(self, demands: Sequence[Demand]) -> None:
        """From now on these flow, and no others."""
        if self._traffic is None:
            if not demands:
                return
            self._traffic = Traffic(self.network)
        self._pace.catch_up()
        self._traffic.offer(demands)

    @property
    def traffic(self) -> Traffic | None:
        """As it is now; None where none was ever offered."""
        self._pace.catch_up()
        return self._traffic

    def read(self, switch: str) -> State | None:
        """The state of a switch, its counters as of now; None while it has no power."""
        self._pace.catch_up()
        self.network.before_reading(switch)
        node = self.network.nodes[switch]
        return None if node.switch is None else node.switch.state

    # ---- How they fare ----

    def counts(self) -> Counts:
        switches = [node.switch for node in self.network.nodes.values()]
        states = [switch.state for switch in switches if switch is not None]
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Counts(
            len(self.players),
            sum(player.connected for player in self.players.values()),
            sum(player.connects for player in self.players.values()),
            sum(state.flows for state in states),
            sum(len(state.groups) for state in states),
            sum(len(state.meters) for state in states),
            self.network.frames_dropped,
            round(self._pace.behind_s, 3),
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * 1024,
            time.monotonic() - self._began_s,
        )

    def why_not_connected(self) -> str:
        """What most of those say that have no connection; empty where all have one."""
        reasons = Counter(p.last_error for p in self.players.values() if not p.connected)
        del reasons[""]
        return reasons.most_common(1)[0][0] if reasons else ""

    # ---- What switches do ----

    def _send(self, switch: str, connection: Hashable, data: bytes) -> None:
        found = self.players[switch].connection
        if found is not None and found.number == connection:
            found.send(data)

    def _close(self, switch: str, connection: Hashable) -> None:
        found = self.players[switch].connection
        if found is not None and found.number == connection:
            found.close()
