"""A lab of emulated switches: no root, no Open vSwitch, no hosts; it ends with its handle."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from controller.emulator.shell.answer import Answer
from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.lab import rundir
from controller.lab.errors import LabError
from controller.lab.kernel import die_with_parent

_STOP_S = 10.0


class EmulatedLab:
    """A run directory, a port of this machine on which the controller is to listen, and a process
    that plays all switches and connects them to it."""

    def __init__(self, topology: Path, *, persona: str = "openvswitch-3.1") -> None:
        """Raises LabError, and TopologyErrors."""
        try:
            raw = topology.read_bytes()
        except OSError as error:
            raise LabError(f"Cannot read the topology {topology}: {error.strerror}") from None
        self.fabric: Fabric = load(raw, str(topology))
        self.run_dir, self._lock = rundir.create()
        os.set_inheritable(self._lock, False)
        # A copy: it is the same for switches and controller whatever happens to the file.
        self.topology_file = self.run_dir / topology.name
        self.topology_file.write_bytes(raw)
        self.port = free_port()
        self._persona = persona
        self._asking = threading.Lock()
        try:
            self._start_switches()
        except BaseException:
            self._remove()
            raise

    def _start_switches(self) -> None:
        self.emulator = self._popen(
            [
                *(sys.executable, "-m", "heald", "emulate", str(self.topology_file)),
                f"--controller=tcp:127.0.0.1:{self.port}",
                f"--persona={self._persona}",
                "--commands",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.run_dir / "emulator.log").open("wb"),
        )

    def _stop_switches(self) -> None:
        if self.emulator.poll() is None:
            self.emulator.send_signal(signal.SIGTERM)
            try:
                self.emulator.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.emulator.kill()
                self.emulator.wait()
        for pipe in (self.emulator.stdin, self.emulator.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> EmulatedLab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def controller_options(self) -> list[str]:
        """What the controller needs to be told to be found."""
        return [f"--ofp-tcp-listen-port={self.port}", "--ofp-listen-host=127.0.0.1"]

    @property
    def processes(self) -> dict[str, int]:
        """Those that play the switches, by what they are."""
        return {"emulator": self.emulator.pid}

    def command(self, line: str) -> Answer:
        """Have the switches, cables or hosts do something: what ``heald emulate --commands`` takes.
        Raises LabError with what is wrong with it, or when the switches have ended."""
        stdin, stdout = self.emulator.stdin, self.emulator.stdout
        assert stdin is not None and stdout is not None
        with self._asking:
            try:
                stdin.write(line.replace("\n", " ").encode() + b"\n")
                stdin.flush()
                said = stdout.readline()
            except BrokenPipeError:
                said = b""
        if not said:
            log = (self.run_dir / "emulator.log").read_text(errors="replace").strip()
            raise LabError(f"The process that plays the switches has ended: {log[-1000:]}")
        answer = json.loads(said)
        if "error" in answer:
            raise LabError(answer["error"])
        return Answer(**answer)

    def popen_in_namespace(
        self, argv: Sequence[str], *, stdout: IO[bytes] | int, stderr: IO[bytes] | int
    ) -> subprocess.Popen[bytes]:
        """Start a program beside the switches; it dies with this one."""
        return self._popen(argv, stdout=stdout, stderr=stderr)

    def stop(self) -> None:
        """End it, and remove its directory."""
        self._stop_switches()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.run_dir, ignore_errors=True)
        os.close(self._lock)

    def _popen(
        self,
        argv: Sequence[str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: IO[bytes] | int,
        stderr: IO[bytes] | int,
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, rundir.MARKER: str(self.run_dir)},
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def free_port() -> int:
    """A TCP port of this machine that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
