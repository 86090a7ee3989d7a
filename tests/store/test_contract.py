"""What every store promises, whatever keeps the bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.store.contract import (
    Change,
    CompactedError,
    Compare,
    ConflictError,
    Delete,
    LeaseNotFoundError,
    Put,
    Store,
    StoreError,
    Transaction,
    Write,
)

A, B, C = "f/s/a", "f/s/b", "f/s/c"


async def take(store: Store, prefix: str, after: int, count: int) -> list[Transaction]:
    """The first ``count`` transactions of a watch, without the mark of having caught up."""

    async def collect() -> list[Transaction]:
        found: list[Transaction] = []
        async with aclosing(store.watch(prefix, after)) as transactions:
            async for transaction in transactions:
                if transaction.changes:
                    found.append(transaction)
                if len(found) == count:
                    break
        return found

    return await asyncio.wait_for(collect(), 5)


async def test_reads_what_was_written(store: Store) -> None:
    assert await store.get(A) is None
    revision = await store.txn([], [Put(A, b"1"), Put(B, b"2")])
    found = await store.get(A)
    assert found is not None
    assert (found.value, found.revision) == (b"1", revision)
    snapshot = await store.range("f/s/")
    assert snapshot.revision == revision
    assert [(i.key, i.value) for i in snapshot.items] == [(A, b"1"), (B, b"2")]


async def test_range_takes_the_prefix_and_nothing_beside_it(store: Store) -> None:
    await store.txn([], [Put(k, b"") for k in ("f/s/a", "f/s/a/1", "f/s/a/2", "f/s/a0", "f/s/b")])
    assert [i.key for i in (await store.range("f/s/a/")).items] == ["f/s/a/1", "f/s/a/2"]
    assert len((await store.range("")).items) == 5


async def test_a_failed_compare_writes_nothing(store: Store) -> None:
    first = await store.txn([], [Put(A, b"1")])
    with pytest.raises(ConflictError) as caught:
        await store.txn([Compare(A, first), Compare(B, 7)], [Put(A, b"2"), Put(C, b"3")])
    assert caught.value.keys == (B,)
    snapshot = await store.range("f/s/")
    assert [(i.key, i.value) for i in snapshot.items] == [(A, b"1")]
    assert snapshot.revision == first


async def test_of_racing_creations_one_wins(store: Store) -> None:
    outcomes = await asyncio.gather(
        *(store.txn([Compare(A, 0)], [Put(A, str(i).encode())]) for i in range(10)),
        return_exceptions=True,
    )
    winners = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, int)]
    assert len(winners) == 1
    assert all(isinstance(o, int | ConflictError) for o in outcomes)
    found = await store.get(A)
    assert found is not None
    assert found.value == str(winners[0]).encode()


async def test_deleting_what_is_not_there_is_no_change(store: Store) -> None:
    revision = await store.txn([], [Put(A, b"1")])
    assert await store.txn([], [Delete(B)]) == revision
    assert await store.txn([Compare(B, 0)], []) == revision


@pytest.mark.parametrize("key", ["", "a", "f/s", "f/s/", "f//a", "f/s/a b", "f/s/ä", "f/s/a\n"])
async def test_keys_start_with_fabric_and_site(store: Store, key: str) -> None:
    with pytest.raises(ValueError, match="fabric/site"):
        await store.txn([], [Put(key, b"")])


async def test_a_key_is_written_once_in_a_transaction(store: Store) -> None:
    with pytest.raises(ValueError, match="once"):
        await store.txn([], [Put(A, b""), Delete(A)])


async def test_watch_tells_history_then_news(store: Store) -> None:
    start = await store.txn([], [Put(A, b"1")])
    second = await store.txn([], [Put(A, b"2"), Put(B, b"3")])
    async with aclosing(store.watch("f/s/", start)) as watch:
        assert await anext(watch) == Transaction(second, (Change(A, b"2"), Change(B, b"3")))
        assert await anext(watch) == Transaction(second, ())
        third = await store.txn([], [Delete(A)])
        assert await asyncio.wait_for(anext(watch), 5) == Transaction(third, (Change(A, None),))


async def test_watch_is_woken_while_it_waits(store: Store) -> None:
    watch = store.watch("f/s/", 0)
    assert await anext(watch) == Transaction(0, ())
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    await store.txn([], [Put("other/s/a", b"")])
    revision = await store.txn([], [Put(A, b"1")])
    assert await asyncio.wait_for(waiting, 5) == Transaction(revision, (Change(A, b"1"),))
    await watch.aclose()


async def test_watch_needs_history(store: Store) -> None:
    for i in range(5):
        await store.txn([], [Put(A, str(i).encode())])
    await store.compact(3)
    assert [t.revision for t in await take(store, "", 3, 2)] == [4, 5]
    for after in (2, 6):
        with pytest.raises(CompactedError, match="3 to 5"):
            await anext(store.watch("", after))
    found = await store.get(A)
    assert found is not None


WRITES = st.lists(
    st.one_of(
        st.builds(Put, st.sampled_from([A, B, C, "g/s/a"]), st.binary(max_size=3)),
        st.builds(Delete, st.sampled_from([A, B, C, "g/s/a"])),
    ),
    max_size=3,
    unique_by=lambda write: write.key,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(WRITES, min_size=1, max_size=12), st.integers(0, 12))
def test_replaying_a_watch_from_any_revision_gives_the_present(
    open_store: Callable[[], Awaitable[Store]], transactions: list[list[Write]], position: int
) -> None:
    async def run() -> None:
        store = await open_store()
        try:
            base = (await store.range("")).revision
            states = {base: {i.key: i.value for i in (await store.range("f/")).items}}
            for writes in transactions:
                revision = await store.txn([], writes)
                states[revision] = {i.key: i.value for i in (await store.range("f/")).items}
            after = sorted(states)[position % len(states)]
            state = dict(states[after])
            seen = after
            async for transaction in store.watch("f/", after):
                if not transaction.changes:
                    break
                assert transaction.revision > seen
                seen = transaction.revision
                for change in transaction.changes:
                    if change.value is None:
                        del state[change.key]
                    else:
                        state[change.key] = change.value
                assert state == states[seen]
            assert state == states[max(states)]
        finally:
            await store.close()

    asyncio.run(run())


async def test_keys_end_with_their_lease(store: Store) -> None:
    lease = await store.grant(0.1)
    await store.txn([], [Put(A, b"1", lease), Put(B, b"2")])
    ended = await take(store, "f/s/", 1, 1)
    assert ended[0].changes == (Change(A, None),)
    with pytest.raises(LeaseNotFoundError):
        await store.keepalive(lease)
    with pytest.raises(LeaseNotFoundError):
        await store.txn([], [Put(C, b"", lease)])
    assert [i.key for i in (await store.range("f/s/")).items] == [B]


async def test_keepalive_and_overwriting_keep_a_key(store: Store) -> None:
    kept, lost = await store.grant(1.0), await store.grant(1.0)
    await store.txn([], [Put(A, b"", kept), Put(B, b"", lost), Put(C, b"", lost)])
    await store.txn([], [Put(C, b"now without a lease")])
    await asyncio.sleep(0.5)
    await store.keepalive(kept)
    ended = await take(store, "f/s/", 2, 2)
    assert [t.changes for t in ended] == [(Change(B, None),), (Change(A, None),)]
    assert await store.get(C) is not None


async def test_revoking_ends_a_lease_at_once(store: Store) -> None:
    lease = await store.grant(60)
    await store.txn([], [Put(A, b"", lease)])
    await store.revoke(lease)
    assert await store.get(A) is None
    await store.revoke(lease)


async def test_everything_survives_a_restart(
    open_store: Callable[[], Awaitable[Store]],
) -> None:
    store = await open_store()
    lease = await store.grant(0.2)
    revision = await store.txn([], [Put(A, b"1"), Put(B, b"2", lease)])
    epoch = await store.next_epoch()
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.get(A)

    again = await open_store()
    assert (await again.range("")).revision == revision
    assert await again.next_epoch() > epoch
    assert await again.next_epoch(at_least=epoch + 100) == epoch + 100
    assert await again.next_epoch() > epoch + 100
    assert (await take(again, "", revision, 1))[0].changes == (Change(B, None),)
    await again.close()


async def test_closing_ends_watches(open_store: Callable[[], Awaitable[Store]]) -> None:
    store = await open_store()
    watch = store.watch("", 0)
    await anext(watch)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(waiting, 5)
