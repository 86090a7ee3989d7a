"""Every port within its round, and no second with more than its share, whatever comes and goes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.discovery.pacing import LATE_S, QUICK_ROUND_S, ROUND_S, Pacer, round_s

TICK_S = 0.05
PROMISED_S = 10.0


class Clocked:
    """A pacer that is asked 20 times a second, and since when each port waits for its probe."""

    def __init__(self) -> None:
        self.pacer: Pacer[int] = Pacer()
        self.now = 100.0
        self.waiting_since: dict[int, float] = {}
        self.sent: list[tuple[float, int]] = []
        self.longest_s = 0.0
        self.most_present = 0

    def add(self, port: int) -> None:
        self.pacer.add(port)
        self.waiting_since.setdefault(port, self.now)
        self.most_present = max(self.most_present, len(self.pacer))

    def remove(self, port: int) -> None:
        self.pacer.remove(port)
        self.waiting_since.pop(port, None)

    def tick(self, seconds: float = TICK_S) -> None:
        self.now += seconds
        for port in self.pacer.due(self.now):
            assert port in self.waiting_since, "a port that has gone"
            self.sent.append((self.now, port))
            self.longest_s = max(self.longest_s, self.now - self.waiting_since[port])
            self.waiting_since[port] = self.now
        waits = (self.now - since for since in self.waiting_since.values())
        self.longest_s = max(self.longest_s, max(waits, default=0.0))

    def most_in_a_second(self) -> int:
        most = first = 0
        for last, (time_s, _) in enumerate(self.sent):
            while self.sent[first][0] <= time_s - 1.0 + 1e-9:
                first += 1
            most = max(most, last - first + 1)
        return most


@pytest.mark.parametrize("ports", [1, 16, 512, 1000, 4096, 16384])
def test_all_that_connect_at_once_are_probed_in_a_steady_stream(ports: int) -> None:
    clocked = Clocked()
    for port in range(ports):
        clocked.add(port)
    began = clocked.now
    while clocked.now < began + 3 * PROMISED_S:
        clocked.tick()
    allowed_s = round_s(ports) + 2 * TICK_S
    assert clocked.longest_s <= allowed_s <= PROMISED_S
    assert {port for time_s, port in clocked.sent if time_s - began <= allowed_s} == {*range(ports)}
    assert clocked.most_in_a_second() <= ports / round_s(ports) + 1


def test_a_round_is_short_where_that_costs_little_and_never_longer_than_promised() -> None:
    assert round_s(0) == round_s(512) == QUICK_ROUND_S
    assert round_s(4096) == round_s(100_000) == ROUND_S < PROMISED_S


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), ports=st.sampled_from([3, 40, 600, 5000]))
def test_ports_that_come_and_go_delay_no_other(seed: int, ports: int) -> None:
    random = Random(seed)
    clocked = Clocked()
    steady = set(random.sample(range(ports), k=max(1, ports // 3)))
    for port in steady:
        clocked.add(port)
    began = clocked.now
    while clocked.now < began + 25.0:
        fate = random.random()
        if fate < 0.02:
            # Everything else leaves, or comes back, at once.
            for port in set(range(ports)) - steady:
                (clocked.add if fate < 0.01 else clocked.remove)(port)
        for _ in range(random.choice((0, 1, ports // 20))):
            port = random.randrange(ports)
            if port not in steady:
                (clocked.add if random.random() < 0.6 else clocked.remove)(port)
        if fate > 0.999:
            steady -= set(random.sample(sorted(steady), k=len(steady) // 2))
        clocked.tick()
    assert clocked.longest_s <= ROUND_S + 3 * TICK_S
    assert clocked.most_in_a_second() <= ports / round_s(ports) + 1


def test_most_of_the_fabric_may_leave_while_the_rest_waits_its_turn() -> None:
    clocked = Clocked()
    for port in range(8000):
        clocked.add(port)
    for _ in range(int(ROUND_S / TICK_S * 1.5)):
        clocked.tick()
    gone = [port for _, port in clocked.sent[-4000:]]
    for port in gone:
        clocked.remove(port)
    for _ in range(int(2 * PROMISED_S / TICK_S)):
        clocked.tick()
    assert clocked.longest_s <= ROUND_S + 2 * TICK_S


def test_what_a_pause_has_missed_makes_no_burst() -> None:
    clocked = Clocked()
    for port in range(4096):
        clocked.add(port)
    clocked.tick()
    clocked.tick()
    before = len(clocked.sent)
    clocked.tick(seconds=30.0)
    assert len(clocked.sent) - before <= LATE_S * 512 + 1
