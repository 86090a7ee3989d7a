"""What is changed in the databases of switches, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.fabric.model import Bfd, Fabric, PortRef
from controller.ovsdb import bfd
from controller.ovsdb.book import SETTLE_S, Book
from controller.ovsdb.rows import Contents, InterfaceRow, SetBfd, Trouble
from tests.dataplane import fabrics
from tests.world.edits import renamed

BFD = Bfd(100)
WANTED = bfd.settings(BFD)
UP = InterfaceRow(WANTED, True, "up")
COMING = InterfaceRow(WANTED, True, "init")
PLAIN = InterfaceRow()


def fabric(links: Bfd | None = BFD, without: tuple[str, ...] = ()) -> Fabric:
    net = fabrics.leaf_spine(2, 2, 1)
    return replace(
        net,
        links=tuple(replace(link, bfd=links) for link in net.links),
        switches=tuple(
            replace(s, ovsdb=None if s.name in without else f"tcp:{s.name}:6640")
            for s in net.switches
        ),
    )


class Databases:
    """Those of all switches, which do at once what they are told."""

    def __init__(self, net: Fabric, row: InterfaceRow = PLAIN) -> None:
        self.net = net
        self.book = Book(net)
        self.rows = {arc.tail: row for arc in net.arcs}
        self.now = 0.0
        self.report()

    def report(self, *silent: str) -> None:
        for switch in self.net.switches:
            if switch.ovsdb and switch.name not in silent:
                self.book.reported(switch.ovsdb, Contents({switch.name: self.of(switch.name)}))

    def of(self, switch: str) -> Mapping[int, InterfaceRow]:
        return {port.port: row for port, row in self.rows.items() if port.switch == switch}

    def change(self, carrying: bool = True) -> list[SetBfd]:
        """What is asked for is done, and reported; sessions are not up yet."""
        up = [link.name for link in self.net.links if carrying]
        made = [c for of in self.book.changes(up, self.now).values() for c in of]
        for change in made:
            row = InterfaceRow(change.settings, bool(change.settings), "down")
            self.rows[change.port] = row if change.settings else PLAIN
        self.report()
        return made

    def come_up(self) -> None:
        self.rows = {p: replace(r, bfd_state="up") if r.bfd else r for p, r in self.rows.items()}
        self.report()


def links_of(net: Fabric, changes: list[SetBfd]) -> list[str]:
    return sorted({net.arc_by_tail[change.port].link for change in changes})


def test_links_that_carry_traffic_get_bfd_one_after_the_other() -> None:
    net = fabric()
    all_of_them = Databases(net)
    seen: list[str] = []
    for _ in net.links:
        made = all_of_them.change()
        assert [c.settings for c in made] == [WANTED, WANTED]
        assert {c.port for c in made} == {
            end
            for link in net.links
            if link.name in links_of(net, made)
            for end in (link.a, link.b)
        }
        seen += links_of(net, made)
        all_of_them.now += 1.0
        assert all_of_them.change() == []
        all_of_them.come_up()
    assert sorted(seen) == sorted(link.name for link in net.links)
    assert all_of_them.change() == []
    assert all_of_them.book.problems() == []


def test_without_traffic_all_get_it_at_once() -> None:
    net = fabric()
    assert len(Databases(net).change(carrying=False)) == 2 * len(net.links)


def test_what_is_there_already_is_left_alone() -> None:
    assert Databases(fabric(), UP).change() == []
    down = Databases(fabric(), replace(UP, bfd_state="down"))
    assert down.change() == []
    assert down.change(carrying=False) == []


def test_a_link_with_bfd_on_one_end_is_mended_at_once() -> None:
    net = fabric()
    databases = Databases(net, UP)
    for link in net.links:
        databases.rows[link.b] = PLAIN
    databases.report()
    made = databases.change()
    assert {c.port for c in made} == {link.b for link in net.links}


def test_bfd_that_does_not_come_up_is_taken_away_again_and_said() -> None:
    net = fabric()
    databases = Databases(net)
    first = links_of(net, databases.change())
    databases.now += SETTLE_S + 1
    made = databases.change()
    undone = [c for c in made if not c.settings]
    assert links_of(net, undone) == first
    assert any(first[0] in p and "does not come up" in p for p in databases.book.problems())


def test_bfd_that_is_no_longer_declared_is_removed_and_that_of_others_is_not() -> None:
    net = fabric(None)
    databases = Databases(net, UP)
    foreign = net.links[0]
    for end in (foreign.a, foreign.b):
        databases.rows[end] = InterfaceRow({"enable": "true"}, False, "up")
    databases.report()
    made: list[SetBfd] = []
    for _ in net.links:
        made += databases.change()
        databases.now += 1
    assert links_of(net, made) == sorted(link.name for link in net.links[1:])
    assert all(c.settings == {} for c in made)
    assert databases.change() == []


def test_a_switch_without_ovsdb_is_named_and_its_links_are_left_alone() -> None:
    net = fabric(without=("s0",))
    databases = Databases(net)
    made = databases.change(carrying=False)
    assert not any("s0" in {net.arc_by_tail[c.port].head.switch, c.port.switch} for c in made)
    (problem,) = databases.book.problems()
    assert "s0 has no `ovsdb`" in problem
    assert "l0-s0" in problem


def test_a_database_that_cannot_be_reached_is_named_and_holds_up_its_own_links_only() -> None:
    net = fabric()
    book = Book(net)
    for switch in net.switches:
        assert switch.ovsdb
        if switch.name == "s0":
            book.reported(switch.ovsdb, Trouble("Connection refused; it is tried again"))
            continue
        ports = {arc.tail.port: PLAIN for arc in net.arcs_from[switch.name]}
        book.reported(switch.ovsdb, Contents({switch.name: ports}))
    made = [c for of in book.changes([], 0.0).values() for c in of]
    assert {net.arc_by_tail[c.port].link for c in made} == {
        link.name for link in net.links if "s0" not in (link.a.switch, link.b.switch)
    }
    assert book.problems() == ["OVSDB of s0 at tcp:s0:6640: Connection refused; it is tried again"]


def test_a_database_without_the_bridge_is_named() -> None:
    net = fabric()
    book = Book(net)
    for switch in net.switches:
        assert switch.ovsdb
        book.reported(switch.ovsdb, Contents({}))
    assert "l0 is no bridge of the OVSDB at tcp:l0:6640" in book.problems()[0]
    assert "0000000000000001" in book.problems()[0]


def test_a_new_interval_is_set_on_both_ends_of_one_link_after_the_other() -> None:
    old = InterfaceRow(bfd.settings(Bfd(300, 5)), True, "up")
    net = fabric()
    databases = Databases(net, old)
    made = databases.change()
    assert len(made) == 2
    assert PortRef(made[0].port.switch, made[0].port.port) in databases.rows


def test_an_edit_keeps_what_is_set_and_takes_away_what_has_no_link_any_more() -> None:
    databases = Databases(fabric(), UP)
    net = databases.net
    gone = net.links[0]
    names = {s.name: f"{s.name}-new" for s in net.switches}
    after = renamed(replace(net, links=net.links[1:]), names)
    databases.book = databases.book.edited(after)

    made = [c for of in databases.book.changes((), 0.0).values() for c in of]
    ends = {PortRef(names[end.switch], end.port) for end in (gone.a, gone.b)}
    assert {change.port for change in made} == ends
    assert not any(change.settings for change in made)
    assert not databases.book.changes((), 1.0)
    assert not databases.book.problems()
