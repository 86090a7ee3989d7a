"""The blocking half of the SQLite store: one file, one connection, one thread, one process.

``current`` holds the newest value of each key, ``history`` what every transaction since
``compacted`` wrote. An exclusive lock on ``<file>.lock`` keeps a second brain out; readers such as
the ``sqlite3`` shell may look on. It goes with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from controller.store.contract import (
    Change,
    CompactedError,
    Compare,
    ConflictError,
    Delete,
    KeyValue,
    LeaseNotFoundError,
    Put,
    Snapshot,
    StoreError,
    Transaction,
    Write,
    check_key,
)

APPLICATION_ID = 0x4845414C  # "HEAL"
SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES ('revision', 0), ('compacted', 0), ('epoch', 0);
CREATE TABLE lease (id INTEGER PRIMARY KEY AUTOINCREMENT, ttl_s REAL NOT NULL);
CREATE TABLE current (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL,
    lease INTEGER REFERENCES lease (id)
);
CREATE INDEX current_lease ON current (lease) WHERE lease IS NOT NULL;
CREATE TABLE history (
    revision INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, value BLOB,
    PRIMARY KEY (revision, position)
);
"""
_BUSY_S = 2.0
_PAGE = 256


class SqliteFile:
    """All of ``contract.Store`` but watching and the passing of time. Raises what that raises."""

    def __init__(self, path: Path, keep_revisions: int) -> None:
        self._path = path
        self._keep = keep_revisions
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._take_lock()
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be opened: {error.strerror}; "
                "name a file in a directory that this user may write to"
            ) from None
        try:
            self._db = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def get(self, key: str) -> KeyValue | None:
        check_key(key)
        with self._explained():
            row = self._db.execute(
                "SELECT key, value, revision FROM current WHERE key = ?", (key,)
            ).fetchone()
        return KeyValue(*row) if row else None

    def range(self, prefix: str) -> Snapshot:
        with self._explained():
            rows = self._db.execute(
                "SELECT key, value, revision FROM current WHERE key >= ? AND key < ? ORDER BY key",
                (prefix, _end_of(prefix)),
            ).fetchall()
            return Snapshot(self._counter("revision"), tuple(KeyValue(*row) for row in rows))

    def txn(self, compares: Sequence[Compare], writes: Sequence[Write]) -> int:
        keys = [write.key for write in writes]
        for key in keys:
            check_key(key)
        if len(set(keys)) != len(keys):
            raise ValueError("a transaction may write each key once")
        with self._transaction():
            stale = [c.key for c in compares if self._revision_of(c.key) != c.revision]
            if stale:
                raise ConflictError(stale)
            for write in writes:
                if isinstance(write, Put) and write.lease is not None:
                    self._require_lease(write.lease)
            return self._write(
                [w for w in writes if isinstance(w, Put) or self._revision_of(w.key)]
            )

    def changes(self, prefix: str, after: int) -> tuple[list[Transaction], int]:
        """The next page of what ``watch`` delivers, and the revision after which to ask again."""
        matching = "revision > ? AND key >= ? AND key < ?"
        arguments = (after, prefix, _end_of(prefix))
        with self._explained():
            oldest, newest = self._counter("compacted"), self._counter("revision")
            if not oldest <= after <= newest:
                raise CompactedError(after, oldest, newest)
            page: list[tuple[int]] = self._db.execute(
                f"SELECT revision FROM history WHERE {matching} ORDER BY revision LIMIT ?",
                (*arguments, _PAGE),
            ).fetchall()
            if not page:
                return [], newest
            # Up to the end of the last transaction on the page, so that none is torn.
            upto = page[-1][0]
            rows = self._db.execute(
                f"SELECT revision, key, value FROM history WHERE {matching} AND revision <= ?"
                " ORDER BY revision, position",
                (*arguments, upto),
            ).fetchall()
        changes: dict[int, list[Change]] = {}
        for revision, key, value in rows:
            changes.setdefault(revision, []).append(Change(key, value))
        return [Transaction(r, tuple(c)) for r, c in changes.items()], upto

    def grant(self, ttl_s: float) -> int:
        with self._transaction():
            return int(
                self._db.execute("INSERT INTO lease (ttl_s) VALUES (?)", (ttl_s,)).lastrowid or 0
            )

    def leases(self) -> dict[int, float]:
        """``ttl_s`` of each lease."""
        with self._explained():
            return dict(self._db.execute("SELECT id, ttl_s FROM lease").fetchall())

    def revoke(self, lease: int) -> None:
        with self._transaction():
            keys = self._db.execute(
                "SELECT key FROM current WHERE lease = ? ORDER BY key", (lease,)
            ).fetchall()
            self._write([Delete(key) for (key,) in keys])
            self._db.execute("DELETE FROM lease WHERE id = ?", (lease,))

    def next_epoch(self, at_least: int) -> int:
        with self._transaction():
            epoch = max(self._counter("epoch") + 1, at_least)
            self._set_counter("epoch", epoch)
            return epoch

    def compact(self, revision: int) -> None:
        with self._transaction():
            self._compact(min(revision, self._counter("revision")))

    def close(self) -> None:
        with self._explained():
            self._db.close()
        os.close(self._lock)

    # ---- within a transaction ----

    def _write(self, writes: Sequence[Write]) -> int:
        revision = self._counter("revision")
        if not writes:
            return revision
        revision += 1
        self._set_counter("revision", revision)
        for position, write in enumerate(writes):
            value = None
            if isinstance(write, Put):
                value = write.value
                self._db.execute(
                    "INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?)",
                    (write.key, value, revision, write.lease),
                )
            else:
                self._db.execute("DELETE FROM current WHERE key = ?", (write.key,))
            self._db.execute(
                "INSERT INTO history VALUES (?, ?, ?, ?)", (revision, position, write.key, value)
            )
        # In steps, so that most transactions do not pay for it.
        if revision - self._counter("compacted") >= 2 * self._keep:
            self._compact(revision - self._keep)
        return revision

    def _compact(self, revision: int) -> None:
        if revision > self._counter("compacted"):
            self._db.execute("DELETE FROM history WHERE revision <= ?", (revision,))
            self._set_counter("compacted", revision)

    def _revision_of(self, key: str) -> int:
        row = self._db.execute("SELECT revision FROM current WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0

    def _require_lease(self, lease: int) -> None:
        if not self._db.execute("SELECT 1 FROM lease WHERE id = ?", (lease,)).fetchone():
            raise LeaseNotFoundError(f"there is no lease {lease}")

    def _counter(self, name: str) -> int:
        row = self._db.execute("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def _set_counter(self, name: str, value: int) -> None:
        self._db.execute("UPDATE counter SET value = ? WHERE name = ?", (value, name))

    # ---- the file ----

    def _take_lock(self) -> int:
        file = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 32).decode("ascii", "replace").strip()
            os.close(file)
            raise StoreError(
                f"{self._path}: in use by process {holder or '?'}; "
                "stop that controller, or give this one a store of its own"
            ) from None
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        return file

    def _open(self) -> sqlite3.Connection:
        with self._explained():
            # Created here for its mode, which SQLite gives to the files beside it, too.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
            try:
                self._prepare(db)
            except BaseException:
                db.close()
                raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        empty = not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        if not empty and application != APPLICATION_ID:
            raise StoreError(
                f"{self._path}: is the database of another program; name another file for the store"
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self._path}: was written by a newer Heald (format {version}, this one knows "
                f"{SCHEMA_VERSION}); upgrade this controller"
            )
        if not empty:
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if empty:
            db.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Every error of SQLite or of the file becomes a StoreError with its cure."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {_explain(error)}") from error
        except OSError as error:
            raise StoreError(
                f"{self._path}: cannot be opened: {error.strerror}; "
                "name a file that this user may write to"
            ) from error


def _end_of(prefix: str) -> str:
    """The least string above all ASCII strings that start with ``prefix``."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "\x7f"


def _explain(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text:
        return "locked by another program; close it (an open sqlite3 shell?) and try again"
    if "full" in text:
        return "the disk is full; free some space"
    if "readonly" in text or "unable to open" in text:
        return f"{text}; let this user write to the file and its directory"
    if isinstance(error, sqlite3.OperationalError) and "malformed" not in text:
        return f"{text}; check the disk and the permissions of the file"
    return (
        f"damaged or no store at all ({text}); restore a backup of it, "
        "or move it away and apply the intents again"
    )
