"""Durable state: a small key-value store in which every transaction has a revision.

A store belongs to one brain or to several (SQLite, etcd); all of them pass ``tests/store``.
Revisions start at 0 and grow by one with every transaction that writes. Every method raises
StoreError when the store cannot be used any longer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

_KEY = re.compile(r"[!-.0-~]+(/[!-.0-~]+){2,}")


class StoreError(Exception):
    """The store cannot do its work; the message names the file or server, and the cure."""


class ConflictError(Exception):
    """A transaction wrote nothing: ``keys`` were not at the revisions it compared with."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(f"changed in the meantime: {', '.join(keys)}")
        self.keys = tuple(keys)


class CompactedError(Exception):
    """A watch was to start where history is no longer kept, or not yet made."""

    def __init__(self, after: int, oldest: int, newest: int) -> None:
        super().__init__(
            f"cannot watch after revision {after}: the store can do so after {oldest} to {newest}"
        )
        self.after = after
        self.oldest = oldest
        self.newest = newest


class LeaseNotFoundError(Exception):
    """The lease has run out, or never was."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """``revision`` is that of the transaction that wrote it last."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that was under a prefix at ``revision``, sorted by key."""

    revision: int
    items: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Holds while ``key`` was last written at ``revision``; 0 while there is no such key."""

    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Put:
    """With a ``lease``, the key is deleted when that ends."""

    key: str
    value: bytes
    lease: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    key: str


Write: TypeAlias = Put | Delete


@dataclass(frozen=True, slots=True)
class Change:
    """``value`` is None where the key was deleted."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one transaction changed under the watched prefix, in the order of its writes.

    A watch delivers one without changes when it has delivered all that was there at its start.
    """

    revision: int
    changes: tuple[Change, ...]


class Store(Protocol):
    """Keys are ``fabric/site/…``; see ``check_key``. Safe for many tasks of one event loop."""

    async def get(self, key: str) -> KeyValue | None: ...

    async def range(self, prefix: str) -> Snapshot:
        """All keys that start with ``prefix``, as one consistent snapshot."""
        ...

    async def txn(self, compares: Sequence[Compare], writes: Sequence[Write]) -> int:
        """Writes all or nothing, and returns the revision once that is durable.

        Without a write (deleting what is not there is none) the revision stays. A key may be
        written once. Raises ConflictError when a compare does not hold, LeaseNotFoundError.
        """
        ...

    def watch(self, prefix: str, after: int) -> AsyncGenerator[Transaction, None]:
        """Every later transaction that touches ``prefix``, each once and in order, without end.

        One more, without changes, says up to which revision it has caught up with its start. A
        slow reader costs no memory; one that falls behind what history is kept gets
        CompactedError, as does one that starts there. Closing the iterator (``aclose``) ends the
        watch.
        """
        ...

    async def grant(self, ttl_s: float) -> int:
        """A new lease, which ends ``ttl_s`` after its last ``keepalive``; its keys end with it.

        A restart of the store counts as a keepalive: keys may live longer than asked, never less.
        """
        ...

    async def keepalive(self, lease: int) -> None:
        """Raises LeaseNotFoundError."""
        ...

    async def revoke(self, lease: int) -> None:
        """Ends the lease now. Ending one that is gone is no error."""
        ...

    async def next_epoch(self, at_least: int = 1) -> int:
        """A number above all that this store has returned, durable before it is returned."""
        ...

    async def compact(self, revision: int) -> None:
        """Forgets the history up to ``revision``, which stays watchable from there on."""
        ...

    async def close(self) -> None:
        """Ends all watches; a second close does nothing."""
        ...


def check_key(key: str) -> None:
    """Raises ValueError unless ``key`` is ``fabric/site/…``: printable ASCII, no empty parts."""
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key!r} is no key of a store: it must be fabric/site/… in printable ASCII"
        )
