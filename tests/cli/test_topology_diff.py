"""``heald topology diff`` as people and scripts meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from controller.cli.main import cli

TEXT = (Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml").read_text()
INTENTS = """\
intents:
  - name: train
    connectivity: {endpoints: {hosts: [h1, h8]}}
  - name: ckpt
    point_to_point: {source: {hosts: [h1]}, destination: {hosts: [h8]}, rate: 40M, avoid: [spine1]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.yaml"
    path.write_text(TEXT)
    return path


def diff(file: Path, *edits: tuple[str, str], options: tuple[str, ...] = ()) -> Result:
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    edited = file.with_name("edited.yaml")
    edited.write_text(text)
    return CliRunner().invoke(cli, ["topology", "diff", str(file), str(edited), *options])


def test_the_exit_code_tells_whether_they_differ(file: Path) -> None:
    same = diff(file, ("fabric: leaf-spine\n", "fabric: leaf-spine # the same\n"))
    assert (same.exit_code, same.output) == (
        0,
        "the same fabric: nothing would be sent to any switch\n",
    )
    assert diff(file, ("pod: pod1", "pod: pod2")).exit_code == 1
    wrong = CliRunner().invoke(cli, ["topology", "diff", str(file), str(file) + "x"])
    assert wrong.exit_code == 2
    assert "cannot be read (No such file or directory)" in wrong.output
    assert CliRunner().invoke(cli, ["topology", "diff", str(file)]).exit_code == 2
    absent = ["--server", "unix:/nowhere", "topology", "diff", "--running", str(file)]
    assert CliRunner().invoke(cli, absent).exit_code == 2


def test_what_nothing_depends_on_stands_apart(file: Path) -> None:
    done = diff(file, ("dpid: 0x1, pod: pod1", "dpid: 0x1, pod: pod2"), ("leaf2:", "rack2:"))
    assert "leaf2 → rack2" in done.output
    assert done.output.index("cosmetic:") < done.output.index("pod pod1 → pod2")
    assert "nothing would be sent to any switch" in done.output


def test_who_loses_a_way_and_how_full_links_get(file: Path) -> None:
    options = ("--intents", str(file.with_name("intents.yaml")))
    file.with_name("intents.yaml").write_text(INTENTS)
    done = diff(
        file,
        ("  - [leaf4:12, spine2:4]\n", ""),
        ("  h7: {attach: leaf4:1, accelerators: {gpu0: }}\n", ""),
        options=options,
    )
    assert done.exit_code == 1
    assert "ckpt: what it asks for cannot be had then" in done.output
    assert "train:" not in done.output
    found = json.loads(diff(file, ("  h1: {", "  h11: {"), options=(*options, "--json")).output)
    ckpt, train = found["intents"]
    assert train["leaving"] == ["h1/eth0"]
    assert "h1/eth0" in ckpt["leaving"]
    assert "has no host 'h1'" in train["problems"][0]
    assert not found["cosmetic"]
    assert {c["kind"] for c in found["changes"]} == {"added", "removed"}


def test_pairs_of_rails_that_lose_their_way(tmp_path: Path) -> None:
    text = """\
fabric: rails
defaults: {link: {capacity: 100G}, nic: {capacity: 100G}}
switches: {a1: , a2: , b1: , b2: }
hosts:
  h1: {nics: {eth0: a1:1, eth1: b1:1}}
  h2: {nics: {eth0: a2:1, eth1: b2:1}}
links:
  - [a1:9, a2:9]
  - [b1:9, b2:9]
"""
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(text)
    after.write_text(text.replace("  - [b1:9, b2:9]\n", ""))
    done = CliRunner().invoke(cli, ["topology", "diff", str(before), str(after)])
    assert "no way any more for 1 pair of NICs: h1/eth1 to h2/eth1" in done.output
    back = CliRunner().invoke(cli, ["topology", "diff", str(after), str(before)])
    assert ": a way for 1 pair of NICs: h1/eth1 to h2/eth1" in back.output
