"""One change after the other, each to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class Serial:
    """Runs changes one at a time, and to their ends even if the caller goes away: what is in memory
    must not fall behind the store, and whoever has to hear of a change does."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, change: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        async def alone() -> _T:
            async with self._turn:
                return await change()

        task = asyncio.get_running_loop().create_task(alone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)
