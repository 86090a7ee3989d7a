"""What the engine's books know of an edited fabric."""

from __future__ import annotations

import random

import numpy as np

from controller.discovery.evidence import Evidence, Wired
from controller.engine.editing import Edit
from controller.engine.events import CountersRead
from controller.engine.links import RECOVERY_HOLD_S, LinkBook
from controller.engine.measure import Measurements
from controller.fabric.model import Fabric, PortRef
from tests.dataplane import fabrics
from tests.world.edits import Editor


def other_words(fabric: Fabric) -> Edit:
    editor = Editor(fabric, random.Random(3))
    for kind in ("swap_names", "reorder", "turn_link", "describe"):
        getattr(editor, kind)()
    edit = Edit.of(fabric, editor.fabric)
    assert edit.cosmetic
    assert edit.names.switches
    assert edit.arc.tolist() != sorted(edit.arc.tolist())
    return edit


def test_only_what_switches_and_plans_can_tell_is_no_cosmetic_edit() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    for kind in ("change_capacity", "add_link", "remove_host", "change_address", "change_class"):
        editor = Editor(before, random.Random(1))
        getattr(editor, kind)()
        assert not Edit.of(before, editor.fabric).cosmetic, kind


def test_a_link_that_has_come_waits_until_its_switches_have_rules() -> None:
    before = fabrics.leaf_spine(3, 2, 1)
    editor = Editor(before, random.Random(1))
    editor.add_link()
    edit = Edit.of(before, editor.fabric)
    can_carry = {"ready": False}

    def may(_: str) -> bool:
        return can_carry["ready"]

    book = LinkBook(before).edited(
        edit.after, edit.port, lambda _: True, may, frozenset(), now=10.0
    )
    assert np.flatnonzero(~book.up()).tolist() == np.flatnonzero(edit.arc < 0).tolist()
    book.settle(10.0 + RECOVERY_HOLD_S, may)
    assert not book.up().all()
    can_carry["ready"] = True
    book.settle(10.0 + RECOVERY_HOLD_S, may)
    assert book.up().all()
    at_once = LinkBook(before).edited(edit.after, edit.port, lambda _: True, may, frozenset(), 10.0)
    assert at_once.up().all()


def test_measurements_go_on_under_new_names() -> None:
    edit = other_words(fabrics.leaf_spine(3, 2, 1))
    measured = Measurements(edit.before)
    none = np.zeros(0, np.int64)
    for time_s in (0.0, 2.0):
        for n, (switch, arcs) in enumerate(edit.before.arcs_from.items()):
            port = np.array([arc.tail.port for arc in arcs], np.int64)
            sent = (time_s * 1e6 * (port + 10 * n)).astype(np.int64)
            measured.add(
                CountersRead(switch, 1, time_s, port, sent, 0 * sent, *[none] * 6),
                None,
            )
    up = np.ones(len(edit.arc), np.bool_)
    before = measured.link_state(up, 2.0).carried_bps
    after = measured.edited(edit).link_state(up, 2.0).carried_bps
    assert len(set(before.tolist())) == len(before)
    assert after.tolist() == before[edit.arc].tolist()


def test_what_probes_have_shown_still_holds_under_new_names() -> None:
    edit = other_words(fabrics.leaf_spine(3, 2, 1))
    before = edit.before
    evidence = Evidence(before)
    everyone = set(before.switch_by_name)
    for switch in before.switch_by_name:
        evidence.connected(switch, {arc.tail.port for arc in before.arcs_from[switch]})
    wrong, right = before.links[0], before.links[-1]
    stray = next(a.head for a in before.arcs if a.link not in (wrong.name, right.name))
    for sender, at in ((wrong.a, stray), (right.a, right.b), (right.b, right.a)):
        assert evidence.heard(evidence.send(sender, everyone, 1.0), at, 1.0) is None
    assert wrong.name in evidence.barred
    late = evidence.send(right.a, everyone, 1.0)

    after = evidence.edited(edit.after, edit.port, lambda _: True)
    names = edit.kept_links
    assert after.barred == {names[link] for link in evidence.barred}
    for link, verdict in evidence.verdicts.items():
        assert after.verdicts[names[link]].wired is verdict.wired
    assert after.verdicts[names[right.name]].wired is Wired.OK
    there = edit.port(right.b)
    assert isinstance(there, PortRef)
    assert after.heard(late, there, 1.1) is None
