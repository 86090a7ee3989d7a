"""How long a switch that speaks nonsense stays away."""

from __future__ import annotations

from apps.quarantine import FIRST_S, FORGIVEN_S, LAST_S, Quarantine


def test_each_time_twice_as_long_up_to_a_limit() -> None:
    quarantine, now_s, lengths = Quarantine(), 0.0, []
    for _ in range(8):
        quarantine.bar(1, now_s)
        lengths.append(quarantine.left_s(1, now_s))
        now_s += lengths[-1]
        assert quarantine.left_s(1, now_s) == 0
    assert lengths == [FIRST_S, 2, 4, 8, 16, LAST_S, LAST_S, LAST_S]
    assert quarantine.left_s(2, 0.0) == 0


def test_a_switch_that_behaved_for_long_begins_anew() -> None:
    quarantine = Quarantine()
    quarantine.bar(1, 0.0)
    quarantine.bar(1, FIRST_S)
    later_s = FIRST_S + 2 * FIRST_S + FORGIVEN_S
    quarantine.bar(1, later_s)
    assert quarantine.left_s(1, later_s) == FIRST_S
