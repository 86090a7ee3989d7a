"""Where switches connect: what a flood of connections, or of half a handshake each, may cost.

Ryu's own server ends for good at the first accept that fails, and waits for ever for a peer that
never finishes its handshake.
"""

from __future__ import annotations

import contextlib
import logging
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ryu.lib import hub

from apps import tls
from apps.datapath import SwitchConnection

UNFINISHED_LIMIT = 256
"""Connections whose handshake may be under way at a time. The oldest gives way to a new one: an
honest switch is through in milliseconds."""
RESERVED_DESCRIPTORS = 64
"""What connections leave for the brain's link, its restart and the logs."""
BACKLOG = 1024
"""Beyond it a switch's first packet is lost, and sent again only after a second."""
PAUSE_S = 0.1
COMPLAIN_S = 60.0
COMPLAINTS = 20
"""Hosts whose failures are logged in that time."""

log = logging.getLogger("heald.listener")


def raise_descriptor_limit() -> None:
    """As many descriptors as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Handshakes:
    """Serves connections, of which only so many may be unfinished.

    ``refusal`` says why a datapath id may not connect, nothing if it may.
    """

    def __init__(self, refusal: Callable[[int], str]) -> None:
        self._refusal = refusal
        self._unfinished: list[SwitchConnection] = []

    def serve(self, socket: Any, address: tuple[Any, ...]) -> None:
        """What Ryu calls with each new connection: controller.datapath_connection_factory."""
        try:
            connection = SwitchConnection(socket, address, self._refusal)
        except OSError:
            socket.close()  # The peer has gone already.
            return
        with contextlib.closing(connection):
            self._make_room()
            self._unfinished.append(connection)
            try:
                connection.serve()
            except Exception:
                # Heald's own mistake: say all of it, and let the switch begin anew.
                log.exception("%s: session ended by an error", connection.name)
                connection.drop("internal error")

    def _make_room(self) -> None:
        self._unfinished = [each for each in self._unfinished if each.is_unfinished]
        while len(self._unfinished) >= UNFINISHED_LIMIT:
            self._unfinished.pop(0).drop(
                f"gave way to a newer connection: {UNFINISHED_LIMIT} have not ended the handshake"
            )


class Server(hub.StreamServer):
    """Ryu's server, which goes on whatever accept says, and has TLS for more than one switch."""

    def __init__(
        self, listen_info: Any, handle: Any = None, backlog: Any = None, **ssl_args: Any
    ) -> None:
        super().__init__(listen_info, handle, backlog)
        self._certificates: tls.Certificates | None = None
        self._securing: dict[Any, str] = {}
        self._failed: dict[str, _Complaint] = {}
        if "keyfile" in ssl_args:
            files = tls.Files(
                Path(ssl_args["keyfile"]),
                Path(ssl_args["certfile"]),
                Path(ssl_args["ca_certs"]) if ssl_args.get("ca_certs") else None,
            )
            self._certificates = tls.Certificates(files, log.error)

    def _serve(self, socket: Any, address: tuple[Any, ...]) -> None:
        if self._certificates is None:
            self.handle(socket, address)
            return
        if len(self._securing) >= UNFINISHED_LIMIT:
            oldest = next(iter(self._securing))
            with contextlib.suppress(OSError):
                oldest.shutdown(2)
            del self._securing[oldest]
        self._securing[socket] = address[0]
        try:
            secured = self._certificates.secure(socket)
        except OSError as error:
            socket.close()
            self._complain(address, tls.why(error))
            return
        finally:
            self._securing.pop(socket, None)
        self.handle(secured, address)

    def _complain(self, address: tuple[Any, ...], reason: str) -> None:
        """Whoever knocks may fail as often as it likes: once in a while it is said."""
        host = str(address[0])
        now_s = time.monotonic()
        self._failed = {h: c for h, c in self._failed.items() if c.due_s > now_s}
        if host not in self._failed and len(self._failed) < COMPLAINTS:
            self._failed[host] = _Complaint()
            self._failed[host].say(f"refused {host}:{address[1]}: {reason}")

    def serve_forever(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.server.listen(BACKLOG)
        failing, full = _Complaint(), _Complaint()
        while True:
            try:
                socket, address = self.server.accept()
            except OSError as error:
                failing.say(f"cannot accept switches: {error.strerror or error}{_LIMIT}")
                hub.sleep(PAUSE_S)
                continue
            # Descriptors are given out from the lowest free one on.
            if soft != resource.RLIM_INFINITY and socket.fileno() >= soft - RESERVED_DESCRIPTORS:
                socket.close()
                full.say(f"refuses connections: of {soft} descriptors too few are left{_LIMIT}")
            else:
                hub.spawn(self._serve, socket, address)
            # Connections that wait are accepted without a yield, however many there are.
            hub.sleep(0)


class _Complaint:
    """Is logged once in a while."""

    def __init__(self) -> None:
        self.due_s = 0.0

    def say(self, text: str) -> None:
        if time.monotonic() >= self.due_s:
            self.due_s = time.monotonic() + COMPLAIN_S
            log.error("%s", text)


_LIMIT = "; raise the limit (ulimit -n), or see who connects"
