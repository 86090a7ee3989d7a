"""Topologies without a transport: the running one, edits, and what becomes of them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from controller.northbound import report, validate
from controller.northbound.errors import Code, FieldViolation, refuse
from controller.northbound.ports import Principal
from controller.northbound.receipts import receipt_of
from controller.northbound.topology_book import TopologyBook
from heald.v1 import fabric_pb2 as pb

_audit = logging.getLogger("heald.audit")

NAME_LIMIT = 1000


class TopologyService:
    """GetTopology, ApplyTopology and WatchTopology of heald.v1.FabricService."""

    def __init__(self, book: TopologyBook) -> None:
        self._book = book

    async def get(self, principal: Principal, request: pb.GetTopologyRequest) -> pb.Topology:
        message = report.topology(self._book.fabric)
        if request.source:
            message.source.CopyFrom(self._book.source)
        return message

    async def apply(
        self, principal: Principal, request: pb.ApplyTopologyRequest
    ) -> pb.ApplyTopologyResponse:
        validate.check_request_id(request.request_id)
        name = request.name or "topology"
        if not name.isprintable() or len(name) > NAME_LIMIT:
            fault = f"write a path of at most {NAME_LIMIT} printable characters"
            refuse(Code.INVALID_ARGUMENT, [FieldViolation("name", fault)])
        receipt = receipt_of(principal, request, request.request_id, request.validate_only)
        answer = await self._book.apply(
            request.text, name, principal, receipt, request.validate_only
        )
        if not request.validate_only:
            _audit.info("%s applied topology %s (version %d)", principal.name, name, answer.version)
        return answer

    async def watch(
        self, principal: Principal, request: pb.WatchTopologyRequest
    ) -> AsyncGenerator[pb.TopologyEvent, None]:
        async with aclosing(self._book.watch()) as events:
            async for event in events:
                yield event
