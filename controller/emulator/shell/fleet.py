"""All switches of a fabric in one process: players, the cables between them, how they fare."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from controller.emulator.from_fabric import switches
from controller.emulator.personas import Persona
from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.connection import Player, Turns
from controller.emulator.switch import Emitted, FrameReceived, LinkChanged
from controller.fabric.model import Fabric, PortRef

START_GAP_S = 0.002
"""Between two switches that begin to connect; a listener's backlog is short."""
MAX_FRAMES = 10_000
"""On their way between switches; more are lost, as they would be in a loop."""
FRAMES_AT_A_TIME = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """``cpu_s`` and ``memory_bytes`` (the most it ever held) are of the whole process."""

    switches: int
    connected: int
    connects: int
    flows: int
    groups: int
    meters: int
    frames_lost: int
    cpu_s: float
    memory_bytes: int
    seconds: float


class Fleet:
    """To be made in a running event loop; ``run`` plays until it is cancelled."""

    def __init__(self, fabric: Fabric, persona: Persona, controller: ControllerAddress) -> None:
        loop = asyncio.get_running_loop()
        self.fabric = fabric
        turns = Turns()
        self.players: Mapping[str, Player] = {
            name: Player(name, switch, controller, turns, self._send)
            for name, switch in switches(fabric, persona, loop.time()).items()
        }
        self._loop = loop
        self._began_s = time.monotonic()
        self._frames: deque[tuple[PortRef, bytes]] = deque()
        self._moving = False
        self._frames_lost = 0
        self._dead: set[PortRef] = set()

    async def run(self) -> None:
        playing = []
        try:
            for player in self.players.values():
                playing.append(self._loop.create_task(player.play()))
                await asyncio.sleep(START_GAP_S)
            await asyncio.gather(*playing)
        finally:
            for task in playing:
                task.cancel()
            await asyncio.gather(*playing, return_exceptions=True)

    def set_link(self, link: str, up: bool) -> None:
        """Cut a link, by its name, or mend it. KeyError when the fabric has none of that name."""
        arcs = [arc for arc in self.fabric.arcs if arc.link == link]
        if not arcs:
            raise KeyError(link)
        for arc in arcs:
            (self._dead.discard if up else self._dead.add)(arc.tail)
            self.players[arc.tail.switch].event(LinkChanged(arc.tail.port, up))

    def counts(self) -> Counts:
        states = [player.switch.state for player in self.players.values()]
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Counts(
            len(self.players),
            sum(player.connected for player in self.players.values()),
            sum(player.connects for player in self.players.values()),
            sum(state.flows for state in states),
            sum(len(state.groups) for state in states),
            sum(len(state.meters) for state in states),
            self._frames_lost,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * 1024,
            time.monotonic() - self._began_s,
        )

    # ---- cables ----

    def _send(self, switch: str, frames: list[Emitted]) -> None:
        for frame in frames:
            arc = self.fabric.arc_by_tail.get(PortRef(switch, frame.port))
            if arc is None or arc.tail in self._dead:
                continue
            if len(self._frames) >= MAX_FRAMES:
                self._frames_lost += 1
                continue
            self._frames.append((arc.head, frame.data))
        if self._frames and not self._moving:
            self._moving = True
            self._loop.call_soon(self._move)

    def _move(self) -> None:
        for _ in range(min(len(self._frames), FRAMES_AT_A_TIME)):
            to, data = self._frames.popleft()
            self.players[to.switch].event(FrameReceived(to.port, data))
        self._moving = bool(self._frames)
        if self._moving:
            self._loop.call_soon(self._move)
