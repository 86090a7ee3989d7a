"""The commands as people and scripts meet them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from controller.cli.main import COMMANDS, cli
from controller.fabric.model import PortRef
from controller.intents.model import IntentState as S
from controller.optimizer.plan import Pin, PlacedFlow
from heald import Client, connectivity
from tests.northbound.harness import Served, make_links, make_plan

ROOT = Path(__file__).parents[2]
FABRIC = "topologies/leaf-spine.yaml"
FILE = """\
intents:
  - name: train-a
    labels: {team: research}
    connectivity: {endpoints: {hosts: [h1, h2]}}
  - name: everyone
    connectivity: {endpoints: {all: true}}
"""


def run(north: Served, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["--server", north.address, *arguments], input=stdin)


def test_help_is_quick_because_it_loads_no_command() -> None:
    code = (
        "import sys; from controller.cli.main import cli\n"
        "try: cli(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('grpc', 'rich', 'numpy', 'yaml', 'google') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output.startswith("heald 0.")


@pytest.mark.parametrize(
    "command",
    [
        "intent apply",
        "intent get",
        "intent list",
        "intent watch",
        "intent delete",
        "intent explain",
        "wiring",
        "status",
        "switches",
        "drain",
        "undrain",
        "links",
        "plan",
    ],
)
def test_every_command_helps_with_examples(command: str) -> None:
    done = CliRunner().invoke(cli, [*command.split(), "--help"])
    assert done.exit_code == 0
    assert f"heald {command}" in done.output.split("Examples:")[1]


def test_apply_list_get_delete(north: Served, tmp_path: Path) -> None:
    (tmp_path / "i.yaml").write_text(FILE)
    done = run(north, "intent", "apply", str(tmp_path / "i.yaml"))
    assert (done.exit_code, done.output) == (0, "2 intents applied, revision 1\n")
    listed = run(north, "intent", "list", "--label", "team=research").output
    assert "train-a" in listed
    assert "everyone" not in listed
    got = json.loads(run(north, "intent", "get", "train-a", "--json").output)
    assert got["spec"]["connectivity"]["endpoints"]["hosts"] == ["h1", "h2"]
    assert got["status"]["state"] == "PENDING"
    assert "h1 h2" in run(north, "intent", "get", "train-a").output
    assert run(north, "intent", "delete", "train-a").output == "train-a: withdrawing\n"
    missing = run(north, "intent", "delete", "train-b")
    assert missing.exit_code == 1
    assert "there is no intent" in missing.stderr
    assert run(north, "intent", "delete", "train-b", "--ignore-missing").exit_code == 0


def test_dry_run_changes_nothing(north: Served) -> None:
    done = run(north, "intent", "apply", "-", "--dry-run", stdin=FILE)
    assert done.output == "2 intents would be applied\n"
    assert not north.book.intents


def test_mistakes_of_all_files_have_places_and_nothing_is_applied(
    north: Served, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(FILE)
    bad.write_text("intents:\n- name: x\n  connectivity: {endpoints: {hosts: [h1, h22, h33]}}\n")
    done = run(north, "intent", "apply", str(good), str(bad))
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"{bad}:3:42: fabric 'lab' has no host 'h22'; did you mean")
    assert lines[1].startswith(f"{bad}:3:47: ")
    assert not north.book.intents
    again = run(north, "intent", "apply", str(good), str(good), str(tmp_path / "none"))
    assert again.exit_code == 2
    assert "none:1:1: cannot be read" in again.stderr
    copy = tmp_path / "copy.yaml"
    copy.write_text(FILE)
    twice = run(north, "intent", "apply", str(good), str(copy))
    assert f"{copy}:2:11: 'train-a' is also the name at {good}:2:11" in twice.stderr


POINT_TO_POINT = """\
intents:
  - name: ckpt
    point_to_point:
      source: {nics: [h1/eth0]}
      destination: {hosts: [h3]}
      rate: 40G
      protection: node
      udp_source_ports: [9]
"""


def test_a_point_to_point_intent_is_listed_shown_and_explained(north: Served) -> None:
    assert run(north, "intent", "apply", "-", stdin=POINT_TO_POINT).exit_code == 0
    run(north, "intent", "apply", "-", stdin=FILE)
    unplanned = run(north, "intent", "explain", "ckpt").output
    assert "There is no plan yet" in unplanned
    name = "tenants/default/intents/ckpt"
    placed = PlacedFlow(name, "h1/eth0", "h3/eth0", "leaf1", 9)
    pin = Pin(("leaf2",), 1, None, 30e9, "none", "NO_CAPACITY", ("leaf1-spine1",))
    north.brain.show(plan=replace(make_plan(), pins={placed: pin}))

    listed = run(north, "intent", "list").output
    assert re.search(r"ckpt +PENDING +1 +point-to-point +h1/eth0 → h3", listed)
    assert re.search(r"train-a +PENDING +1 +connectivity +h1 h2", listed)
    shown = run(north, "intent", "get", "ckpt").output
    assert "40 Gbit/s, protection node, UDP source ports 9" in shown
    assert "30 Gbit/s of 40 Gbit/s" in shown
    assert "leaf1 → spine1 → leaf2" in shown

    explained = run(north, "intent", "explain", "ckpt").output
    assert "h1/eth0 → h3/eth0 from leaf1, best-effort, UDP source port 9" in explained
    assert "asked for 40 Gbit/s, protection node; has 30 Gbit/s, protection none" in explained
    assert "InsufficientCapacity: leaf1-spine1: intent ckpt (30 Gbit/s)" in explained
    assert re.search(r"path, 1 us +leaf1:1 +spine1 +leaf1-spine1 +400G +30G +500 ns", explained)
    document = json.loads(run(north, "intent", "explain", "ckpt", "--json").output)
    assert document["flows"][0]["path"][1]["link"] == "leaf2-spine1"

    spread = run(north, "intent", "explain", "everyone", "--from", "h1").output
    assert re.search(r"leaf1 +leaf2 +best-effort +68.8% +leaf1 → spine2 → leaf2", spread)
    assert "no live path" not in spread
    wrong = run(north, "intent", "explain", "everyone", "--from", "h9")
    assert wrong.exit_code == 2
    assert "source: fabric 'lab' has no host or NIC 'h9'" in wrong.stderr


def test_mistakes_that_the_controller_finds_have_their_place(north: Served) -> None:
    text = POINT_TO_POINT.replace("[h3]", "[h33]")
    done = run(north, "intent", "apply", "-", stdin=text)
    assert done.exit_code == 2
    assert done.stderr.startswith("-:5:29: fabric 'lab' has no host 'h33'; did you mean 'h3'?")


def test_waiting_for_active(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("train-a", hosts=["h1", "h2"], labels={"team": "research"})])

    def engine() -> None:
        for event in north.client().watch():
            name = event.intent.name.rpartition("/")[2]
            if name == "everyone":
                north.report("everyone", S.PLANNED, S.INSTALLING, S.ACTIVE)
                north.report("train-a", S.PLANNED, S.ACTIVE)
                return

    thread = threading.Thread(target=engine)
    thread.start()
    done = run(north, "intent", "apply", "-", "--wait", stdin=FILE)
    thread.join(10)
    assert done.exit_code == 0, done.output
    assert "2 intents active after" in done.output


def test_waiting_in_vain_says_why(north: Served) -> None:
    done = run(north, "intent", "apply", "-", "--wait", "--timeout", "0.3", stdin=FILE)
    assert done.exit_code == 1
    assert "not active after 0.3 s" in done.stderr
    assert "train-a is PENDING (Accepted)" in done.stderr


def test_no_controller_is_one_sentence(tmp_path: Path) -> None:
    for arguments in (["status"], ["intent", "apply", "-"], ["links"], ["intent", "watch"]):
        done = CliRunner().invoke(cli, ["--server", f"unix:{tmp_path}/no", *arguments], input=FILE)
        assert done.exit_code == 1
        assert len(done.stderr.splitlines()) == 1
        assert "no controller answers" in done.stderr
        assert "heald run" in done.stderr


def test_status_links_and_plan(north: Served) -> None:
    assert "nothing is measured yet" in run(north, "links").output
    assert "no plan yet" in run(north, "plan").stderr
    north.brain.show(
        links=make_links(north.brain.now.fabric), plan=make_plan(), plan_committed=True
    )
    status = run(north, "status").output
    assert "! spine1 (dpid 3) is not connected" in status
    assert "plan 7 (installed): auto by GLOP" in status
    assert json.loads(run(north, "status", "--json").output)["epoch"] == "4"

    links = run(north, "links").output.splitlines()
    loaded = next(line for line in links if "leaf1:1 " in line)
    assert [word for word in loaded.split() if word[0] not in "█▒·"] == [
        "leaf1-spine1", "leaf1:1", "spine1:1", "400G", "25.0%", "50G", "40G", "60G",
    ]  # fmt: skip
    assert loaded.count("█") == 2
    assert loaded.count("▒") == 4
    assert any("down" in line for line in links if "leaf2-spine2" in line)
    assert len(json.loads(run(north, "links", "--json").output)["links"]) == 8

    plan = run(north, "plan").output
    assert "leaf1 → spine2 → leaf2" in plan
    assert "68.8%" in plan


def test_switches_tell_what_they_are_and_what_was_wrong(north: Served) -> None:
    table = run(north, "switches").output.splitlines()
    assert len(table) == 3
    assert "Nicira, Inc. Open vSwitch 3.1.0" in table[1]
    assert "3m20s" in table[1]
    assert "silent for 4 s (3m25s ago)" in table[1]
    assert "no session since 12 s" in table[2]
    details = run(north, "switches", "leaf1").output
    assert "0x0000000000000001" in details
    assert "lacks ports         11, 12" in details
    one = json.loads(run(north, "switches", "leaf1", "--json").output)
    assert one["description"]["software"] == "3.1.0"
    assert one["missing_ports"] == [11, 12]
    listed = json.loads(run(north, "switches", "--json").output)
    assert [switch["name"] for switch in listed] == ["leaf1", "spine1"]
    assert listed[0] == one
    assert "description" not in listed[1]


def test_a_switch_of_another_name_is_not_found(north: Served) -> None:
    done = run(north, "switches", "leaf2x")
    assert done.exit_code == 1
    assert "has no switch 'leaf2x'" in done.stderr


def test_classes_with_their_queues(north: Served) -> None:
    out = run(north, "classes").output
    row = next(line for line in out.splitlines() if line.startswith("best-effort"))
    assert row.split() == ["best-effort", "others", "0", "100.0%", "100.0%", "0"]
    assert "set_queue is accepted and does nothing" in out
    found = json.loads(run(north, "classes", "--json").output)
    assert found["classes"][0]["share"] == 1.0
    assert found["switches"][0]["state"] == "managed"


def test_wiring_that_is_as_declared_is_exit_code_0(north: Served) -> None:
    done = run(north, "wiring")
    assert done.exit_code == 0
    assert "4 of 4 links are wired as declared; 8 ports are probed, each every 1 s" in done.output
    assert "ignored at leaf1:11: 1 frames (other LLDP)" in done.output
    assert "!" not in done.output


def test_wiring_that_is_not_names_the_swap_and_is_exit_code_1(north: Served) -> None:
    one, other = PortRef("leaf1", 1), PortRef("leaf1", 2)
    far, further = PortRef("spine1", 1), PortRef("spine2", 1)
    north.brain.cables |= {one: further, further: one, other: far, far: other}
    done = run(north, "wiring")
    assert done.exit_code == 1
    assert "leaf1:1 and leaf1:2 look swapped" in done.output
    assert "2 of 4 links are wired as declared" in done.output
    found = json.loads(run(north, "wiring", "--json").output)
    assert found["swaps"][0]["a"] == "leaf1:1"
    wrong = [link for link in found["links"] if link["state"] != "ok"]
    assert [(link["state"], link["barred"]) for link in wrong] == [("miswired", True)] * 2
    assert {"a": "leaf1:1", "b": "spine2:1"} in wrong[0]["seen"]


def test_a_cable_to_a_port_without_a_link_is_exit_code_1(north: Served) -> None:
    north.brain.cables[PortRef("spine1", 2)] = PortRef("leaf2", 13)
    done = run(north, "wiring")
    assert done.exit_code == 1
    assert "leaf2:13 is joined to spine1:2, which the topology does not have" in done.output


def test_a_full_disk_is_said_in_a_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "heald", "topology", "generate", "leaf-spine"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "heald: cannot write: No space left on device\n"


def test_a_reader_that_has_enough_of_a_drawing_is_no_mistake() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "heald", "topology", "show", FABRIC, "--svg=-"],
            cwd=ROOT,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", ["intent watch", "topology watch", "links --watch"])
def test_ctrl_c_ends_a_watch_as_its_help_says(
    command: str, north: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    for name in ("watch", "watch_topology", "watch_links"):
        monkeypatch.setattr(Client, name, interrupted)
    done = run(north, *command.split())
    assert (done.exit_code, done.output) == (0, "")
