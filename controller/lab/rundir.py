"""Run directories of labs: who owns one, whether its lab lives, and how to remove a dead one.

A lab is alive exactly as long as some process holds the lock on ``DIR/lock``; the kernel drops the
lock when that process dies, however it dies. Every process of a lab carries ``HEALD_LAB_DIR=DIR``
in its environment, so a dead lab's processes are found without trusting a recorded process id.
Network namespaces are anonymous: they go with their last process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from controller.lab.errors import LabError

MARKER = "HEALD_LAB_DIR"
_PREFIX = "heald-lab-"
_LOCK = "lock"
_LONGEST_PATH = 80
"""Leaves room for the names of sockets in the 107 bytes of a Unix socket's path."""


def create() -> tuple[Path, int]:
    """A new run directory (mode 0700) and the file descriptor that holds its lock."""
    run_dir = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    if len(str(run_dir)) > _LONGEST_PATH:
        run_dir.rmdir()
        raise LabError(
            f"The directory for temporary files, {run_dir.parent}, has too long a name for the "
            "sockets of a lab; set TMPDIR=/tmp"
        )
    # Only a directory with a lock file is ever taken for a dead lab, so the name appears locked.
    unnamed = run_dir / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(run_dir / _LOCK)
    return run_dir, lock


def is_alive(run_dir: Path) -> bool:
    """Whether a process still holds the lock of this run directory."""
    try:
        lock = os.open(run_dir / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def processes(run_dir: Path) -> Iterator[int]:
    """Process ids of everything that runs for this lab, except the calling process."""
    marker = f"{MARKER}={run_dir}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _is_marked(entry, marker):
            yield int(entry.name)


def remove(run_dir: Path, timeout_s: float = 10.0) -> None:
    """Kill every process of a lab that is dead or ours, then delete its directory.

    Raises:
        LabError: a process did not die within ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while alive := list(processes(run_dir)):
        if time.monotonic() > deadline:
            raise LabError(f"Processes {alive} of the lab in {run_dir} do not die; kill them first")
        for pid in alive:
            _kill(pid, f"{MARKER}={run_dir}".encode())
        time.sleep(0.005)
    shutil.rmtree(run_dir, ignore_errors=True)


def remove_dead() -> list[Path]:
    """Remove what dead labs of this user left behind; labs that live are not touched."""
    removed = []
    for run_dir in Path(tempfile.gettempdir()).resolve().glob(f"{_PREFIX}*"):
        try:
            ours = run_dir.lstat().st_uid == os.geteuid() and (run_dir / _LOCK).exists()
        except FileNotFoundError:
            continue
        if ours and not is_alive(run_dir):
            remove(run_dir)
            removed.append(run_dir)
    return removed


def _is_marked(entry: Path, marker: bytes) -> bool:
    try:
        return marker in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _kill(pid: int, marker: bytes) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Asked again under the handle: the id may have passed to another process meanwhile.
        if _is_marked(Path(f"/proc/{pid}"), marker):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
