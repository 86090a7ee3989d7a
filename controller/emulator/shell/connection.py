"""One switch on the network: its connection to the controller, made again whenever it ends."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import socket
from collections import deque
from itertools import count

from controller.emulator.shell.address import ControllerAddress
from controller.emulator.shell.pace import Pace
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
"""A switch reads no more while so much waits for its controller."""
FIRST_RETRY_S, LAST_RETRY_S = 0.25, 8.0
STABLE_S = 5.0
CONNECT_S = 10.0
CLOSE_S = 5.0
"""So long a controller may take for the last that a switch has said."""


class Turns:
    """Lets connections work off what they have received, a slice at a time: the one that has least
    comes first. So questions are answered soon, whoever is being filled with flows, and of many
    that are being filled each is done as early as it can be."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[int, int, Connection]] = []
        self._serial = count()
        self._due = False

    def ask(self, connection: Connection) -> None:
        self._wait(connection)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._take)

    def _wait(self, connection: Connection) -> None:
        entry = connection.backlog_bytes, next(self._serial), connection
        heapq.heappush(self._waiting, entry)

    def _take(self) -> None:
        until = self._loop.time() + TURN_S
        while self._waiting and self._loop.time() < until:
            _, _, connection = heapq.heappop(self._waiting)
            if connection.work():
                self._wait(connection)
        self._due = bool(self._waiting)
        if self._due:
            self._loop.call_soon(self._take)


class Player:
    """Plays one switch of a network: connects it while it has power."""

    def __init__(self, name: str, controller: ControllerAddress, pace: Pace, turns: Turns) -> None:
        self.name = name
        self.pace = pace
        self.turns = turns
        self.connects = 0
        self.last_error = ""
        self.connection: Connection | None = None
        self._controller = controller
        self._numbers = count(1)
        self._loop = asyncio.get_running_loop()

    @property
    def connected(self) -> bool:
        return self.connection is not None and self.connection.is_open

    @property
    def stalled(self) -> bool:
        return self.pace.network.nodes[self.name].stalled

    async def play(self) -> None:
        """Until cancelled."""
        retry_s = FIRST_RETRY_S
        while True:
            while self.pace.network.nodes[self.name].switch is None:
                retry_s = FIRST_RETRY_S
                await asyncio.sleep(FIRST_RETRY_S)
            began = self._loop.time()
            try:
                await self._connect()
            except (OSError, asyncio.TimeoutError) as error:
                self.last_error = str(error) or "no answer"
            except asyncio.CancelledError:
                if self.connection is not None:
                    self.connection.abort()
                raise
            if self._loop.time() - began >= STABLE_S:
                retry_s = FIRST_RETRY_S
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, LAST_RETRY_S)

    async def _connect(self) -> None:
        """Until the connection ends. Raises OSError and TimeoutError."""
        ended: asyncio.Future[str] = self._loop.create_future()
        connecting = self._loop.create_task(
            self._loop.create_connection(
                lambda: Connection(self, next(self._numbers), ended),
                self._controller.host,
                self._controller.port,
                ssl=self._controller.tls,
            )
        )
        try:
            # Before Python 3.12 `wait_for` forgets that it was cancelled when this ends just then.
            done, _ = await asyncio.wait({connecting}, timeout=CONNECT_S)
        finally:
            connecting.cancel()
        if not done:
            raise asyncio.TimeoutError
        connecting.result()
        self.last_error = await ended


class Connection(asyncio.BufferedProtocol):
    """A buffer of a fixed size, so that no controller has this process to itself.

    Echoes are answered at once, whatever waits: a switch with much to do is not a dead one, and
    here hundreds share one processor.
    """

    def __init__(self, player: Player, number: int, ended: asyncio.Future[str]) -> None:
        self.number = number
        self._loop = asyncio.get_running_loop()
        self._player = player
        self._ended = ended
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._backlog: deque[bytes] = deque()
        self.backlog_bytes = 0
        self._greeted = False
        self._waits_for: set[str] = set()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    # ---- what the controller and the sockets do ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_LIMIT_BYTES)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        player = self._player
        player.connection = self
        player.connects += 1
        player.pace.network.connect(player.name, self.number, player.pace.now)
        player.pace.catch_up()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if not self.is_open:
            return
        data = bytes(self._buffer[:nbytes])
        try:
            messages, self._rest = split(self._rest + data)
        except DecodeError:
            # The switch shall see for itself, and end the connection.
            messages, self._rest = [self._rest + data], b""
        was_idle = not self._backlog
        for message in messages:
            if self._greeted and message[1] == MessageType.ECHO_REQUEST and self._echo(message):
                continue
            self._greeted = True
            self._backlog.append(message)
            self.backlog_bytes += len(message)
        if self.backlog_bytes > BACKLOG_LIMIT_BYTES:
            self._hold("backlog")
        if was_idle and self._backlog:
            self._player.turns.ask(self)

    def pause_writing(self) -> None:
        # The controller takes no answers, so it gets to ask no more questions.
        self._hold("answers")

    def resume_writing(self) -> None:
        self._release("answers")

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._backlog.clear()
        player = self._player
        player.pace.network.disconnect(player.name, self.number, player.pace.now)
        player.pace.catch_up()
        self._end(str(exc) if exc else "the controller closed the connection")

    def _echo(self, message: bytes) -> bool:
        player = self._player
        if self._waits_for or not player.pace.network.answers_at_once(player.name, self.number):
            return False
        self.send(bytes((message[0], MessageType.ECHO_REPLY)) + message[2:])
        return True

    def work(self) -> bool:
        """Do a slice of what was received; returns whether to be asked again."""
        if self._player.stalled:
            # What is not read here piles up at the controller, as it would with a real one.
            self._player.pace.after_next(lambda: self._player.turns.ask(self))
            return False
        data = []
        size = 0
        while self._backlog and size < SLICE_BYTES:
            message = self._backlog.popleft()
            size += len(message)
            data.append(message)
        self.backlog_bytes -= size
        if self.backlog_bytes < BACKLOG_LIMIT_BYTES // 2:
            self._release("backlog")
        if data:
            player = self._player
            player.pace.network.receive(player.name, self.number, b"".join(data), player.pace.now)
            player.pace.catch_up()
        return bool(self._backlog)

    def _hold(self, reason: str) -> None:
        """Read no more, until every reason for it is released."""
        if not self._waits_for and self._transport is not None:
            self._transport.pause_reading()
        self._waits_for.add(reason)

    def _release(self, reason: str) -> None:
        if reason in self._waits_for:
            self._waits_for.discard(reason)
            transport = self._transport
            if not self._waits_for and transport is not None and not transport.is_closing():
                transport.resume_reading()

    # ---- what the switch does ----

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Once all that was said is sent; the switch does not wait for that."""
        if self._transport is not None:
            self._transport.close()
            self._loop.call_later(CLOSE_S, self._transport.abort)
        self._end("the switch closed the connection")

    def abort(self) -> None:
        """As a cable does that is pulled: what is unsent is lost."""
        if self._transport is not None:
            self._transport.abort()

    def _end(self, why: str) -> None:
        if not self._ended.done():
            self._ended.set_result(why)
