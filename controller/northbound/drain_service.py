"""Drains without a transport: what they would do, and their order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from controller.fabric.model import Fabric
from controller.intents.selectors import did_you_mean
from controller.northbound.drains import DrainBook, Element, drained_links
from controller.northbound.errors import Code, FieldViolation, ServiceError, refuse
from controller.northbound.ports import Brain, Principal
from heald.v1 import fabric_pb2 as pb

_audit = logging.getLogger("heald.audit")

_NAMED = 5
REASON_LIMIT = 200


class DrainService:
    """Drain and Undrain of heald.v1.FabricService."""

    def __init__(self, book: DrainBook, brain: Brain) -> None:
        self._book = book
        self._brain = brain
        # What one drain leaves is what the next is judged by.
        self._one_by_one = asyncio.Lock()

    async def drain(self, principal: Principal, request: pb.DrainRequest) -> pb.DrainResponse:
        """Refuses, unless forced, what would leave a pair without a way."""
        async with self._one_by_one:
            return await self._drain(principal, request)

    async def _drain(self, principal: Principal, request: pb.DrainRequest) -> pb.DrainResponse:
        fabric = self._brain.view().fabric
        elements = _elements(request)
        faults = [*_nothing(elements), *_unknown(request, fabric), *_unprintable(request.reason)]
        refuse(Code.INVALID_ARGUMENT, faults)
        after = self._book.with_more(elements, request.reason, principal)
        foresight = await self._brain.foresee(drained_links(after, fabric))
        response = pb.DrainResponse(drains=after.values())
        if foresight is not None:
            response.effect.CopyFrom(
                pb.DrainEffect(
                    mlu_before=foresight.mlu_before,
                    mlu_after=foresight.mlu_after,
                    cut_off=foresight.cut_off,
                    degraded=foresight.degraded,
                )
            )
        if request.validate_only:
            return response
        if response.effect.cut_off and not request.force:
            raise ServiceError(Code.FAILED_PRECONDITION, _cut(response.effect.cut_off))
        await self._book.drain(elements, request.reason, principal)
        _audit.info("%s drained %s: %s", principal.name, _names(elements), request.reason or "-")
        self._brain.drains_changed()
        return response

    async def undrain(self, principal: Principal, request: pb.UndrainRequest) -> pb.DrainResponse:
        """Also what the topology has no more."""
        elements = _elements(request)
        violations = _nothing(elements)
        known = self._book.drains
        for field, names in (("links", request.links), ("switches", request.switches)):
            for i, name in enumerate(names):
                if (_KINDS[field], name) not in known:
                    hint = did_you_mean(name, [n for kind, n in known if kind == _KINDS[field]])
                    fault = f"{_KINDS[field]} {name!r} is not drained{hint}"
                    violations.append(FieldViolation(f"{field}[{i}]", fault))
        refuse(Code.INVALID_ARGUMENT, violations)
        await self._book.undrain(elements)
        _audit.info("%s undrained %s", principal.name, _names(elements))
        self._brain.drains_changed()
        return pb.DrainResponse(drains=self._book.drains.values())


_KINDS = {"links": "link", "switches": "switch"}


def _elements(request: pb.DrainRequest | pb.UndrainRequest) -> list[Element]:
    links = [("link", name) for name in request.links]
    return [*links, *(("switch", name) for name in request.switches)]


def _nothing(elements: list[Element]) -> list[FieldViolation]:
    return [] if elements else [FieldViolation("links", "name a link or a switch")]


def _unprintable(reason: str) -> list[FieldViolation]:
    if reason.isprintable() and len(reason) <= REASON_LIMIT:
        return []
    fault = f"write one line of at most {REASON_LIMIT} printable characters"
    return [FieldViolation("reason", fault)]


def _unknown(request: pb.DrainRequest, fabric: Fabric) -> list[FieldViolation]:
    known: dict[str, Iterable[str]] = {
        "links": {link.name for link in fabric.links},
        "switches": fabric.switch_by_name,
    }
    return [
        FieldViolation(
            f"{field}[{i}]",
            f"fabric {fabric.name!r} has no {_KINDS[field]} {name!r}"
            f"{did_you_mean(name, list(known[field]))}",
        )
        for field, names in (("links", request.links), ("switches", request.switches))
        for i, name in enumerate(names)
        if name not in known[field]
    ]


def _cut(pairs: Iterable[str]) -> str:
    pairs = list(pairs)
    more = f" and {len(pairs) - _NAMED} more pairs" if len(pairs) > _NAMED else ""
    return (
        f"nothing was drained: no way would be left from {'; '.join(pairs[:_NAMED])}{more}; "
        "repair other links first, or force it"
    )


def _names(elements: Iterable[Element]) -> str:
    return ", ".join(name for _, name in elements)
