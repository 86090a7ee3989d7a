"""A damaged store is said to be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.northbound.book import IntentBook
from controller.store.contract import Put, StoreError
from controller.store.sqlite import SqliteStore


@pytest.mark.parametrize("value", [b"\xff\xff", b"\x0a\x02\xff\xfe", b""])
async def test_an_entry_that_is_no_intent_is_one_clear_error(tmp_path: Path, value: bytes) -> None:
    store = await SqliteStore.open(tmp_path / "heald.db")
    try:
        await store.txn([], [Put("f/default/tenants/default/intents/a", value)])
        with pytest.raises(StoreError, match=r"intents/a is no intent .* backup"):
            await IntentBook.load(store, "f")
    finally:
        await store.close()
