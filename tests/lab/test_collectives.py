"""Collectives: every rank sends what the theory says, and no rank waits for what nobody sends."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lab.collectives import ALGORITHMS, side_by_side


@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(1, 5), st.integers(1 << 12, 1 << 30))
def test_each_rank_sends_and_receives_its_share_of_the_size(
    kind: str, power: int, size_bytes: int
) -> None:
    ranks = 2**power
    algorithm = ALGORITHMS[kind]
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    steps = algorithm.steps(ranks, size_bytes)
    for step in steps:
        assert len({(t.source, t.destination) for t in step}) == len(step)
        for transfer in step:
            assert transfer.source != transfer.destination
            sent[transfer.source] += transfer.size_bytes
            received[transfer.destination] += transfer.size_bytes
    wanted = algorithm.bus_share(ranks) * size_bytes
    for each in (sent, received):
        assert set(each) == set(range(ranks))
        # A share is a whole number of bytes.
        assert all(abs(got - wanted) <= 2 * ranks for got in each.values())


@pytest.mark.parametrize(("kind", "steps"), [("ring", 14), ("halving-doubling", 6)])
def test_eight_ranks_take_as_many_steps_as_the_algorithm_has(kind: str, steps: int) -> None:
    assert len(ALGORITHMS[kind].steps(8, 1 << 20)) == steps


def test_a_ring_only_ever_sends_to_the_next_rank() -> None:
    for step in ALGORITHMS["ring"].steps(5, 1000):
        assert {(t.source, t.destination) for t in step} == {(r, (r + 1) % 5) for r in range(5)}


def test_halving_doubling_says_how_many_ranks_it_takes() -> None:
    with pytest.raises(ValueError, match=r"2, 4, 8, .* ranks, and here are 6"):
        ALGORITHMS["halving-doubling"].steps(6, 1000)


def test_groups_side_by_side_do_not_mix() -> None:
    one = ALGORITHMS["ring"].steps(3, 300)
    both = side_by_side([one, one], 3)
    assert len(both) == len(one)
    for step in both:
        assert len(step) == 6
        assert all(t.source // 3 == t.destination // 3 for t in step)
