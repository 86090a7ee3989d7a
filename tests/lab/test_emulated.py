"""Labs and demo of emulated switches, as a user without root meets them: from end to end."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.lab import rundir
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError

ROOT = Path(__file__).parents[2]
TOPOLOGIES = ROOT / "topologies"
LINE_S = 100.0
"""Twenty times what the slowest line takes, which is the first."""


def heald(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "heald", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "HEALD_SERVER": "", "COLUMNS": "200"},
    )


class Prompt:
    """A lab at whose prompt somebody types."""

    def __init__(self, *arguments: str) -> None:
        self.process = heald("lab", "--emulated", *arguments)
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._marks = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def next(self) -> str | None:
        return self._lines.get(timeout=LINE_S)

    def until(self, pattern: str) -> list[str]:
        """Lines, up to the first in which this is found."""
        seen = []
        while (line := self.next()) is not None:
            seen.append(line)
            if re.search(pattern, line):
                return seen
        raise AssertionError("\n".join(["it ended:", *seen]))

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def do_until(self, line: str, *awaited: str) -> str:
        """What the command says once it says all that is awaited."""
        end_s = time.monotonic() + LINE_S
        while not all(text in (said := self.do(line)) for text in awaited):
            assert time.monotonic() < end_s, f"{line} never said {awaited}:\n{said}"
            assert self.process.poll() is None
        return said

    def do(self, line: str) -> str:
        """What a command says."""
        self._marks += 1
        mark = f"done {self._marks}"
        self.type(line)
        self.type(f"sh echo {mark}")
        return "\n".join(self.until(f"^{mark}$")[:-1])


@pytest.fixture
def lab() -> Iterator[Prompt]:
    prompt = Prompt(
        str(TOPOLOGIES / "leaf-spine-asymmetric.yaml"), "--", "--fabric-poll-interval=0.2"
    )
    try:
        yield prompt
    finally:
        if prompt.process.poll() is None:
            prompt.process.terminate()
        prompt.process.communicate()


def delivered(table: str) -> float:
    """Of the first demand in a table of them, in megabits per second."""
    return float(re.split(r"\s+", table.splitlines()[1])[4].rstrip("M"))


@pytest.mark.timeout(300)
def test_at_the_prompt_one_applies_intents_cuts_kills_and_looks(lab: Prompt) -> None:
    welcome = "\n".join(lab.until("^`help` lists"))
    assert "  ready" in welcome
    run_dir = re.search(r"The lab is in (\S+)\.", welcome)
    assert run_dir is not None and Path(run_dir[1]).is_dir()
    assert "cut A B" in (said := lab.do("help")) and "fault KIND KEY=VALUE" in said

    assert "dropped" in lab.do("traffic h1 h3 10M flows=256") + lab.do("traffic")
    intents = TOPOLOGIES / "intents" / "two-jobs.yaml"
    assert "2 intents active" in lab.do(f"heald intent apply {intents} --wait")
    assert delivered(lab.do("traffic")) == 10

    # The controller sees by counters what flows.
    while "M" not in (line := link(lab.do("heald links"), "leaf1:11")):
        assert lab.process.poll() is None
    assert line.split()[1:3] == ["leaf1:11", "spine1:1"]

    assert lab.do("cut leaf1 spine1") == "leaf1:11-spine1:1 is cut"
    assert delivered(lab.do("traffic")) == 10
    assert "down" in link(lab.do("links"), "leaf1:11")
    lab.do_until("heald status", "! link leaf1:11-spine1:1 is down")
    assert lab.do("mend leaf1 spine1") == "leaf1:11-spine1:1 is whole"

    assert "has no power" in lab.do("kill spine2")
    assert "no power" in lab.do("switches")
    lab.do_until("heald status", "spine2 is absent")
    lab.do("revive spine2")
    lab.do_until("heald status", "all is well")

    assert "did you mean 'spine2'?" in lab.do("kill spine3")
    lab.type("exit")
    # As with any script, a command that failed is in the exit code.
    assert lab.process.wait(LINE_S) == 1
    assert not Path(run_dir[1]).exists()


@pytest.mark.timeout(300)
def test_a_flow_with_a_path_of_its_own_goes_by_its_backup_when_a_link_is_cut(lab: Prompt) -> None:
    lab.until("^`help` lists")
    intents = TOPOLOGIES / "intents" / "point-to-point.yaml"
    assert "2 intents active" in lab.do(f"heald intent apply {intents} --wait")
    before, after = "leaf1 → spine1 → leaf4", "leaf1 → spine2 → leaf4"
    assert before in lab.do("heald intent get ckpt")
    lab.do("traffic h1 h8 10M flows=4")
    assert delivered(lab.do("traffic")) == 10

    assert lab.do("cut leaf1 spine1") == "leaf1:11-spine1:1 is cut"
    assert delivered(lab.do("traffic")) == 10
    lab.do_until("heald intent get ckpt", after)
    said = lab.do_until("heald intent explain ckpt", "NotDisjoint")
    assert "asked for 20 Mbit/s, protection node; has 20 Mbit/s, protection none" in said

    assert lab.do("mend leaf1 spine1") == "leaf1:11-spine1:1 is whole"
    lab.do_until("heald intent explain ckpt", "has what it asked for: 20 Mbit/s, protection node")
    assert delivered(lab.do("traffic")) == 10


def link(table: str, sender: str) -> str:
    """The line of one direction of a link."""
    return next((line for line in table.splitlines() if f" {sender} " in line), "")


@pytest.mark.timeout(300)
def test_with_json_the_lab_lasts_until_its_input_ends() -> None:
    prompt = Prompt(str(TOPOLOGIES / "leaf-spine.yaml"), "--json")
    described = json.loads(prompt.until("^{")[-1])
    done = heald("--server", described["server"], "status", "--json")
    assert json.loads(done.communicate(timeout=LINE_S)[0])["fabric"] == "leaf-spine"
    prompt.process.stdin.close()  # type: ignore[union-attr]
    assert prompt.process.wait(LINE_S) == 0
    assert not Path(described["run_dir"]).exists()


@pytest.mark.timeout(300)
def test_a_script_for_machines_sends_cuts_and_mends(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        "ping h1 h3\nallow all\nping h1 h3\nflood h1 h3 20M for=100ms\n"
        "collective ring h1..h8 size=1MB\ncollective ring h1..h7/* size=100KB\n"
        "flood h2 h4 10M &\ncut leaf1 spine1\nlinks leaf1\nstop\n"
        "cut leaf1 spine2 silent\nh1 date\nexit\nnever said\n"
    )
    lab = heald(
        "lab",
        "--emulated",
        str(TOPOLOGIES / "leaf-spine.yaml"),
        "--json",
        "--commands",
        str(script),
    )
    output, _ = lab.communicate(timeout=250)
    described, *said = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert [each["command"] for each in said] == script.read_text().splitlines()[:-2]
    rows = [
        dict(zip(each["columns"], each["rows"][0], strict=True)) if each.get("rows") else {}
        for each in said
    ]
    assert rows[0]["came_back"] == 0 and rows[2]["came_back"] == 3
    assert rows[3]["arrived_bps"] == 20e6
    # What a ring of eight takes at the least: 2 * 7/8 of the size at the rate of a NIC.
    assert rows[4]["took_s"] == pytest.approx(2 * 7 / 8 * 8e6 / 50e6, rel=0.02)
    assert rows[4]["of_nics_share"] == pytest.approx(1.0, rel=0.02)
    assert rows[5]["ranks"] == 7
    used = {row[1]: row[3:] for row in said[8]["rows"]}
    assert used["leaf1:11"][0] == "down" and used["leaf1:12"][2] == 10e6
    assert rows[9]["arrived_bps"] == 10e6
    assert "fault silent-loss wire=leaf1:12-spine2:1" in said[10]["error"]
    assert "runs no programs" in said[11]["error"]
    assert lab.returncode == 1
    assert not Path(described["run_dir"]).exists()


@pytest.mark.timeout(300)
def test_what_a_killed_lab_leaves_is_removed_by_the_next_start() -> None:
    prompt = Prompt(str(TOPOLOGIES / "leaf-spine.yaml"), "--json")
    run_dir = Path(json.loads(prompt.until("^{")[-1])["run_dir"])
    pids = list(rundir.processes(run_dir))
    assert len(pids) >= 3
    prompt.process.kill()
    prompt.process.communicate()
    heald("lab", "--emulated", "no-such-file.yaml").communicate(timeout=LINE_S)
    assert not run_dir.exists()
    assert list(rundir.processes(run_dir)) == []


@pytest.mark.timeout(300)
def test_the_demo_measures_and_leaves_null_what_it_cannot() -> None:
    output, _ = heald("demo", "--emulated", "--json").communicate(timeout=250)
    found = json.loads(output.splitlines()[-1])
    assert (found["mode"], found["switches"], found["intents_installed"]) == ("emulated", 6, 2)
    assert found["failover_ms"] is None and found["lost_packets"] is None
    assert found["mlu"] == pytest.approx(found["mlu_bound"], rel=0.15)
    # 256 flows a demand, hashed: within a few per cent of what weights say.
    assert found["mlu_measured"] == pytest.approx(found["mlu"], rel=0.15)
    assert found["mlu_ecmp_measured"] == pytest.approx(found["mlu_ecmp"], rel=0.15)
    assert found["mlu_measured"] < 0.85 * found["mlu_ecmp_measured"]


@pytest.mark.timeout(300)
def test_the_bench_reports_both_sides_apart() -> None:
    output, _ = heald("bench", "scale", "--k=4", "--json").communicate(timeout=250)
    found = json.loads(output.splitlines()[-1])
    assert (found["switches_by"], found["switches"], found["hosts"]) == ("emulated", 20, 16)
    assert found["ready_s"] == pytest.approx(found["connected_s"] + found["installed_s"], abs=0.02)
    assert found["flows"] > 0 and found["groups"] > 0 and found["messages"] > 0
    assert found["reconnects"] == 0
    assert set(found["switch_processes"]) == {"emulator"}
    assert {"session", "brain"} <= set(found["controller_processes"])
    for used in (*found["switch_processes"].values(), *found["controller_processes"].values()):
        assert used["cpu_s"] > 0 and used["memory_bytes"] > 1 << 20


def test_switches_that_have_ended_are_missed() -> None:
    with EmulatedLab(TOPOLOGIES / "leaf-spine.yaml") as lab:
        assert len(lab.command("switches").records()) == 6
        with pytest.raises(LabError, match="there is no command 'nonsense'"):
            lab.command("nonsense")
        lab.emulator.kill()
        lab.emulator.wait()
        with pytest.raises(LabError, match="plays the switches has ended"):
            lab.command("switches")
    assert not lab.run_dir.exists()


def test_what_an_emulated_lab_cannot_do_is_said() -> None:
    file = str(TOPOLOGIES / "leaf-spine.yaml")
    for option in (["--scale=0.5"], ["--no-controller"]):
        lab = heald("lab", "--emulated", file, *option)
        output, _ = lab.communicate(timeout=LINE_S)
        assert lab.returncode == 2
        assert "heald emulate FILE" in output
