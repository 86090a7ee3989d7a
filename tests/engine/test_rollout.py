"""Rules go once nothing is under way by them; of many alike problems a few are told."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from controller.dataplane.tables import Phase, SwitchTables, Updates
from controller.engine.reconciler import Reconciler
from controller.engine.rollout import LINGER_S, Rollout

Messages = Mapping[Phase, Mapping[str, tuple[bytes, ...]]]
MOVE: Messages = {Phase.INGRESS_GROUPS: {"leaf1": (b"group",)}}
REMOVE: Messages = {Phase.REMOVE_FLOWS: {"spine1": (b"flow",)}}
NAMES = ("leaf1", "spine1")


def rollout(messages: Messages) -> Rollout:
    return Rollout(1, Updates(messages), dict.fromkeys(NAMES, SwitchTables()), count().__next__)


def sent(rollout: Rollout, now: float, is_urgent: bool = False) -> list[Phase]:
    batches = rollout.advance(now, is_urgent)
    for batch in batches:
        rollout.acknowledge(batch.switch, batch.batch)
    return [batch.phase for batch in batches]


def test_removals_wait_for_packets_that_were_sent_before_the_last_answer() -> None:
    moving = rollout({**MOVE, **REMOVE})
    assert sent(moving, 5.0) == [Phase.INGRESS_GROUPS]
    assert not sent(moving, 6.0)
    assert not sent(moving, 6.0 + 0.9 * LINGER_S)
    assert not moving.finished
    assert sent(moving, 6.0 + LINGER_S) == [Phase.REMOVE_FLOWS]
    assert moving.finished


def test_they_do_not_hold_up_what_is_wanted_by_now() -> None:
    moving = rollout({**MOVE, **REMOVE})
    assert sent(moving, 5.0) == [Phase.INGRESS_GROUPS]
    assert sent(moving, 5.0, is_urgent=True) == [Phase.REMOVE_FLOWS]


def test_alone_they_wait_for_nothing() -> None:
    assert sent(rollout(REMOVE), 5.0) == [Phase.REMOVE_FLOWS]


def test_hundreds_of_absent_switches_are_counted_rather_than_listed() -> None:
    said = Reconciler((f"leaf{i}" for i in range(300)), True).problems()
    assert len(said) == 21
    assert said[0] == "leaf0 is absent"
    assert said[-1] == "280 more switches are absent (heald switches)"
