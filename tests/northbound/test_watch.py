"""A watch tells every change exactly once, from wherever it starts."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.intents.model import Connectivity, Intent, IntentState, IntentStatus, Selector
from controller.northbound.book import Draft, Event, EventKind, IntentBook
from controller.northbound.errors import ServiceError
from controller.store.sqlite import SqliteStore
from heald import HealdError, connectivity, intent_name
from heald.v1 import intents_pb2 as pb
from tests.northbound.harness import Served

S = IntentState
KIND = pb.IntentEvent


def test_current_intents_then_synced_then_changes(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("b", all=True)])
        client.apply([connectivity("a", all=True)])
        watch = client.watch("default", timeout_s=10)
        events = [next(watch) for _ in range(3)]
        assert [e.kind for e in events] == [KIND.CHANGED, KIND.CHANGED, KIND.SYNCED]
        assert {e.intent.name for e in events[:2]} == {intent_name("a"), intent_name("b")}
        north.report("a", S.PLANNED)
        event = next(watch)
        assert (event.intent.name, event.intent.status.state) == (intent_name("a"), pb.PLANNED)
        client.delete("a")
        assert next(watch).intent.status.state == pb.WITHDRAWING
        north.report("a", S.GONE)
        event = next(watch)
        assert (event.kind, event.intent.name) == (KIND.DELETED, intent_name("a"))
        assert event.intent.status.state == pb.GONE


def test_a_watch_resumes_across_a_restart_of_the_controller(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("a", all=True)])
        watch = client.watch(timeout_s=10)
        last = [next(watch) for _ in range(2)][-1].revision
        north.stop()
        with pytest.raises(HealdError, match="watch again"):
            next(watch)
        north.start()
        client.apply([connectivity("b", all=True)])
        resumed = client.watch(resume_revision=last, timeout_s=10)
        assert next(resumed).intent.name == intent_name("b")
        assert next(resumed).kind == KIND.SYNCED


def test_a_revision_that_is_no_longer_kept_is_refused_with_the_cure(north: Served) -> None:
    with north.client() as client:
        for i in range(4):
            client.apply([connectivity(f"i{i}", all=True)])
        north.run(north.store.compact(3))
        for revision in (1, 99):
            with pytest.raises(HealdError, match="without resume_revision") as caught:
                next(client.watch(resume_revision=revision, timeout_s=10))
            assert caught.value.code == "OUT_OF_RANGE"


def test_other_tenants_are_not_seen(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("tenants/other/intents/x", all=True)])
        watch = client.watch("default", timeout_s=10)
        assert next(watch).kind == KIND.SYNCED
        client.apply(
            [connectivity("tenants/other/intents/y", all=True), connectivity("a", all=True)]
        )
        assert next(watch).intent.name == intent_name("a")


IDS = st.sampled_from(["a", "b", "c"])
ACTIONS = st.one_of(
    st.tuples(
        st.just("apply"),
        st.lists(st.tuples(IDS, st.integers(0, 2)), min_size=1, unique_by=lambda x: x[0]),
    ),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("status"), IDS),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(ACTIONS, min_size=1, max_size=15), st.floats(0, 1))
def test_watching_from_any_event_rebuilds_the_book_exactly(
    actions: list[tuple[str, object]], cut: float
) -> None:
    asyncio.run(_watching(actions, cut))


async def _watching(actions: list[tuple[str, object]], cut: float) -> None:
    with TemporaryDirectory() as directory:
        store = await SqliteStore.open(Path(directory) / "heald.db")
        book = await IntentBook.load(store, "lab")
        for kind, argument in actions:
            await _act(book, kind, argument)

        full = await _until_synced(book, 0)
        assert _replay(full) == dict(book.intents)

        # Whoever has handled the first n events and resumes gets exactly the others; but those of
        # a transaction that was cut come once more, as it is all or nothing.
        ends = await _ends_of_transactions(store)
        assert ends[-1] == len(full)
        n = round(cut * len(full))
        resume = full[n - 1].revision if n else 0
        start = max(end for end in ends if end <= n)
        assert await _until_synced(book, resume) == full[start:]

        current = await _until_synced(book, None)
        assert _replay(current) == dict(book.intents)
        # A restart knows the same.
        await store.close()
        store = await SqliteStore.open(Path(directory) / "heald.db")
        assert set((await IntentBook.load(store, "lab")).intents) == set(book.intents)
        await store.close()


async def _ends_of_transactions(store: SqliteStore) -> list[int]:
    """How many changes there were up to each revision, from none on."""
    ends = [0]
    async for transaction in store.watch("lab/default/tenants/", 0):
        if not transaction.changes:
            break
        ends.append(ends[-1] + len(transaction.changes))
    return ends


async def _act(book: IntentBook, kind: str, argument: object) -> None:
    if kind == "apply":
        assert isinstance(argument, list)
        drafts = [
            Draft(intent_name(id), {}, Connectivity(Selector(hosts=("h1", f"h{spec}"))))
            for id, spec in argument
        ]
        await book.apply(drafts)
        return
    name = intent_name(str(argument))
    intent = book.intents.get(name)
    if kind == "delete":
        try:
            await book.withdraw(name)
        except ServiceError:
            assert intent is None
    elif intent is not None:
        next_state = {S.PENDING: S.PLANNED, S.PLANNED: S.ACTIVE, S.WITHDRAWING: S.GONE}
        state = next_state.get(intent.status.state, S.DEGRADED)
        await book.set_statuses({name: IntentStatus(state, "Test", "", intent.generation)})


async def _until_synced(book: IntentBook, after: int | None) -> list[Event]:
    events: list[Event] = []
    async with aclosing(book.watch(None, after)) as watch:
        async for event in watch:
            if event.kind is EventKind.SYNCED:
                return events
            events.append(event)
    raise AssertionError("the watch ended")


def _replay(events: list[Event]) -> dict[str, Intent]:
    state: dict[str, Intent] = {}
    for event in events:
        if event.kind is EventKind.DELETED:
            state.pop(event.name)
        else:
            assert event.intent is not None
            state[event.name] = event.intent
    return state
