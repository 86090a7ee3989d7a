"""One server of OVSDB: follows what it says of switches, and changes what it is told to.

In a thread of its own, because the library blocks while it parses, and resolving names blocks for
as long as a resolver likes. Only one of these threads parses at a time, so that the rest of the
process never competes with more than one.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping

from controller.ovsdb.database import Database
from controller.ovsdb.library import POLLIN, Poller, Stream, Transaction, msec
from controller.ovsdb.rows import Change, Report, Trouble

CONNECT_MS = 5000
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
_PARSING = threading.Lock()


class OvsdbError(Exception):
    """The server cannot be used for now; the text says why."""


class Client:
    """``report`` is called in the client's thread, with what is new; ``switches`` are the names by
    datapath id of those that this server should have."""

    def __init__(
        self, address: str, switches: Mapping[int, str], report: Callable[[str, Report], None]
    ) -> None:
        self.address = address
        self._switches = switches
        self._dpids = {name: dpid for dpid, name in switches.items()}
        self._report = report
        self._changes: deque[tuple[Change, ...]] = deque()
        self._stopping = False
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        # A daemon: a resolver that takes minutes does not hold up the end of the process.
        self._thread = threading.Thread(target=self._run, name=f"ovsdb {address}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._ring()

    def look_for(self, switches: Mapping[int, str]) -> None:
        """These from now on."""
        self._switches = switches
        self._dpids = {name: dpid for dpid, name in switches.items()}
        self._ring()

    def change(self, changes: tuple[Change, ...]) -> None:
        """In one transaction; a new report tells of what came of it."""
        self._changes.append(changes)
        self._ring()

    def _ring(self) -> None:
        try:
            self._wake.send(b"\0")
        except BlockingIOError:
            pass  # It has been rung already.

    def _run(self) -> None:
        pause_s = SHORTEST_PAUSE_S
        while not self._stopping:
            try:
                self._follow()
            except OvsdbError as error:
                said = str(error)
            except Exception as error:
                # The library raises all sorts of things at what is no OVSDB.
                said = f"{type(error).__name__}: {error}"
            else:
                said = "it closed the connection"
                pause_s = SHORTEST_PAUSE_S
            # What was asked for was asked for by what was known then.
            self._changes.clear()
            if not self._stopping:
                self._report(self.address, Trouble(f"{said}; it is tried again"))
                self._sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _sleep(self, seconds: float) -> None:
        poller = Poller()
        poller.fd_wait(self._woken.fileno(), POLLIN)
        poller.timer_wait(int(seconds * 1000))
        poller.block()
        self._drain()

    def _drain(self) -> None:
        try:
            while self._woken.recv(4096):
                pass
        except BlockingIOError:
            pass

    def _follow(self) -> None:
        """Until the connection ends. Raises OvsdbError where there never was one."""
        remote = _resolved(self.address)
        _try(remote)
        database = Database(remote)
        try:
            self._serve(database)
        finally:
            database.close()

    def _serve(self, database: Database) -> None:
        told: Report | None = None
        connected = False
        asked = _now_ms()
        transaction: Transaction | None = None
        while not self._stopping:
            with _PARSING:
                database.run()
                if transaction is not None:
                    transaction = _continued(transaction)
                if database.is_read and transaction is None:
                    contents = database.contents(self._switches)
                    if contents != told:
                        told = contents
                        self._report(self.address, contents)
                    if self._changes:
                        made = database.transaction(self._changes.popleft(), self._dpids)
                        transaction = _continued(made)
                        continue
            connected |= database.is_read
            if connected and not database.is_connected:
                return
            if not connected and _now_ms() - asked > CONNECT_MS:
                raise OvsdbError("it accepts connections, but does not speak OVSDB")
            poller = Poller()
            database.wait(poller)
            if transaction is not None:
                transaction.wait(poller)
            poller.fd_wait(self._woken.fileno(), POLLIN)
            poller.timer_wait(1000)
            poller.block()
            self._drain()


def _continued(transaction: Transaction) -> Transaction | None:
    """None once it is through. What another client has changed meanwhile is tried again by whoever
    reads the next report. Raises OvsdbError when the server refuses it."""
    status = transaction.commit()
    if status == Transaction.INCOMPLETE:
        return transaction
    if status == Transaction.ERROR:
        raise OvsdbError(f"it refuses a change: {transaction.get_error()}")
    return None


def _try(remote: str) -> None:
    """The replica connects by itself, but does not say why it cannot."""
    error, stream = Stream.open_block(Stream.open(remote), CONNECT_MS)
    if error:
        raise OvsdbError(os.strerror(error))
    stream.close()


def _resolved(address: str) -> str:
    """With numbers for names, which the library resolves only with another library."""
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return address
    host, _, port = rest.rpartition(":")
    try:
        number = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        try:
            number = str(socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0][4][0])
        except OSError as error:
            raise OvsdbError(f"{host} cannot be resolved: {error.strerror}") from None
    return f"{kind}:[{number}]:{port}" if ":" in number else f"{kind}:{number}:{port}"


def _now_ms() -> int:
    return int(msec())
