"""Which topology counts when the controller starts: that of the file, or the stored one.

Every topology is stored before it is taken into use. What was applied over the API counts until
the file is another than it was then. What ran last also counts while the file is wrong: a mistake
in a file must not become an outage because something else made the controller start again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import quote

from google.protobuf.message import DecodeError

from controller.fabric.errors import Problem, TopologyErrors
from controller.fabric.model import Fabric
from controller.northbound.convert import timestamp
from controller.store.contract import KeyValue, Put, Store, StoreError
from heald.v1 import fabric_pb2 as pb

Found: TypeAlias = Fabric | tuple[Problem, ...]
"""What a text describes, or all that is wrong with it."""


@dataclass(frozen=True, slots=True, eq=False)
class FileState:
    """The file as it was last read; ``digest`` is empty where it could not be."""

    name: str
    digest: bytes
    found: Found

    @property
    def problems(self) -> tuple[Problem, ...]:
        return () if isinstance(self.found, Fabric) else self.found


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    fabric: Fabric
    source: pb.TopologySource


def digest_of(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def key_of(fabric: str, site: str) -> str:
    return f"{quote(fabric, safe='')}/{quote(site, safe='')}/topology"


async def at_start(
    store: Store,
    site: str,
    file: FileState,
    text: bytes,
    read: Callable[[bytes, str], Found],
    clock: Callable[[], float] = time.time,
) -> Running:
    """The topology to start with, which is then the stored one.

    Raises TopologyErrors where the file is wrong and nothing ran before, StoreError.
    """
    stored = await _stored(store, site, file)
    if stored is not None and _counts(stored, file):
        found = read(stored.text, stored.name)
        if isinstance(found, Fabric):
            return Running(replace(found, version=1), stored)
    if not isinstance(file.found, Fabric):
        raise TopologyErrors(file.found)
    source = pb.TopologySource(
        name=file.name, text=text, file_digest=file.digest, time=timestamp(clock())
    )
    if stored is None or stored.text != text or stored.applied:
        await store.txn([], [Put(key_of(file.found.name, site), source.SerializeToString())])
    else:
        source = stored
    return Running(replace(file.found, version=1), source)


def _counts(stored: pb.TopologySource, file: FileState) -> bool:
    if not isinstance(file.found, Fabric):
        return True
    return stored.applied and stored.file_digest == file.digest


async def _stored(store: Store, site: str, file: FileState) -> pb.TopologySource | None:
    """Of the fabric of the file; where that does not tell which it is, what was stored last."""
    item: KeyValue | None
    if isinstance(file.found, Fabric):
        item = await store.get(key_of(file.found.name, site))
    else:
        ending = key_of("", site)
        items = [i for i in (await store.range("")).items if i.key.endswith(ending)]
        item = max((i for i in items if i.key.count("/") == 2), key=_revision, default=None)
    if item is None:
        return None
    try:
        return pb.TopologySource.FromString(item.value)
    except DecodeError:
        raise StoreError(
            f"the store is damaged: {item.key} is no topology; "
            "restore the state directory from a backup"
        ) from None


def _revision(item: KeyValue) -> int:
    return item.revision
