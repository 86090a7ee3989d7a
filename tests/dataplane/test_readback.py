"""What a switch gives back: Heald's own, spoiled, and foreign."""

from __future__ import annotations

from controller.dataplane.compile import compile
from controller.dataplane.diff import diff
from controller.dataplane.readback import readback
from controller.openflow.model import OpaqueFlow, OpaqueGroup, OpaqueMeter
from tests.dataplane import fabrics


def test_what_was_installed_comes_back_and_needs_nothing() -> None:
    net = fabrics.dual_homed()
    asked = fabrics.demands(net)
    tables = compile(net, fabrics.plan(net, asked), asked)
    for name, wants in tables.items():
        has, foreign = readback(wants.flows.values(), wants.groups.values(), wants.meters.values())
        assert (has, foreign) == (wants, 0)
        assert diff({name: has}, tables).count == 0


def test_foreign_entries_are_counted_and_left_alone() -> None:
    has, foreign = readback(
        [OpaqueFlow(0, 5, b"", 0x1234, b"")],
        [OpaqueGroup(7, b"")],
        [OpaqueMeter(1, b"")],
    )
    assert foreign == 3
    assert diff({"s": has}, {}).count == 0


def test_spoiled_entries_are_removed() -> None:
    cookie = 0x4845 << 48 | 1
    match_key = b"\x00\x01\x00\x04\x00\x00\x00\x00"
    has, foreign = readback(
        [OpaqueFlow(0, 5, match_key, cookie, b"")],
        [OpaqueGroup(0x48000001, b"")],
        [OpaqueMeter(0x20009, b"")],
    )
    assert foreign == 0
    assert diff({"s": has}, {}).count == 3
