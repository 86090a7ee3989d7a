"""The brain's process: puts store, workers, engine and servers together, and takes them down."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from controller.brain import topology_file, translate
from controller.brain.brain import CHANGE, Brain
from controller.brain.session_socket import SessionSocket
from controller.brain.topology_reader import TopologyReader, read_here
from controller.brain.wanted import WantedIntents
from controller.brain.workers import Worker, die_with_parent
from controller.discovery.probe import KEY_BYTES, Seal
from controller.engine import plan_codec
from controller.engine.engine import Engine
from controller.fabric.errors import TopologyErrors
from controller.northbound.book import IntentBook
from controller.northbound.drains import DrainBook, drained_links
from controller.northbound.server import AddressError, NorthboundServer
from controller.northbound.topology_book import TopologyBook
from controller.northbound.topology_start import FileState, Found, at_start, digest_of
from controller.optimizer import kernels
from controller.optimizer.plan import Plan
from controller.ovsdb.manager import OvsdbManager
from controller.store.contract import Put, StoreError
from controller.store.sqlite import SqliteStore

_log = logging.getLogger("heald.brain")

EXIT_TOPOLOGY = 2
EXIT_CONFIGURATION = 3
STORE_FILE = "heald.db"
SITE = "default"
BACKGROUND_NICENESS = 10
_STORE_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """``parent_pid``: end when that process does; None for a brain that stands alone."""

    topology: Path
    session_socket: Path
    northbound: str
    state_dir: Path
    strategy: str | None
    metrics: bool
    poll_interval_s: float
    parent_pid: int | None


def main(options: Options) -> int:
    """Runs until told to stop; returns the exit code. Errors are on stderr by then."""
    if options.parent_pid is not None:
        die_with_parent(options.parent_pid)
    # Plans and tables are millions of objects without cycles: to look through all of them takes up
    # to a second, in which nothing else happens. What dies young is still found.
    gc.set_threshold(50_000, 20, 10_000)
    try:
        asyncio.run(_run(options))
    except TopologyErrors as error:
        print(error, file=sys.stderr)
        return EXIT_TOPOLOGY
    except (AddressError, StoreError, OSError) as error:
        print(f"heald: {error}", file=sys.stderr)
        return EXIT_CONFIGURATION
    return 0


async def _run(options: Options) -> None:
    file = str(options.topology)
    looked = topology_file.look(file)
    content = topology_file.read(file, file)
    found: Found = content.problems or read_here(content.text, file)
    digest = b"" if content.problems else digest_of(content.text)
    file_state = FileState(file, digest, found)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    parent = await _watch_parent(stopping) if options.parent_pid is not None else None

    async with contextlib.AsyncExitStack() as stack:
        options.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        store = await SqliteStore.open(options.state_dir / STORE_FILE)
        stack.push_async_callback(store.close)
        running = await at_start(store, SITE, file_state, content.text, read_here)
        fabric = running.fabric
        # Switches remember the highest epoch that they have seen: one whose store was lost must not
        # begin below it.
        epoch = await store.next_epoch(at_least=int(time.time()))
        book = await IntentBook.load(store, fabric.name, SITE)
        drains = await DrainBook.load(store, fabric.name, SITE)
        plan_key = f"{quote(fabric.name, safe='')}/{SITE}/plan"
        stored_plan = await _stored_plan(store, plan_key)

        fast = Worker("fast", niceness=0, compiles=False, fabric=fabric, standby=True)
        stack.callback(fast.stop)
        proof = Worker("proof", niceness=BACKGROUND_NICENESS, compiles=True, fabric=fabric)
        stack.callback(proof.stop)
        second = Worker("second", niceness=19, compiles=False, fabric=fabric)
        stack.callback(second.stop)

        now = time.monotonic()
        wanted = WantedIntents()
        engine = Engine(
            fabric,
            strategy=options.strategy or fabric.strategy,
            metrics=options.metrics,
            interval_s=options.poll_interval_s,
            stored_plan=stored_plan,
            intents=wanted.of(book.intents, fabric),
            withdrawing={n: i.generation for n, i in book.intents.items() if i.withdrawing},
            statuses={n: i.status for n, i in book.intents.items() if not i.withdrawing},
            seal=Seal(f"{fabric.name}/{SITE}", epoch, secrets.token_bytes(KEY_BYTES)),
            now=now,
            drained=drained_links(drains.drains, fabric),
        )
        ovsdb = OvsdbManager(fabric)
        stack.callback(ovsdb.stop)
        brain = Brain(
            engine,
            book,
            wanted,
            drains,
            store,
            plan_key,
            epoch,
            fast,
            proof,
            second,
            ovsdb,
            options.strategy,
        )
        stack.callback(brain.stop)
        reader = TopologyReader()
        stack.callback(reader.stop)
        topologies = TopologyBook(
            store, SITE, running, file_state, reader.read, brain.fabric_changed
        )

        interval_s = options.poll_interval_s if options.metrics else 0.0
        sessions = SessionSocket(
            options.session_socket,
            epoch,
            lambda: translate.greeting(engine.fabric, interval_s),
            brain.session_message,
            brain.session_lost,
        )
        brain.greets(sessions.greet)
        server = NorthboundServer(book, drains, topologies, brain)
        address = await server.start(options.northbound)
        stack.push_async_callback(server.stop)
        await sessions.start()
        stack.push_async_callback(sessions.stop)
        ovsdb.start()
        # Switches connect and are read back while the workers get ready.
        thinking = loop.create_task(brain.run())
        following = loop.create_task(_follow(file, looked, topologies))
        if not kernels.is_complete():
            _log.info(
                "compiling the optimizer, once: it takes some 20 s until the first plan, unless "
                "`heald warm-up` has done it before"
            )
        await asyncio.gather(fast.start(), proof.start(), reader.start())
        await server.set_ready(True)
        _log.info(
            "fabric %s: %d switches, %d links, %d NICs; epoch %d; gRPC on %s",
            fabric.name,
            len(fabric.switches),
            len(fabric.links),
            len(fabric.nics),
            epoch,
            address,
        )
        stop = loop.create_task(stopping.wait())
        await asyncio.wait([thinking, following, stop], return_when=asyncio.FIRST_COMPLETED)
        for task in (thinking, following):
            if task.done():
                task.result()
            task.cancel()
        if parent is not None:
            parent.cancel()
        _log.info("stopping; switches keep forwarding")


async def _follow(file: str, looked: topology_file.Looks, topologies: TopologyBook) -> None:
    """Offers what the file holds whenever it has been saved; ``looked``: as it did at the start."""
    said = ""
    async for content in topology_file.saves(file, looked):
        while True:
            try:
                await topologies.saved(content.text, content.problems)
            except StoreError as error:
                if said != str(error):
                    _log.error("%s; the topology that was saved waits for it", error)
                said = str(error)
                await asyncio.sleep(_STORE_RETRY_S)
            else:
                said = ""
                break


async def _stored_plan(store: SqliteStore, key: str) -> Plan | None:
    """The newest, which is then stored in full."""
    stored, change = await store.get(key), await store.get(key + CHANGE)
    if stored is None:
        return None
    try:
        base = plan = plan_codec.decode(stored.value)
        if change is not None:
            plan = plan_codec.decode_change(base, change.value)
    except ValueError as error:
        # Of another release, say. Switches are read back in any case, so a new plan does no harm.
        _log.error("%s; a new plan is made", error)
        return None
    if plan is not base:
        await store.txn([], [Put(key, plan_codec.encode(plan))])
    return plan


async def _watch_parent(stopping: asyncio.Event) -> asyncio.Task[None]:
    """The parent holds the other end of standard input, which ends with it."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", 0)
    )

    async def wait() -> None:
        while await reader.read(4096):
            pass
        stopping.set()

    return asyncio.get_running_loop().create_task(wait())
