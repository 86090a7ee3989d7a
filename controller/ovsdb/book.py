"""What is known of the switches' databases, and what is to be changed in them next. Pure.

Links that carry traffic get BFD one after the other, because each is out of use until its session
is up. Where that does not come, it is taken away again, and said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controller.fabric.model import Fabric, Link, PortRef
from controller.ovsdb import bfd
from controller.ovsdb.bfd import Step
from controller.ovsdb.rows import Contents, InterfaceRow, Report, SetBfd, Trouble

SETTLE_S = 15.0
"""A session that has not come up by then will not. It takes 1 to 3 s."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class _UnderWay:
    since_s: float
    was_up: bool


class Book:
    """``reported`` takes in what clients say, ``changes`` says what they are to do."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.address_of = {s.name: s.ovsdb for s in fabric.switches if s.ovsdb is not None}
        self.addresses = tuple(dict.fromkeys(self.address_of.values()))
        self._rows: dict[str, Mapping[int, InterfaceRow]] = {}
        self._trouble: dict[str, str] = dict.fromkeys(self.addresses, "not connected yet")
        self._under_way: dict[str, _UnderWay] = {}
        self._given_up: set[str] = set()
        self._cleared: dict[PortRef, float] = {}

    def edited(self, fabric: Fabric) -> Book:
        """The same for an edited fabric: what is known of switches and links that stay goes on.
        Switches are known by their datapath ids, links by their ports."""
        new = Book(fabric)
        called = {s.name: fabric.switch_by_dpid.get(s.dpid) for s in self._fabric.switches}
        for name, rows in self._rows.items():
            switch = called[name]
            if switch is not None and switch.ovsdb == self.address_of[name]:
                new._rows[switch.name] = rows
        for address in set(self.addresses) & set(new.addresses):
            if address not in self._trouble:
                del new._trouble[address]
            else:
                new._trouble[address] = self._trouble[address]

        def now(end: PortRef) -> PortRef | None:
            switch = called[end.switch]
            return PortRef(switch.name, end.port) if switch is not None else None

        before = {frozenset((now(link.a), now(link.b))): link for link in self._fabric.links}
        for link in fabric.links:
            old = before.get(frozenset((link.a, link.b)))
            if old is not None and old.bfd == link.bfd:
                if old.name in self._under_way:
                    new._under_way[link.name] = self._under_way[old.name]
                if old.name in self._given_up:
                    new._given_up.add(link.name)
        return new

    def reported(self, address: str, report: Report) -> None:
        switches = [s for s, of in self.address_of.items() if of == address]
        for switch in switches:
            self._rows.pop(switch, None)
        if isinstance(report, Trouble):
            self._trouble[address] = report.text
            return
        assert isinstance(report, Contents)
        self._trouble.pop(address, None)
        self._rows.update({s: report.switches[s] for s in switches if s in report.switches})

    def changes(self, up: Collection[str], now: float) -> Mapping[str, tuple[SetBfd, ...]]:
        """For each address what to change now, all in one transaction; ``up`` are the links whose
        traffic there is to lose."""
        out: dict[str, list[SetBfd]] = {}
        for link in self._fabric.links:
            known = self._under_way.get(link.name)
            if known is not None and self._is_over(link, known, now):
                del self._under_way[link.name]
        busy = any(each.was_up for each in self._under_way.values())
        for link in self._fabric.links:
            ends = self._ends(link)
            if ends is None or link.name in self._under_way:
                continue
            wanted = self._wanted(link)
            needed = bfd.step(wanted, *ends)
            # The port of a session that is coming up counts as down.
            careful = link.name in up and needed is not Step.MEND
            if needed is Step.NOTHING or (careful and busy):
                continue
            busy |= careful
            self._under_way[link.name] = _UnderWay(now, careful and bool(wanted))
            for end, row in zip((link.a, link.b), ends, strict=True):
                if not bfd.has(row, wanted):
                    out.setdefault(self.address_of[end.switch], []).append(SetBfd(end, wanted))
        for end in self._left_over(now):
            out.setdefault(self.address_of[end.switch], []).append(SetBfd(end, {}))
        return {address: tuple(made) for address, made in out.items()}

    def _left_over(self, now: float) -> list[PortRef]:
        """Ports that have BFD of Heald's and no link any more, each once in a while."""
        linked = self._fabric.arc_by_tail
        found = [
            PortRef(switch, port)
            for switch, rows in self._rows.items()
            for port, row in rows.items()
            if row.ours and PortRef(switch, port) not in linked
        ]
        self._cleared = {end: at for end, at in self._cleared.items() if now - at < SETTLE_S}
        due = [end for end in found if end not in self._cleared]
        self._cleared |= dict.fromkeys(due, now)
        return due

    def _is_over(self, link: Link, known: _UnderWay, now: float) -> bool:
        ends = self._ends(link)
        wanted = self._wanted(link)
        done = ends is not None and bfd.step(wanted, *ends) is Step.NOTHING
        if done and ends and (not wanted or all(row.bfd_state == bfd.UP for row in ends)):
            return True
        if now - known.since_s < SETTLE_S:
            return False
        if known.was_up and ends is not None:
            self._given_up.add(link.name)
        return True

    def _wanted(self, link: Link) -> Mapping[str, str]:
        return bfd.settings(None if link.name in self._given_up else link.bfd)

    def _ends(self, link: Link) -> tuple[InterfaceRow, InterfaceRow] | None:
        """None unless both ends are known, so that both can be told."""
        a, b = self._row(link.a), self._row(link.b)
        return None if a is None or b is None else (a, b)

    def _row(self, end: PortRef) -> InterfaceRow | None:
        return self._rows.get(end.switch, {}).get(end.port)

    def problems(self) -> list[str]:
        """What an operator should look at, in words."""
        out = [
            f"OVSDB of {some(s for s, of in self.address_of.items() if of == address)} at "
            f"{address}: {text}"
            for address, text in self._trouble.items()
        ]
        out += [
            f"{switch} is no bridge of the OVSDB at {address}: none has its datapath id "
            f"{self._fabric.switch_by_name[switch].dpid:016x}; correct `ovsdb` or `dpid`"
            for switch, address in self.address_of.items()
            if address not in self._trouble and switch not in self._rows
        ]
        declared = [link for link in self._fabric.links if link.bfd is not None]
        unmanaged: dict[str, list[str]] = {}
        for link in declared:
            for end in (link.a, link.b):
                if end.switch not in self.address_of:
                    unmanaged.setdefault(end.switch, []).append(link.name)
        out += [
            f"BFD of link {some(links)} is declared, but not managed: {switch} has no `ovsdb` in "
            "the topology"
            for switch, links in unmanaged.items()
        ]
        out += [
            f"BFD of link {link.name} does not come up: it has been taken away again; look whether "
            "something between the ports drops UDP port 3784"
            for link in declared
            if link.name in self._given_up
        ]
        return out


def some(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more
