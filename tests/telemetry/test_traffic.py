"""Demands follow what is measured."""

from __future__ import annotations

import pytest

from controller.intents.demands import DemandKey, Demands
from controller.telemetry.traffic import measured_rates, smooth

A, B = DemandKey("a", ("b",), "x"), DemandKey("b", ("a",), "x")
ASSUMED = Demands(1, (), (A, B), (100.0, 200.0))


def test_before_the_first_sample_the_assumption_holds() -> None:
    assert measured_rates(ASSUMED, None, 2) == Demands(2, (), (A, B), (100.0, 200.0))


def test_measured_rates_replace_it_but_idle_demands_keep_a_trace() -> None:
    assert measured_rates(ASSUMED, {A: 700.0, B: 0.0}, 3).rate_bps == (700.0, 2.0)


def test_a_demand_that_was_not_measured_yet_keeps_the_assumption() -> None:
    assert measured_rates(ASSUMED, {A: 5.0}, 3).rate_bps == (5.0, 200.0)


def test_smoothing_forgets_by_time_not_by_samples() -> None:
    start = smooth({}, {A: 90.0}, 1.0)
    assert start == {A: 90.0}
    once = smooth(start, {A: 0.0}, 2.0)[A]
    twice = smooth(smooth(start, {A: 0.0}, 1.0), {A: 0.0}, 1.0)[A]
    assert once == pytest.approx(twice)
    assert 0 < once < 90
    assert smooth(start, {A: 0.0}, 0.0) == start
    assert smooth(start, {B: 1.0}, 1.0) == {B: 1.0}
