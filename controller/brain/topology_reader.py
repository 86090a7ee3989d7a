"""Topologies are read in a process of their own: it takes up to seconds, and holds the interpreter.

A process for each: edits are rare, one that dies of what it reads takes nothing with it, and the
workers stay free for what must be quick.
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


async def read_aside(text: bytes, name: str) -> Fabric | tuple[Problem, ...]:
    """The fabric that ``text`` describes, or all that is wrong with it."""
    pool = ProcessPoolExecutor(
        1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    try:
        return await asyncio.wrap_future(pool.submit(read_here, text, name))
    except BrokenProcessPool:
        said = "the process that read it has died, of lack of memory perhaps: save it again"
        return (Problem(Provenance(name, 1, 1), said),)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def read_here(text: bytes, name: str) -> Fabric | tuple[Problem, ...]:
    """The same in this process; for the start, when there is nothing else to do."""
    try:
        return load(text, name)
    except TopologyErrors as errors:
        return errors.problems


def _begin(parent_pid: int) -> None:
    die_with_parent(parent_pid)
    # Ctrl-C reaches the whole process group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
