"""Hundreds of honest switches on one thread, which measure how soon their echoes are answered."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterable
from struct import Struct

from controller.openflow.wire import HEADER_BYTES, MessageType, compose, header, split
from tests.apps.peers import DEADLINE_S, Answers

_TIME = Struct("!d")


class Honest(Answers, asyncio.Protocol):
    def __init__(self, dpid: int) -> None:
        super().__init__(dpid)
        self.round_trips_s: list[float] = []
        self.asked = 0
        self.is_lost = False
        self._rest = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(compose(MessageType.HELLO))

    def data_received(self, data: bytes) -> None:
        messages, self._rest = split(self._rest + data)
        for message in messages:
            if header(message).type == MessageType.ECHO_REPLY:
                (sent_s,) = _TIME.unpack_from(message, HEADER_BYTES)
                self.round_trips_s.append(time.monotonic() - sent_s)
            elif answer := self.answer(message):
                self._transport.write(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True

    def echo(self) -> None:
        self.asked += 1
        body = _TIME.pack(time.monotonic())
        self._transport.write(compose(MessageType.ECHO_REQUEST, body, self.asked))

    def close(self) -> None:
        self._transport.abort()


class Crowd:
    """Connects with one switch for each datapath id; ``close`` ends them."""

    def __init__(self, port: int, dpids: Iterable[int]) -> None:
        # Who measures must not stop to look for garbage in all that pytest has loaded.
        gc.collect()
        gc.freeze()
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.switches = [self._connect(dpid) for dpid in dpids]

    def _connect(self, dpid: int) -> Honest:
        coming = self._loop.create_connection(lambda: Honest(dpid), "127.0.0.1", self._port)
        _, switch = asyncio.run_coroutine_threadsafe(coming, self._loop).result(DEADLINE_S)
        return switch

    def echoes(self, seconds: float, interval_s: float) -> list[float]:
        """The round trips in seconds, sorted, of an echo a switch and interval. All are answered,
        or TimeoutError is raised."""
        running = asyncio.run_coroutine_threadsafe(self._echoes(seconds, interval_s), self._loop)
        return running.result(seconds + DEADLINE_S)

    async def _echoes(self, seconds: float, interval_s: float) -> list[float]:
        for switch in self.switches:
            switch.round_trips_s.clear()
            switch.asked = 0
        end_s = time.monotonic() + seconds
        pause_s = interval_s / len(self.switches)
        due_s = time.monotonic()
        while time.monotonic() < end_s:
            for switch in self.switches:
                switch.echo()
                due_s += pause_s
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        while any(len(s.round_trips_s) < s.asked and not s.is_lost for s in self.switches):
            await asyncio.sleep(0.01)
        return sorted(trip for switch in self.switches for trip in switch.round_trips_s)

    def close(self) -> None:
        for switch in self.switches:
            self._loop.call_soon_threadsafe(switch.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()
        gc.unfreeze()


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
