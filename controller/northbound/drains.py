"""The drains of one fabric and site: durable in the store, in memory for whoever plans."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import quote

from google.protobuf.message import DecodeError

from controller.fabric.model import Fabric
from controller.northbound.convert import timestamp
from controller.northbound.ports import Principal
from controller.store.contract import Delete, Put, Store, StoreError, Write
from heald.v1 import fabric_pb2 as pb

Element = tuple[str, str]
"""("link" or "switch", its name)."""


class DrainBook:
    """Every change is in the store before anyone hears of it. ``clock``: seconds since the
    epoch."""

    def __init__(
        self, store: Store, prefix: str, drains: dict[Element, pb.Drain], clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._drains = drains
        self._clock = clock
        self._writing = asyncio.Lock()

    @classmethod
    async def load(
        cls,
        store: Store,
        fabric: str,
        site: str = "default",
        clock: Callable[[], float] = time.time,
    ) -> DrainBook:
        """All drains in ``store``. Raises StoreError, also for an entry that is no drain."""
        prefix = f"{quote(fabric, safe='')}/{quote(site, safe='')}/drains/"
        drains = {}
        for item in (await store.range(prefix)).items:
            try:
                drain = pb.Drain.FromString(item.value)
            except DecodeError:
                raise StoreError(
                    f"the store is damaged: {item.key} is no drain; "
                    "restore the state directory from a backup"
                ) from None
            drains[_element(drain)] = drain
        return cls(store, prefix, drains, clock)

    @property
    def drains(self) -> Mapping[Element, pb.Drain]:
        """A view, which changes with the book."""
        return MappingProxyType(self._drains)

    def with_more(
        self, elements: Iterable[Element], reason: str, principal: Principal
    ) -> dict[Element, pb.Drain]:
        """All drains as they would be; those that there are already keep who ordered them."""
        drains = dict(self._drains)
        for kind, name in elements:
            if (kind, name) not in drains:
                drain = pb.Drain(
                    reason=reason, principal=principal.name, time=timestamp(self._clock())
                )
                setattr(drain, kind, name)
                drains[kind, name] = drain
        return drains

    async def drain(self, elements: Iterable[Element], reason: str, principal: Principal) -> None:
        async with self._writing:
            after = self.with_more(elements, reason, principal)
            new = [element for element in after if element not in self._drains]
            await self._write(
                [Put(self._key(element), after[element].SerializeToString()) for element in new]
            )
            self._drains.update((element, after[element]) for element in new)

    async def undrain(self, elements: Iterable[Element]) -> None:
        async with self._writing:
            gone = [element for element in elements if element in self._drains]
            await self._write([Delete(self._key(element)) for element in gone])
            for element in gone:
                del self._drains[element]

    async def _write(self, writes: list[Write]) -> None:
        if writes:
            # To its end even if the caller goes away: the memory must not fall behind the store.
            await asyncio.shield(self._store.txn([], writes))

    def _key(self, element: Element) -> str:
        kind, name = element
        return f"{self._prefix}{kind}/{quote(name, safe='')}"


def drained_links(elements: Iterable[Element], fabric: Fabric) -> frozenset[str]:
    """The links of the fabric that these drains keep traffic from."""
    wanted = set(elements)
    return frozenset(
        link.name
        for link in fabric.links
        if ("link", link.name) in wanted
        or ("switch", link.a.switch) in wanted
        or ("switch", link.b.switch) in wanted
    )


def _element(drain: pb.Drain) -> Element:
    kind = drain.WhichOneof("element") or "link"
    return kind, getattr(drain, kind)
