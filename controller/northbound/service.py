"""The northbound without a transport: ``(principal, request) → response``, or ServiceError.

Requests and responses are the messages of ``heald.v1``; gRPC and REST both call this. Streams are
async generators; closing one frees all that it holds.
"""

from __future__ import annotations

import asyncio
import binascii
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing

import heald
from controller.intents.model import Intent
from controller.intents.selectors import did_you_mean
from controller.northbound import report, validate
from controller.northbound.book import Event, EventKind, IntentBook
from controller.northbound.convert import intent_to_message
from controller.northbound.drains import DrainBook
from controller.northbound.errors import Code, FieldViolation, ServiceError, refuse
from controller.northbound.explain import Filter, explain
from controller.northbound.ports import Brain, Principal
from controller.northbound.receipts import receipt_of
from controller.northbound.topology_book import TopologyBook
from controller.store.contract import CompactedError
from heald.v1 import fabric_pb2, intents_pb2

_audit = logging.getLogger("heald.audit")

DEFAULT_PAGE = 100
MAX_PAGE = 1_000


class IntentService:
    """heald.v1.IntentService."""

    def __init__(self, book: IntentBook, brain: Brain) -> None:
        self._book = book
        self._brain = brain

    async def apply(
        self, principal: Principal, request: intents_pb2.ApplyRequest
    ) -> intents_pb2.ApplyResponse:
        drafts = validate.drafts_of(request, self._brain.view().fabric)
        receipt = receipt_of(principal, request, request.request_id, request.validate_only)
        changed = await self._book.apply(drafts, receipt, request.validate_only)
        if not request.validate_only:
            names = ", ".join(intent.name for intent in changed.intents)
            _audit.info("%s applied %s (revision %d)", principal.name, names, changed.revision)
            self._brain.intents_changed(changed.revision)
        return intents_pb2.ApplyResponse(
            intents=map(intent_to_message, changed.intents), revision=changed.revision
        )

    async def delete(
        self, principal: Principal, request: intents_pb2.DeleteIntentRequest
    ) -> intents_pb2.Intent:
        validate.check_delete(request)
        receipt = receipt_of(principal, request, request.request_id, request.validate_only)
        try:
            changed = await self._book.withdraw(
                request.name, request.etag, receipt, request.validate_only
            )
        except ServiceError as error:
            if error.code is Code.NOT_FOUND and request.allow_missing:
                return _gone(request.name)
            raise
        if not request.validate_only:
            _audit.info(
                "%s deleted %s (revision %d)", principal.name, request.name, changed.revision
            )
            self._brain.intents_changed(changed.revision)
        return intent_to_message(changed.intents[0])

    async def get(
        self, principal: Principal, request: intents_pb2.GetIntentRequest
    ) -> intents_pb2.Intent:
        return intent_to_message(self._intent(request.name))

    async def list(
        self, principal: Principal, request: intents_pb2.ListIntentsRequest
    ) -> intents_pb2.ListIntentsResponse:
        """Sorted by name. Watching from the revision of the first page misses nothing."""
        tenant = validate.tenant_of(request.parent)
        start = _page_start(request)
        prefix = f"tenants/{tenant}/" if tenant else ""
        wanted = request.match_labels.items()
        names = sorted(
            name
            for name, intent in self._book.intents.items()
            if name.startswith(prefix) and wanted <= dict(intent.labels).items()
        )
        first = bisect_right(names, start) if start else 0
        page = names[first : first + min(request.page_size or DEFAULT_PAGE, MAX_PAGE)]
        more = page and page[-1] != names[-1]
        return intents_pb2.ListIntentsResponse(
            intents=[intent_to_message(self._book.intents[name]) for name in page],
            next_page_token=urlsafe_b64encode(page[-1].encode()).decode() if more else "",
            revision=self._book.revision,
        )

    async def watch(
        self, principal: Principal, request: intents_pb2.WatchIntentsRequest
    ) -> AsyncGenerator[intents_pb2.IntentEvent, None]:
        tenant = validate.tenant_of(request.parent)
        try:
            async with aclosing(
                self._book.watch(tenant, request.resume_revision or None)
            ) as events:
                async for event in events:
                    yield _event(event)
        except CompactedError as error:
            raise ServiceError(
                Code.OUT_OF_RANGE,
                f"{error}; watch again without resume_revision to start from the current intents",
            ) from None

    async def explain(
        self, principal: Principal, request: intents_pb2.ExplainIntentRequest
    ) -> intents_pb2.IntentExplanation:
        view = self._brain.view()
        intent = self._intent(request.name)
        only = Filter(request.source, request.destination)
        refuse(
            Code.INVALID_ARGUMENT,
            [FieldViolation(p.path, p.message) for p in only.problems(view.fabric)],
        )
        # Of thousands of flows it takes longer than the loop may be held.
        return await asyncio.to_thread(explain, view, dict(self._book.intents), intent, only)

    def _intent(self, name: str) -> Intent:
        validate.check_name(name)
        intent = self._book.intents.get(name)
        if intent is None:
            hint = did_you_mean(name, self._book.intents)
            raise ServiceError(Code.NOT_FOUND, f"there is no intent {name!r}{hint}")
        return intent


class FabricService:
    """heald.v1.FabricService, but for drains and topologies, and heald.v1.StatusService."""

    def __init__(
        self, book: IntentBook, drains: DrainBook, topologies: TopologyBook, brain: Brain
    ) -> None:
        self._book = book
        self._drains = drains
        self._topologies = topologies
        self._brain = brain

    async def watch_links(
        self, principal: Principal, request: fabric_pb2.WatchLinksRequest
    ) -> AsyncGenerator[fabric_pb2.LinkReport, None]:
        fabric = self._brain.view().fabric
        known = {link.name for link in fabric.links}
        refuse(
            Code.INVALID_ARGUMENT,
            [
                FieldViolation(
                    f"links[{i}]",
                    f"fabric {fabric.name!r} has no link {name!r}{did_you_mean(name, known)}",
                )
                for i, name in enumerate(request.links)
                if name not in known
            ],
        )
        wanted = frozenset(request.links)
        async with aclosing(self._brain.views()) as views:
            async for view in views:
                yield report.links(view, wanted)

    async def get_plan(
        self, principal: Principal, request: fabric_pb2.GetPlanRequest
    ) -> fabric_pb2.Plan:
        view = self._brain.view()
        if view.plan is None:
            raise ServiceError(
                Code.NOT_FOUND, "there is no plan yet; heald intent list and heald status say why"
            )
        return report.plan(view.plan, view.fabric, view.plan_committed)

    async def get_wiring(
        self, principal: Principal, request: fabric_pb2.GetWiringRequest
    ) -> fabric_pb2.Wiring:
        return report.wiring(self._brain.wiring(), self._brain.view().time_s)

    async def get_classes(
        self, principal: Principal, request: fabric_pb2.GetClassesRequest
    ) -> fabric_pb2.Classes:
        return report.classes(self._brain.view().fabric, self._brain.queues())

    async def get_status(
        self, principal: Principal, request: fabric_pb2.GetStatusRequest
    ) -> fabric_pb2.Status:
        view = self._brain.view()
        status = fabric_pb2.Status()
        status.CopyFrom(self._brain.status())
        status.version = heald.__version__
        status.fabric = view.fabric.name
        status.fabric_version = view.fabric.version
        states = Counter(i.status.state.value for i in self._book.intents.values())
        status.intents_by_state.update(states)
        status.drains.extend(self._drains.drains.values())
        status.topology.CopyFrom(self._topologies.status())
        status.problems.extend(self._topologies.problems())
        if view.plan is not None:
            status.plan.CopyFrom(report.plan_summary(view.plan, view.plan_committed))
        return status


def _page_start(request: intents_pb2.ListIntentsRequest) -> str:
    """The name after which the page starts. The token is opaque to clients."""
    if request.page_size < 0:
        fault = f"{request.page_size} is negative; leave it out for {DEFAULT_PAGE}"
        refuse(Code.INVALID_ARGUMENT, [FieldViolation("page_size", fault)])
    try:
        return urlsafe_b64decode(request.page_token).decode()
    except (binascii.Error, ValueError):
        fault = "is no token of a list; give next_page_token of the page before"
        refuse(Code.INVALID_ARGUMENT, [FieldViolation("page_token", fault)])
        raise


def _event(event: Event) -> intents_pb2.IntentEvent:
    message = intents_pb2.IntentEvent(kind=event.kind.value, revision=event.revision)
    if event.intent is not None:
        message.intent.CopyFrom(intent_to_message(event.intent))
    elif event.kind is EventKind.DELETED:
        message.intent.CopyFrom(_gone(event.name))
    return message


def _gone(name: str) -> intents_pb2.Intent:
    status = intents_pb2.IntentStatus(state=intents_pb2.GONE, reason="Removed")
    return intents_pb2.Intent(name=name, status=status)
