"""Topologies are read in a process of their own: it takes up to seconds, and holds the interpreter.

Not in a worker, which would be busy with a plan, or die of what it reads while it is needed.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from controller.brain.workers import die_with_parent
from controller.fabric.errors import Problem, TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric, Provenance


class TopologyReader:
    """One spawned process, which is replaced when it dies."""

    def __init__(self) -> None:
        self._pool = _new_pool()

    async def start(self) -> None:
        """So that the first edit does not wait for it."""
        await self.read(b"", "")

    async def read(self, text: bytes, name: str) -> Fabric | tuple[Problem, ...]:
        """The fabric that ``text`` describes, or all that is wrong with it."""
        pool = self._pool
        try:
            return await asyncio.wrap_future(pool.submit(read_here, text, name))
        except BrokenProcessPool:
            if self._pool is pool:
                pool.shutdown(wait=False)
                self._pool = _new_pool()
            said = "the process that read it has died, of lack of memory perhaps: save it again"
            return (Problem(Provenance(name, 1, 1), said),)

    def stop(self) -> None:
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)


def read_here(text: bytes, name: str) -> Fabric | tuple[Problem, ...]:
    """The same in this process; for the start, when there is nothing else to do."""
    try:
        return load(text, name)
    except TopologyErrors as errors:
        return errors.problems


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
    )


def _begin(parent_pid: int) -> None:
    die_with_parent(parent_pid)
    # Ctrl-C reaches the whole process group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
