"""The store of a single controller: a SQLite file, written by a thread of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from controller.store.contract import (
    Compare,
    KeyValue,
    LeaseNotFoundError,
    Snapshot,
    StoreError,
    Transaction,
    Write,
)
from controller.store.sqlite_file import SqliteFile

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

KEEP_REVISIONS = 10_000


class SqliteStore:
    """A ``contract.Store``. What it has acknowledged is on disk (WAL, synchronous=FULL)."""

    def __init__(
        self, path: Path, file: SqliteFile, thread: ThreadPoolExecutor, leases: dict[int, float]
    ) -> None:
        self._path = path
        self._file = file
        self._thread = thread
        self._loop = asyncio.get_running_loop()
        self._wake_ups: set[asyncio.Event] = set()
        self._ttl_s = leases
        self._expiry = {lease: self._expiry_of(lease) for lease in leases}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    async def open(cls, path: Path, keep_revisions: int = KEEP_REVISIONS) -> SqliteStore:
        """Opens or creates the file; at least ``keep_revisions`` can be watched from.

        Raises StoreError when it is damaged, not a store, in use by another process, or out of
        reach.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        loop = asyncio.get_running_loop()
        try:
            file = await loop.run_in_executor(thread, SqliteFile, path, keep_revisions)
            leases = await loop.run_in_executor(thread, file.leases)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(path, file, thread, leases)

    async def get(self, key: str) -> KeyValue | None:
        return await self._run(partial(self._file.get, key))

    async def range(self, prefix: str) -> Snapshot:
        return await self._run(partial(self._file.range, prefix))

    async def txn(self, compares: Sequence[Compare], writes: Sequence[Write]) -> int:
        return await self._run(partial(self._file.txn, compares, writes), announce=True)

    async def watch(self, prefix: str, after: int) -> AsyncGenerator[Transaction, None]:
        wake_up = asyncio.Event()
        self._wake_ups.add(wake_up)
        caught_up = False
        try:
            while not self._closed:
                wake_up.clear()
                page, after = await self._run(partial(self._file.changes, prefix, after))
                for transaction in page:
                    yield transaction
                if not page:
                    if not caught_up:
                        caught_up = True
                        yield Transaction(after, ())
                    await wake_up.wait()
        finally:
            self._wake_ups.discard(wake_up)

    async def grant(self, ttl_s: float) -> int:
        lease = await self._run(partial(self._file.grant, ttl_s))
        self._ttl_s[lease] = ttl_s
        self._expiry[lease] = self._expiry_of(lease)
        return lease

    async def keepalive(self, lease: int) -> None:
        if lease not in self._expiry:
            raise LeaseNotFoundError(f"there is no lease {lease}")
        self._expiry[lease].cancel()
        self._expiry[lease] = self._expiry_of(lease)

    async def revoke(self, lease: int) -> None:
        timer = self._expiry.pop(lease, None)
        if timer is not None:
            timer.cancel()
        self._ttl_s.pop(lease, None)
        await self._run(partial(self._file.revoke, lease), announce=True)

    async def next_epoch(self, at_least: int = 1) -> int:
        return await self._run(partial(self._file.next_epoch, at_least))

    async def compact(self, revision: int) -> None:
        await self._run(partial(self._file.compact, revision))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for timer in self._expiry.values():
            timer.cancel()
        self._wake_watchers()
        try:
            await self._loop.run_in_executor(self._thread, self._file.close)
        finally:
            self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], _T], announce: bool = False) -> _T:
        """``work`` on the store's thread. Once begun it ends, even if nobody waits for it."""
        if self._closed:
            raise StoreError(f"{self._path}: closed; the controller is stopping")

        def job() -> _T:
            result = work()
            if announce:
                self._loop.call_soon_threadsafe(self._wake_watchers)
            return result

        return await self._loop.run_in_executor(self._thread, job)

    def _wake_watchers(self) -> None:
        for wake_up in self._wake_ups:
            wake_up.set()

    def _expiry_of(self, lease: int) -> asyncio.TimerHandle:
        return self._loop.call_later(self._ttl_s[lease], self._expire, lease)

    def _expire(self, lease: int) -> None:
        async def revoke() -> None:
            try:
                await self.revoke(lease)
            except StoreError as error:
                _log.error("lease %d has run out, but: %s", lease, error)

        self._expiry.pop(lease)
        task = self._loop.create_task(revoke())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
