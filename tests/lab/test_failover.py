"""From the loss of a link to the last barrier, with all processes and TCP between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli.bench_fabric import fat_tree
from controller.lab import failover

pytestmark = pytest.mark.once

BAR_S = 5 * 0.15


def test_remote_ingresses_follow_the_loss_of_a_link(tmp_path: Path) -> None:
    topology = tmp_path / "fabric.yaml"
    topology.write_text(fat_tree(4))
    said: list[str] = []
    report = failover.measure(topology, 6, 1, True, 300.0, said.append, pause_s=(1.0, 2.0))
    assert report.links == 6
    assert report.idle_links < 6
    assert report.p99_s < BAR_S, report
    assert all(loss.switches and loss.messages for loss in report.losses), report.losses
    assert all(
        min(loss.heard_s, loss.gathered_s, loss.planned_s, loss.stored_s, loss.installed_s) >= 0
        for loss in report.losses
    )
    assert any(loss.optimised_s for loss in report.losses), "and optimised in the background"
    assert set(report.cpu_s) >= {"brain", "session", "emulator", "worker proof"}
