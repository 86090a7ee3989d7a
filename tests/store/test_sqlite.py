"""What is particular to a store in a file: crashes, damage, rivals."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from controller.store.contract import CompactedError, Put, StoreError
from controller.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]

WRITER = """
import asyncio, sys
from pathlib import Path
from controller.store.contract import Put
from controller.store.sqlite import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    i = 0
    while True:
        i += 1
        writes = [Put(f"f/s/{i}", b"x" * 200), Put("f/s/last", str(i).encode())]
        revision = await store.txn([], writes)
        print(revision, i, flush=True)

asyncio.run(main())
"""


def writer(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


async def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    acknowledged = 0
    for _ in range(3):
        with writer(path) as process:
            assert process.stdout is not None
            wanted = acknowledged + 50
            for line in process.stdout:
                acknowledged = int(line.split()[0])
                if acknowledged >= wanted:
                    break
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:  # written before the signal came
                if line.endswith("\n"):
                    acknowledged = int(line.split()[0])

        store = await SqliteStore.open(path)
        snapshot = await store.range("f/s/")
        revisions = {t async for t in _revisions(store, acknowledged)}
        await store.close()
        assert snapshot.revision >= acknowledged
        assert revisions == set(range(1, acknowledged + 1))
        acknowledged = snapshot.revision


async def _revisions(store: SqliteStore, upto: int):  # type: ignore[no-untyped-def]
    async for transaction in store.watch("", 0):
        if transaction.revision > upto or not transaction.changes:
            return
        yield transaction.revision


async def test_a_second_process_is_refused_and_told_who_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    with writer(path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreError, match=rf"heald.db: in use by process {process.pid}; stop"):
            await SqliteStore.open(path)
        process.kill()
    await (await SqliteStore.open(path)).close()


async def test_refused_within_one_process_too(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    store = await SqliteStore.open(path)
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
        await SqliteStore.open(path)
    await store.txn([], [Put("f/s/a", b"")])
    await store.close()


@pytest.mark.parametrize(
    "content", [b"no database at all " * 50, b"SQLite format 3\0" + b"\xff" * 5000]
)
async def test_a_damaged_file_is_named_with_the_cure(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "heald.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"heald\.db: damaged or no store.*move it away"):
        await SqliteStore.open(path)
    assert path.read_bytes() == content


async def test_damage_in_the_middle_is_found_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    store = await SqliteStore.open(path)
    await store.txn([], [Put(f"f/s/{i}", os.urandom(500)) for i in range(200)])
    await store.close()
    content = bytearray(path.read_bytes())
    content[8192:20480] = os.urandom(12288)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged or no store"):
        await SqliteStore.open(path)


async def test_databases_of_others_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE precious (x)")
    with pytest.raises(StoreError, match="another program; name another file"):
        await SqliteStore.open(path)


async def test_a_store_of_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    await (await SqliteStore.open(path)).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"newer Heald.*upgrade"):
        await SqliteStore.open(path)


async def test_a_file_locked_by_a_shell_is_an_error_and_no_hang(tmp_path: Path) -> None:
    path = tmp_path / "heald.db"
    store = await SqliteStore.open(path)
    await store.txn([], [Put("f/s/a", b"1")])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked by another program; close it"):
        await store.txn([], [Put("f/s/a", b"2")])
    other.execute("ROLLBACK")
    other.close()
    await store.txn([], [Put("f/s/a", b"3")])
    await store.close()


async def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "heald.db"
    store = await SqliteStore.open(path)
    await store.txn([], [Put("f/s/a", b"")])
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    await store.close()


async def test_a_path_that_cannot_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/heald\.db: cannot be opened.*directory"):
        await SqliteStore.open(tmp_path / "file" / "heald.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        await SqliteStore.open(tmp_path)


async def test_history_is_bounded(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "heald.db", keep_revisions=10)
    for i in range(50):
        await store.txn([], [Put("f/s/a", str(i).encode())])
    with pytest.raises(CompactedError):
        await anext(store.watch("", 20))
    assert (await anext(store.watch("", 40))).revision == 41
    await store.close()
