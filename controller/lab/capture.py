"""The control channel of a lab in a pcap file: what switches and controller say to each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from controller.lab.errors import LabError
from controller.lab.probe_capture import CaptureReport

_STOP_S = 10.0


class _Lab(Protocol):
    def popen_in_namespace(
        self, argv: Sequence[str], *, stdout: Any, stderr: Any
    ) -> subprocess.Popen[bytes]: ...


@contextmanager
def capture(lab: _Lab, file: Path, port: int, progress: Callable[[str], None]) -> Iterator[None]:
    """All packets from and to this TCP port, until the block is left. Raises LabError when there is
    no right to listen, or the file cannot be written."""
    if os.geteuid() != 0:
        raise LabError("to hear packets of the control channel takes root; run it with sudo")
    argv = [sys.executable, "-m", "controller.lab.probe", "capture"]
    argv += [f"--port={port}", str(file.resolve())]
    program = lab.popen_in_namespace(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert program.stderr is not None
        if program.stderr.readline().strip() != b"listening":
            _, said = program.communicate()
            why = said.decode(errors="replace").strip().splitlines()
            raise LabError(f"{file} gets no packets: {why[-1] if why else 'its program ended'}")
        yield
        program.terminate()
        out, _ = program.communicate(timeout=_STOP_S)
        if out:
            report = CaptureReport(**json.loads(out))
            missed = f", {report.missed} more were missed" if report.missed else ""
            progress(f"{file} has {report.packets} packets{missed}")
    finally:
        if program.poll() is None:
            program.kill()
        program.communicate()
