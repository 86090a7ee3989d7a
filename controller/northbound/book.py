"""The intents of one fabric and site: durable in the store, indexed in memory.

Every change goes through here, one after the other, and is in the store before anyone hears of it.
An intent is one key, written whole with its status, so that the history of the store is that of a
Watch.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

from google.protobuf.message import DecodeError

from controller.intents.lifecycle import Reason, advance
from controller.intents.model import Intent, IntentSpec, IntentState, IntentStatus
from controller.northbound.convert import etag_of, intent_from_message, intent_to_message
from controller.northbound.errors import Code, FieldViolation, ServiceError, refuse
from controller.northbound.receipts import Receipt, Receipts
from controller.northbound.serial import Serial
from controller.store.contract import Change, Delete, KeyValue, Put, Store, StoreError, Write
from heald.v1 import intents_pb2 as pb

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Draft:
    """An intent as its owner wants it.

    ``etag``, where given, must be that of the stored intent; ``etag_field`` names it in errors.
    """

    name: str
    labels: Mapping[str, str]
    spec: IntentSpec
    etag: str = ""
    etag_field: str = "etag"


@dataclass(frozen=True, slots=True)
class Changed:
    """Intents as they are at ``revision``, in the order asked for."""

    intents: tuple[Intent, ...]
    revision: int


class EventKind(Enum):
    CHANGED = "CHANGED"
    DELETED = "DELETED"
    SYNCED = "SYNCED"


@dataclass(frozen=True, slots=True)
class Event:
    """``revision`` is where a watch may resume that has handled this event and all before it.

    Events of one transaction carry the revision before it, except for the last: who is cut off
    between them gets all of them again. ``intent`` is there for CHANGED only, ``name`` also for
    DELETED.
    """

    kind: EventKind
    revision: int
    name: str = ""
    intent: Intent | None = None


class IntentBook:
    """Shared by the services, which change specs, and the engine, which reports statuses."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        intents: dict[str, Intent],
        revision: int,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._intents = intents
        self._revision = revision
        self._clock = clock
        self._receipts = Receipts(store, f"{prefix}requests/")
        self._serial = Serial()

    @classmethod
    async def load(
        cls,
        store: Store,
        fabric: str,
        site: str = "default",
        clock: Callable[[], float] = time.time,
    ) -> IntentBook:
        """The book of all intents in ``store``. ``clock`` gives seconds since the epoch.

        Raises StoreError, also for an entry that is no intent.
        """
        prefix = f"{quote(fabric, safe='')}/{quote(site, safe='')}/"
        snapshot = await store.range(f"{prefix}tenants/")
        intents = [_stored(item) for item in snapshot.items]
        return cls(store, prefix, {i.name: i for i in intents}, snapshot.revision, clock)

    @property
    def intents(self) -> Mapping[str, Intent]:
        """All by name, those being withdrawn included; a view, which changes with the book."""
        return MappingProxyType(self._intents)

    @property
    def revision(self) -> int:
        """Of the newest change in ``intents``."""
        return self._revision

    async def apply(
        self, drafts: Sequence[Draft], receipt: Receipt | None = None, validate_only: bool = False
    ) -> Changed:
        """Creates or replaces all or none of ``drafts``; returns once they are durable.

        A draft equal to what is stored changes nothing. Raises ServiceError(ABORTED) when an etag
        does not match, ServiceError(INVALID_ARGUMENT) for a receipt of another request.
        """

        def edit(now_s: float) -> list[Intent]:
            _check_etags(drafts, self._intents)
            return [_apply(draft, self._intents.get(draft.name), now_s) for draft in drafts]

        return await self._edit(edit, receipt, validate_only)

    async def withdraw(
        self, name: str, etag: str = "", receipt: Receipt | None = None, validate_only: bool = False
    ) -> Changed:
        """Orders the deletion of an intent, which the engine completes by reporting it GONE.

        Raises ServiceError: NOT_FOUND, ABORTED when the etag does not match.
        """

        def edit(now_s: float) -> list[Intent]:
            intent = self._intents.get(name)
            if intent is None:
                raise ServiceError(Code.NOT_FOUND, f"there is no intent {name!r}")
            _check_etags([Draft(name, intent.labels, intent.spec, etag)], self._intents)
            return [_withdraw(intent, now_s)]

        return await self._edit(edit, receipt, validate_only)

    async def set_statuses(self, statuses: Mapping[str, IntentStatus]) -> None:
        """What the engine knows of each of these intents, told to every watch once durable.

        A status is dropped when it has been overtaken: the intent is gone, has another generation
        than ``observed_generation``, or is being withdrawn (then only GONE is news). A status that
        differs in ``plan`` alone is no change: it is kept in memory and told to nobody. Times are
        set here. Raises IllegalTransitionError, and then nothing has changed.
        """

        async def change() -> None:
            now_s = self._now_s()
            writes: list[Write] = []
            after: list[Intent] = []
            for name, status in statuses.items():
                intent = self._intents.get(name)
                if intent is None or _overtaken(status, intent):
                    continue
                status = advance(intent.status, status, now_s)
                after.append(replace(intent, status=status))
                if status.state is IntentState.GONE:
                    writes.append(Delete(self._prefix + name))
                elif replace(status, plan=intent.status.plan) != intent.status:
                    writes.append(self._put(after[-1]))
            if writes:
                self._revision = await self._store.txn([], writes)
            for intent in after:
                if intent.status.state is IntentState.GONE:
                    del self._intents[intent.name]
                else:
                    self._intents[intent.name] = intent

        await self._serial.run(change)

    async def watch(self, tenant: str | None, after: int | None) -> AsyncGenerator[Event, None]:
        """Every change after revision ``after``, or all intents and then every change, without end.

        SYNCED marks the end of what was there at the start. Raises CompactedError, StoreError.
        """
        prefix = f"{self._prefix}tenants/{f'{tenant}/' if tenant else ''}"
        if after is None:
            snapshot = await self._store.range(prefix)
            after = snapshot.revision
            # Oldest change first, so that a watch cut off here may resume, too.
            items = sorted(snapshot.items, key=lambda item: item.revision)
            for revision, group in groupby(items, key=lambda item: item.revision):
                changes = [Change(item.key, item.value) for item in group]
                for event in self._events(revision, changes):
                    yield event
        async with aclosing(self._store.watch(prefix, after)) as transactions:
            async for transaction in transactions:
                for event in self._events(transaction.revision, transaction.changes):
                    yield event
                if not transaction.changes:
                    yield Event(EventKind.SYNCED, transaction.revision)

    def _events(self, revision: int, changes: Sequence[Change]) -> Iterator[Event]:
        for i, change in enumerate(changes):
            resume = revision if i == len(changes) - 1 else revision - 1
            name = change.key.removeprefix(self._prefix)
            if change.value is None:
                yield Event(EventKind.DELETED, resume, name)
            else:
                yield Event(EventKind.CHANGED, resume, name, _decode(change.value))

    async def _edit(
        self,
        edit: Callable[[float], list[Intent]],
        receipt: Receipt | None,
        validate_only: bool,
    ) -> Changed:
        """Stores what ``edit`` makes of the intents, unless ``receipt`` was answered before."""

        async def change() -> Changed:
            if receipt is not None and (earlier := await self._receipts.answer(receipt)):
                answer = pb.ApplyResponse.FromString(earlier[0])
                return Changed(tuple(map(intent_from_message, answer.intents)), earlier[1])
            after = edit(self._now_s())
            if validate_only:
                return Changed(tuple(after), self._revision)
            writes: list[Write] = [
                self._put(intent) for intent in after if intent != self._intents.get(intent.name)
            ]
            if receipt is not None:
                answer = pb.ApplyResponse(intents=map(intent_to_message, after))
                writes.append(await self._receipts.write(receipt, answer.SerializeToString()))
            if writes:
                self._revision = await self._store.txn([], writes)
                self._intents.update((intent.name, intent) for intent in after)
            return Changed(tuple(after), self._revision)

        return await self._serial.run(change)

    def _now_s(self) -> float:
        """To the microsecond, as stored, so that a restart finds the very same intents."""
        return round(self._clock() * 1e6) / 1e6

    def _put(self, intent: Intent) -> Put:
        return Put(self._prefix + intent.name, intent_to_message(intent).SerializeToString())


def _apply(draft: Draft, current: Intent | None, now_s: float) -> Intent:
    etag = etag_of(draft.labels, draft.spec)
    if current is None:
        status = IntentStatus(IntentState.PENDING, Reason.ACCEPTED.value, transition_time_s=now_s)
        return Intent(draft.name, draft.spec, draft.labels, 1, etag, now_s, now_s, status)
    same_spec = draft.spec == current.spec and not current.withdrawing
    if same_spec and draft.labels == current.labels:
        return current
    after = replace(current, labels=draft.labels, spec=draft.spec, etag=etag, update_time_s=now_s)
    if same_spec:
        return after
    pending = replace(
        current.status, state=IntentState.PENDING, reason=Reason.ACCEPTED.value, message=""
    )
    return replace(
        after,
        generation=current.generation + 1,
        create_time_s=now_s if current.withdrawing else current.create_time_s,
        status=advance(current.status, pending, now_s),
    )


def _withdraw(intent: Intent, now_s: float) -> Intent:
    if intent.withdrawing:
        return intent
    status = replace(
        intent.status,
        state=IntentState.WITHDRAWING,
        reason=Reason.DELETED.value,
        message="its rules are being removed",
    )
    return replace(intent, update_time_s=now_s, status=advance(intent.status, status, now_s))


def _overtaken(status: IntentStatus, intent: Intent) -> bool:
    return (
        status.observed_generation != intent.generation
        or (status.state is IntentState.GONE) != intent.withdrawing
    )


def _check_etags(drafts: Sequence[Draft], intents: Mapping[str, Intent]) -> None:
    faults = []
    for draft in drafts:
        current = intents.get(draft.name)
        if draft.etag and (current is None or current.etag != draft.etag):
            now = f"is now at etag {current.etag!r}" if current else "does not exist"
            fault = f"{draft.name} {now}, not at {draft.etag!r}; get it and decide again"
            faults.append(FieldViolation(draft.etag_field, fault))
    refuse(Code.ABORTED, faults)


def _stored(item: KeyValue) -> Intent:
    try:
        return _decode(item.value)
    except (DecodeError, ValueError, TypeError) as error:
        raise StoreError(
            f"the store is damaged: {item.key} is no intent ({error}); "
            "restore the state directory from a backup"
        ) from None


def _decode(value: bytes) -> Intent:
    return intent_from_message(pb.Intent.FromString(value))
