"""A network on the clock of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from controller.emulator.network import Network

EVENTS_AT_A_TIME = 256
"""Then sockets are looked at again."""


class Pace:
    """Lets happen in a network what is due, when it is due. To be made in a running event loop.

    ``on_message`` gets a switch, its connection and the bytes for its controller, ``on_closed`` the
    connections that the switch has ended. Time in the network starts at its ``now``. Where more
    happens than this machine keeps up with (frames in a loop, say), it falls behind the clock of
    the machine, for good, and everything else still gets its turn.
    """

    def __init__(
        self,
        network: Network,
        on_message: Callable[[str, Hashable, bytes], None],
        on_closed: Callable[[str, Hashable], None],
    ) -> None:
        self.network = network
        self.behind_s = 0.0
        self._on_message = on_message
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._zero_s = self._loop.time() - network.now
        self._alarm: asyncio.TimerHandle | None = None
        self._after: list[Callable[[], None]] = []

    @property
    def now(self) -> float:
        """In the network."""
        return self._loop.time() - self._zero_s

    def catch_up(self) -> None:
        """Call this after anything was noted in the network."""
        now = self.now
        output = self.network.advance(now, EVENTS_AT_A_TIME)
        for switch, connection, data in output.messages:
            self._on_message(switch, connection, data)
        for switch, connection in output.closed:
            self._on_closed(switch, connection)
        due_s = self.network.next_deadline()
        if due_s is not None and due_s <= now:
            late_s = self.now - due_s
            self.behind_s += late_s
            self._zero_s += late_s
        self._set_alarm(due_s)
        after, self._after = self._after, []
        for call in after:
            call()

    def after_next(self, call: Callable[[], None]) -> None:
        """Call it once, after the next time that something has happened."""
        self._after.append(call)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set_alarm(self, due_s: float | None) -> None:
        when = None if due_s is None else due_s + self._zero_s
        if self._alarm is not None:
            if self._alarm.when() == when:
                return
            self._alarm.cancel()
            self._alarm = None
        if when is not None:
            self._alarm = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.catch_up()
