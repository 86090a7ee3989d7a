"""The gRPC transport: binds, maps errors, reports health. What it serves is in ``service``."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.rpc import (  # type: ignore[import-untyped]
    code_pb2,
    error_details_pb2,
    status_pb2,
)
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from controller.northbound.book import IntentBook
from controller.northbound.drain_service import DrainService
from controller.northbound.drains import DrainBook
from controller.northbound.errors import Code, ServiceError
from controller.northbound.ports import Brain, Principal
from controller.northbound.service import FabricService, IntentService
from controller.northbound.topology_book import TopologyBook
from controller.northbound.topology_service import TopologyService
from controller.store.contract import StoreError
from heald.v1 import fabric_pb2, fabric_pb2_grpc, intents_pb2, intents_pb2_grpc

_log = logging.getLogger(__name__)

DEFAULT_ADDRESS = "127.0.0.1:50051"
MAX_REQUEST_BYTES = 4 << 20
MAX_CALLS = 1_000
_GRACE_S = 0.5
_UNIX_PATH_BYTES = 107
# Details travel in a trailer, of which clients take 8 KiB unless told otherwise.
_DETAILS_BYTES = 3_000
_TEXT_LIMIT = 400

_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_SERVICES = (
    "",
    intents_pb2.DESCRIPTOR.services_by_name["IntentService"].full_name,
    fabric_pb2.DESCRIPTOR.services_by_name["FabricService"].full_name,
    fabric_pb2.DESCRIPTOR.services_by_name["StatusService"].full_name,
)


class AddressError(Exception):
    """The server cannot listen where it was told to; the message says why, and the cure."""


class NorthboundServer:
    """Serves the book and the brain over gRPC, until ``stop``. Make it on the running loop."""

    def __init__(
        self, book: IntentBook, drains: DrainBook, topologies: TopologyBook, brain: Brain
    ) -> None:
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]
        self._stopping = asyncio.Event()
        self._server = grpc.aio.server(
            maximum_concurrent_rpcs=MAX_CALLS,
            options=[
                ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
                ("grpc.max_send_message_length", -1),
                # Or a second controller would share the port, and get every other call.
                ("grpc.so_reuseport", 0),
                # Watches of clients that vanished without a word.
                ("grpc.keepalive_time_ms", 30_000),
                ("grpc.keepalive_timeout_ms", 10_000),
            ],
        )
        self._add_services(
            IntentService(book, brain),
            FabricService(book, drains, topologies, brain),
            DrainService(drains, brain),
            TopologyService(topologies),
        )

    async def start(self, address: str = DEFAULT_ADDRESS) -> str:
        """Listens on ``host:port`` or ``unix:PATH``, and returns the address with its real port.

        Health is NOT_SERVING until ``set_ready``. Raises AddressError.
        """
        await self.set_ready(False)
        if address.startswith("unix:"):
            _bind_unix(self._server, address)
        else:
            address = _bind_tcp(self._server, address)
        await self._server.start()
        return address

    async def set_ready(self, ready: bool) -> None:
        """What the health service says of the server and of each of its services."""
        serving = health_pb2.HealthCheckResponse.ServingStatus
        for service in _SERVICES:
            await self._health.set(service, serving.SERVING if ready else serving.NOT_SERVING)

    async def stop(self) -> None:
        """Ends streams with UNAVAILABLE and lets other calls finish, all within a second."""
        self._stopping.set()
        await self._health.enter_graceful_shutdown()
        await self._server.stop(_GRACE_S)

    def _add_services(
        self,
        intents: IntentService,
        fabric: FabricService,
        drains: DrainService,
        topologies: TopologyService,
    ) -> None:
        unary, stream = self._unary, self._stream
        intent_servicer: Any = intents_pb2_grpc.IntentServiceServicer()
        intent_servicer.Apply = unary(intents.apply)
        intent_servicer.Delete = unary(intents.delete)
        intent_servicer.Get = unary(intents.get)
        intent_servicer.List = unary(intents.list)
        intent_servicer.Watch = stream(intents.watch)
        intent_servicer.Explain = unary(intents.explain)
        intents_pb2_grpc.add_IntentServiceServicer_to_server(intent_servicer, self._server)

        fabric_servicer: Any = fabric_pb2_grpc.FabricServiceServicer()
        fabric_servicer.GetTopology = unary(topologies.get)
        fabric_servicer.ApplyTopology = unary(topologies.apply)
        fabric_servicer.WatchTopology = stream(topologies.watch)
        fabric_servicer.WatchLinks = stream(fabric.watch_links)
        fabric_servicer.GetPlan = unary(fabric.get_plan)
        fabric_servicer.Drain = unary(drains.drain)
        fabric_servicer.Undrain = unary(drains.undrain)
        fabric_servicer.GetWiring = unary(fabric.get_wiring)
        fabric_servicer.GetClasses = unary(fabric.get_classes)
        fabric_pb2_grpc.add_FabricServiceServicer_to_server(fabric_servicer, self._server)

        status_servicer: Any = fabric_pb2_grpc.StatusServiceServicer()
        status_servicer.GetStatus = unary(fabric.get_status)
        fabric_pb2_grpc.add_StatusServiceServicer_to_server(status_servicer, self._server)

        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*_SERVICES[1:], health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    def _unary(
        self, method: Callable[[Principal, Any], Awaitable[Any]]
    ) -> Callable[[Any, _Context], Awaitable[Any]]:
        async def handle(request: Any, context: _Context) -> Any:
            try:
                return await method(_principal(context), request)
            except Exception as error:
                await _abort(context, error)

        return handle

    def _stream(
        self, method: Callable[[Principal, Any], AsyncGenerator[Any, None]]
    ) -> Callable[[Any, _Context], AsyncIterator[Any]]:
        async def handle(request: Any, context: _Context) -> AsyncGenerator[Any, None]:
            try:
                async with (
                    aclosing(method(_principal(context), request)) as responses,
                    aclosing(self._until_stop(responses)) as limited,
                ):
                    async for response in limited:
                        yield response
            except Exception as error:
                await _abort(context, error)

        return handle

    async def _until_stop(self, responses: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
        """``responses``, cut short by ``stop``: gRPC itself would just break the connection."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        step: asyncio.Future[_T] | None = None
        try:
            while True:
                step = asyncio.ensure_future(anext(responses))
                await asyncio.wait({step, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not step.done():
                    text = "the controller is stopping; watch again from the last revision"
                    raise ServiceError(Code.UNAVAILABLE, text)
                try:
                    response = step.result()
                except StopAsyncIteration:
                    return
                yield response
        finally:
            stopping.cancel()
            if step is not None and step.cancel():
                # The generator must not be running when it is closed.
                await asyncio.wait({step})


def _bind_tcp(server: grpc.aio.Server, address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise AddressError(
            f"{address!r} is no address to listen on; write 127.0.0.1:50051 or unix:PATH"
        )
    try:
        return f"{host}:{server.add_insecure_port(address)}"
    except RuntimeError:
        raise AddressError(
            f"{address}: cannot listen there: the port is in use, or the address is not one of "
            "this machine; stop the other controller, or choose another address"
        ) from None


def _bind_unix(server: grpc.aio.Server, address: str) -> None:
    path = Path(address.removeprefix("unix:"))
    if len(os.fsencode(path)) > _UNIX_PATH_BYTES:
        raise AddressError(f"{address}: longer than a socket's path may be; choose a shorter one")
    if path.exists():
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise AddressError(f"{address}: is a file, not a socket; choose another path")
        # A socket that nobody listens on was left by a controller that was killed; gRPC would
        # replace any, even that of a controller that runs.
        with socket.socket(socket.AF_UNIX) as probe, suppress(ConnectionRefusedError):
            probe.connect(str(path))
            raise AddressError(
                f"{address}: another controller listens there; stop it, or choose another path"
            )
    umask = os.umask(0o177)
    try:
        server.add_insecure_port(address)
    except RuntimeError:
        raise AddressError(
            f"{address}: cannot listen there; let this user write to {path.parent}"
        ) from None
    finally:
        os.umask(umask)


def _principal(context: _Context) -> Principal:
    """Nobody is authenticated yet, so it is the peer; without its port, which changes at will."""
    peer = context.peer()
    return Principal("unix" if peer.startswith("unix:") else peer.rpartition(":")[0])


async def _abort(context: _Context, error: Exception) -> NoReturn:
    """Ends the call; the client never sees a traceback."""
    if isinstance(error, StoreError):
        _log.error("%s", error)
        error = ServiceError(Code.UNAVAILABLE, str(error))
    if not isinstance(error, ServiceError):
        _log.error("a call failed", exc_info=error)
        error = ServiceError(Code.INTERNAL, "the controller failed on this call; see its log")
    metadata = (("grpc-status-details-bin", _details(error).SerializeToString()),)
    await context.abort(grpc.StatusCode[error.code.value], _clip(error.message), metadata)


def _details(error: ServiceError) -> status_pb2.Status:
    """With as many violations (google.rpc.BadRequest) as fit, and the number of the others."""
    bad = error_details_pb2.BadRequest()
    for i, violation in enumerate(error.violations):
        if bad.ByteSize() > _DETAILS_BYTES:
            more = f"and {len(error.violations) - i} more; correct these first"
            bad.field_violations.add(field="", description=more)
            break
        bad.field_violations.add(
            field=_clip(violation.field), description=_clip(violation.description)
        )
    message = status_pb2.Status(
        code=code_pb2.Code.Value(error.code.value), message=_clip(error.message)
    )
    if error.violations:
        message.details.add().Pack(bad)
    return message


def _clip(text: str) -> str:
    """Errors quote what the client sent, which may be longer than what a trailer may carry."""
    return text if len(text) <= _TEXT_LIMIT else f"{text[: _TEXT_LIMIT - 1]}…"
