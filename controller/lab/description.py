"""``DIR/lab.json``: what a running lab consists of, for everything outside the lab process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.lab.wiring import Bridge, Cable, HostNic, Queue, SwitchPort, Wiring

WIRING_FILE = "wiring.json"
LAB_FILE = "lab.json"


@dataclass(frozen=True, slots=True)
class Description:
    """``pid`` is the lab process, whose network namespace holds the switches; ``host_pids`` are the
    shells whose namespaces are the hosts."""

    run_dir: str
    pid: int
    host_pids: Mapping[str, int]
    wiring: Wiring


def write_wiring(wiring: Wiring, run_dir: Path) -> None:
    _write(run_dir / WIRING_FILE, asdict(wiring))


def read_wiring(run_dir: Path) -> Wiring:
    return _wiring(json.loads((run_dir / WIRING_FILE).read_text()))


def write_description(description: Description) -> None:
    _write(Path(description.run_dir) / LAB_FILE, asdict(description))


def read_description(run_dir: Path) -> Description:
    raw = json.loads((run_dir / LAB_FILE).read_text())
    return Description(raw["run_dir"], raw["pid"], raw["host_pids"], _wiring(raw["wiring"]))


def _write(path: Path, value: Any) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    unfinished.rename(path)


def _wiring(raw: dict[str, Any]) -> Wiring:
    return Wiring(
        raw["fabric"],
        tuple(Bridge(**b) for b in raw["bridges"]),
        tuple(Cable(c["link"], SwitchPort(**c["a"]), SwitchPort(**c["b"])) for c in raw["cables"]),
        tuple(
            HostNic(**{**n, "addresses": tuple(n["addresses"]), "port": SwitchPort(**n["port"])})
            for n in raw["nics"]
        ),
        tuple(Queue(q["queue"], tuple(q["dscps"])) for q in raw["queues"]),
    )
