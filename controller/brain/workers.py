"""Worker processes: one for what must be quick, one for what may take its time."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

from controller.fabric.model import Fabric

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")

_log = logging.getLogger("heald.workers")
_PR_SET_PDEATHSIG = 1
_ATTEMPTS = 3
_CHECK_S = 1.0


def die_with_parent(parent_pid: int) -> None:
    """End this process when its parent does, however that ends (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def _begin(parent_pid: int, niceness: int, fabric: bytes) -> None:
    die_with_parent(parent_pid)
    _take(fabric)
    # Ctrl-C reaches the whole process group; the brain decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(niceness)
    # Plans and tables are millions of objects without cycles; to look for some again and again
    # takes a third of the time.
    gc.set_threshold(1 << 20)


def _warm(compiles: bool) -> int:
    """Import what a request needs, so that the first is not the slow one, and load the kernels; if
    they have to be compiled first, only where that holds nobody up."""
    import controller.engine.work  # noqa: F401
    from controller.optimizer import kernels
    from controller.optimizer.warm import warm_up

    if compiles or kernels.is_complete():
        warm_up()
    return os.getpid()


def _take(fabric: bytes) -> None:
    global _fabric
    _fabric = pickle.loads(fabric)


def _on_fabric(function: Callable[[Any], R], asked: Any) -> R:
    assert _fabric is not None
    return function(replace(asked, fabric=_fabric))


_fabric: Fabric | None = None
"""In a worker, the fabric that it was given last."""


def packed(fabric: Fabric | None) -> bytes:
    """For workers; takes a while for a large one."""
    return pickle.dumps(fabric, pickle.HIGHEST_PROTOCOL)


class Worker:
    """One spawned process that runs pure functions in the order they are asked for.

    A process that dies is replaced and its call made again, which is safe for pure functions.
    """

    def __init__(
        self,
        name: str,
        niceness: int,
        compiles: bool,
        fabric: Fabric | None = None,
        standby: bool = False,
    ) -> None:
        """``compiles``: whether it makes the kernels that are missing as it starts. ``standby``:
        whether a second process is kept ready for when it dies."""
        self.name = name
        # Once: it takes as long as all else that is handed over, and while that happens in a thread
        # beside the loop, a fabric may be given another of the properties that it computes late.
        self._fabric = packed(fabric)
        self._compiles = compiles
        self.pid: int | None = None
        self._niceness = niceness
        self._pool = self._new_pool()
        self._standby = standby
        self._spare: ProcessPoolExecutor | None = None

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(os.getpid(), self._niceness, self._fabric),
        )

    async def start(self) -> None:
        """Returns once the process is ready."""
        self.pid = await self.run(_warm, self._compiles)

    def go_on_with(self, fabric: bytes) -> None:
        """What is asked for from now on is of this fabric, `packed`."""
        self._fabric = fabric
        for pool in filter(None, (self._pool, self._spare)):
            # Where one is broken, the next process begins with it.
            with contextlib.suppress(BrokenProcessPool):
                pool.submit(_take, self._fabric)

    async def keep(self) -> None:
        """Replace a process that has died before a call has to wait for it, and the standby that
        has taken its place; never returns."""
        while True:
            if self._standby:
                await self._stand_by()
            await asyncio.sleep(_CHECK_S)
            await self.start()

    async def _stand_by(self) -> None:
        """Returns once a second process is ready, or has died and is to be replaced."""
        spare = self._spare or self._new_pool()
        try:
            await asyncio.wrap_future(spare.submit(_warm, self._compiles))
        except BrokenProcessPool:
            spare.shutdown(wait=False)
            self._spare = None
        except asyncio.CancelledError:
            _kill(spare)
            raise
        else:
            # Unless it has taken its place meanwhile. The fabric may be another by now.
            if spare is not self._pool:
                self._spare = spare
                with contextlib.suppress(BrokenProcessPool):
                    spare.submit(_take, self._fabric)

    async def ask(self, function: Callable[[Q], R], asked: Q) -> R:
        """``function(asked)``, where ``asked`` is a dataclass whose ``fabric`` is the worker's. See
        :meth:`run`."""
        without: Any = replace(cast(Any, asked), fabric=None)
        return await self.run(_on_fabric, function, without)

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Raises what the function raises, or BrokenProcessPool when every process died of it."""
        for attempt in range(1, _ATTEMPTS + 1):
            pool = self._pool
            try:
                return await asyncio.wrap_future(pool.submit(function, *args, **kwargs))
            except BrokenProcessPool:
                if self._pool is pool:
                    what = "its standby goes on" if self._spare else "starting another"
                    _log.warning("worker %s died; %s", self.name, what)
                    pool.shutdown(wait=False)
                    self._pool, self._spare = self._spare or self._new_pool(), None
                    self.pid = None
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def stop(self) -> None:
        for pool in filter(None, (self._pool, self._spare)):
            _kill(pool)


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(wait=False, cancel_futures=True)
