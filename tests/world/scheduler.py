"""Virtual time, and everything that is under way, delivered in an order that a seed chooses.

What is under way waits in queues: each keeps its order, as a connection or a worker does; which of
them is next is chance.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count


class Queue:
    """``deliver`` hands on what is at its front; only called while it is not empty."""

    index = -1
    held = False

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def hold(self, seconds: float) -> None:
        """Whatever is in it waits that long."""
        if not self.held:
            self.held = True
            self._scheduler.empty(self)
            self._scheduler.at(self._scheduler.now + seconds, self._release)

    def _release(self) -> None:
        self.held = False
        if len(self):
            self._scheduler.ready(self)

    def __len__(self) -> int:
        raise NotImplementedError

    def deliver(self) -> None:
        raise NotImplementedError


class Messages(Queue):
    """Whole messages, as what to do when they arrive."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._waiting: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, arrive: Callable[[], None]) -> None:
        self._waiting.append(arrive)
        self._scheduler.ready(self)

    def deliver(self) -> None:
        self._waiting.popleft()()

    def clear(self) -> None:
        self._waiting.clear()
        self._scheduler.empty(self)


class Stream(Queue):
    """Bytes, cut anywhere."""

    def __init__(self, scheduler: Scheduler, arrive: Callable[[bytes], None]) -> None:
        super().__init__(scheduler)
        self._arrive = arrive
        self._waiting = bytearray()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, data: bytes) -> None:
        self._waiting += data
        self._scheduler.ready(self)

    def deliver(self) -> None:
        # Mostly less than a message; now and then a single byte, or many messages at once.
        size = int(2 ** (11 * self._scheduler.random.random()))
        piece = bytes(self._waiting[:size])
        del self._waiting[:size]
        self._arrive(piece)

    def clear(self) -> None:
        self._waiting.clear()
        self._scheduler.empty(self)


class Scheduler:
    """``events`` counts what was delivered."""

    def __init__(self, seed: int, now: float) -> None:
        self.random = random.Random(seed)
        self.now = now
        self.events = 0
        self._ready: list[Queue] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def ready(self, queue: Queue) -> None:
        if queue.index < 0 and not queue.held:
            queue.index = len(self._ready)
            self._ready.append(queue)

    def empty(self, queue: Queue) -> None:
        if queue.index >= 0:
            last = self._ready.pop()
            if last is not queue:
                last.index = queue.index
                self._ready[queue.index] = last
            queue.index = -1

    @property
    def idle(self) -> bool:
        """Nothing is under way but timers."""
        return not self._ready

    def at(self, time: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time, next(self._numbers), act))

    def step(self) -> None:
        """One event: deliver something, or let time pass where nothing is under way, and now and
        then although something is."""
        if self._ready and self.random.random() > 0.002:
            # random() is several times as fast as choice().
            queue = self._ready[int(self.random.random() * len(self._ready))]
            self.events += 1
            queue.deliver()
            if not len(queue):
                self.empty(queue)
            return
        time, _, act = heapq.heappop(self._timers)
        self.now = max(self.now, time)
        self.events += 1
        act()
