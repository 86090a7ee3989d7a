"""``heald topology show``: figures that can be worked out by hand, and drawings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from controller.cli.topology import topology

TOPOLOGIES = Path(__file__).parents[2] / "topologies"


def show(name: str, *options: str) -> Result:
    return CliRunner().invoke(topology, ["show", str(TOPOLOGIES / f"{name}.yaml"), *options])


def report(name: str) -> Any:
    return json.loads(show(name, "--json").stdout)


def test_two_sites_hang_on_their_wide_area_links() -> None:
    found = report("two-sites")
    # Two links of 20M; each of the 4 NICs of a site sends 4/7 of its 50M to the other.
    assert (found["bisection"]["bps"], found["bisection"]["all"]) == (40e6, True)
    assert found["all_to_all"]["share"] == pytest.approx(40 / (4 * 50 * 4 / 7), rel=0.01)
    assert [tier["oversubscription"] for tier in found["tiers"]] == [1, 1, 5]
    wan = [f for f in found["failures"] if f["kind"] == "link" and "border1:3" in f["name"]]
    assert [f["lost"] for f in wan] == [pytest.approx(0.5, rel=0.02)]
    assert {w["name"]: w["hosts"] for w in found["weak_points"]}["site1-leaf1"] == ["h1", "h2"]


@pytest.mark.parametrize(
    ("name", "bps", "weak"),
    [
        ("leaf-spine", 200e6, 4),
        # Half of the leaf with the slow link: 25M are missing.
        ("leaf-spine-asymmetric", 175e6, 4),
        ("fat-tree", 400e6, 8),
        ("rail-optimised", 400e6, 0),
        ("dual-plane", 200e6, 0),
    ],
)
def test_bisection_and_weak_points(name: str, bps: float, weak: int) -> None:
    found = report(name)
    assert found["bisection"]["bps"] == pytest.approx(bps)
    assert len(found["weak_points"]) == weak


def test_paths_are_counted() -> None:
    # In a fat tree of 4-port switches: 2 ways inside a pod, 4 between pods.
    ways = report("fat-tree")["ways"]
    assert (ways["fewest"], ways["most"], ways["most_hops"], ways["pairs"]) == (2, 4, 4, 28)


def test_the_table_is_for_people() -> None:
    text = show("edge").stdout
    for word in ("TIER", "bisection", "all-to-all", "weak points", "switch edge1: box1 camera1"):
        assert word in text


@pytest.mark.parametrize("name", ["fat-tree", "torus"])
def test_drawings_have_every_switch_and_link(name: str, tmp_path: Path) -> None:
    svg, dot = tmp_path / "f.svg", tmp_path / "f.dot"
    done = show(name, "--svg", str(svg), "--dot", str(dot))
    assert (done.exit_code, done.output) == (0, "")
    found = report(name)
    switches = sum(len(tier["switches"]) for tier in found["tiers"])
    links = sum(failure["kind"] == "link" for failure in found["failures"])
    drawn = ElementTree.parse(svg).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f"{space}g")) == switches
    assert len(drawn.findall(f"{space}line")) == links
    hosts = dot.read_text().count("[shape=ellipse]")
    assert dot.read_text().count(" -- ") == links + hosts


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    assert show("torus", "--svg", "/nowhere/x.svg").exit_code == 2
    done = show("torus", "--png", str(tmp_path / "f.png"))
    drawn = (tmp_path / "f.png").exists()
    assert drawn or "pip install 'heald[draw]'" in done.stderr
