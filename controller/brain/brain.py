"""The engine at work: events in from sockets, workers and clock, commands out to them.

One event loop, one engine; the engine is called from that loop alone, so nothing here locks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from controller.brain import status, translate
from controller.brain.refusals import Refusal, Refusals
from controller.brain.session_socket import SessionProcess
from controller.brain.wanted import WantedIntents
from controller.brain.workers import Worker, packed
from controller.engine import commands as cmd
from controller.engine import events as ev
from controller.engine import plan_codec
from controller.engine.engine import Engine
from controller.engine.foresight import Foresight, foresee
from controller.engine.proving import Doubt, prove
from controller.engine.wiring import WiringReport
from controller.engine.work import find_black_holes, make
from controller.fabric.model import Fabric
from controller.intents.model import IntentStatus
from controller.northbound.book import IntentBook
from controller.northbound.drains import DrainBook, Element, drained_links, renamed_elements
from controller.northbound.ports import NetworkView
from controller.openflow.wire import DecodeError
from controller.optimizer.plan import Plan
from controller.ovsdb.manager import OvsdbManager
from controller.store.contract import Put, Store, StoreError
from heald.internal.v1 import session_pb2 as pb
from heald.v1 import fabric_pb2

_log = logging.getLogger("heald.brain")

TICK_S = 0.25
PROBE_TICK_S = 0.05
CHANGE = "-change"
"""Ends the key of what the newest plan has other than the one that is stored in full."""
_STORE_RETRY_S = 1.0
DOUBT_PAUSE_S = 60.0
"""From the begin of one confirmation to the next: plans for new measurements come more often than
a second solver can follow."""
LATE_S = 0.02
"""No callback may hold the loop longer than this; one that does is logged."""


class Brain:
    """Implements ``northbound.ports.Brain``; ``run`` until cancelled."""

    def __init__(
        self,
        engine: Engine,
        book: IntentBook,
        wanted: WantedIntents,
        drains: DrainBook,
        store: Store,
        plan_key: str,
        epoch: int,
        fast: Worker,
        proof: Worker,
        second: Worker,
        ovsdb: OvsdbManager,
        strategy: str | None = None,
    ) -> None:
        """``strategy`` is one that counts whatever the topology says."""
        self._engine = engine
        self._book = book
        self._wanted = wanted
        self._drains = drains
        self._store = store
        self._plan_key = plan_key
        self._epoch = epoch
        self._fast, self._proof, self._second = fast, proof, second
        self._doubt_at_s = 0.0
        self._ovsdb = ovsdb
        self._strategy = strategy
        self._processes: dict[str, SessionProcess] = {}
        # New names of what is drained, edit by edit, as long as they are not in the store.
        self._renames: list[Mapping[Element, Element]] = []
        self._greet: Callable[[], None] = lambda: None
        self._statuses: asyncio.Queue[cmd.SetStatus] = asyncio.Queue()
        self._plans: asyncio.Queue[cmd.StorePlan] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started_s = time.time()
        self._store_problem = ""
        self._refusals = Refusals()

    async def run(self) -> None:
        """Returns never; raises what must not happen."""
        self._spawn(self._write_statuses())
        self._spawn(self._write_plans())
        self._spawn(self._tick())
        self._spawn(self._probe())
        self._spawn(self._fast.keep())
        self._spawn(self._proof.keep())
        self._spawn(self._second.keep())
        self._execute(self._engine.start(time.monotonic()))
        await self._failure

    def greets(self, greet: Callable[[], None]) -> None:
        """``greet`` tells every session process anew what holds for all of them."""
        self._greet = greet

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    # ---- events in ------------------------------------------------------------------------------

    def _handle(self, event: ev.Event) -> None:
        began = time.monotonic()
        self._execute(self._engine.handle(event, began))
        took = time.monotonic() - began
        if took > LATE_S:
            _log.debug("%s took %.0f ms", type(event).__name__, took * 1e3)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            engine, now = self._engine, time.monotonic()
            self._ovsdb.tick(engine.carrying(), engine.holding(), now)
            self._handle(ev.Tick(self._ovsdb.queues.is_ready(now)))

    async def _probe(self) -> None:
        while True:
            await asyncio.sleep(PROBE_TICK_S)
            # None are made that would only wait, to be sent in a burst when they prove nothing.
            if all(process.keeps_up for process in dict.fromkeys(self._processes.values())):
                self._handle(ev.ProbesDue())

    async def session_message(self, process: SessionProcess, message: pb.FromSession) -> None:
        kind = message.WhichOneof("message")
        if kind == "readback":
            self._spawn(self._read(message.readback))
            return
        if kind == "heard":
            self._handle(translate.heard(message.heard, self._engine.fabric))
            return
        if kind == "refused":
            told = message.refused
            self._refusals.add(Refusal(told.peer, told.dpid, told.reason, time.time()))
            return
        event = translate.event(message, self._engine.fabric)
        if event is None:
            return
        if isinstance(event, ev.SwitchConnected):
            self._processes[event.switch] = process
        self._handle(event)

    async def _read(self, body: pb.Readback) -> None:
        switch = self._engine.fabric.switch_by_dpid.get(body.dpid)
        if switch is None:
            return
        parts = (list(body.flows), list(body.groups), list(body.meters))
        event: ev.SwitchRead | ev.ReadFailed
        try:
            event = await self._fast.run(translate.read, switch.name, body.session, *parts)
        except DecodeError as error:
            event = ev.ReadFailed(switch.name, body.session, f"cannot be read back: {error}")
        # It may have got another name meanwhile.
        switch = self._engine.fabric.switch_by_dpid.get(body.dpid)
        if switch is not None:
            self._handle(replace(event, switch=switch.name))

    async def session_lost(self, process: SessionProcess) -> None:
        """Its switches keep forwarding; each is compared in full when it is back."""
        for switch in [s for s, p in self._processes.items() if p is process]:
            del self._processes[switch]
            session = self._engine.reconciler.records[switch].session
            self._handle(ev.SwitchDisconnected(switch, session, f"{process.name} is gone"))

    # ---- commands out ---------------------------------------------------------------------------

    def _execute(self, commands: list[cmd.Command]) -> None:
        fabric = self._engine.fabric
        for command in commands:
            match command:
                case cmd.RequestPlan():
                    self._spawn(self._plan(command.request))
                case cmd.FindBlackHoles():
                    self._spawn(self._find_black_holes(command))
                case cmd.StorePlan():
                    self._plans.put_nowait(command)
                case cmd.SetStatus():
                    self._statuses.put_nowait(command)
                case cmd.SendBatch():
                    if process := self._processes.get(command.switch):
                        dpid = fabric.switch_by_name[command.switch].dpid
                        process.send(translate.batch(command, dpid, self._epoch))
                case cmd.ReadSwitch():
                    if process := self._processes.get(command.switch):
                        dpid = fabric.switch_by_name[command.switch].dpid
                        process.send(translate.read_back_request(command, dpid))
                case cmd.SendProbes():
                    self._send_probes(command)
                case cmd.Continue():
                    asyncio.get_running_loop().call_soon(self._handle, ev.Continued())
                case cmd.FollowLinks():
                    loop = asyncio.get_running_loop()
                    loop.call_later(command.after_s, self._handle, ev.LinksDue())
                case cmd.LinksMeasured():
                    self._tell()
                case cmd.Log():
                    _log.log(logging.getLevelName(command.level.upper()), "%s", command.message)
        if any(not isinstance(command, cmd.SendProbes) for command in commands):
            self._tell()

    def _send_probes(self, command: cmd.SendProbes) -> None:
        by_process: dict[SessionProcess, list[cmd.OutgoingProbe]] = {}
        for probe in command.probes:
            if process := self._processes.get(probe.switch):
                by_process.setdefault(process, []).append(probe)
        for process, probes in by_process.items():
            process.send(translate.probes(probes, self._engine.fabric))

    async def _plan(self, request: cmd.PlanRequest) -> None:
        worker = self._proof if request.kind is cmd.PlanKind.OPTIMISE else self._fast
        try:
            made = await worker.ask(make, request)
        except Exception as error:
            _log.error("planning failed", exc_info=error)
            self._handle(ev.PlanFailed(request.id, f"{type(error).__name__}: {error}"))
        else:
            self._handle(made)
            self._doubt(request, made.plan)

    def _doubt(self, request: cmd.PlanRequest, plan: Plan) -> None:
        """Have a plan by descent confirmed, if nobody is at work on another, or was just now."""
        now = time.monotonic()
        if plan.certificate.solver != "descent" or now < self._doubt_at_s:
            return
        if request.fabric is not self._engine.fabric:
            return  # the worker knows the newest alone
        if not plan.trees and request.previous is not None:
            previous = request.previous
            plan = replace(plan, egresses=previous.egresses, trees=previous.trees)
        self._doubt_at_s = math.inf
        doubt = Doubt(request.fabric, request.demands, request.link_state, plan)
        self._spawn(self._prove(doubt, now + DOUBT_PAUSE_S))

    async def _prove(self, doubt: Doubt, next_at_s: float) -> None:
        try:
            proof = await self._second.ask(prove, doubt)
        except Exception as error:
            _log.error("a plan could not be confirmed", exc_info=error)
        else:
            self._handle(proof)
        finally:
            self._doubt_at_s = next_at_s

    async def _find_black_holes(self, asked: cmd.FindBlackHoles) -> None:
        try:
            found = await self._proof.ask(find_black_holes, asked)
        except Exception as error:
            _log.error("black holes could not be looked for", exc_info=error)
            said = f"{type(error).__name__}: {error}"
            found = ev.BlackHolesFound(asked.plan.id, (), said)
        self._handle(found)

    async def _write_plans(self) -> None:
        while True:
            command = await self._plans.get()
            began = time.monotonic()
            plan, base = command.plan, command.base
            if base is not None:
                put = Put(self._plan_key + CHANGE, plan_codec.encode_change(base, plan))
            elif command.body is not None:
                put = Put(self._plan_key, plan_codec.numbered(plan.id, command.body))
            else:
                put = Put(self._plan_key, plan_codec.encode(plan))
            await self._durably(partial(self._store.txn, [], [put]))
            self._handle(ev.PlanStored(plan.id, began))

    async def _write_statuses(self) -> None:
        """In order; statuses of different intents that wait together become one transaction."""
        while True:
            waiting = [await self._statuses.get()]
            while not self._statuses.empty():
                waiting.append(self._statuses.get_nowait())
            batch: dict[str, IntentStatus] = {}
            for command in waiting:
                if command.intent in batch:
                    await self._durably(partial(self._book.set_statuses, batch))
                    batch = {}
                batch[command.intent] = command.status
            await self._durably(partial(self._book.set_statuses, batch))

    async def _durably(self, write: Callable[[], Awaitable[object]]) -> None:
        """A store that cannot be written, on a full disk say, holds up what must be durable first;
        everything else goes on, and so does this once there is room."""
        while True:
            try:
                await write()
            except StoreError as error:
                if self._store_problem != str(error):
                    _log.error("%s; it is tried again each second", error)
                self._store_problem = str(error)
                await asyncio.sleep(_STORE_RETRY_S)
            else:
                self._store_problem = ""
                return

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() and not self._failure.done():
            self._failure.set_exception(task.exception() or RuntimeError())

    # ---- what the northbound asks ---------------------------------------------------------------

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def view(self) -> NetworkView:
        engine = self._engine
        return NetworkView(
            engine.fabric,
            time.time(),
            engine.link_state,
            engine.plan,
            engine.committed,
            engine.drained,
        )

    async def views(self) -> AsyncGenerator[NetworkView, None]:
        while True:
            news = self._news
            yield self.view()
            await news.wait()

    async def foresee(self, drained: frozenset[str]) -> Foresight | None:
        question = self._engine.question(drained)
        if question is None:
            return None
        try:
            return await self._proof.ask(foresee, question)
        except Exception as error:
            # Whoever drains needs to know who is cut off, which takes no plan; the rest is more.
            _log.error("what a drain does to the plan cannot be told", exc_info=error)
            return None

    def drains_changed(self) -> None:
        self._handle(ev.DrainsChanged(self._drained_links(self._engine.fabric)))

    def _drained_links(self, fabric: Fabric) -> frozenset[str]:
        return drained_links(self._drained(), fabric)

    def _drained(self) -> list[Element]:
        """What people have drained, by the names of today."""
        elements = list(self._drains.drains)
        for names in self._renames:
            elements = [names.get(each, each) for each in elements]
        return elements

    async def _rename_drains(self) -> None:
        while self._renames:
            await self._durably(partial(self._drains.rename, self._renames[0]))
            del self._renames[0]

    async def fabric_changed(self, fabric: Fabric) -> None:
        """The topology was edited: go on with this fabric, of the next version. It must have the
        name of the one before, under which everything is stored."""
        # Beside the loop, which nobody has given the fabric to yet: a large one takes a while.
        for_workers = await asyncio.to_thread(packed, fabric)
        engine = self._engine
        by_dpid = {engine.fabric.switch_by_name[s].dpid: p for s, p in self._processes.items()}
        known = fabric.switch_by_dpid
        self._processes = {known[d].name: p for d, p in by_dpid.items() if d in known}
        for worker in (self._fast, self._proof, self._second):
            worker.go_on_with(for_workers)
        renamed = renamed_elements(engine.fabric, fabric)
        if any(element in renamed for element in self._drained()):
            self._renames.append(renamed)
            if len(self._renames) == 1:
                self._spawn(self._rename_drains())
        intents = self._wanted.of(self._book.intents, fabric)
        drained, strategy = self._drained_links(fabric), self._strategy or fabric.strategy
        # Before there is a plan: flows wait for the queues that they lead to.
        self._ovsdb.edited(fabric)
        self._handle(ev.FabricChanged(fabric, intents, drained, strategy))
        self._handle(ev.Tick(self._ovsdb.queues.is_ready(time.monotonic())))
        self._greet()

    def intents_changed(self, revision: int) -> None:
        self._handle(ev.IntentsChanged(self._wanted.of(self._book.intents, self._engine.fabric)))

    def queues(self) -> list[fabric_pb2.SwitchQueues]:
        return [
            fabric_pb2.SwitchQueues(
                switch=each.switch,
                state=each.state.value,
                detail=each.detail,
                ignores_queues=each.ignores_queues,
            )
            for each in self._ovsdb.queues.reports()
        ]

    def wiring(self) -> WiringReport:
        return self._engine.wiring.report()

    def status(self) -> fabric_pb2.Status:
        return status.report(
            self._engine,
            self._ovsdb,
            (self._fast, self._proof, self._second),
            tuple(dict.fromkeys(self._processes.values())),
            self._refusals,
            self._store_problem,
            epoch=self._epoch,
            started_s=self._started_s,
        )
