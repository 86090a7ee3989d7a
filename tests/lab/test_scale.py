"""Scaled copies of topology files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.distribution import topologies_dir
from controller.fabric.load import load
from controller.lab.scale import scaled_topology
from controller.lab.wiring import scaled

TEXT = """\
fabric: fast # größer: capacity: 1G
defaults:
  link: {capacity: &rate 400G, latency: 500ns}
  nic: {capacity: *rate}
switches: {s1: {}, s2: {}}
hosts:
  h1: {attach: s1:1, capacity: "100G", labels: {capacity: large}}
  h2: s2:1
links:
  - {ends: [s1:9, s2:9], capacity: 12.8T}
  - [s1:8, s2:8]
"""


def test_capacities_are_scaled_and_nothing_else_is_touched() -> None:
    small = scaled_topology(TEXT, 1e-4)
    assert load(small.encode(), "f") == scaled(load(TEXT.encode(), "f"), 1e-4)
    assert ": capacity: 1G" in small
    assert "capacity: large" in small
    assert [x.split(":")[0] for x in small.splitlines()] == [
        x.split(":")[0] for x in TEXT.splitlines()
    ]


@pytest.mark.parametrize("file", sorted(topologies_dir().glob("*.yaml")), ids=lambda f: f.name)
@pytest.mark.parametrize("factor", [0.5, 1 / 3, 1.1])
def test_shipped_topologies_scale(factor: float, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    before, after = load(text.encode(), "f"), load(scaled_topology(text, factor).encode(), "f")
    wanted = scaled(before, factor)
    assert [x.capacity_bps for x in after.links] == pytest.approx(
        [x.capacity_bps for x in wanted.links]
    )
    assert replace(after, links=(), hosts=()) == replace(before, links=(), hosts=())
