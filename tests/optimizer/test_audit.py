"""Failures: what the audit says is what recomputation gives; and re-optimising is quick work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from controller.optimizer import certificate, portfolio
from controller.optimizer.audit import audit, links_of, survivors, switches_of
from controller.optimizer.descent import descend
from controller.optimizer.forest import grow
from controller.optimizer.paths import load, trace, utilisation
from controller.optimizer.problem import Demand, Forest, Network
from controller.optimizer.scaled import Scaled
from tests.optimizer.graphs import demand, leaf_spine
from tests.optimizer.test_descent import skewed
from tests.optimizer.test_linear import instances


def recomputed(
    net: Network, forest: Forest, asked: Demand, share: dict[tuple[int, int], float], dead: set[int]
) -> tuple[float, float]:
    """MLU and rate cut off, from the trees up, demand by demand."""
    load_bps = np.zeros(len(net.tail))
    lost = 0.0
    before = trace(net, forest, asked)
    for d in range(len(asked.source)):
        rows = {}
        for p in np.flatnonzero(before.demand == d).tolist():
            arcs = before.arcs[before.first[p] : before.first[p + 1]].tolist()
            rows[int(before.tree[p])] = arcs
        living = {t: arcs for t, arcs in rows.items() if not dead & set(arcs)}
        if not living:
            lost += asked.rate_bps[d] if rows else 0.0
            continue
        total = sum(share[d, t] for t in living)
        for t, arcs in living.items():
            part = share[d, t] / total if total > 1e-12 else 1 / len(living)
            for arc in arcs:
                load_bps[arc] += part * asked.rate_bps[d]
    return float(utilisation(load_bps, net).max(initial=0.0)), lost


@settings(max_examples=40, deadline=None)
@given(instances())
def test_the_audit_is_what_recomputation_gives(instance: tuple[Network, Forest, Demand]) -> None:
    net, forest, asked = instance
    solution = portfolio.solve(net, asked, paths := trace(net, forest, asked))
    share = {
        (int(d), int(t)): float(x)
        for d, t, x in zip(paths.demand, paths.tree, solution.share, strict=True)
    }
    failures = [*links_of(net), *switches_of(net)]
    found = audit(net, asked, paths, solution.share, failures)
    for f, arcs in enumerate(failures):
        mlu, lost = recomputed(net, forest, asked, share, {int(a) for a in arcs})
        scale = max(mlu, solution.mlu)
        assert found.mlu[f] == pytest.approx(mlu, rel=1e-6, abs=1e-9 * scale)
        assert found.cut_off_bps[f] == pytest.approx(lost, rel=1e-9)


def test_the_spine_that_is_left_takes_it_all() -> None:
    net = leaf_spine(2, 2)
    forest = grow(net, [[0], [1]], trees_per_egress=2)
    asked = demand([(0, 1, 60.0)])
    paths = trace(net, forest, asked)
    share = portfolio.solve(net, asked, paths).share
    found = audit(net, asked, paths, share, links_of(net))
    assert found.mlu == pytest.approx([0.6] * 4)
    assert not found.cut_off_bps.any()
    leaves = audit(net, asked, paths, share, switches_of(net))
    assert leaves.cut_off_bps.tolist() == [60, 60, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_after_a_link_fails_few_sweeps_prove_a_hundredth(seed: int) -> None:
    net, forest, asked = skewed(seed)
    paths = trace(net, forest, asked)
    before = descend(Scaled(net, asked, paths), None, 1e-3)
    carried = load(paths, before.share * asked.rate_bps[paths.demand], len(net.tail))
    worst = int(utilisation(carried, net).argmax())
    dead = next(link for link in links_of(net) if worst in link)
    rest, share = survivors(paths, before.share, dead)
    scaled = Scaled(net, asked, rest)
    after = descend(scaled, share, 1e-2, price=before.price, most_sweeps=24)
    solution = certificate.finish(net, asked, rest, after.share, after, "descent")
    assert solution.gap <= 0.01 * (1 + 1e-9)
    assert solution.load_bps[dead].tolist() == [0, 0]
    assert solution.mlu <= scaled.mlu(share) * (1 + 1e-9)
