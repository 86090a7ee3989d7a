"""`heald lab` as people and scripts use it: commands that act, and nothing left however it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.lab import requirements, rundir
from mininet_tests.running import all_namespaces, namespace, wait_for

TOPOLOGY = """
fabric: small
defaults:
  link: {capacity: 20M}
  nic: {capacity: 20M}
generate: {kind: leaf-spine, leaves: 2, spines: 2, hosts: 2}
"""
PROGRAM = [sys.executable, "-m", "heald", "lab"]
END_S = 300.0
"""Five times what a lab with its commands takes on a busy machine."""


@pytest.fixture(autouse=True)
def _can_run() -> None:
    sentence = requirements.missing()
    if os.environ.get("HEALD_LAB") == "skip":
        pytest.skip("HEALD_LAB=skip")
    if sentence is not None:
        pytest.fail(sentence, pytrace=False)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topology") / "small.yaml"
    path.write_text(TOPOLOGY)
    return path


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def described(process: subprocess.Popen[str]) -> Mapping[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def answers(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def row(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The first of a table."""
    assert answer["ok"], answer
    return dict(zip(answer["columns"], answer["rows"][0], strict=True))


SCRIPT = """\
ping h1 h3 count=1
collective ring h1 h3 size=10KB
allow all
ping h1 h3 version=6
flood h1 h3 8M flows=16 for=2
flood h2 h4 4M class=best-effort &
tcp h1 h3 for=2
collective ring h1..h4 size=1MB
collective halving-doubling h1..h4 size=500KB
cut leaf1 spine1
links leaf1
ping h1 h3 count=1
kill spine2
ping h1 h3 count=1
revive spine2
mend all
sh heald status > /dev/null
h1 ip -4 -br addr show dev eth0
stop
swap leaf1:1 leaf1:1
exit
"""


@pytest.mark.timeout(END_S)
def test_commands_act_and_say_what_came_of_it(
    file: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    pcap = tmp_path / "control.pcap"
    lab = start(file, "--json", "--pcap", pcap)
    run_dir = Path(described(lab)["run_dir"])
    output, _ = lab.communicate(SCRIPT, timeout=END_S)
    found = answers(output)
    by_command = {each["command"]: each for each in found}
    assert [each["command"] for each in found] == SCRIPT.splitlines()[: len(found)]
    assert len(found) == len(SCRIPT.splitlines()) - 1

    # Before an intent there is no way, and it is said what to do.
    pings = [each for each in found if each["command"] == "ping h1 h3 count=1"]
    before, after_cut, after_kill = pings
    assert row(before)["came_back"] == 0 and "allow h1 h3" in before["text"]
    refused = by_command["collective ring h1 h3 size=10KB"]
    assert not refused["ok"] and "`allow` does: allow h1 h3" in refused["error"]

    assert row(by_command["ping h1 h3 version=6"])["came_back"] == 3
    flood = row(by_command["flood h1 h3 8M flows=16 for=2"])
    assert flood["sent_bps"] == pytest.approx(8e6, rel=0.2)
    assert flood["lost_share"] < 0.02
    assert 5e6 < row(by_command["tcp h1 h3 for=2"])["arrived_bps"] < 21e6
    for kind in ("ring h1..h4 size=1MB", "halving-doubling h1..h4 size=500KB"):
        made = row(by_command[f"collective {kind}"])
        assert made["ranks"] == 4
        # No more than NICs can carry, and the numbers fit each other.
        assert 0 < made["bus_bps"] < 21e6
        bits = 8 * made["size_bytes"]
        assert made["rate_bps"] == pytest.approx(bits / made["took_s"])
        assert made["bus_bps"] == pytest.approx(1.5 * made["rate_bps"])

    links = by_command["links leaf1"]
    ways = [dict(zip(links["columns"], values, strict=True)) for values in links["rows"]]
    states = {way["link"]: way["state"] for way in ways}
    assert [s for name, s in states.items() if "spine1" in name] == ["down"]
    assert [s for name, s in states.items() if "spine2" in name] == ["up"]
    # The flood behind the prompt is on the link that is left.
    loads = [
        way["load_bps"] for way in ways if way["from"].startswith("leaf1") and "spine2" in way["to"]
    ]
    assert loads[0] == pytest.approx(4e6, rel=0.3)
    assert row(after_cut)["came_back"] == 1
    assert row(after_kill)["came_back"] == 0
    behind = row(by_command["stop"])
    assert behind["sent_bps"] == pytest.approx(4e6, rel=0.3) and behind["lost_packets"] > 0

    assert by_command["sh heald status > /dev/null"]["exit_code"] == 0
    assert "10.0.1.1" in by_command["h1 ip -4 -br addr show dev eth0"]["text"]
    assert "is one port" in by_command["swap leaf1:1 leaf1:1"]["error"]
    # Two commands failed, and neither ended the lab.
    assert lab.returncode == 1
    assert not run_dir.exists()
    check_openflow(pcap)


def check_openflow(pcap: Path) -> None:
    """The file has conversations of OpenFlow from hello on, both sides of each, in order of time;
    no packet is in it twice. Read here by its format, as Wireshark would."""
    raw = pcap.read_bytes()
    magic, major, minor, _, _, snaplen, kind = struct.unpack_from("<IHHiIII", raw)
    assert (magic, major, minor, kind) == (0xA1B23C4D, 2, 4, 1)
    at, times = 24, []
    began: dict[tuple[int, int], int] = {}
    seen: set[bytes] = set()
    hellos = set()
    while at < len(raw):
        seconds, nanoseconds, kept, length = struct.unpack_from("<IIII", raw, at)
        assert kept == length <= snaplen and nanoseconds < 10**9
        times.append((seconds, nanoseconds))
        frame = raw[at + 16 : at + 16 + kept]
        at += 16 + kept
        assert frame[12:14] == b"\x08\x00" and frame[23] == 6
        tcp = 14 + 4 * (frame[14] & 15)
        source, target, sequence = struct.unpack_from("!HHI", frame, tcp)
        assert 6653 in (source, target)
        payload = frame[tcp + 4 * (frame[tcp + 12] >> 4) : 14 + int.from_bytes(frame[16:18], "big")]
        if frame[tcp + 13] & 2:
            began[source, target] = sequence
        if not payload:
            continue
        # What TCP sends again has a number of its own in the header of IP.
        assert frame not in seen
        seen.add(frame)
        if sequence == began[source, target] + 1 and payload[1] == 0:
            hellos.add((source, target))
    assert at == len(raw)
    assert times == sorted(times)
    switches = {max(pair) for pair in hellos if min(pair) == 6653} | {
        min(pair) for pair in hellos if max(pair) == 6653
    }
    # Four switches, one of which came back after it had lost its power.
    assert len(switches) >= 5
    assert {(6653, port) for port in switches} <= hellos
    assert {(port, 6653) for port in switches} <= hellos


@pytest.mark.timeout(END_S)
def test_three_labs_of_one_file_side_by_side(
    file: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    labs = [start(file, "--json") for _ in range(3)]
    found = [described(lab) for lab in labs]
    assert len({each["run_dir"] for each in found}) == 3
    assert len({namespace(each["pid"]) for each in found}) == 3
    for number, lab in enumerate(labs):
        assert lab.stdin is not None
        # Each lets other hosts talk: what one does is not seen in the others.
        lab.stdin.write(
            f"allow h1 h{2 + number}\n" + "".join(f"ping h1 h{n} count=1\n" for n in (2, 3, 4))
        )
        lab.stdin.close()
        lab.stdin = None
    for number, lab in enumerate(labs):
        output, _ = lab.communicate(timeout=END_S)
        came_back = [row(each)["came_back"] for each in answers(output)[1:]]
        assert came_back == [int(n == 2 + number) for n in (2, 3, 4)]
        assert lab.returncode == 0
    for each in found:
        check_nothing_is_left(each)


@pytest.mark.timeout(END_S)
def test_a_lab_that_is_killed_leaves_nothing(
    file: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    before = interfaces()
    lab = start(file, "--json")
    found = described(lab)
    namespaces = {namespace(pid) for pid in (found["pid"], *found["hosts"].values())}
    assert lab.stdin is not None
    lab.stdin.write("allow all\nflood h1 h3 2M &\nh1 sleep 1000 & \nflood h2 h4 1M for=1000\n")
    lab.stdin.flush()
    wait_for(
        "all is at work",
        lambda: len(commands_of(found)) >= 2 and "sleep" in " ".join(commands_of(found)),
        100,
    )
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    # The lab sees that who held it has gone, and ends all by itself.
    wait_for("the lab is gone", lambda: not Path(found["run_dir"]).exists(), 100)
    check_nothing_is_left(found)
    # The last thing that the lab's own process does is to remove its directory.
    wait_for("its namespaces go", lambda: namespaces.isdisjoint(all_namespaces()), 100)
    assert interfaces() == before


@pytest.mark.timeout(END_S)
def test_the_next_lab_removes_what_is_left_when_everything_was_killed(
    file: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    lab = start(file, "--json", "--no-controller")
    found = described(lab)
    os.kill(found["pid"], signal.SIGSTOP)
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    os.kill(found["pid"], signal.SIGKILL)
    assert Path(found["run_dir"]).exists()
    # Before it looks at its topology.
    following = start("no-such-file.yaml")
    assert following.wait(END_S) == 2
    check_nothing_is_left(found)


def check_nothing_is_left(found: Mapping[str, Any]) -> None:
    """No process that ran for this lab, no directory, no lab that holds its lock."""
    run_dir = Path(found["run_dir"])
    assert list(rundir.processes(run_dir)) == []
    assert not run_dir.exists()
    for pid in (found["pid"], *found["hosts"].values()):
        assert not Path(f"/proc/{pid}").exists() or run_dir.name not in environment(pid)


def commands_of(found: Mapping[str, Any]) -> list[str]:
    names = []
    for pid in rundir.processes(Path(found["run_dir"])):
        try:
            said = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "probe send" in said or said.startswith("sleep"):
            names.append(said)
    return names


def environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def interfaces() -> set[str]:
    """Of the namespace that tests run in, by names that labs give."""
    path = shutil.which("ip", path=requirements.search_path())
    assert path is not None
    shown = subprocess.run([path, "-j", "link"], capture_output=True, text=True, check=True).stdout
    return {each["ifname"] for each in json.loads(shown)}
