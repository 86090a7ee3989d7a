"""Drains without a transport: what they would do, and their order."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice

from controller.engine.foresight import parted
from controller.fabric.model import Fabric
from controller.intents.selectors import did_you_mean
from controller.northbound.drains import DrainBook, Element, drained_links
from controller.northbound.errors import Code, FieldViolation, ServiceError, refuse
from controller.northbound.ports import Brain, Principal
from controller.northbound.serial import Serial
from heald.v1 import fabric_pb2 as pb

_audit = logging.getLogger("heald.audit")

_NAMED = 5
REASON_LIMIT = 200
PAIRS_LIMIT = 1000
"""Pairs of an answer; draining the leaves of a large fabric parts a hundred thousand."""


class DrainService:
    """Drain and Undrain of heald.v1.FabricService."""

    def __init__(self, book: DrainBook, brain: Brain) -> None:
        self._book = book
        self._brain = brain
        self._serial = Serial()

    async def drain(self, principal: Principal, request: pb.DrainRequest) -> pb.DrainResponse:
        """Refuses, unless forced, what would leave a pair without a way."""
        fabric = self._brain.view().fabric
        elements = _elements(request)
        faults = [*_nothing(elements), *_unknown(request, fabric), *_unprintable(request.reason)]
        refuse(Code.INVALID_ARGUMENT, faults)
        after = self._book.with_more(elements, request.reason, principal)
        effect = pb.DrainEffect()
        # Planning takes its time, and nothing else waits for it.
        foresight = await self._brain.foresee(drained_links(after, fabric))
        if foresight is not None:
            effect.mlu_before, effect.mlu_after = foresight.mlu_before, foresight.mlu_after
            effect.degraded.extend(foresight.degraded)

        async def order() -> pb.DrainResponse:
            # By what is drained and what lives now: others may have drained, links may have failed.
            after = self._book.with_more(elements, request.reason, principal)
            view = self._brain.view()
            pairs = parted(fabric, view.links, drained_links(after, fabric))
            effect.cut_off.extend(f"{a} to {b}" for a, b in islice(pairs, PAIRS_LIMIT))
            if not request.validate_only:
                if effect.cut_off and not request.force:
                    raise ServiceError(Code.FAILED_PRECONDITION, _cut(effect.cut_off))
                await self._book.replace(after)
                self._changed(principal, f"drained {_names(elements)}: {request.reason or '-'}")
            return pb.DrainResponse(drains=after.values(), effect=effect)

        return await self._serial.run(order)

    async def undrain(self, principal: Principal, request: pb.UndrainRequest) -> pb.DrainResponse:
        """Also what the topology has no more."""
        elements = _elements(request)

        async def order() -> pb.DrainResponse:
            known = self._book.drains
            refuse(Code.INVALID_ARGUMENT, [*_nothing(elements), *_undrained(request, known)])
            after = {e: drain for e, drain in known.items() if e not in elements}
            await self._book.replace(after)
            self._changed(principal, f"undrained {_names(elements)}")
            return pb.DrainResponse(drains=after.values())

        return await self._serial.run(order)

    def _changed(self, principal: Principal, what: str) -> None:
        _audit.info("%s %s", principal.name, what)
        self._brain.drains_changed()


_KINDS = {"links": "link", "switches": "switch"}


def _elements(request: pb.DrainRequest | pb.UndrainRequest) -> list[Element]:
    links = [("link", name) for name in request.links]
    return [*links, *(("switch", name) for name in request.switches)]


def _nothing(elements: list[Element]) -> list[FieldViolation]:
    return [] if elements else [FieldViolation("links", "name a link or a switch")]


def _undrained(request: pb.UndrainRequest, known: Iterable[Element]) -> list[FieldViolation]:
    out = []
    for field, names in (("links", request.links), ("switches", request.switches)):
        of_kind = [name for kind, name in known if kind == _KINDS[field]]
        for i, name in enumerate(names):
            if name not in of_kind:
                fault = f"{_KINDS[field]} {name!r} is not drained{did_you_mean(name, of_kind)}"
                out.append(FieldViolation(f"{field}[{i}]", fault))
    return out


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
    more = " and others" if len(pairs) > _NAMED else ""
    return (
        f"nothing was drained: no way would be left from {'; '.join(pairs[:_NAMED])}{more}; "
        "repair other links first, or force it"
    )


def _names(elements: Iterable[Element]) -> str:
    return ", ".join(name for _, name in elements)
