"""Keeps the ports of a lab sorting packets by DSCP into whatever queues the database has for them.

It stands for the part of a switch that ``set_queue`` does not reach in the userspace datapath, and
makes queues short. It learns the DSCPs of a queue from the queue's own row.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller.lab import ovs
from controller.lab.shaping import queue_batch
from controller.lab.wiring import Queue, SwitchPort, Wiring
from controller.ovsdb.database import Database
from controller.ovsdb.library import Poller
from controller.ovsdb.rows import SwitchQueues


class QueueAgent:
    """In a thread of its own, which ends with the process."""

    def __init__(self, wiring: Wiring, run_dir: Path) -> None:
        self._switches = {b.dpid: b.switch for b in wiring.bridges}
        self._ports = {(p.switch, p.port): p for p in wiring.ports}
        self._queues = {q.queue: q for q in wiring.queues}
        self._run_dir = run_dir

    def start(self) -> None:
        threading.Thread(target=self._run, name="queue agent", daemon=True).start()

    def _run(self) -> None:
        database = Database(f"unix:{self._run_dir}/db.sock")
        seen = 0
        while True:
            database.run()
            # Not what it says, but that it changed: queues that went and came back are new ones.
            if database.is_read and database.change_seqno != seen:
                seen = database.change_seqno
                self._sort(database.contents(self._switches).queues, seen)
            poller = Poller()
            database.wait(poller)
            poller.block()

    def _sort(self, known: Mapping[str, SwitchQueues], change: int) -> None:
        # Returns when the switch has done all that was asked of it before.
        mark = f"external-ids:queues-sorted={change}"
        ovs.vsctl(self._run_dir, ["set", "Open_vSwitch", ".", mark])
        argv = ["tc", "-force", "-batch", "-"]
        batch = queue_batch(self._queues_of(known)).encode()
        # A port or queue that is gone by now leaves the others alone.
        subprocess.run(argv, input=batch, capture_output=True, check=False)

    def _queues_of(
        self, known: Mapping[str, SwitchQueues]
    ) -> Iterator[tuple[SwitchPort, list[Queue]]]:
        for switch, queues in known.items():
            for number, qos in queues.ports.items():
                port = self._ports.get((switch, number))
                if port is not None and qos is not None:
                    yield port, [self._queue(n, row.ids) for n, row in sorted(qos.queues.items())]

    def _queue(self, number: int, ids: Mapping[str, str]) -> Queue:
        """Rows that no controller has seen yet do not say their class."""
        if "class" not in ids:
            return self._queues.get(number, Queue(number, ()))
        return Queue(number, tuple(map(int, ids.get("dscp", "").split())))
