"""All switches of this process: who may connect, and which session each has with the brain."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol

from ryu.controller.handler import DEAD_DISPATCHER
from ryu.lib import hub

from apps.datapath import SwitchConnection
from apps.quarantine import Quarantine
from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.session.session import Session, Uplink
from heald.internal.v1 import session_pb2 as pb

COMPLAIN_S = 60.0
"""A switch retries every few seconds; the same trouble with it is logged once in so long."""
COMPLAINTS = 20
"""Different troubles with one host that are logged in that time."""
CHECK_S = 1.0

log = logging.getLogger("heald.switch")


class Link(Uplink, Protocol):
    """``epoch`` is the highest of all brains that were ever linked."""

    @property
    def epoch(self) -> int: ...


class Switches:
    """Every connected switch has a session while a brain is linked that has told what it
    expects."""

    def __init__(self, link: Link, metrics: bool) -> None:
        self._link = link
        self._metrics = metrics
        self._numbers = count(1)
        self._connections: dict[int, SwitchConnection] = {}
        self._sessions: dict[int, Session] = {}
        self._expected: dict[int, str] | None = None
        self._is_linked = False
        self._neighbours = Neighbours()
        self._interval_s = 0.0
        self._polling_changed = hub.Event()
        self._said: dict[tuple[str, str], float] = {}
        self._quarantine = Quarantine()

    # ---- switches ------------------------------------------------------------------------------

    def refusal(self, dpid: int) -> str:
        """Why a switch of this datapath id may not connect; nothing if it may."""
        other = self._connections.get(dpid)
        if other is not None:
            return (
                f"has the datapath id {dpid:#018x} of {other.name} at {other.peer}, which stays; "
                "give each switch its own"
            )
        if self._expected is not None and dpid not in self._expected:
            return _unlisted(dpid)
        if self._quarantine.left_s(dpid, time.monotonic()) > 0:
            return f"{self._known_as(dpid)} sent what is malformed; it may come back in a while"
        return ""

    def connected(self, connection: SwitchConnection) -> None:
        """The handshake with a switch is over."""
        dpid = connection.id
        if connection.state == DEAD_DISPATCHER:
            return
        if dpid is None:
            connection.drop("told no datapath id")
            return
        if reason := self.refusal(dpid):
            connection.drop(reason)
            return
        self._connections[dpid] = connection
        self._name(connection)
        waits = "" if self._is_linked else "; waiting for the brain"
        log.info("%s: connected from %s%s", connection.name, connection.peer, waits)
        if self._is_linked:
            self._begin(connection)

    def disconnected(self, connection: SwitchConnection) -> None:
        """A connection is over, whether or not it came to a session."""
        dpid = connection.id
        reason = connection.reason or "stopped"
        if dpid is None or self._connections.get(dpid) is not connection:
            self._complain(connection, reason)
            return
        del self._connections[dpid]
        session = self._sessions.pop(dpid, None)
        log.warning("%s: disconnected: %s", connection.name, reason)
        if connection.is_malformed:
            self._quarantine.bar(dpid, time.monotonic())
        if session is not None:
            self._link.send(
                pb.FromSession(
                    disconnected=pb.Disconnected(dpid=dpid, session=session.number, reason=reason)
                )
            )

    def _begin(self, connection: SwitchConnection) -> None:
        session = Session(
            connection,
            self._link,
            connection.id,
            next(self._numbers),
            self._neighbours,
            time.monotonic,
            self._link.epoch,
        )
        self._sessions[connection.id] = session
        connection.receiver = session
        with self._guarded(session.dpid):
            session.begin()

    @contextmanager
    def _guarded(self, dpid: int) -> Iterator[None]:
        """An error of Heald's own about one switch ends that switch's session and nothing else."""
        connection = self._connections[dpid]
        try:
            yield
        except Exception:
            log.exception("%s: session ended by an error", connection.name)
            connection.drop("internal error")

    def _name(self, connection: SwitchConnection) -> None:
        connection.name = self._known_as(connection.id)

    def _known_as(self, dpid: int) -> str:
        return (self._expected or {}).get(dpid) or f"switch {dpid:#018x}"

    def _complain(self, connection: SwitchConnection, reason: str) -> None:
        host = connection.peer.rpartition(":")[0]
        now_s = time.monotonic()
        self._said = {key: at for key, at in self._said.items() if now_s - at < COMPLAIN_S}
        of_host = sum(each == host for each, _ in self._said)
        if (host, reason) not in self._said and of_host < COMPLAINTS:
            self._said[host, reason] = now_s
            log.error("%s: refused: %s", connection.name, reason)
            told = pb.Refused(peer=connection.peer, dpid=connection.id or 0, reason=reason)
            self._link.send(pb.FromSession(refused=told))

    # ---- the brain: sessions begin when it has said which switches it expects --------------------

    def link_down(self) -> None:
        self._is_linked = False
        self._interval_s = 0.0
        for dpid in self._sessions:
            self._connections[dpid].receiver = None
        self._sessions.clear()

    def from_brain(self, message: pb.FromBrain) -> None:
        kind = message.WhichOneof("message")
        if kind == "batch":
            self._execute(message.batch)
        elif kind == "read_back":
            session = self._session(message.read_back.dpid, message.read_back.session)
            if session is not None:
                with self._guarded(session.dpid):
                    session.read_back()
        elif kind == "expect":
            self._expect(dict(message.expect.switches))
        elif kind == "addresses":
            self._neighbours.gateway_mac = message.addresses.gateway_mac
            self._neighbours.addresses = frozenset(message.addresses.addresses)
        elif kind == "poll":
            self._interval_s = message.poll.interval_s if self._metrics else 0.0
            self._polling_changed.set()

    def _session(self, dpid: int, number: int) -> Session | None:
        session = self._sessions.get(dpid)
        return session if session is not None and session.number == number else None

    def _execute(self, batch: pb.Batch) -> None:
        session = self._session(batch.dpid, batch.session)
        newest = self._link.epoch
        if session is None:
            return  # Of a session that is over; the brain has been told.
        if batch.epoch < newest:
            session.refuse(batch, f"epoch {batch.epoch} has been replaced by {newest}")
            return
        with self._guarded(session.dpid):
            session.execute(batch, pause=lambda: hub.sleep(0))
            # Reading a socket that has more does not yield, and hundreds of batches may come at
            # once: without their turn, switches would be taken for silent.
            hub.sleep(0)

    def _expect(self, switches: dict[int, str]) -> None:
        self._expected = switches
        self._said.clear()
        for dpid, connection in list(self._connections.items()):
            if dpid not in switches:
                connection.drop(_unlisted(dpid))
        for connection in self._connections.values():
            self._name(connection)
        if not self._is_linked:
            self._is_linked = True
            for connection in list(self._connections.values()):
                if connection.state != DEAD_DISPATCHER:
                    self._begin(connection)

    # ---- greenlets -----------------------------------------------------------------------------

    def poll_loop(self) -> None:
        """Ask every switch once an interval, the switches spread over it."""
        while True:
            self._polling_changed.clear()
            interval_s = self._interval_s
            if interval_s <= 0:
                self._polling_changed.wait()
                continue
            began_s = time.monotonic()
            sessions = list(self._sessions.values())
            for index, session in enumerate(sessions):
                if self._sessions.get(session.dpid) is session:
                    with self._guarded(session.dpid):
                        session.poll()
                self._rest_until(began_s + interval_s * (index + 1) / len(sessions))
            self._rest_until(began_s + interval_s)

    def _rest_until(self, due_s: float) -> None:
        """Returns early once the interval changes, and always yields."""
        self._polling_changed.wait(timeout=max(0.0, due_s - time.monotonic()))

    def check_loop(self) -> None:
        """End sessions whose answers are overdue."""
        while True:
            hub.sleep(CHECK_S)
            for session in list(self._sessions.values()):
                if self._sessions.get(session.dpid) is session:
                    with self._guarded(session.dpid):
                        session.check()


def _unlisted(dpid: int) -> str:
    return (
        f"datapath id {dpid:#018x} is not in the topology: add a switch with this dpid, "
        "or take the controller off the switch"
    )
