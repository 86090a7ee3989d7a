"""The controller of a lab: ``ryu-manager apps.fabric`` among the lab's switches."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import heald
from controller.fabric.model import Fabric
from controller.lab.errors import LabError

_READY_S = 120.0
_STOP_S = 10.0
_LOG_TAIL = 3000
_SETTLED = "in-sync"


class Lab(Protocol):
    """What a controller needs of a lab, whatever its switches are."""

    @property
    def fabric(self) -> Fabric: ...

    @property
    def run_dir(self) -> Path: ...

    @property
    def topology_file(self) -> Path | None: ...

    def popen_in_namespace(
        self, argv: Sequence[str], *, stdout: IO[bytes], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]: ...


class LabController:
    """A running controller; its API is a socket in the run directory of its lab.

    Its state is kept there too unless ``state_dir`` says otherwise, so that `start` again continues
    where a stopped or killed one left off.
    """

    def __init__(self, lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log
        self.server = server_of(lab)
        self._lab = lab

    @classmethod
    def start(
        cls, lab: Lab, *, options: Sequence[str] = (), state_dir: Path | None = None
    ) -> LabController:
        """Start it, not waiting for anything; ``options`` are ryu-manager's."""
        if lab.topology_file is None:
            raise LabError("A controller needs a lab that was made of a topology file")
        log = lab.run_dir / "controller.log"
        script = Path(sys.executable).with_name("ryu-manager")
        program = [str(script)] if script.exists() else ["-m", "ryu.cmd.manager"]
        argv = [sys.executable, *program, "apps.fabric"]
        argv += [f"--fabric-topology={lab.topology_file.resolve()}"]
        argv += [f"--fabric-northbound={server_of(lab)}"]
        argv += [f"--fabric-state-dir={(state_dir or lab.run_dir / 'state').resolve()}"]
        with log.open("ab") as output:
            process = lab.popen_in_namespace([*argv, *options], stdout=output, stderr=output)
        return cls(lab, process, log)

    def __enter__(self) -> LabController:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def client(self, timeout_s: float = 10.0) -> heald.Client:
        return heald.connect(self.server, timeout_s)

    def wait_ready(
        self, timeout_s: float = _READY_S, progress: Callable[[str], None] = lambda _text: None
    ) -> None:
        """Wait until it answers, and every switch is connected and holds what it should.

        Raises:
            LabError: it ended, or is not ready in time; with the reason and the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        said = waiting = ""
        with self.client(timeout_s=2.0) as client:
            while (waiting := self._waits_for(client)) and time.monotonic() < deadline:
                if waiting != said:
                    progress(waiting)
                    said = waiting
                time.sleep(0.05)
        if waiting:
            raise LabError(
                f"The controller is not ready after {timeout_s:g} s: {waiting}; "
                f"the end of its log:\n{self.log_tail()}"
            )

    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-_LOG_TAIL:].strip()

    def stop(self) -> None:
        """End it as an operator would (TERM)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _waits_for(self, client: heald.Client) -> str:
        """What is not there yet; empty when all is."""
        if self.process.poll() is not None:
            raise LabError(
                f"The controller ended with exit code {self.process.returncode}; "
                f"the end of its log:\n{self.log_tail()}"
            )
        try:
            status: Any = client.status()
        except heald.HealdError:
            return "the controller starts"
        states = {switch.name: switch.state for switch in status.switches}
        late = [s.name for s in self._lab.fabric.switches if states.get(s.name) != _SETTLED]
        if late:
            return ", ".join(f"{name} is {states.get(name, 'absent')}" for name in late)
        return ""


def server_of(lab: Lab) -> str:
    """Where the API of a lab's controller listens, from inside and outside of the lab."""
    return server_of_run_dir(lab.run_dir)


def server_of_run_dir(run_dir: Path) -> str:
    return f"unix:{run_dir}/heald.sock"
