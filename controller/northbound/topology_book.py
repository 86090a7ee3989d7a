"""The running topology, and what becomes of edits: of the file, and over the API.

An edit is read, compared, stored and then taken into use, one after the other; one that is wrong
changes nothing but what is said of it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from controller.fabric.difference import Difference, difference
from controller.fabric.errors import Problem
from controller.fabric.model import Fabric, Provenance
from controller.northbound import topology_report as report
from controller.northbound.convert import timestamp
from controller.northbound.errors import Code, refuse
from controller.northbound.ports import Principal
from controller.northbound.receipts import Receipt, Receipts
from controller.northbound.serial import Serial
from controller.northbound.topology_start import FileState, Found, Running, digest_of, key_of
from controller.store.contract import Put, Store, Write
from heald.v1 import fabric_pb2 as pb

_log = logging.getLogger("heald.topology")

_NOTHING = Difference(())
_EVENTS_KEPT = 100
_SAID = 20
"""Problems of one edit in the log and in Status.problems; TopologyStatus has all."""


class Edit(NamedTuple):
    """A text with what it describes."""

    text: bytes
    name: str
    found: Fabric


class TopologyBook:
    """``read`` makes a fabric of a text, beside the loop; ``take`` takes one into use."""

    def __init__(
        self,
        store: Store,
        site: str,
        running: Running,
        file: FileState,
        read: Callable[[bytes, str], Awaitable[Found]],
        take: Callable[[Fabric], Awaitable[None]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._key = key_of(running.fabric.name, site)
        self._receipts = Receipts(store, f"{self._key.removesuffix('topology')}requests/")
        self._running = running
        self._file = file
        self._read = read
        self._take = take
        self._clock = clock
        self._serial = Serial()
        self._refused_s = clock() if file.problems else 0.0
        self._differs = _differs(running.fabric, file.found)
        self._events: deque[tuple[int, pb.TopologyEvent]] = deque(maxlen=_EVENTS_KEPT)
        self._count = 0
        self._news = asyncio.Event()
        if file.problems:
            self._say_refused(file.problems)

    @property
    def fabric(self) -> Fabric:
        return self._running.fabric

    @property
    def source(self) -> pb.TopologySource:
        """With its text."""
        return self._running.source

    async def saved(self, text: bytes, problems: tuple[Problem, ...] = ()) -> None:
        """The file holds this now, or cannot be read for these reasons. Raises StoreError, and then
        it is as if it had not been saved."""
        digest = b"" if problems else digest_of(text)
        if digest == self._file.digest and problems == self._file.problems[: len(problems)]:
            return
        name = self._file.name
        found: Found = problems or await self._read(text, name)

        async def change() -> None:
            nonlocal found
            if isinstance(found, Fabric):
                found = (
                    self._other_fabric(text, name, found)
                    or self._other_switches(name, found)
                    or found
                )
            file = FileState(name, digest, found)
            source = self._running.source
            as_applied = source.applied and digest == source.file_digest
            if isinstance(found, Fabric) and not as_applied:
                new = pb.TopologySource(name=name, text=text, file_digest=digest)
                await self._use(found, new, [], file)
                return
            was_wrong = bool(self._file.problems)
            self._file = file
            self._differs = await asyncio.to_thread(_differs, self.fabric, found)
            if isinstance(found, Fabric):
                self._refused_s = 0.0
                if was_wrong:
                    self._say_cleared()
            else:
                self._refused_s = self._clock()
                self._say_refused(found)
                self._tell(pb.TopologyEvent.REFUSED)

        await self._serial.run(change)

    async def apply(
        self,
        text: bytes,
        name: str,
        principal: Principal,
        receipt: Receipt | None = None,
        validate_only: bool = False,
    ) -> pb.ApplyTopologyResponse:
        """Raises ServiceError(INVALID_ARGUMENT) with all that is wrong with ``text``."""
        found = await self._read(text, name)
        if not isinstance(found, Fabric):
            refuse(Code.INVALID_ARGUMENT, report.violations(found))
        assert isinstance(found, Fabric)
        fabric = found

        async def change() -> pb.ApplyTopologyResponse:
            if receipt is not None and (earlier := await self._receipts.answer(receipt)):
                return pb.ApplyTopologyResponse.FromString(earlier[0])
            refuse(Code.INVALID_ARGUMENT, report.violations(self._other_fabric(text, name, fabric)))
            found = await asyncio.to_thread(difference, self.fabric, fabric)
            differs = await asyncio.to_thread(_differs, fabric, self._file.found)
            version = self.fabric.version
            if found and not validate_only:
                version += 1
            answer = pb.ApplyTopologyResponse(
                version=version,
                changes=report.changes(found),
                file=self._file.name,
                file_differs=differs,
            )
            if validate_only:
                return answer
            writes: list[Write] = []
            if receipt is not None:
                writes.append(await self._receipts.write(receipt, answer.SerializeToString()))
            source = pb.TopologySource(
                name=name,
                text=text,
                applied=digest_of(text) != self._file.digest,
                principal=principal.name,
                file_digest=self._file.digest,
            )
            await self._use(fabric, source, writes, self._file)
            return answer

        return await self._serial.run(change)

    async def watch(self) -> AsyncGenerator[pb.TopologyEvent, None]:
        """How it is now, then every event, without end. One who is far behind misses the oldest."""
        seen = self._count
        yield self._event(pb.TopologyEvent.RUNNING)
        while True:
            news = self._news
            for number, event in [e for e in self._events if e[0] > seen]:
                seen = number
                yield event
            await news.wait()

    def status(self) -> pb.TopologyStatus:
        status = pb.TopologyStatus(
            file=self._file.name,
            problems=report.problems(self._file.problems),
            file_differs=self._differs,
        )
        status.running.CopyFrom(self._running.source)
        status.running.ClearField("text")
        if self._file.problems:
            status.refused_time.CopyFrom(timestamp(self._refused_s))
        return status

    def problems(self) -> list[str]:
        """What is wrong with the file, for people."""
        wrong = self._file.problems
        if not wrong:
            return []
        more = [f"{len(wrong) - _SAID} more problems of {self._file.name}"] * (len(wrong) > _SAID)
        head = f"{self._file.name} is not used as it is, the topology of before runs on"
        return [head, *map(str, wrong[:_SAID]), *more]

    # ---- one edit ------------------------------------------------------------------------------

    async def _use(
        self, fabric: Fabric, source: pb.TopologySource, writes: Sequence[Write], file: FileState
    ) -> None:
        found, is_same = await asyncio.to_thread(_compared, self.fabric, fabric)
        source.time.CopyFrom(timestamp(self._clock()))
        await self._store.txn([], [Put(self._key, source.SerializeToString()), *writes])
        was_wrong = bool(self._file.problems)
        self._file = file
        self._differs = await asyncio.to_thread(_differs, fabric, file.found)
        if not file.problems:
            self._refused_s = 0.0
        if is_same:
            self._running = Running(self.fabric, source)
            if was_wrong and not file.problems:
                self._say_cleared()
            return
        version = self.fabric.version + 1
        fresh = await asyncio.to_thread(_prepared, fabric, version)
        self._running = Running(fresh, source)
        who = f"applied by {source.principal}" if source.principal else "saved"
        _log.info("%s %s, version %d: %s", source.name, who, version, found.summary())
        await self._take(fresh)
        self._tell(pb.TopologyEvent.CHANGED, found)

    def _other_fabric(self, text: bytes, name: str, found: Fabric) -> tuple[Problem, ...]:
        """Plans, intents and drains are kept under the name of the fabric."""
        if found.name == self.fabric.name:
            return ()
        at = re.search(rb"^fabric\s*:", text, re.MULTILINE)
        line = text.count(b"\n", 0, at.start()) + 1 if at else 1
        said = (
            f"the controller runs fabric '{self.fabric.name}', not '{found.name}': keep the name, "
            "or start another controller with a state directory of its own"
        )
        return (Problem(Provenance(name, line, 1), said),)

    def _other_switches(self, name: str, found: Fabric) -> tuple[Problem, ...]:
        """Another file was saved in this one's place, most likely; who means it can say so."""
        if self.fabric.switch_by_dpid.keys() & found.switch_by_dpid.keys():
            return ()
        said = (
            f"has none of the {len(self.fabric.switches)} switches that run (by their datapath ids)"
            ": save the file of this fabric, or, if all of them are to go, use heald topology apply"
        )
        return (Problem(Provenance(name, 1, 1), said),)

    # ---- what is said --------------------------------------------------------------------------

    def _say_refused(self, problems: Sequence[Problem]) -> None:
        _log.error("%s is not used as it is, the topology of before runs on:", self._file.name)
        for problem in problems[:_SAID]:
            _log.error("%s", problem)
        if len(problems) > _SAID:
            _log.error("and %d more problems of %s", len(problems) - _SAID, self._file.name)

    def _say_cleared(self) -> None:
        _log.info("%s is right again, and changes nothing", self._file.name)
        self._tell(pb.TopologyEvent.CLEARED)

    def _event(self, kind: pb.TopologyEvent.Kind, found: Difference = _NOTHING) -> pb.TopologyEvent:
        return pb.TopologyEvent(
            kind=kind,
            time=timestamp(self._clock()),
            version=self.fabric.version,
            changes=report.changes(found),
            status=self.status(),
        )

    def _tell(self, kind: pb.TopologyEvent.Kind, found: Difference = _NOTHING) -> None:
        self._count += 1
        self._events.append((self._count, self._event(kind, found)))
        self._news.set()
        self._news = asyncio.Event()


def _compared(before: Fabric, after: Fabric) -> tuple[Difference, bool]:
    """And whether they are the same: that must not rest on the words for what differs."""
    return difference(before, after), before == after


def _differs(running: Fabric, file: Found) -> bool:
    return not isinstance(file, Fabric) or file != running


def _prepared(fabric: Fabric, version: int) -> Fabric:
    """Numbered, and with the tables computed that the loop would have to wait for."""
    fresh = replace(fabric, version=version)
    for table in ("arcs", "arc_by_tail", "arcs_from", "nics", "nics_on", "nic_by_id"):
        getattr(fresh, table)
    return fresh
