"""The file is edited while a whole brain runs: what is taken, what is refused, and who says so."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import heald
from controller.fabric.load import TopologyErrors, load
from heald.v1 import fabric_pb2 as pb
from tests.fabric.samples import GOOD

ROOT = Path(__file__).parents[2]
A = GOOD.encode()
FASTER = A.replace(b"100G", b"400G")
BAD = A.replace(b"leaf2:1\n", b"leaf3:1\n").replace(b"100G", b"100")
NOTICED_S = 2.0


class RunningBrain:
    """A brain of its own, without switches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "fabric.yaml"
        self.file.write_bytes(A)
        self.server = f"unix:{path}/api.sock"
        self.log = path / "log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "controller.brain"),
                    *("--topology", str(self.file), "--northbound", self.server),
                    *("--session-socket", str(self.path / "s.sock")),
                    *("--state-dir", str(self.path / "state")),
                ],
                stderr=log,
                cwd=ROOT,
            )
        self.wait_for("it answers", lambda: self.status().epoch > 0)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def client(self) -> heald.Client:
        return heald.connect(self.server)

    def status(self) -> pb.Status:
        with self.client() as client:
            return client.status()

    def heald(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "heald", "--server", self.server, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
        )

    def wait_for(self, what: str, condition: Callable[[], bool], within_s: float = 60.0) -> float:
        began = time.monotonic()
        while True:
            try:
                if condition():
                    return time.monotonic() - began
            except heald.HealdError:
                assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() - began < within_s, f"{what}\n{self.log.read_text()}"
            time.sleep(0.05)

    def capacity(self) -> float:
        with self.client() as client:
            return client.topology().links[0].capacity_bps


@pytest.fixture(scope="module")
def brain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBrain]:
    running = RunningBrain(tmp_path_factory.mktemp("brain"))
    yield running
    running.kill()


@pytest.fixture(autouse=True)
def as_at_first(brain: RunningBrain) -> Iterator[None]:
    yield
    brain.file.write_bytes(A + b"# again\n")
    brain.wait_for("as at first", lambda: brain.capacity() == 100e9 and not _wrong(brain))


def _wrong(brain: RunningBrain) -> list[str]:
    return [f"{p.file}:{p.line}:{p.column}: {p.text}" for p in brain.status().topology.problems]


def test_a_saved_file_is_in_use_within_seconds_and_an_event_says_so(brain: RunningBrain) -> None:
    with brain.client() as client:
        events = client.watch_topology(timeout_s=60)
        assert next(events).kind == pb.TopologyEvent.RUNNING
        brain.file.write_bytes(FASTER)
        saved = time.monotonic()
        event = next(events)
        took = time.monotonic() - saved
        events.close()
    assert event.kind == pb.TopologyEvent.CHANGED
    assert [(c.element, c.kind) for c in event.changes] == [("link", "changed")] * 2
    assert brain.capacity() == 400e9
    assert brain.status().fabric_version == event.version
    assert took < 5 * NOTICED_S


def test_a_bad_edit_is_refused_in_the_words_of_check_wherever_one_looks(
    brain: RunningBrain,
) -> None:
    before = brain.status().fabric_version
    brain.file.write_bytes(BAD)
    with pytest.raises(TopologyErrors) as error:
        load(BAD, str(brain.file))
    said = str(error.value).splitlines()
    assert brain.heald("topology", "check", str(brain.file)).stdout.splitlines() == said
    brain.wait_for("it is refused", lambda: _wrong(brain) == said)
    text = brain.heald("status").stdout
    log = brain.log.read_text()
    for line in said:
        assert line in text
        assert line in log
    assert "all is well" not in text
    found = json.loads(brain.heald("status", "--json").stdout)
    assert [p["text"] for p in found["topology"]["problems"]] == [
        line.split(": ", 1)[1] for line in said
    ]
    assert found["topology"]["refused_time"]
    assert int(found["fabric_version"]) == before
    assert brain.capacity() == 100e9
    with brain.client() as client:
        events = client.watch_topology(timeout_s=60)
        assert next(events).status.problems
        brain.file.write_bytes(A)
        assert next(events).kind == pb.TopologyEvent.CLEARED
        events.close()
    assert not _wrong(brain)
    assert brain.status().fabric_version == before


def test_a_file_that_vanishes_is_a_refused_edit(brain: RunningBrain) -> None:
    text = brain.file.read_bytes()
    brain.file.unlink()
    brain.wait_for("it is missed", lambda: bool(_wrong(brain)))
    assert _wrong(brain) == brain.heald("topology", "check", str(brain.file)).stdout.splitlines()
    brain.file.write_bytes(text)
    brain.wait_for("it is there", lambda: not _wrong(brain))


def test_what_is_applied_counts_until_the_file_is_saved_even_after_kill(
    brain: RunningBrain, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_bytes(FASTER)
    dry = brain.heald("topology", "apply", str(other), "--dry-run")
    assert dry.returncode == 0
    assert "capacity 100G → 400G" in dry.stdout
    assert brain.capacity() == 100e9
    done = brain.heald("topology", "apply", str(other))
    assert done.returncode == 0
    assert f"{brain.file} differs" in done.stdout
    assert brain.capacity() == 400e9
    assert "the same fabric" in brain.heald("topology", "diff", "--running", str(other)).stdout
    differs = brain.heald("topology", "diff", "--running", str(brain.file))
    assert differs.returncode == 1
    assert "capacity 400G → 100G" in differs.stdout
    brain.kill()
    brain.start()
    assert brain.capacity() == 400e9
    assert f"{brain.file} differs" in brain.heald("status").stdout
    brain.file.write_bytes(A.replace(b"100G", b"200G"))
    brain.wait_for("the file counts", lambda: brain.capacity() == 200e9)
    assert not brain.status().topology.file_differs


def test_a_wrong_file_is_not_applied_and_all_that_is_wrong_is_said(
    brain: RunningBrain, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_bytes(BAD)
    done = brain.heald("topology", "apply", str(other))
    assert done.returncode == 2
    with pytest.raises(TopologyErrors) as error:
        load(BAD, str(other))
    assert done.stderr.splitlines() == str(error.value).splitlines()
    with brain.client() as client, pytest.raises(heald.HealdError) as refused:
        client.apply_topology(BAD, name=str(other))
    assert [f"{v.field}: {v.description}" for v in refused.value.violations] == [
        str(problem) for problem in error.value.problems
    ]


def test_a_brain_that_starts_again_beside_a_wrong_file_goes_on(brain: RunningBrain) -> None:
    brain.kill()
    brain.file.write_bytes(BAD)
    brain.start()
    assert brain.capacity() == 100e9
    assert _wrong(brain)
