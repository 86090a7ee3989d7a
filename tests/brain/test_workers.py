"""Workers die, and calls are answered all the same."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from controller.brain.workers import Worker, packed
from controller.fabric.model import Fabric
from tests.dataplane.fabrics import leaf_spine


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    worker = Worker("test", niceness=0, compiles=True)
    yield worker
    worker.stop()


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_killed_worker_is_replaced_and_its_call_made_again(worker: Worker) -> None:
    first = await worker.run(os.getpid)
    call = asyncio.ensure_future(worker.run(time.sleep, 0.5))
    await asyncio.sleep(0.1)
    os.kill(first, signal.SIGKILL)
    await call
    assert await worker.run(os.getpid) != first


async def test_a_standby_takes_over_from_a_killed_worker_and_is_replaced() -> None:
    worker = Worker("test", niceness=0, compiles=False, standby=True)
    await worker.start()
    keeping = asyncio.ensure_future(worker.keep())
    try:
        seen = {await worker.run(os.getpid)}
        for _ in range(2):
            await asyncio.wait_for(_standby_of(worker), 60)
            waiting = next(iter((worker._spare._processes or {}).keys()))  # type: ignore[union-attr]
            os.kill(await worker.run(os.getpid), signal.SIGKILL)
            assert await worker.run(os.getpid) == waiting
            assert waiting not in seen
            seen.add(waiting)
    finally:
        keeping.cancel()
        worker.stop()


async def _standby_of(worker: Worker) -> None:
    while worker._spare is None:
        await asyncio.sleep(0.02)


async def test_a_call_that_kills_every_worker_is_given_up(worker: Worker) -> None:
    with pytest.raises(BrokenProcessPool):
        await worker.run(os._exit, 1)
    assert await worker.run(os.getpid) > 0


@dataclass(frozen=True)
class Asked:
    fabric: Fabric | None
    number: int


def answered(asked: Asked) -> tuple[str, int]:
    assert asked.fabric is not None
    return asked.fabric.name, asked.number


async def test_a_fabric_is_handed_over_once_and_not_with_what_is_asked_about_it() -> None:
    fabric = leaf_spine(2, 1, 1)
    worker = Worker("test", niceness=0, compiles=True, fabric=fabric)
    try:
        # One that cannot be pickled: it is not needed.
        asked = Asked(cast(Fabric, lambda: None), 7)
        assert await worker.ask(answered, asked) == (fabric.name, 7)
    finally:
        worker.stop()


async def test_what_is_asked_after_an_edit_is_of_the_new_fabric() -> None:
    before, after = leaf_spine(2, 1, 1), replace(leaf_spine(2, 1, 1), name="edited")
    worker = Worker("test", niceness=0, compiles=True, fabric=before)
    try:
        first = asyncio.ensure_future(worker.ask(answered, Asked(before, 7)))
        await asyncio.sleep(0)
        worker.go_on_with(packed(after))
        assert await worker.ask(answered, Asked(after, 8)) == ("edited", 8)
        assert await first == (before.name, 7)
        # And so in the process that takes the place of a dead one.
        os.kill(await worker.run(os.getpid), signal.SIGKILL)
        assert await worker.ask(answered, Asked(after, 9)) == ("edited", 9)
    finally:
        worker.stop()


async def test_what_a_call_raises_is_raised_here(worker: Worker) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await worker.run(int, "x")


async def test_a_worker_is_nice_and_ends_on_stop() -> None:
    worker = Worker("test", niceness=7, compiles=True)
    before = os.nice(0)
    assert await worker.run(os.nice, 0) == before + 7
    pid = await worker.run(os.getpid)
    worker.stop()
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_a_worker_ends_with_a_parent_that_is_killed() -> None:
    script = (
        "import asyncio, os, sys\n"
        "from controller.brain.workers import Worker\n"
        "async def main():\n"
        "    print(await Worker('test', 0, True).run(os.getpid), flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
