"""Rates never span a restart, a reconnect or a gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.telemetry.counters import Rates


def add(rates: Rates, time_s: float, counters: dict[int, int], session: int = 1) -> bool:
    names = np.array([[port] for port in counters], np.uint32).reshape(-1, 1)
    return rates.add(session, time_s, names, np.array(list(counters.values()), np.uint64))


def test_rates_are_per_second_over_the_window() -> None:
    rates = Rates()
    assert rates.average(2) == {}
    for second, value in enumerate([0, 100, 300, 600, 1000]):
        assert add(rates, 10.0 + second, {1: value})
    assert rates.average(1) == {(1,): 400}
    assert rates.average(2) == {(1,): 350}
    assert rates.average(60) == {(1,): 250}
    assert rates.average(2, skip=1) == {(1,): 250}


def test_a_short_history_is_used_as_far_as_it_goes() -> None:
    rates = Rates()
    add(rates, 0.0, {1: 0})
    assert rates.average(2) == {}
    add(rates, 0.5, {1: 50})
    assert rates.average(2) == {(1,): 100}
    assert rates.average(2, skip=1) == {}


def test_a_counter_that_goes_back_starts_over_alone() -> None:
    rates = Rates()
    add(rates, 0.0, {1: 1000, 2: 0})
    add(rates, 1.0, {1: 10, 2: 5})
    assert rates.average(5) == {(2,): 5}
    add(rates, 2.0, {1: 30, 2: 10})
    assert rates.average(5) == {(1,): 20, (2,): 5}


def test_a_reconnect_forgets_everything() -> None:
    rates = Rates()
    add(rates, 0.0, {1: 0})
    add(rates, 1.0, {1: 10})
    add(rates, 2.0, {1: 1_000_000}, session=2)
    assert rates.average(5) == {}
    add(rates, 3.0, {1: 1_000_007}, session=2)
    assert rates.average(5) == {(1,): 7}
    assert not add(rates, 4.0, {1: 5}, session=1)
    assert rates.average(5) == {(1,): 7}


def test_ports_come_and_go() -> None:
    rates = Rates()
    add(rates, 0.0, {1: 0, 2: 0})
    add(rates, 1.0, {1: 8})
    assert rates.average(5) == {(1,): 8}
    add(rates, 2.0, {1: 16, 2: 900})
    assert rates.average(5) == {(1,): 8}
    add(rates, 3.0, {1: 24, 2: 901})
    assert rates.average(5) == {(1,): 8, (2,): 1}


def test_readings_out_of_order_are_ignored() -> None:
    rates = Rates()
    add(rates, 5.0, {1: 0})
    assert not add(rates, 5.0, {1: 10})
    assert not add(rates, 4.0, {1: 10})
    add(rates, 6.0, {1: 30})
    assert rates.average(1) == {(1,): 30}


def test_large_counters_keep_their_last_digit() -> None:
    rates = Rates()
    add(rates, 0.0, {1: 2**63})
    add(rates, 1.0, {1: 2**63 + 1})
    assert rates.average(1) == {(1,): 1}


@given(
    st.lists(
        st.tuples(
            st.floats(0.01, 3),
            st.integers(1, 3),
            st.dictionaries(st.integers(1, 4), st.integers(0, 2**64 - 1)),
        ),
        max_size=12,
    ),
    st.booleans(),
)
def test_no_rate_is_ever_negative(
    steps: list[tuple[float, int, dict[int, int]]], bridge: bool
) -> None:
    rates = Rates(bridge)
    now = 0.0
    for gap, session, counters in steps:
        now += gap
        add(rates, now, counters, session)
        for window in (1.0, 4.0):
            for skip in (0, 1):
                assert all(rate >= 0 for rate in rates.average(window, skip).values())


def test_buckets_continue_when_their_group_is_modified() -> None:
    rates = Rates(bridge=True)
    add(rates, 0.0, {1: 0})
    add(rates, 1.0, {1: 100})
    add(rates, 2.0, {1: 30, 2: 70})  # zeroed at 1.3; bucket 2 is new
    assert rates.average(1) == {(1,): 100, (2,): 70}
    assert rates.average(2) == {(1,): 100, (2,): 35}
    add(rates, 3.0, {1: 80, 2: 140})
    assert rates.average(1) == {(1,): 50, (2,): 70}


def test_history_is_bounded() -> None:
    rates = Rates()
    for second in range(1000):
        add(rates, float(second), {1: second * second})
    assert rates.history_s <= 13
    assert rates.average(1e9)[1,] == pytest.approx(2 * 999 - 12, abs=3)


def test_after_a_restart_averages_span_only_what_is_new() -> None:
    rates = Rates()
    for second, value in enumerate([0, 1000, 2000]):
        add(rates, float(second), {1: value})
    rates.restart()
    assert rates.average(8) == {}
    add(rates, 3.0, {1: 2010})
    assert rates.average(8) == {(1,): 10}
