"""Swapped cables between emulated switches, over TCP, as operators meet them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import heald
from controller.cli.bench_fabric import fat_tree
from controller.lab.emulated import EmulatedLab
from controller.lab.session import LabController

pytestmark = pytest.mark.once

WAIT_S = 60.0


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[EmulatedLab]:
    topology = tmp_path / "fabric.yaml"
    topology.write_text(fat_tree(4))
    with EmulatedLab(topology) as lab:
        yield lab


def until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {WAIT_S:g} s: {what}"
        time.sleep(0.1)


def wiring(server: str) -> tuple[int, Any]:
    """The exit code of ``heald wiring``, and what it says."""
    argv = [sys.executable, "-m", "heald", "--server", server, "wiring", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def loads(lab: EmulatedLab) -> dict[str, float]:
    return {row["from"]: row["load_bps"] for row in lab.command("links").records()}


@pytest.mark.timeout(300)
def test_a_swap_is_found_named_led_around_and_forgotten(lab: EmulatedLab) -> None:
    ports = ("agg1-1:1", "agg1-1:2")
    with LabController.start(lab, options=lab.controller_options) as controller:
        controller.wait_ready(WAIT_S)
        with controller.client() as client:
            client.apply([heald.connectivity("everyone", all=True)])
            client.wait_active(["everyone"], timeout_s=WAIT_S)
            until("all is proven", lambda: all(x.state == "ok" for x in client.wiring().links))
            code, found = wiring(controller.server)
            assert code == 0 and len(found["links"]) == 32 and not found["swaps"]
            assert found["probed_ports"] == 64
            ends = {load.from_port: load.to_port for load in next(client.watch_links()).links}
            for host in ("h1", "h3"):
                lab.command(f"traffic {host} h16 1M flows=256")
            uplinks = [ends[port] for port in ports]
            until("they carry", lambda: all(loads(lab)[port] for port in uplinks))

            lab.command("swap agg1-1:1 agg1-1:2")
            until("the swap is seen", lambda: bool(client.wiring().swaps))
            code, found = wiring(controller.server)
            assert code == 1
            named = [swap["text"] for swap in found["swaps"]]
            assert named == [f"{ports[0]} and {ports[1]} look swapped"]
            wrong = {x["link"]: x for x in found["links"] if x["state"] != "ok"}
            assert {x["a"] for x in wrong.values()} | {x["b"] for x in wrong.values()} == {
                *ports,
                *uplinks,
            }
            assert all(x["state"] == "miswired" and x["barred"] for x in wrong.values())
            assert any("look swapped" in problem for problem in client.status().problems)
            until("its links carry nothing", lambda: not any(loads(lab)[port] for port in uplinks))
            flowing = lab.command("traffic").records()
            assert all(each["delivered_bps"] == pytest.approx(1e6) for each in flowing)

            lab.command("swap agg1-1:1 agg1-1:2")
            until("all is well again", lambda: not client.status().problems)
            assert wiring(controller.server)[0] == 0
            until("they carry again", lambda: all(loads(lab)[port] for port in uplinks))
    log = controller.log.read_text(errors="replace")
    assert log.count("look swapped") == 1
