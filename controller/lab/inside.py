"""Programs in the namespaces of a lab."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.lab import ovs, requirements, rundir
from controller.lab.errors import LabError

_CODE_ROOT = Path(__file__).resolve().parents[2]


def environment(run_dir: Path | None = None) -> dict[str, str]:
    """Our environment, with Heald's code importable from any directory; and that of one lab."""
    path = os.pathsep.join(filter(None, [str(_CODE_ROOT), os.environ.get("PYTHONPATH")]))
    common = os.environ | {"PYTHONPATH": path, "PATH": requirements.search_path()}
    if run_dir is None:
        return common
    return common | ovs.environment(run_dir) | {rundir.MARKER: str(run_dir)}


def popen(
    pid: int, run_dir: Path, argv: Sequence[str], options: Mapping[str, Any]
) -> subprocess.Popen[Any]:
    """Start a program in the network namespace of a process; it ends with the lab at the latest."""
    # In a session of its own: a Ctrl-C at the terminal is for the prompt.
    chosen = {"stdin": subprocess.DEVNULL, "start_new_session": True, **options}
    chosen["env"] = environment(run_dir) | chosen.get("env", {})
    return subprocess.Popen(["mnexec", "-a", str(pid), *argv], **chosen)


def run(
    pid: int,
    run_dir: Path,
    argv: Sequence[str],
    *,
    timeout: float = 60.0,
    check: bool = True,
    script: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program there to its end, with text output and ``script`` as its input.

    Raises:
        LabError: with ``check``, the program failed.
        subprocess.TimeoutExpired: it did not end, and was killed.
    """
    pipe = subprocess.PIPE
    options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True}
    process = popen(pid, run_dir, argv, options)
    try:
        out, err = process.communicate(script, timeout=timeout)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if check and process.returncode != 0:
        raise LabError(f"In the lab, {' '.join(argv)} failed: {err.strip() or out.strip()}")
    return subprocess.CompletedProcess(argv, process.returncode, out, err)
