"""One switch on the network: its connection to the controller, made again whenever it ends."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from itertools import count

from controller.emulator.shell.address import ControllerAddress
from controller.emulator.switch import (
    Connected,
    Disconnected,
    Effects,
    Emitted,
    Event,
    Switch,
    TimePassed,
)

READ_BYTES = 1 << 11
"""Taken at a time: some 20 flow entries, so that hundreds of switches in one process all have their
turn within a second."""
WRITE_LIMIT_BYTES = 4 << 20
"""A switch reads no more while so much waits for its controller, and tells it no news."""
FIRST_RETRY_S, LAST_RETRY_S = 0.25, 8.0
STABLE_S = 5.0
CONNECT_S = 10.0


class Player:
    """Plays one switch. ``on_frames`` gets what it sends to its neighbours."""

    def __init__(
        self,
        name: str,
        switch: Switch,
        controller: ControllerAddress,
        on_frames: Callable[[str, list[Emitted]], None],
    ) -> None:
        self.name = name
        self.switch = switch
        self.connects = 0
        self.last_error = ""
        self._controller = controller
        self._on_frames = on_frames
        self._numbers = count(1)
        self._transport: asyncio.Transport | None = None
        self._connection = 0
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def connected(self) -> bool:
        return self._transport is not None

    async def play(self) -> None:
        """Until cancelled."""
        retry_s = FIRST_RETRY_S
        try:
            while True:
                began = self._loop.time()
                try:
                    ended = await self._connect()
                    await ended
                except (OSError, asyncio.TimeoutError) as error:
                    self.last_error = str(error) or "no answer"
                if self._loop.time() - began >= STABLE_S:
                    retry_s = FIRST_RETRY_S
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, LAST_RETRY_S)
        finally:
            self.disconnect()
            if self._alarm is not None:
                self._alarm.cancel()

    def event(self, event: Event) -> None:
        """Something happens to the switch."""
        self._carry_out(self.switch.event(event, self._loop.time()))

    def disconnect(self) -> None:
        """End the connection as a cable does that is pulled: what is unsent is lost."""
        if self._transport is not None:
            self._transport.abort()

    async def _connect(self) -> asyncio.Future[None]:
        ended: asyncio.Future[None] = self._loop.create_future()
        await asyncio.wait_for(
            self._loop.create_connection(
                lambda: _Protocol(self, ended),
                self._controller.host,
                self._controller.port,
                ssl=self._controller.tls,
            ),
            CONNECT_S,
        )
        return ended

    # ---- what the protocol tells ----

    def opened(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._connection = next(self._numbers)
        self.connects += 1
        self.event(Connected(self._connection))

    def received(self, data: bytes) -> None:
        self._carry_out(self.switch.receive(self._connection, data, self._loop.time()))

    def lost(self, error: Exception | None) -> None:
        self.last_error = str(error) if error else "the controller closed the connection"
        self._transport = None
        self.event(Disconnected(self._connection))

    # ---- what the switch does ----

    def _carry_out(self, effects: Effects) -> None:
        transport = self._transport
        if transport is not None:
            message = effects.messages.get(self._connection)
            if message is not None:
                transport.write(message)
            if self._connection in effects.closed:
                transport.close()
        if effects.frames:
            self._on_frames(self.name, effects.frames)
        deadline = self.switch.next_deadline()
        if self._alarm is not None:
            if self._alarm.when() == deadline:
                return
            self._alarm.cancel()
            self._alarm = None
        if deadline is not None:
            self._alarm = self._loop.call_at(deadline, self._time_passed)

    def _time_passed(self) -> None:
        self._alarm = None
        self.event(TimePassed())


class _Protocol(asyncio.BufferedProtocol):
    """A buffer of a fixed size, so that no controller has this process to itself."""

    def __init__(self, player: Player, ended: asyncio.Future[None]) -> None:
        self._player = player
        self._ended = ended
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_LIMIT_BYTES)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._player.opened(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._player.received(bytes(self._buffer[:nbytes]))

    def pause_writing(self) -> None:
        # The controller takes no answers, so it gets to ask no more questions.
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._player.lost(exc)
        if not self._ended.done():
            self._ended.set_result(None)
