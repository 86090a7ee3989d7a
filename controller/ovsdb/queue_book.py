"""What is known of the queues on switches' ports, and what is to be changed of them next. Pure.

Queues are there before flows lead to them, and go after none does: whoever installs flows waits for
``is_ready``, and says which switches hold nothing older than the newest fabric.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from controller.fabric.model import Fabric, PortRef
from controller.ovsdb import queues
from controller.ovsdb.book import some
from controller.ovsdb.rows import Contents, QosRow, Report, SetQueues, SwitchQueues

PREPARE_S = 5.0
"""So long flows wait for the queues that they lead to."""
RETRY_S = 5.0
"""After so long without news a change is asked for again."""
USERSPACE = "netdev"
"""The datapath that accepts ``set_queue`` and does nothing."""


class QueueState(Enum):
    """DECLARED: there is no way to manage them. UNKNOWN: the database says nothing (yet). FOREIGN:
    some ports have QoS of others, which is left alone."""

    DECLARED = "declared, not managed"
    UNKNOWN = "unknown"
    CHANGING = "changing"
    FOREIGN = "foreign QoS"
    MANAGED = "managed"


@dataclass(frozen=True, slots=True)
class SwitchReport:
    """``ignores_queues``: packets are not put where flows say."""

    switch: str
    state: QueueState
    detail: str = ""
    ignores_queues: bool = False


class QueueBook:
    """``reported`` takes in what clients say, ``changes`` says what they are to do."""

    def __init__(self, fabric: Fabric) -> None:
        self._known: dict[str, SwitchQueues] = {}
        self._heard: set[str] = set()
        self._asked_s: dict[str, float] = {}
        self._holding: frozenset[str] = frozenset()
        self._due: set[str] = set()
        self._missing: set[str] = set()
        self._unready_since_s: float | None = None
        self._want(fabric)

    def _want(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._address_of = {s.name: s.ovsdb for s in fabric.switches if s.ovsdb is not None}
        self._wanted: dict[str, dict[int, QosRow]] = {s.name: {} for s in fabric.switches}
        for port, row in queues.wanted(fabric).items():
            self._wanted[port.switch][port.port] = row

    def edited(self, fabric: Fabric) -> None:
        """Go on with this fabric: what is known of switches that stay is known of them under their
        new names."""
        before, address_before, known = self._fabric, self._address_of, self._known
        self._want(fabric)
        self._known = {}
        for name, rows in known.items():
            switch = fabric.switch_by_dpid.get(before.switch_by_name[name].dpid)
            if switch is not None and switch.ovsdb == address_before[name]:
                self._known[switch.name] = rows
        self._heard &= set(self._address_of.values())
        self._asked_s.clear()
        self._missing.clear()
        self._due = set(self._heard)
        self._holding = frozenset()

    def reported(self, address: str, report: Report) -> None:
        self._heard.add(address)
        self._asked_s.pop(address, None)
        self._due.add(address)
        for switch in self._on(address):
            self._known.pop(switch, None)
            if isinstance(report, Contents) and switch in report.queues:
                self._known[switch] = report.queues[switch]

    def changes(self, holding: Collection[str], now: float) -> Mapping[str, tuple[SetQueues, ...]]:
        """For each address what to change now, in one transaction; ``holding`` are the switches
        whose flows are those of the newest fabric."""
        if self._holding != frozenset(holding):
            self._holding = frozenset(holding)
            self._due |= self._heard
        self._due |= {a for a, asked in self._asked_s.items() if now - asked >= RETRY_S}
        out = {}
        for address in sorted(self._due):
            made = tuple(c for switch in self._on(address) for c in self._changes_of(switch))
            self._missing -= {address}
            self._missing |= {address} if made else set()
            if made and now - self._asked_s.get(address, -RETRY_S) >= RETRY_S:
                out[address] = made
                self._asked_s[address] = now
        self._due.clear()
        return out

    def _changes_of(self, switch: str) -> Iterator[SetQueues]:
        known, wanted = self._known.get(switch), self._wanted[switch]
        if known is None:
            return
        for port, row in known.ports.items():
            target = queues.target(row, wanted.get(port), switch in self._holding)
            if target != row:
                yield SetQueues(PortRef(switch, port), target)

    def is_ready(self, now: float) -> bool:
        """Whether the queues are there that flows lead to, or have been waited for long enough."""
        silent = set(self._address_of.values()) - self._heard
        if len(self._fabric.classes) < 2 or not (silent or self._due or self._missing):
            self._unready_since_s = None
            return True
        if self._unready_since_s is None:
            self._unready_since_s = now
        return now - self._unready_since_s >= PREPARE_S

    def reports(self) -> list[SwitchReport]:
        """Of each switch in the order of the fabric; empty where there are no classes."""
        if len(self._fabric.classes) < 2:
            return []
        return [self._report(switch.name) for switch in self._fabric.switches]

    def _report(self, switch: str) -> SwitchReport:
        if switch not in self._address_of:
            return SwitchReport(switch, QueueState.DECLARED, "the switch has no `ovsdb`")
        known = self._known.get(switch)
        if known is None:
            return SwitchReport(switch, QueueState.UNKNOWN, "its database has not told of it")
        ignores = known.datapath == USERSPACE
        changing = sum(1 for _ in self._changes_of(switch))
        if changing:
            return SwitchReport(switch, QueueState.CHANGING, f"{changing} ports", ignores)
        foreign = [p for p in self._wanted[switch] if queues.is_foreign(known.ports.get(p))]
        if foreign:
            ports = some(f"{switch}:{port}" for port in sorted(foreign))
            return SwitchReport(switch, QueueState.FOREIGN, f"left alone on {ports}", ignores)
        managed = sum(1 for port in self._wanted[switch] if known.ports.get(port) is not None)
        return SwitchReport(switch, QueueState.MANAGED, f"{managed} ports", ignores)

    def problems(self) -> list[str]:
        """What an operator should look at, in words; of databases that say nothing, ``Book``
        speaks."""
        found = self.reports()
        out = []
        declared = [r.switch for r in found if r.state is QueueState.DECLARED]
        if declared:
            out.append(
                f"queues of the classes are declared, not managed, on {some(declared)}: without "
                "`ovsdb` in the topology, set them up by other means (heald classes)"
            )
        out += [
            f"{r.switch} has QoS that is not Heald's, {r.detail}: for the queues of the classes, "
            "take it away (ovs-vsctl clear port NAME qos)"
            for r in found
            if r.state is QueueState.FOREIGN
        ]
        ignoring = [r.switch for r in found if r.ignores_queues]
        if ignoring:
            out.append(
                f"{some(ignoring)} {'accepts' if len(ignoring) == 1 else 'accept'} set_queue and "
                f"put all packets into the default queue all the same (datapath_type {USERSPACE}): "
                "classes work there only if something sorts packets by DSCP, as labs do"
            )
        return out

    def _on(self, address: str) -> list[str]:
        return [switch for switch, of in self._address_of.items() if of == address]
