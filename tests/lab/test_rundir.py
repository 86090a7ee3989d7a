"""Which labs are alive, and that removing a dead one touches no other."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.lab import rundir
from controller.lab.errors import LabError


@pytest.fixture(autouse=True)
def _own_temporary_directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Not tmp_path: its name is too long for sockets.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield


def sleeper(run_dir: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
        env=os.environ | {rundir.MARKER: str(run_dir)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_lab_lives_as_long_as_its_lock_is_held() -> None:
    run_dir, lock = rundir.create()
    assert rundir.is_alive(run_dir)
    assert rundir.remove_dead() == []
    os.close(lock)
    assert not rundir.is_alive(run_dir)
    assert rundir.remove_dead() == [run_dir]
    assert not run_dir.exists()


def test_a_dead_labs_processes_end_and_those_of_others_stay() -> None:
    dead, dead_lock = rundir.create()
    alive, alive_lock = rundir.create()
    theirs, ours = sleeper(dead), sleeper(alive)
    try:
        os.close(dead_lock)
        assert rundir.remove_dead() == [dead]
        assert theirs.wait(5) == -9
        assert ours.poll() is None
        assert list(rundir.processes(alive)) == [ours.pid]
    finally:
        theirs.kill()
        ours.kill()
        theirs.communicate()
        ours.communicate()
        os.close(alive_lock)


def test_directories_that_are_not_labs_are_left_alone() -> None:
    (Path(tempfile.gettempdir()) / "heald-lab-notes").mkdir()
    assert rundir.remove_dead() == []
    assert (Path(tempfile.gettempdir()) / "heald-lab-notes").is_dir()


def test_a_directory_too_deep_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Path(tempfile.gettempdir()) / ("d" * 80)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(LabError, match="TMPDIR"):
        rundir.create()
    assert list(deep.iterdir()) == []
