"""Topologies are read beside the loop, and nothing that is read ends anything else."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine

from controller.brain.topology_reader import TopologyReader, read_here
from controller.fabric.model import Fabric
from tests.fabric.samples import GOOD

LATE_S = 0.02
BLOCK = b"""\
fabric: large
defaults: {link: {capacity: 400G}, nic: {capacity: 400G}}
generate: {kind: fat-tree, k: 16}
"""


def run(story: Callable[[TopologyReader], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        reader = TopologyReader()
        try:
            await reader.start()
            await story(reader)
        finally:
            reader.stop()

    asyncio.run(whole())


def test_it_says_what_reading_here_would_say() -> None:
    async def story(reader: TopologyReader) -> None:
        for text in (GOOD.encode(), b"fabric: [", GOOD.replace("leaf2:1", "leaf9:1").encode()):
            assert await reader.read(text, "f.yaml") == read_here(text, "f.yaml")

    run(story)


def test_a_large_fabric_does_not_hold_up_the_loop() -> None:
    late: list[float] = []

    async def beat() -> None:
        while True:
            due = time.monotonic() + 0.001
            await asyncio.sleep(0.001)
            late.append(time.monotonic() - due)

    async def story(reader: TopologyReader) -> None:
        latest = []
        # Other programs may hold it up once.
        for _ in range(4):
            late.clear()
            beats = asyncio.create_task(beat())
            found = await reader.read(BLOCK, "f.yaml")
            beats.cancel()
            assert isinstance(found, Fabric)
            assert len(found.links) == 2048
            latest.append(max(late))
        assert min(latest) < 5 * LATE_S

    run(story)


def test_a_process_that_dies_is_a_problem_and_the_next_edit_gets_another() -> None:
    async def story(reader: TopologyReader) -> None:
        (pid,) = reader._pool._processes
        reading = asyncio.create_task(reader.read(BLOCK, "f.yaml"))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        found = await reading
        assert isinstance(found, tuple)
        assert str(found[0]).startswith("f.yaml:1:1: the process that read it has died")
        assert isinstance(await reader.read(GOOD.encode(), "f.yaml"), Fabric)

    run(story)
