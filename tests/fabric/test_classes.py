"""Traffic classes: presets, what they may not say, what each is guaranteed."""

from __future__ import annotations

import pytest

from controller.fabric.classes import PRESETS, shares
from controller.fabric.load import TopologyErrors, load
from controller.fabric.model import Fabric, TrafficClass

HEAD = """\
fabric: small
defaults: {link: {capacity: 50M}, nic: {capacity: 50M}}
switches: {leaf1: , leaf2: }
hosts: {h1: leaf1:1, h2: leaf2:1}
links: [[leaf1:2, leaf2:2]]
"""


def fabric(classes: str) -> Fabric:
    return load((HEAD + classes).encode(), "f.yaml")


def problems(classes: str) -> list[str]:
    with pytest.raises(TopologyErrors) as caught:
        fabric(classes)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_it_would_be_written_out(preset: str) -> None:
    lines = [
        f"  {name}: {{{', '.join(f'{key}: {_text(value)}' for key, value in keys.items())}}}"
        for name, keys in PRESETS[preset].items()
    ]
    written = fabric("classes:\n" + "\n".join(lines))
    assert fabric(f"classes: {preset}") == written
    assert fabric(f"classes: {{preset: {preset}}}") == written
    assert sum(c.dscp is None for c in written.classes) == 1
    assert sum(shares(written.classes).values()) == pytest.approx(1.0)


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(value)}]"


def test_a_class_beside_a_preset_replaces_that_of_its_name() -> None:
    made = fabric("classes: {preset: nvidia, roce: {dscp: [34, 26], queue: 3, share: 40%}}").classes
    roce = next(c for c in made if c.name == "roce")
    assert roce == TrafficClass("roce", 34, 3, share=0.4, other_dscps=(26,))
    assert {c.name for c in made} == {"roce", "cnp", "best-effort"}


def test_classes_without_a_share_divide_what_the_others_leave() -> None:
    made = fabric("classes: {a: {dscp: 1, queue: 1, share: 40%}, b: {dscp: 2, queue: 2}}").classes
    assert shares(made) == pytest.approx({"a": 0.4, "b": 0.3, "best-effort": 0.3})


def test_everything_wrong_with_classes_is_said_at_once_at_its_place() -> None:
    found = problems(
        "classes:\n"
        "  a: {dscp: 300, queue: 2}\n"
        "  b: {dscp: 26, queue: 3, share: 60%, ceiling: 50%}\n"
        "  c: {dscp: [27, 26], queue: 3, share: 60%}\n"
        "  d: {dscp: 1, queue: 4, lossless: yes}\n"
        "  e: {queue: 5, lossless: true, ceiling: 0%}\n"
        "  f: {dscp: 2, queue: 6, share: 3}\n"
        "  g: {dscp: 3, queue: 7, priority: 8}\n"
    )
    for place, what in (
        ("6:1", "add up to 120% (b 60%, c 60%)"),
        ("7:13", "DSCP '300'"),
        ("8:3", "ceiling 50% is below share 60%"),
        ("9:3", "DSCP 26 is used twice"),
        ("9:3", "queue 3 is used twice"),
        ("10:36", "neither true nor false"),
        ("11:3", "cannot be lossless"),
        ("11:3", "ceiling 0%"),
        ("12:33", "no share"),
        ("13:36", "goes from 0 to 7"),
    ):
        hits = [p for p in found if p.startswith(f"f.yaml:{place}: ") and what in p]
        assert len(hits) == 1, (place, what, found)
        found.remove(hits[0])
    assert not found


def test_the_queue_of_everything_else_is_nobody_elses() -> None:
    (problem,) = problems("classes: {roce: {dscp: 26}}")
    assert "queue 0 of roce is that of best-effort" in problem


def test_a_misspelt_preset_is_named_with_the_one_that_was_meant() -> None:
    assert problems("classes: nvidai") == [
        "f.yaml:6:10: unknown preset 'nvidai': did you mean 'nvidia'?"
    ]
    assert "known are dell-os10" in problems("classes: {preset: [x]}")[0]
