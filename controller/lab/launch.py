"""Starting and ending the process that is a lab, from outside."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from controller.lab import inside, rundir
from controller.lab.description import Description, read_description, write_wiring
from controller.lab.errors import LabError
from controller.lab.wiring import Wiring

Progress = Callable[[str], None]

_START_S = 120.0
_STOP_S = 20.0


class LabProcess:
    """A lab process, its run directory, and the socket whose end is its end."""

    def __init__(self, wiring: Wiring, controller: str | None, progress: Progress) -> None:
        """Start it and wait until the lab is ready.

        Raises:
            LabError: with the reason that the lab process gave.
        """
        self.run_dir, lock = rundir.create()
        self._control, theirs = socket.socketpair()
        try:
            write_wiring(wiring, self.run_dir)
            argv = [sys.executable, "-m", "controller.lab.process", str(self.run_dir)]
            argv += [f"--control={theirs.fileno()}", f"--lock={lock}"]
            argv += [f"--controller={controller}"] if controller else []
            self.popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(), lock),
                env=inside.environment(),
            )
        finally:
            theirs.close()
            os.close(lock)
        try:
            self._wait_ready(progress)
            self.description: Description = read_description(self.run_dir)
        except BaseException:
            self.close()
            raise

    def let_go(self) -> None:
        """What the kernel does when the holder of a lab dies: the lab ends by itself."""
        self._control.close()

    def close(self) -> None:
        """End it and remove all it has made, also if it has crashed."""
        self.let_go()
        try:
            self.popen.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        rundir.remove(self.run_dir)

    def _wait_ready(self, progress: Progress) -> None:
        deadline = time.monotonic() + _START_S
        with self._control.makefile("r") as lines:
            while True:
                self._control.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    line = lines.readline()
                except TimeoutError:
                    raise LabError(f"The lab was not ready within {_START_S:.0f} s") from None
                if not line:
                    raise LabError("The lab process ended while it started; its error is above")
                message = json.loads(line)
                if "error" in message:
                    raise LabError(message["error"])
                if "ready" in message:
                    self._control.settimeout(None)
                    return
                progress(message["progress"])
