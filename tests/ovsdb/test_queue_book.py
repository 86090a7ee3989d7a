"""Which queues ports get for the classes of a fabric, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.model import Fabric, TrafficClass
from controller.ovsdb import queues
from controller.ovsdb.queue_book import PREPARE_S, QueueBook, QueueState
from controller.ovsdb.rows import Contents, QosRow, SwitchQueues, Trouble
from tests.dataplane import fabrics

REST = TrafficClass("rest", None, 0)
GOLD = TrafficClass("gold", 26, 3, share=0.6, ceiling=0.8, priority=7)
SILVER = TrafficClass("silver", 10, 1, share=0.3)
FOREIGN = QosRow("linux-htb", {"max-rate": "1"}, {}, ours=False)


def fabric(*classes: TrafficClass, without: tuple[str, ...] = ()) -> Fabric:
    net = fabrics.leaf_spine(2, 2, 1)
    switches = tuple(
        replace(s, ovsdb=None if s.name in without else f"tcp:{s.name}:6640") for s in net.switches
    )
    return replace(net, switches=switches, classes=classes or (REST, GOLD))


class Databases:
    """Those of all switches, which do at once what they are told."""

    def __init__(self, net: Fabric, datapath: str = "system") -> None:
        self.book = QueueBook(net)
        self.datapath = datapath
        self.now = 0.0
        ports = [arc.tail for arc in net.arcs] + [p for n in net.nics for p in n.attachments]
        self.rows: dict[str, dict[int, QosRow | None]] = {s.name: {} for s in net.switches}
        for port in ports:
            self.rows[port.switch][port.port] = None
        self.take(net)

    def take(self, net: Fabric) -> None:
        self.net = net
        self.book.edited(net)
        self.report()

    def report(self) -> None:
        for switch in self.net.switches:
            if switch.ovsdb:
                found = SwitchQueues(self.datapath, dict(self.rows[switch.name]))
                self.book.reported(switch.ovsdb, Contents({}, {switch.name: found}))

    def change(self, *holding: str) -> int:
        made = [c for of in self.book.changes(holding, self.now).values() for c in of]
        for each in made:
            self.rows[each.port.switch][each.port.port] = each.wanted
        if made:
            self.report()
        return len(made)

    def all(self) -> list[QosRow | None]:
        return [row for rows in self.rows.values() for row in rows.values()]

    def states(self) -> Mapping[str, QueueState]:
        return {r.switch: r.state for r in self.book.reports()}


def test_every_port_gets_the_queues_of_the_classes_in_parts_of_its_capacity() -> None:
    net = fabric()
    switches = Databases(net)
    assert not switches.book.is_ready(0.0)
    assert switches.change() == len(switches.all())
    assert switches.change() == 0
    assert switches.book.is_ready(0.0)
    link = net.links[0]
    row = switches.rows[link.a.switch][link.a.port]
    assert row is not None
    gold = row.queues[3]
    assert float(gold.config["min-rate"]) == pytest.approx(0.6 * link.capacity_bps)
    assert float(gold.config["max-rate"]) == pytest.approx(0.8 * link.capacity_bps)
    assert gold.ids == {"heald": "queues", "class": "gold", "dscp": "26"}
    assert int(gold.config["priority"]) < int(row.queues[0].config["priority"])
    assert set(switches.states().values()) == {QueueState.MANAGED}
    assert switches.book.problems() == []


def test_one_class_needs_no_queues() -> None:
    switches = Databases(fabric(REST))
    assert switches.change() == 0
    assert switches.book.is_ready(0.0)
    assert switches.book.reports() == []


def test_new_queues_come_at_once_and_old_ones_go_when_no_flow_leads_there() -> None:
    switches = Databases(fabric(REST, GOLD))
    switches.change()
    switches.take(fabric(REST, SILVER))
    switches.change()
    assert all(row is not None and set(row.queues) == {0, 1, 3} for row in switches.all())
    assert switches.change() == 0
    assert switches.book.is_ready(0.0)
    switches.change("l0")
    for switch, rows in switches.rows.items():
        expected = {0, 1} if switch == "l0" else {0, 1, 3}
        assert all(row is not None and set(row.queues) == expected for row in rows.values())
    switches.take(fabric(REST))
    switches.change()
    assert all(row is not None for row in switches.all())
    switches.change(*switches.rows)
    assert switches.all() == [None] * len(switches.all())


def test_foreign_qos_is_left_alone_and_named() -> None:
    switches = Databases(fabric())
    switches.rows["l0"][1] = FOREIGN
    switches.report()
    switches.change("l0")
    switches.change("l0")
    assert switches.rows["l0"][1] is FOREIGN
    assert switches.states()["l0"] is QueueState.FOREIGN
    assert [("l0:1" in p, "not Heald's" in p) for p in switches.book.problems()] == [(True, True)]
    switches.take(fabric(REST))
    switches.change(*switches.rows)
    assert switches.rows["l0"][1] is FOREIGN


def test_without_a_database_queues_are_declared_not_managed() -> None:
    switches = Databases(fabric(without=("l1",)))
    switches.change()
    assert switches.states()["l1"] is QueueState.DECLARED
    (problem,) = switches.book.problems()
    assert "declared, not managed, on l1" in problem


def test_a_switch_that_ignores_queues_is_named() -> None:
    switches = Databases(fabric(), datapath="netdev")
    switches.change()
    (problem,) = switches.book.problems()
    assert "l0, l1, s0, s1 accept set_queue" in problem


def test_flows_do_not_wait_for_ever_for_a_database() -> None:
    book = QueueBook(fabric())
    assert not book.is_ready(0.0)
    assert not book.is_ready(PREPARE_S - 0.1)
    assert book.is_ready(PREPARE_S)
    book = QueueBook(fabric())
    for switch in fabric().switches:
        assert switch.ovsdb is not None
        assert not book.is_ready(0.0)
        book.reported(switch.ovsdb, Trouble("refused"))
    book.changes((), 0.0)
    assert book.is_ready(0.0)


CLASSES = st.lists(st.sampled_from([REST, GOLD, SILVER, replace(SILVER, share=0.1)]), min_size=1)


@given(st.lists(st.tuples(CLASSES, st.sets(st.sampled_from(["l0", "l1", "s0", "s1"])))))
def test_whatever_was_there_before_the_end_is_what_is_declared(
    steps: list[tuple[list[TrafficClass], set[str]]],
) -> None:
    net = fabric(REST)
    switches = Databases(net)
    for classes, holding in steps:
        net = fabric(*{c.queue: c for c in classes}.values())
        switches.take(net)
        switches.change(*holding)
    switches.change()
    switches.change(*switches.rows)
    wanted = queues.wanted(net)
    for switch, rows in switches.rows.items():
        for port, row in rows.items():
            found = {p.port: r for p, r in wanted.items() if p.switch == switch}
            assert row == found.get(port)
