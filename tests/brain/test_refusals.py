"""Who was turned away stays in sight for as long as it tries, and no crowd fills the memory."""

from __future__ import annotations

from controller.brain.refusals import KEPT_S, LIMIT, Refusal, Refusals


def test_the_same_trouble_with_a_host_is_one_entry_with_its_latest_time() -> None:
    refusals = Refusals()
    refusals.add(Refusal("10.0.0.1:5000", 7, "taken", 0.0))
    refusals.add(Refusal("10.0.0.2:5000", 0, "malformed", 1.0))
    refusals.add(Refusal("10.0.0.1:6000", 7, "taken", 60.0))
    assert [(r.peer, r.time_s) for r in refusals.recent(61.0)] == [
        ("10.0.0.2:5000", 1.0),
        ("10.0.0.1:6000", 60.0),
    ]
    assert [r.peer for r in refusals.recent(60.0 + KEPT_S - 1)] == ["10.0.0.1:6000"]
    assert refusals.recent(60.0 + KEPT_S) == []


def test_a_crowd_of_hosts_is_remembered_up_to_a_limit() -> None:
    refusals = Refusals()
    for i in range(3 * LIMIT):
        refusals.add(Refusal(f"host{i}:1", 0, "malformed", float(i) / LIMIT))
    assert len(refusals.recent(3.0)) == LIMIT
