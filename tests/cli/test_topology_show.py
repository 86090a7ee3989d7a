"""``heald topology show``: figures that can be worked out by hand, and drawings."""

from __future__ import annotations

import importlib
import itertools
import json
import shutil
import subprocess
from math import cos, radians, sin
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from controller.cli.topology import topology
from controller.fabric.load import load
from controller.fabric.survey.places import HEIGHT, Place, places

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
    assert len(drawn.findall(f"{space}path")) == links
    hosts = dot.read_text().count("[shape=ellipse]")
    assert dot.read_text().count(" -- ") == links + hosts


@pytest.mark.parametrize("name", ["torus", "dragonfly", "edge", "two-sites"])
def test_boxes_neither_overlap_nor_leave_the_drawing(name: str) -> None:
    fabric = load((TOPOLOGIES / f"{name}.yaml").read_bytes(), name)
    drawing = places(fabric, {})
    corners = [_corners(place, drawing.box) for place in drawing.of.values()]
    for i, one in enumerate(corners):
        assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in one)
        assert not any(_overlap(one, other) for other in corners[:i])


def _corners(place: Place, box: float) -> list[tuple[float, float]]:
    turn = radians(place.turn)
    sides = itertools.product((-box / 2, box / 2), (-HEIGHT / 2, HEIGHT / 2))
    found = [
        (place.x + dx * cos(turn) - dy * sin(turn), place.y + dx * sin(turn) + dy * cos(turn))
        for dx, dy in sides
    ]
    return [found[i] for i in (0, 1, 3, 2)]


def _overlap(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    """By the separating axis theorem: apart are those that a line along a side parts."""
    for shape in (one, other):
        for (ax, ay), (bx, by) in itertools.pairwise(shape):
            nx, ny = by - ay, ax - bx
            first, second = ([x * nx + y * ny for x, y in each] for each in (one, other))
            if max(first) <= min(second) or max(second) <= min(first):
                return False
    return True


def test_a_png_is_drawn_where_the_extra_is_installed(tmp_path: Path) -> None:
    file = tmp_path / "f.png"
    try:
        importlib.import_module("cairosvg")
    except (ImportError, OSError):
        done = show("torus", "--png", str(file))
        assert done.exit_code == 1 and "pip install 'heald[draw]'" in done.stderr
        assert not file.exists()
        pytest.skip("no CairoSVG, or no libcairo2")
    assert show("torus", "--png", str(file)).exit_code == 0
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_graphviz_reads_the_drawing() -> None:
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("no Graphviz")
    for name in ("fat-tree", "torus"):
        text = show(name, "--dot", "-").stdout
        done = subprocess.run([dot, "-Tplain"], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        nodes = [line for line in done.stdout.splitlines() if line.startswith("node")]
        assert len(nodes) == {"fat-tree": 36, "torus": 54}[name]


def test_what_cannot_be_written_is_said() -> None:
    assert show("torus", "--svg", "/nowhere/x.svg").exit_code == 2


@pytest.mark.parametrize("options", [("--svg=-", "--json"), ("--svg=-", "--dot=-")])
def test_two_things_do_not_go_to_one_output(options: tuple[str, ...]) -> None:
    done = show("torus", *options)
    assert done.exit_code == 2
    assert "only one drawing, or the JSON" in done.stderr
    assert done.stdout == ""
