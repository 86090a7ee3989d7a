"""A collective among hosts of a lab: a program for each rank, which all begin together."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

from controller.fabric.model import Nic
from controller.lab.collectives import Step
from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.probe_exchange import ExchangeReport, Part

_PORT = 5100
_MOST_RANKS = 64
"""Each rank is a process, and one thread of Open vSwitch carries it all."""
_END_S = 600.0


def exchange(lab: Lab, ranks: Sequence[Nic], steps: Sequence[Step], version: int) -> float:
    """Seconds from the first byte until the last rank has everything that it is sent, by TCP.

    Raises:
        LabError: a rank cannot reach another, or hears nothing any more.
    """
    if len(ranks) > _MOST_RANKS:
        raise LabError(
            f"{len(ranks)} ranks are more than the {_MOST_RANKS} that one machine plays; take "
            "fewer hosts, or heald lab --emulated"
        )
    with tempfile.TemporaryDirectory(dir=lab.run_dir) as directory:
        files = _write(lab, ranks, steps, version, Path(directory))
        programs = [
            lab.popen(
                nic.host,
                [sys.executable, "-m", "controller.lab.probe", "exchange", str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for nic, file in zip(ranks, files, strict=True)
        ]
        try:
            for word in ("listening", "connected"):
                said = [_said(program.stderr) for program in programs]
                if any(each != word for each in said):
                    break
                for program in programs:
                    _go(program.stdin)
            reports = {
                nic.id: _report(program)
                for nic, program, each in zip(ranks, programs, said, strict=True)
                if each != "listening"
            }
        finally:
            for program in programs:
                if program.poll() is None:
                    program.kill()
                program.communicate()
    failed = {name: report.failed for name, report in reports.items() if report.failed}
    if failed:
        name, why = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more failed)" if len(failed) > 1 else ""
        raise LabError(
            f"{name}: {why}{more}; do intents let them talk? `allow` does: allow "
            + " ".join(dict.fromkeys(nic.host for nic in ranks))
        )
    began_s = min(report.began_s for report in reports.values())
    return max(report.ended_s for report in reports.values()) - began_s


def _write(
    lab: Lab, ranks: Sequence[Nic], steps: Sequence[Step], version: int, directory: Path
) -> list[Path]:
    address = {i: lab.address(nic.host, version, nic.name) for i, nic in enumerate(ranks)}
    parts = [Part(rank, _PORT, address, [], []) for rank in range(len(ranks))]
    for step in steps:
        for part in parts:
            part.sends.append({})
            part.receives.append({})
        for transfer in step:
            parts[transfer.source].sends[-1][transfer.destination] = transfer.size_bytes
            parts[transfer.destination].receives[-1][transfer.source] = transfer.size_bytes
    files = []
    for part in parts:
        files.append(directory / f"rank{part.rank}.json")
        files[-1].write_text(json.dumps(asdict(part)))
    return files


def _said(pipe: IO[str] | None) -> str:
    assert pipe is not None
    return pipe.readline().strip()


def _go(pipe: IO[str] | None) -> None:
    assert pipe is not None
    try:
        pipe.write("\n")
        pipe.flush()
    except BrokenPipeError:
        pass  # It has ended, and its report says why.


def _report(program: subprocess.Popen[str]) -> ExchangeReport:
    try:
        out, err = program.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        raise LabError(f"the collective has not ended within {_END_S:g} s") from None
    if not out:
        return ExchangeReport(0.0, 0.0, 0, f"its program failed: {err.strip()[-300:]}")
    return ExchangeReport(**json.loads(out))
