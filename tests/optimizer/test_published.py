"""Measured demands whose optima others have published."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from controller.optimizer import certificate, portfolio
from controller.optimizer.descent import descend
from controller.optimizer.instances import measured
from controller.optimizer.scaled import Scaled

DATA = Path(__file__).parent.parent / "data" / "figret"


@pytest.mark.parametrize("pod", ["pod_a", "pod_b"])
def test_optima_of_the_meta_pods_are_found(pod: str) -> None:
    files = ("tunnels.txt", "matrices.txt", "optima.txt")
    graph = json.loads((DATA / pod / "network.json").read_text())
    cases = measured(graph, *((DATA / pod / name).read_text() for name in files))
    assert len(cases.optimum) == 60
    for i, optimum in enumerate(cases.optimum.tolist()):
        asked = cases.demand(i)
        exact = portfolio.solve(cases.network, asked, cases.paths)
        assert exact.mlu == pytest.approx(optimum, rel=1e-3)
        found = descend(Scaled(cases.network, asked, cases.paths), None, 5e-4)
        fast = certificate.finish(cases.network, asked, cases.paths, found.share, found, "descent")
        assert fast.mlu == pytest.approx(optimum, rel=1e-3)
        assert fast.bound <= optimum * (1 + 1e-5)
        assert np.all(fast.share >= 0)
