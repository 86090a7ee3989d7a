"""All databases of the fabric's switches, for the event loop of the brain."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from controller.fabric.model import Fabric
from controller.ovsdb.book import Book
from controller.ovsdb.queue_book import QueueBook
from controller.ovsdb.rows import Report, Trouble

if TYPE_CHECKING:
    from controller.ovsdb.client import Client

_log = logging.getLogger("heald.ovsdb")


class OvsdbManager:
    """To be used in the event loop alone. Nothing here waits: clients have threads of their own."""

    def __init__(self, fabric: Fabric) -> None:
        self.book = Book(fabric)
        self.queues = QueueBook(fabric)
        self._loop = asyncio.get_running_loop()
        self._said: dict[str, str] = {}
        self._fabric = fabric
        self._clients: dict[str, Client] = {}

    def start(self) -> None:
        dpids = {s.name: s.dpid for s in self._fabric.switches}
        switches: dict[str, dict[int, str]] = {}
        for name, address in self.book.address_of.items():
            switches.setdefault(address, {})[dpids[name]] = name
        for address in self._clients.keys() - switches.keys():
            self._clients.pop(address).stop()
        for address, wanted in switches.items():
            if address in self._clients:
                self._clients[address].look_for(wanted)
                continue
            # Their library takes most of a second.
            from controller.ovsdb.client import Client

            self._clients[address] = Client(address, wanted, self._report)
            self._clients[address].start()

    def edited(self, fabric: Fabric) -> None:
        """Go on with this fabric."""
        self._fabric, self.book = fabric, self.book.edited(fabric)
        self.queues.edited(fabric)
        self.start()

    def stop(self) -> None:
        for client in self._clients.values():
            client.stop()

    def tick(self, carrying: Collection[str], holding: Collection[str], now: float) -> None:
        """``carrying``: the links whose traffic there is to lose. ``holding``: the switches that
        hold flows of this fabric, and none of one before it."""
        for address, bfd_changes in self.book.changes(carrying, now).items():
            for change in bfd_changes:
                words = " ".join(f"{k}={v}" for k, v in change.settings.items()) or "none"
                _log.info("%s: BFD %s", change.port, words)
            self._clients[address].change(bfd_changes)
        for address, changes in self.queues.changes(holding, now).items():
            for switch, ports in Counter(change.port.switch for change in changes).items():
                _log.info("%s: queues of %d ports", switch, ports)
            self._clients[address].change(changes)

    def _report(self, address: str, report: Report) -> None:
        try:
            self._loop.call_soon_threadsafe(self._reported, address, report)
        except RuntimeError:
            pass  # The loop has ended.

    def _reported(self, address: str, report: Report) -> None:
        if address not in self._clients:
            return
        self.book.reported(address, report)
        self.queues.reported(address, report)
        said = report.text if isinstance(report, Trouble) else ""
        if self._said.get(address, "") != said:
            self._said[address] = said
            if said:
                _log.warning("%s: %s", address, said)
            else:
                _log.info("%s: connected", address)
