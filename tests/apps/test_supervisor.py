"""The embedded brain's life, with other programs in its place.

Each test runs the supervisor in a process of its own, as ryu-manager does: eventlet stays out of
the process of the tests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.apps.peers import environment, eventually, short_directory

_PARENT = """
import sys
from pathlib import Path
from apps.flags import Options
from apps.supervisor import Supervisor
from ryu.lib import hub
directory, program, was_up = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "up"
class Other(Supervisor):
    def command(self):
        return [sys.executable, "-c", program, str(directory)]
supervisor = Other(Options(None, "t.yaml", "", directory, True, 1.0, "auto"))
supervisor.prepare()
if len(sys.argv) > 4:
    hub.spawn_after(float(sys.argv[4]), supervisor.stop)
sys.exit(supervisor.run(lambda: was_up))
"""

_NOTES_PIDS = """
import os, signal, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[1] + "/pids", "a") as notes:
    notes.write(f"{os.getpid()} {grandchild.pid}\\n")
"""
_STAYS = _NOTES_PIDS + "time.sleep(60)"
_STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _STAYS


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def start(directory: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(directory), program, *arguments],
        env=environment(directory),
    )


def noted(directory: Path) -> list[tuple[int, int]]:
    with suppress(FileNotFoundError):
        lines = (directory / "pids").read_text().splitlines()
        return [(int(a), int(b)) for a, b in (line.split() for line in lines)]
    return []


def is_gone(pid: int) -> bool:
    try:
        # A process that nobody has waited for yet is gone as well.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_wrong_topology_ends_it_with_the_brains_own_exit_code(directory: Path) -> None:
    program = _NOTES_PIDS + "grandchild.kill(); sys.exit(2)"
    assert start(directory, program, "never-up").wait(20) == 2
    assert len(noted(directory)) == 1


def test_a_brain_that_dies_is_started_again_and_its_workers_do_not_stay(directory: Path) -> None:
    parent = start(directory, _STAYS, "up")
    eventually(lambda: len(noted(directory)) == 1, "the first brain")
    brain, worker = noted(directory)[0]
    os.kill(brain, signal.SIGKILL)
    eventually(lambda: len(noted(directory)) == 2, "the second brain")
    assert is_gone(worker)
    parent.kill()
    parent.wait()


def test_after_kill_9_of_the_parent_no_brain_is_left(directory: Path) -> None:
    parent = start(directory, _STAYS, "up")
    eventually(lambda: noted(directory), "the brain")
    parent.kill()
    parent.wait()
    brain, worker = noted(directory)[0]
    eventually(lambda: is_gone(brain), "the end of the brain", 2)
    os.kill(worker, signal.SIGKILL)


def test_a_brain_that_ignores_terminate_is_killed_with_its_workers(directory: Path) -> None:
    parent = start(directory, _STUBBORN, "up", "3")
    eventually(lambda: noted(directory), "the brain")
    brain, worker = noted(directory)[0]
    assert parent.wait(20) == 0
    assert is_gone(brain)
    assert is_gone(worker)
    assert not list((directory / "run").iterdir())
