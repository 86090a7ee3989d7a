"""Embedded mode: the brain as a child of this process.

The child dies with its parent in every case: it gets SIGKILL from the kernel when the parent is
gone, its standard input ends, and an orderly stop sends TERM, then KILL, to its whole process
group.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from eventlet.green import subprocess
from ryu.lib import hub

from apps.flags import ConfigurationError, Options

CHECK_S = 0.1
STOP_S = 1.2
"""How long a brain may take to end by itself; the workers get the rest of the two seconds."""
FIRST_RESTART_S, LAST_RESTART_S = 0.5, 10.0
STABLE_S = 30.0
BAD_TOPOLOGY, BAD_CONFIGURATION = 2, 3
"""Exit codes of the brain that no restart would change; all its errors are on stderr then."""

_SOCKET_PATH_BYTES = 107
_PR_SET_PDEATHSIG = 1

log = logging.getLogger("heald.supervisor")


class Supervisor:
    """Keeps a brain running; ``run`` is the body of a greenlet and returns the exit code of a brain
    that could not even begin, or 0 after ``stop``."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._directory = options.state_dir / "run"
        self._child: Any = None
        self._stopping = hub.Event()
        self.socket = self._directory / f"session-{os.getpid()}.sock"

    def prepare(self) -> None:
        """Make the socket's directory, for this user alone. Raises ConfigurationError."""
        if len(os.fsencode(self.socket)) > _SOCKET_PATH_BYTES:
            raise ConfigurationError(
                f"heald: the socket path {self.socket} is longer than {_SOCKET_PATH_BYTES} bytes; "
                "give a shorter --fabric-state-dir"
            )
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._directory.chmod(0o700)
            _remove_stale_sockets(self._directory)
        except OSError as error:
            raise ConfigurationError(
                f"heald: cannot use {self._directory}: {error.strerror}; "
                "give a writable --fabric-state-dir"
            ) from None

    def command(self) -> list[str]:
        options = self._options
        return [
            *(sys.executable, "-m", "controller.brain"),
            *("--topology", options.topology),
            *("--session-socket", str(self.socket)),
            *("--northbound", options.northbound),
            *("--state-dir", str(options.state_dir)),
            *(("--strategy", options.strategy) if options.strategy else ()),
            *("--metrics", "on" if options.metrics else "off"),
            *("--poll-interval", str(options.poll_interval_s)),
            *("--parent-pid", str(os.getpid())),
        ]

    def run(self, was_up: Callable[[], bool]) -> int:
        """``was_up()`` says whether a brain has ever answered: then a configuration that has become
        wrong since is waited out, because switches and their sessions are well without a brain."""
        restart_s = FIRST_RESTART_S
        while not self._stopping.is_set():
            began_s = time.monotonic()
            self._child = self._spawn()
            while (code := self._child.poll()) is None:
                hub.sleep(CHECK_S)
            self._end_group()
            if self._stopping.is_set():
                break
            if code in (BAD_TOPOLOGY, BAD_CONFIGURATION) and not was_up():
                return int(code)
            if time.monotonic() - began_s >= STABLE_S:
                restart_s = FIRST_RESTART_S
            log.error(
                "the brain ended with %s; a new one starts in %.1f s, switches keep forwarding",
                f"signal {-code}" if code < 0 else f"exit code {code}",
                restart_s,
            )
            self._stopping.wait(timeout=restart_s)
            restart_s = min(2 * restart_s, LAST_RESTART_S)
        return 0

    def stop(self) -> None:
        """End the brain and all that it started; takes at most STOP_S and a little."""
        self._stopping.set()
        child = self._child
        if child is not None and child.poll() is None:
            child.terminate()
            child.stdin.close()
            deadline_s = time.monotonic() + STOP_S
            while child.poll() is None and time.monotonic() < deadline_s:
                hub.sleep(0.02)
            if child.poll() is None:
                log.warning("the brain did not end within %.1f s and is killed", STOP_S)
        self._end_group()
        self.socket.unlink(missing_ok=True)

    def _spawn(self) -> Any:
        # Its own session, so that a terminal's Ctrl-C reaches it through this process alone.
        return subprocess.Popen(
            self.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            start_new_session=True,
            preexec_fn=partial(_die_with, os.getpid()),
        )

    def _end_group(self) -> None:
        """Kill what is left of the child's process group, the child itself if need be."""
        if self._child is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        self._child.wait()


_libc = ctypes.CDLL(None, use_errno=True)


def _die_with(parent: int) -> None:
    """Runs in the child between fork and exec."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # The parent died before the line above.


def _remove_stale_sockets(directory: Path) -> None:
    for path in directory.glob("session-*.sock"):
        pid = path.stem.removeprefix("session-")
        if not (pid.isdigit() and Path("/proc", pid).exists()):
            path.unlink(missing_ok=True)
