"""The client library: every call of Heald's northbound, typed and blocking.

    with heald.connect() as client:
        client.apply([heald.connectivity("train-a", hosts=["h1", "h2"])])
        client.wait_active(["train-a"], timeout_s=30)

Requests and answers are the messages of ``heald.v1``. Intents may be called by their id alone,
which means ``tenants/default/intents/ID``. Every error is a HealdError whose text says what to do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import grpc

from heald.builders import intent_name
from heald.errors import (
    SERVER_VARIABLE,
    HealdError,
    IntentFailedError,
    UnreachableError,
    translate,
)
from heald.v1 import fabric_pb2, fabric_pb2_grpc, intents_pb2, intents_pb2_grpc

_T = TypeVar("_T")

DEFAULT_SERVER = "127.0.0.1:50051"
_MAX_ANSWER_BYTES = 64 << 20
_PLANNING_S = 120.0
_READING_S = 60.0


def connect(server: str | None = None, timeout_s: float = 10.0) -> Client:
    """A client of the controller at ``host:port`` or ``unix:PATH``; connects with the first call.

    Without ``server``, $HEALD_SERVER or 127.0.0.1:50051. ``timeout_s`` limits each call but
    watches.
    """
    return Client(server or os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER, timeout_s)


class Client:
    """One connection; safe for several threads. Close it, or use it as a context manager."""

    def __init__(self, server: str, timeout_s: float) -> None:
        self.server = server
        self._timeout_s = timeout_s
        self._channel = grpc.insecure_channel(
            server,
            options=[
                ("grpc.max_receive_message_length", _MAX_ANSWER_BYTES),
                # A controller that restarts is back within a second or two.
                ("grpc.max_reconnect_backoff_ms", 2_000),
                # A proxy of the environment is never meant for the controller.
                ("grpc.enable_http_proxy", 0),
            ],
        )
        self._intents = intents_pb2_grpc.IntentServiceStub(self._channel)
        self._fabric = fabric_pb2_grpc.FabricServiceStub(self._channel)
        self._status = fabric_pb2_grpc.StatusServiceStub(self._channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def apply(
        self,
        intents: Iterable[intents_pb2.Intent],
        *,
        validate_only: bool = False,
        request_id: str = "",
    ) -> intents_pb2.ApplyResponse:
        """Creates or replaces all of them or none; they are durable when this returns."""
        request = intents_pb2.ApplyRequest(
            intents=intents, validate_only=validate_only, request_id=request_id
        )
        answer: intents_pb2.ApplyResponse = self._call(self._intents.Apply, request)
        return answer

    def delete(
        self,
        name: str,
        *,
        etag: str = "",
        validate_only: bool = False,
        request_id: str = "",
        allow_missing: bool = False,
    ) -> intents_pb2.Intent:
        """Orders the deletion; the intent is gone once no switch has rules for it."""
        request = intents_pb2.DeleteIntentRequest(
            name=intent_name(name),
            etag=etag,
            validate_only=validate_only,
            request_id=request_id,
            allow_missing=allow_missing,
        )
        answer: intents_pb2.Intent = self._call(self._intents.Delete, request)
        return answer

    def get(self, name: str) -> intents_pb2.Intent:
        request = intents_pb2.GetIntentRequest(name=intent_name(name))
        answer: intents_pb2.Intent = self._call(self._intents.Get, request)
        return answer

    def list(
        self, tenant: str = "-", match_labels: Mapping[str, str] | None = None
    ) -> Iterator[intents_pb2.Intent]:
        """All intents of a tenant (``-`` for every tenant), page after page, sorted by name."""
        token = ""
        while True:
            request = intents_pb2.ListIntentsRequest(
                parent=f"tenants/{tenant}", match_labels=match_labels, page_token=token
            )
            page: intents_pb2.ListIntentsResponse = self._call(self._intents.List, request)
            yield from page.intents
            token = page.next_page_token
            if not token:
                return

    def watch(
        self, tenant: str = "-", resume_revision: int = 0, timeout_s: float | None = None
    ) -> Iterator[intents_pb2.IntentEvent]:
        """The current intents, SYNCED, then every change; or what changed after a revision.

        To go on after an error, resume from the ``revision`` of the last event.
        """
        request = intents_pb2.WatchIntentsRequest(
            parent=f"tenants/{tenant}", resume_revision=resume_revision
        )
        return self._stream(self._intents.Watch, request, timeout_s)

    def wait_active(
        self,
        names: Iterable[str],
        timeout_s: float | None = None,
        progress: Callable[[intents_pb2.Intent], object] = lambda intent: None,
    ) -> None:
        """Returns once all of them are ACTIVE in their present generation.

        ``progress`` is called with each of them now and after each change. Raises IntentFailedError
        as soon as one is rejected or deleted, or when the time is up.
        """
        waiting: dict[str, intents_pb2.Intent | None] = dict.fromkeys(map(intent_name, names))
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while waiting:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            waiting = dict.fromkeys(waiting)
            try:
                for event in self.watch(timeout_s=left_s):
                    _follow(event, waiting, progress)
                    if not waiting:
                        return
            except HealdError as error:
                if error.code == "DEADLINE_EXCEEDED":
                    raise _not_active(waiting, timeout_s) from None
                if not isinstance(error, UnreachableError) or deadline is None:
                    raise
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.2)

    def explain(
        self, name: str, *, source: str = "", destination: str = ""
    ) -> intents_pb2.IntentExplanation:
        """Which way its traffic goes and why; only what the host or NIC ``source`` sends to
        ``destination``, where they are given."""
        request = intents_pb2.ExplainIntentRequest(
            name=intent_name(name), source=source, destination=destination
        )
        answer: intents_pb2.IntentExplanation = self._call(self._intents.Explain, request)
        return answer

    def topology(self, *, source: bool = False) -> fabric_pb2.Topology:
        """The running one; with ``source``, also the text that it was made of."""
        request = fabric_pb2.GetTopologyRequest(source=source)
        answer: fabric_pb2.Topology = self._call(self._fabric.GetTopology, request)
        return answer

    def apply_topology(
        self,
        text: bytes,
        *,
        name: str = "",
        validate_only: bool = False,
        request_id: str = "",
    ) -> fabric_pb2.ApplyTopologyResponse:
        """Takes a topology into use, as saving the controller's file does; durable when this
        returns. ``name`` is what problems call it."""
        request = fabric_pb2.ApplyTopologyRequest(
            text=text, name=name, validate_only=validate_only, request_id=request_id
        )
        answer: fabric_pb2.ApplyTopologyResponse = self._call(
            self._fabric.ApplyTopology, request, max(self._timeout_s, _READING_S)
        )
        return answer

    def watch_topology(self, timeout_s: float | None = None) -> Iterator[fabric_pb2.TopologyEvent]:
        """How it is now, then every edit that is taken into use or refused."""
        request = fabric_pb2.WatchTopologyRequest()
        return self._stream(self._fabric.WatchTopology, request, timeout_s)

    def watch_links(
        self, links: Iterable[str] = (), timeout_s: float | None = None
    ) -> Iterator[fabric_pb2.LinkReport]:
        """A report on these links, or on all, now and after every sample."""
        request = fabric_pb2.WatchLinksRequest(links=links)
        return self._stream(self._fabric.WatchLinks, request, timeout_s)

    def plan(self) -> fabric_pb2.Plan:
        """The running plan; HealdError NOT_FOUND while there is none."""
        answer: fabric_pb2.Plan = self._call(self._fabric.GetPlan, fabric_pb2.GetPlanRequest())
        return answer

    def wiring(self) -> fabric_pb2.Wiring:
        """Is the fabric cabled as its topology says."""
        request = fabric_pb2.GetWiringRequest()
        answer: fabric_pb2.Wiring = self._call(self._fabric.GetWiring, request)
        return answer

    def classes(self) -> fabric_pb2.Classes:
        """Traffic classes, and what switches have of the queues for them."""
        request = fabric_pb2.GetClassesRequest()
        answer: fabric_pb2.Classes = self._call(self._fabric.GetClasses, request)
        return answer

    def drain(
        self,
        links: Iterable[str] = (),
        switches: Iterable[str] = (),
        *,
        reason: str = "",
        validate_only: bool = False,
        force: bool = False,
    ) -> fabric_pb2.DrainResponse:
        """Moves traffic off them; HealdError FAILED_PRECONDITION if that cuts somebody off."""
        request = fabric_pb2.DrainRequest(
            links=links,
            switches=switches,
            reason=reason,
            validate_only=validate_only,
            force=force,
        )
        # It is planned before it is answered.
        answer: fabric_pb2.DrainResponse = self._call(
            self._fabric.Drain, request, max(self._timeout_s, _PLANNING_S)
        )
        return answer

    def undrain(
        self, links: Iterable[str] = (), switches: Iterable[str] = ()
    ) -> fabric_pb2.DrainResponse:
        request = fabric_pb2.UndrainRequest(links=links, switches=switches)
        answer: fabric_pb2.DrainResponse = self._call(self._fabric.Undrain, request)
        return answer

    def status(self) -> fabric_pb2.Status:
        request = fabric_pb2.GetStatusRequest()
        answer: fabric_pb2.Status = self._call(self._status.GetStatus, request)
        return answer

    def _call(self, method: Any, request: Any, timeout_s: float | None = None) -> Any:
        try:
            return method(request, timeout=timeout_s or self._timeout_s)
        except grpc.RpcError as error:
            raise translate(error, self.server) from None

    def _stream(self, method: Any, request: Any, timeout_s: float | None) -> Iterator[Any]:
        call = method(request, timeout=timeout_s)
        try:
            yield from call
        except grpc.RpcError as error:
            raise translate(error, self.server) from None
        finally:
            call.cancel()


def _follow(
    event: intents_pb2.IntentEvent,
    waiting: dict[str, intents_pb2.Intent | None],
    progress: Callable[[intents_pb2.Intent], object],
) -> None:
    intent, status = event.intent, event.intent.status
    if event.kind == intents_pb2.IntentEvent.SYNCED:
        for name in (name for name, seen in waiting.items() if seen is None):
            raise IntentFailedError("NOT_FOUND", f"there is no intent {name!r}; apply it first")
    if intent.name not in waiting:
        return
    waiting[intent.name] = intent
    progress(intent)
    if status.state in (intents_pb2.REJECTED, intents_pb2.WITHDRAWING, intents_pb2.GONE):
        raise IntentFailedError("FAILED_PRECONDITION", describe(intent))
    if status.state == intents_pb2.ACTIVE and status.observed_generation == intent.generation:
        del waiting[intent.name]


def describe(intent: intents_pb2.Intent) -> str:
    """``tenants/default/intents/a is DEGRADED (Unroutable): no path from h1 to h2``."""
    status = intent.status
    state = intents_pb2.IntentState.Name(status.state)
    why = f" ({status.reason})" if status.reason else ""
    return f"{intent.name} is {state}{why}" + (f": {status.message}" if status.message else "")


def _not_active(
    waiting: Mapping[str, intents_pb2.Intent | None], timeout_s: float | None
) -> IntentFailedError:
    states = "; ".join(
        describe(intent) if intent else f"{name} was not seen" for name, intent in waiting.items()
    )
    message = f"not active after {timeout_s:g} s: {states}; see heald status"
    return IntentFailedError("DEADLINE_EXCEEDED", message)
