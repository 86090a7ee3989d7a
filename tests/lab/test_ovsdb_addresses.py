"""Topology files with the OVSDB of a lab."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.distribution import topologies_dir
from controller.fabric.load import load
from controller.lab.ovsdb_addresses import with_ovsdb

ADDRESS = "unix:/tmp/heald-lab-x/db.sock"
SHIPPED = [f.read_text(encoding="utf-8") for f in sorted(topologies_dir().glob("*.yaml"))]
TEXT = """\
fabric: f
defaults: {link: {capacity: 1G}}
switches:
  a:
  b: # not: {dpid: 1}
    role: leaf
    dpid: 2
  c: {}
  d: &spine {role: spine, ovsdb: tcp:10.0.0.1:6640}
  e: ~
  f: *spine
  g: &leaf {role: leaf}
  h: *leaf
links: [[a:1, b:1]]
"""


@pytest.mark.parametrize(
    "text",
    [TEXT, *(text for text in SHIPPED if "generate:" not in text)],
)
def test_every_switch_has_the_address_and_nothing_else_changes(text: str) -> None:
    before, after = load(text.encode(), "f"), load(with_ovsdb(text, ADDRESS).encode(), "f")
    wanted = tuple(replace(s, ovsdb=ADDRESS) for s in before.switches)
    assert after == replace(before, switches=wanted)


def test_comments_stay() -> None:
    assert "# not: {dpid: 1}" in with_ovsdb(TEXT, ADDRESS)
