"""One switch on the network: its connection to the controller, made again whenever it ends."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
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
from controller.openflow.wire import DecodeError, MessageType, split

READ_BYTES = 1 << 16
SLICE_BYTES = 1 << 11
"""Given to a switch at a time, and at least one message: some 20 flow entries, so that hundreds of
switches in one process take turns."""
TURN_S = 0.02
"""Then connections are looked at again."""
BACKLOG_LIMIT_BYTES = 1 << 20
"""A switch reads no more while it has so much to do."""
WRITE_LIMIT_BYTES = 4 << 20
"""A switch reads no more while so much waits for its controller, and tells it no news."""
FIRST_RETRY_S, LAST_RETRY_S = 0.25, 8.0
STABLE_S = 5.0
CONNECT_S = 10.0


class Turns:
    """Lets players work off what they have received, one slice after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Player] = deque()
        self._due = False

    def ask(self, player: Player) -> None:
        self._waiting.append(player)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._take)

    def _take(self) -> None:
        until = self._loop.time() + TURN_S
        while self._waiting and self._loop.time() < until:
            player = self._waiting.popleft()
            if player.work():
                self._waiting.append(player)
        self._due = bool(self._waiting)
        if self._due:
            self._loop.call_soon(self._take)


class Player:
    """Plays one switch. ``on_frames`` gets what it sends to its neighbours.

    Echoes are answered at once, whatever waits: a switch with much to do is not a dead one, and
    here hundreds share one processor.
    """

    def __init__(
        self,
        name: str,
        switch: Switch,
        controller: ControllerAddress,
        turns: Turns,
        on_frames: Callable[[str, list[Emitted]], None],
    ) -> None:
        self.name = name
        self.switch = switch
        self.connects = 0
        self.last_error = ""
        self._controller = controller
        self._turns = turns
        self._on_frames = on_frames
        self._rest = b""
        self._backlog: deque[bytes] = deque()
        self._backlog_bytes = 0
        self._greeted = False
        self._waits_for: set[str] = set()
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
        self._rest = b""
        self._greeted = False
        self._waits_for.clear()
        self.connects += 1
        self.event(Connected(self._connection))

    def received(self, data: bytes) -> None:
        try:
            messages, self._rest = split(self._rest + data)
        except DecodeError:
            # The switch shall see for itself, and end the connection.
            messages, self._rest = [self._rest + data], b""
        was_idle = not self._backlog
        for message in messages:
            if self._greeted and message[1] == MessageType.ECHO_REQUEST:
                self._echo(message)
            else:
                self._greeted = True
                self._backlog.append(message)
                self._backlog_bytes += len(message)
        if self._backlog_bytes > BACKLOG_LIMIT_BYTES:
            self.hold("backlog")
        if was_idle and self._backlog:
            self._turns.ask(self)

    def _echo(self, message: bytes) -> None:
        if self._transport is not None and not self._waits_for:
            reply = bytes((message[0], MessageType.ECHO_REPLY)) + message[2:]
            self._transport.write(reply)

    def work(self) -> bool:
        """Do a slice of what was received; returns whether there is more."""
        data = []
        size = 0
        while self._backlog and size < SLICE_BYTES:
            message = self._backlog.popleft()
            size += len(message)
            data.append(message)
        self._backlog_bytes -= size
        if self._backlog_bytes < BACKLOG_LIMIT_BYTES // 2:
            self.release("backlog")
        if data and self._transport is not None:
            now = self._loop.time()
            self._carry_out(self.switch.receive(self._connection, b"".join(data), now))
        return bool(self._backlog)

    def hold(self, reason: str) -> None:
        """Read no more, until every reason for it is released."""
        if not self._waits_for and self._transport is not None:
            self._transport.pause_reading()
        self._waits_for.add(reason)

    def release(self, reason: str) -> None:
        if reason in self._waits_for:
            self._waits_for.discard(reason)
            transport = self._transport
            if not self._waits_for and transport is not None and not transport.is_closing():
                transport.resume_reading()

    def lost(self, error: Exception | None) -> None:
        self.last_error = str(error) if error else "the controller closed the connection"
        self._transport = None
        self._backlog.clear()
        self._backlog_bytes = 0
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
        self._player.hold("answers")

    def resume_writing(self) -> None:
        self._player.release("answers")

    def connection_lost(self, exc: Exception | None) -> None:
        self._player.lost(exc)
        if not self._ended.done():
            self._ended.set_result(None)
