"""Every backend of the store joins the contract tests by one entry in BACKENDS."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from controller.store.contract import Store
from controller.store.sqlite import SqliteStore

Open = Callable[[], Awaitable[Store]]


def _sqlite(directory: Path) -> Open:
    return lambda: SqliteStore.open(directory / "heald.db")


BACKENDS = {"sqlite": _sqlite}


@pytest.fixture(params=BACKENDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same store each time; close it before opening it again."""
    return BACKENDS[request.param](tmp_path)


@pytest_asyncio.fixture
async def store(open_store: Open) -> AsyncIterator[Store]:
    opened = await open_store()
    yield opened
    await opened.close()
