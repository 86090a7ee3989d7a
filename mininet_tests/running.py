"""What the tests of a running fabric share: a lab of a shipped topology with everyone connected."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import heald
from controller.lab.handle import Lab
from controller.lab.session import LabController

TOPOLOGIES = Path(__file__).parents[1] / "topologies"
LEAF_SPINE = TOPOLOGIES / "leaf-spine.yaml"
ASYMMETRIC = TOPOLOGIES / "leaf-spine-asymmetric.yaml"
INGRESS_PLANNED = re.compile(r"group_id=(\d+),type=select")


def connect_everyone(controller: LabController, timeout_s: float = 30.0) -> None:
    """One intent for all hosts; returns when it is active."""
    with controller.client() as client:
        client.apply([heald.connectivity("everyone", all=True)])
        client.wait_active(["everyone"], timeout_s=timeout_s)


def wait_for(what: str, condition: Callable[[], bool], timeout_s: float = 20.0) -> float:
    """Seconds until the condition held; fails with ``what`` when it never does."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - began


def planned_weights(lab: Lab, switch: str) -> Mapping[int, Mapping[int, int]]:
    """Group id to output port to weight, of the SELECT groups that spread traffic at an ingress."""
    found: dict[int, dict[int, int]] = {}
    for line in lab.groups(switch):
        match = INGRESS_PLANNED.search(line)
        if not match or int(match[1]) >> 21 != (0x48000000 >> 21) | 1:
            continue
        weights: dict[int, int] = {}
        for bucket in line.split("bucket=")[1:]:
            weight = re.search(r"weight:(\d+)", bucket)
            port = re.search(r"output:\"?([^,\"]+)", bucket)
            assert port
            number = int(port[1])
            # The dump leaves out a weight of 1.
            weights[number] = weights.get(number, 0) + (int(weight[1]) if weight else 1)
        found[int(match[1])] = weights
    return found


def table_state(lab: Lab) -> Mapping[str, tuple[list[str], list[str]]]:
    """Flows and groups of every switch, without counters and ages: equal when nothing changed."""

    def still(line: str) -> str:
        return re.sub(r"(duration|n_packets|n_bytes|idle_age|hard_age)=[^,]*, ?", "", line)

    return {
        s.name: (sorted(map(still, lab.flows(s.name))), sorted(lab.groups(s.name)))
        for s in lab.fabric.switches
    }


def namespace(pid: int) -> str:
    """Of the network."""
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def all_namespaces() -> set[str]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.add(str((entry / "ns" / "net").readlink()))
            except OSError:
                continue
    return found
