"""The drains of one fabric and site: durable in the store, in memory for whoever plans."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import quote

from google.protobuf.message import DecodeError

from controller.fabric.model import Fabric, Link
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
        self._turn = asyncio.Lock()

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

    async def rename(self, names: Mapping[Element, Element]) -> None:
        """What is drained is called otherwise now. Must not be cancelled."""
        async with self._turn:
            after = {}
            for element, drain in self._drains.items():
                kind, name = names.get(element, element)
                after[kind, name] = renamed = pb.Drain.FromString(drain.SerializeToString())
                setattr(renamed, kind, name)
            await self._replace(after)

    async def replace(self, after: Mapping[Element, pb.Drain]) -> None:
        """Must not be cancelled."""
        async with self._turn:
            await self._replace(after)

    async def _replace(self, after: Mapping[Element, pb.Drain]) -> None:
        new = {e: drain for e, drain in after.items() if self._drains.get(e) != drain}
        gone = [e for e in self._drains if e not in after]
        writes: list[Write] = [Put(self._key(e), d.SerializeToString()) for e, d in new.items()]
        writes += [Delete(self._key(e)) for e in gone]
        if writes:
            await self._store.txn([], writes)
        self._drains = dict(after)

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


def renamed_elements(before: Fabric, after: Fabric) -> dict[Element, Element]:
    """What of ``before`` has another name in ``after``: a switch is known by its datapath id, a
    link by its ends."""
    switches = {s.name: after.switch_by_dpid.get(s.dpid) for s in before.switches}

    def ends(link: Link, dpid: Mapping[str, int]) -> frozenset[tuple[int, int]]:
        return frozenset((dpid[end.switch], end.port) for end in (link.a, link.b))

    dpids = [{s.name: s.dpid for s in fabric.switches} for fabric in (before, after)]
    links = {ends(link, dpids[1]): link.name for link in after.links}
    named = {("switch", name): s.name for name, s in switches.items() if s is not None}
    named |= {
        ("link", link.name): links[found]
        for link in before.links
        if (found := ends(link, dpids[0])) in links
    }
    return {(kind, old): (kind, new) for (kind, old), new in named.items() if old != new}


def _element(drain: pb.Drain) -> Element:
    kind = drain.WhichOneof("element") or "link"
    return kind, getattr(drain, kind)
