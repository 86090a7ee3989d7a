from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.intents.lifecycle import TRANSITIONS, IllegalTransitionError, advance
from controller.intents.model import IntentState as S
from controller.intents.model import IntentStatus

STATES = st.sampled_from(list(S))


def status(state: S) -> IntentStatus:
    return IntentStatus(state, "Test", transition_time_s=1.0)


def test_an_intent_comes_up_and_goes_away() -> None:
    way = [
        S.PENDING,
        S.PLANNED,
        S.INSTALLING,
        S.ACTIVE,
        S.DEGRADED,
        S.ACTIVE,
        S.WITHDRAWING,
        S.GONE,
    ]
    now = status(way[0])
    for time_s, state in enumerate(way[1:], start=2):
        now = advance(now, status(state), time_s)
        assert (now.state, now.transition_time_s) == (state, time_s)


@pytest.mark.parametrize(
    ("old", "new"),
    [(S.ACTIVE, S.GONE), (S.WITHDRAWING, S.ACTIVE), (S.GONE, S.PENDING), (S.REJECTED, S.ACTIVE)],
)
def test_shortcuts_are_refused(old: S, new: S) -> None:
    with pytest.raises(IllegalTransitionError, match=f"{new.value} may not follow {old.value}"):
        advance(status(old), status(new), 2.0)


@given(STATES, STATES)
def test_time_moves_with_the_state_only(old: S, new: S) -> None:
    if old is new:
        assert advance(status(old), status(new), 9.0).transition_time_s == 1.0
    elif new in TRANSITIONS[old]:
        assert advance(status(old), status(new), 9.0).transition_time_s == 9.0


def test_every_intent_can_be_withdrawn_and_only_that_ends_it() -> None:
    for state in set(S) - {S.GONE, S.WITHDRAWING}:
        assert S.WITHDRAWING in TRANSITIONS[state]
        assert S.GONE not in TRANSITIONS[state]
