"""``heald plan FILE``: figures that can be worked out by hand, and what is said of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from controller.cli import plan_file
from controller.cli.plan import plan
from controller.fabric.model import STRATEGIES
from controller.optimizer import kernels

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
HALF = str(TOPOLOGIES / "leaf-spine-asymmetric.yaml")
JOBS = str(TOPOLOGIES / "intents" / "two-jobs.yaml")
PATHS = str(TOPOLOGIES / "intents" / "point-to-point.yaml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(plan, arguments)


def report(*arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def traffic(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        (tmp_path / "traffic.yaml").write_text(text)
        return str(tmp_path / "traffic.yaml")

    return write


def test_the_half_link_binds_and_the_plan_goes_around_it(traffic: Any) -> None:
    text = "- {from: h1, to: h3, rate: 18M}\n- {from: h1, to: h5, rate: 12M}\n"
    found = report(HALF, "--demands", traffic(text))
    ecmp, auto = found["plans"][1], found["plans"][0]
    # 30M over 50M + 25M; ECMP puts 15M on the 25M.
    assert auto["bound"] == pytest.approx(0.4)
    assert ecmp["mlu"] == pytest.approx(0.6, rel=0.02)
    assert 0.4 <= auto["mlu"] < 0.43, "no more than the rounding of weights is lost"
    assert auto["gap"] == pytest.approx(auto["mlu"] / 0.4 - 1)
    why = found["bound"]
    assert why["mlu"] == pytest.approx(0.4)
    part = {link["sender"]: link["part"] for link in why["links"]}
    assert part == {"leaf1:11": pytest.approx(2 / 3), "leaf1:12": pytest.approx(1 / 3)}
    part = {(d["from"], *d["to"]): d["part"] for d in why["largest"]}
    assert part == {("leaf1", "leaf2"): pytest.approx(0.6), ("leaf1", "leaf3"): pytest.approx(0.4)}
    load = {link["sender"]: link for link in found["links"]}
    assert load["leaf1:12"]["before_bps"] == pytest.approx(15e6, rel=0.02)
    assert load["leaf1:12"]["after_bps"] < 11e6
    assert load["leaf1:11"]["after_bps"] + load["leaf1:12"]["after_bps"] == pytest.approx(30e6)
    assert found["fair_rates"] is None


def test_more_than_fits_is_shared_fairly(traffic: Any) -> None:
    text = "- {from: h1, to: h3, rate: 60M}\n- {from: h2, to: h5, rate: 60M}\n"
    text += "- {from: h7, to: h4, rate: 3M}\n"
    found = report(HALF, "--demands", traffic(text))
    fair = found["fair_rates"]
    # 75M leave leaf1; half of it for each of the two, and nothing taken from the third.
    assert fair["asked_bps"] == pytest.approx(123e6)
    assert fair["granted_bps"] == pytest.approx(78e6)
    assert fair["cut"] == 2
    assert [each["fair_bps"] for each in fair["most_cut"]] == [pytest.approx(37.5e6, rel=0.01)] * 2
    done = run(HALF, "--demands", traffic(text))
    assert "This is more than fits. Shared fairly (max-min), 78Mbit/s of 123Mbit/s" in done.output


def test_without_demands_all_send_to_all_at_line_rate() -> None:
    found = report(HALF)
    assert found["demands"]["from"] == "all NICs to all, at line rate"
    # Of what the 2 NICs of leaf1 send, 6/7 leave it: 85.7M over 75M.
    assert found["plans"][0]["bound"] == pytest.approx(100 * 6 / 7 / 75)
    assert found["counts"]["demands"] == 12


def test_intents_say_what_is_reserved_and_what_may_not_pass(traffic: Any) -> None:
    text = """\
- {from: h1, to: h3, rate: 12M}
- {from: h1, to: h4, rate: 4M}
- {from: h3, to: h5, rate: 2M, source_port: 49152}
- {from: h7, to: h8, rate: 1M}
- {from: h2, to: h4, rate: 16M}
"""
    file = traffic(text)
    found = report(HALF, "--demands", file, "--intents", JOBS, "--intents", PATHS)
    assert found["demands"] == {
        "from": file,
        "bps": pytest.approx(28e6),
        "local_bps": 0.0,
        "by_pins_bps": pytest.approx(2e6),
        "not_allowed_bps": pytest.approx(5e6),
    }
    assert found["pinned"]["flows"] == 5
    (largest,) = found["bound"]["largest"]
    assert set(largest["intents"]) == {"job-a", "job-b"}
    reserved = sum(link["after_bps"] for link in found["links"])
    # Two links each: 20M of ckpt and twice 20M of pipeline, and the 28M that are spread.
    assert reserved == pytest.approx(2 * (20e6 + 2 * 20e6 + 28e6))


def test_an_intent_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    intents = tmp_path / "intents.yaml"
    intents.write_text(
        "intents:\n  - name: huge\n    point_to_point: {source: {hosts: [h1]}, "
        "destination: {hosts: [h3]}, rate: 40M, protection: link}\n"
    )
    found = report(HALF, "--intents", str(intents))
    assert found["pinned"]["short"]["huge"]["refused"]
    assert "leaf1:12" in found["pinned"]["short"]["huge"]["lacks"]


def test_equal_inputs_give_equal_reports() -> None:
    first, again = (report(HALF, "--intents", JOBS, "--strategy", "auto") for _ in range(2))
    for found in (first, again):
        del found["seconds"]
        for each in found["plans"]:
            del each["seconds"]
    assert first == again


def test_strategies_stand_side_by_side_over_one_bound() -> None:
    asked = [x for name in STRATEGIES for x in ("--strategy", name)]
    found = report(str(TOPOLOGIES / "fat-tree.yaml"), *asked, "--compare", "wcmp")
    assert [each["strategy"] for each in found["plans"]] == list(STRATEGIES)
    assert (found["before"], found["after"]) == ("wcmp", "auto")
    bounds = {each["bound"] for each in found["plans"]}
    assert len(bounds) == 1
    assert all(each["mlu"] >= bound for each in found["plans"] for bound in bounds)


def test_a_plan_against_failures_names_the_worst() -> None:
    file = str(TOPOLOGIES / "leaf-spine-asymmetric.yaml")
    assert report(file)["failure"] is None
    found = report(file, "--strategy", "protect-node")["failure"]
    assert found["name"].startswith(("link ", "switch "))
    assert 0 < found["bound"] <= found["mlu"]
    said = run(file, "--strategy", "protect-node").output
    assert "protect-node, after any single failure: worst link " in said
    assert found["name"] in said


def test_the_traffic_that_is_shipped_fits_the_topologies_and_intents_that_it_names() -> None:
    rings = str(TOPOLOGIES / "traffic" / "two-rings.yaml")
    for name, bound in (("leaf-spine", 0.2), ("leaf-spine-asymmetric", 20 / 75)):
        found = report(str(TOPOLOGIES / f"{name}.yaml"), "--intents", JOBS, "--demands", rings)
        assert found["demands"]["bps"] == pytest.approx(80e6)
        assert found["demands"]["not_allowed_bps"] == 0
        assert found["plans"][0]["bound"] == pytest.approx(bound)


def test_the_strategy_of_the_topology_is_the_one_that_plans(tmp_path: Path) -> None:
    topology = tmp_path / "fabric.yaml"
    topology.write_text("strategy: round-robin\n" + Path(HALF).read_text())
    assert report(str(topology))["after"] == "round-robin"
    assert report(str(topology), "--strategy", "exact")["after"] == "exact"


def test_the_table_is_for_people() -> None:
    done = run(HALF, "--links", "3")
    assert done.exit_code == 0, done.output
    assert "No weights over these trees take the worst link below 114.3%" in done.output
    assert "13 more directions of links, none above 114.3%: --links 16" in done.output
    assert "growing trees" in done.output.splitlines()[-1]


def test_loads_are_drawn(tmp_path: Path) -> None:
    drawing = tmp_path / "plan.svg"
    assert run(HALF, "--svg", str(drawing)).exit_code == 0
    root = ElementTree.parse(drawing).getroot()
    every = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    titles = [title for title in every if title.endswith("% used")]
    assert len(titles) == 8, every
    assert any(title.startswith("leaf1:12-spine2:1 25M, 114.3 % used") for title in titles), titles


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    intents, demands = tmp_path / "i.yaml", tmp_path / "d.yaml"
    intents.write_text("intents:\n  - name: a\n    connectivity: {endpoints: {hosts: [h99]}}\n")
    demands.write_text("- {from: h1, to: h77, rate: x}\n")
    done = run(HALF, "--intents", str(intents), "--demands", str(demands))
    assert done.exit_code == 2
    for said in ("d.yaml: demand 1: `to`", "d.yaml: demand 1: `rate`", "i.yaml:3:40: fabric"):
        assert said in done.stderr, done.stderr
    done = run("none.yaml", "--intents", "none2.yaml", "--demands", "none3.yaml")
    assert done.exit_code == 2
    for file in ("none.yaml", "none2.yaml", "none3.yaml"):
        assert f"{file}" in done.stderr
    assert len(done.stderr.splitlines()) == 3


def test_a_drawing_and_json_do_not_go_to_one_output() -> None:
    done = run(HALF, "--svg", "-", "--json")
    assert done.exit_code == 2
    assert "only one drawing, or the JSON" in done.output


@pytest.mark.parametrize("option", ["--demands=x", "--intents=x", "--strategy=auto", "--svg=x"])
def test_options_of_a_plan_without_a_controller_need_the_file(option: str) -> None:
    done = run(option)
    assert done.exit_code == 2
    assert "give the topology FILE as well" in done.stderr


def test_long_work_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_complete", lambda: True)
    assert run(HALF).stderr == ""
    monkeypatch.setattr(plan_file, "MANY", 0)
    told = [line.split(" s  ")[1] for line in run(HALF).stderr.splitlines()]
    assert told == [
        "loading kernels",
        "placing flows",
        "growing trees",
        "solving",
        "rounding weights",
        "proving the bound",
        "comparing with ecmp",
        "sharing what there is",
    ]


def test_a_single_switch_needs_no_plan(tmp_path: Path) -> None:
    topology = tmp_path / "one.yaml"
    topology.write_text("fabric: one\nswitches: {a: }\nhosts: {h: {attach: 'a:1', capacity: 1G}}\n")
    done = run(str(topology))
    assert done.exit_code == 0, done.output
    assert "There is no traffic that needs a link." in done.output


def test_nothing_to_send_is_no_error(traffic: Any) -> None:
    done = run(HALF, "--demands", traffic("- {from: h1, to: h2, rate: 1M}\n"))
    assert done.exit_code == 0, done.output
    assert "There is no traffic that needs a link." in done.output
    assert "1Mbit/s of the traffic meets in one switch" in done.output
