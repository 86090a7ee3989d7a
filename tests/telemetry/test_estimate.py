"""Foreign load is seen within seconds; own traffic never looks foreign."""

from __future__ import annotations

import numpy as np
import pytest

from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey
from controller.telemetry.counters import Rates
from controller.telemetry.estimate import (
    WINDOWS_S,
    Averages,
    carried,
    foreign_load,
    link_state,
    own_load,
    settled,
)
from tests.telemetry.fabrics import leaf_spine

KEY = DemandKey("leaf1", ("leaf2",), "default")
WAYS = {
    (("leaf2",), 0): {"leaf1": 1, "spine1": 2},
    (("leaf2",), 1): {"leaf1": 2, "spine2": 2},
}


def arc(fabric: Fabric, switch: str, port: int) -> int:
    return next(a.index for a in fabric.arcs if (a.tail.switch, a.tail.port) == (switch, port))


class Wire:
    """leaf1:1 under traffic that changes with time, read once a second."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.ports, self.buckets = Rates(), Rates(bridge=True)
        self.second = 0

    def read(self, port_bytes: float, bucket_bytes: float) -> float:
        """Foreign load of leaf1:1 in bits per second after this reading."""
        one = np.array([[1]])
        self.ports.add(1, float(self.second), one, np.array([int(port_bytes)]))
        self.buckets.add(1, float(self.second), one, np.array([int(bucket_bytes)]))
        self.second += 1
        averages = []
        for window in WINDOWS_S:
            own = 8 * self.buckets.average(window).get((1,), 0.0)
            load = own_load(self.fabric, WAYS, {(KEY, 0): own})
            averages.append(settled(self.fabric, {"leaf1": self.ports}, window, load))
        return float(foreign_load(self.fabric, averages)[arc(self.fabric, "leaf1", 1)])


def test_carried_bits_are_found_by_port() -> None:
    fabric = leaf_spine(2)
    rates = Rates()
    names = np.array([[1], [2], [100]])
    rates.add(1, 0.0, names, np.array([0, 0, 0]))
    rates.add(1, 1.0, names, np.array([125, 250, 999]))
    load = carried(fabric, {"leaf1": rates}, 2.0)
    assert load[arc(fabric, "leaf1", 1)] == 1000
    assert load[arc(fabric, "leaf1", 2)] == 2000
    assert load.sum() == 3000


def test_own_load_follows_the_trees() -> None:
    fabric = leaf_spine(3)
    load = own_load(fabric, WAYS, {(KEY, 0): 5.0, (KEY, 1): 2.0, (KEY, 7): 100.0})
    assert load[arc(fabric, "leaf1", 1)] == 5
    assert load[arc(fabric, "spine1", 2)] == 5
    assert load[arc(fabric, "leaf1", 2)] == 2
    assert load.sum() == 14


def test_a_stranger_at_60_per_cent_is_seen_within_three_seconds() -> None:
    wire = Wire(leaf_spine(2))
    for second in range(6):
        assert wire.read(second * 1e9 / 8, second * 1e9 / 8) == 0
    seen = [
        wire.read((5 + k) * 1e9 / 8 + (k - 0.5) * 60e9 / 8, (5 + k) * 1e9 / 8) for k in (1, 2, 3)
    ]
    assert seen[-1] > 40e9
    later = [
        wire.read((5 + k) * 1e9 / 8 + (k - 0.5) * 60e9 / 8, (5 + k) * 1e9 / 8) for k in range(4, 14)
    ]
    assert later[2:] == pytest.approx([60e9] * 8, rel=0.02)


@pytest.mark.parametrize("lag_s", [0.0, 0.2, 0.5])
def test_own_traffic_that_starts_and_stops_is_not_foreign(lag_s: float) -> None:
    wire = Wire(leaf_spine(2))

    def sent(time_s: float) -> float:
        return float(np.clip(time_s - 4.3, 0, 8)) * 80e9 / 8

    assert [wire.read(sent(s), sent(s - lag_s)) for s in range(20)] == [0.0] * 20


def test_own_traffic_under_a_lag_that_wobbles_is_not_foreign() -> None:
    wire = Wire(leaf_spine(2))
    rng = np.random.default_rng(1)
    for second in range(40):
        lag = rng.uniform(0, 0.5)
        assert wire.read(second * 80e9 / 8, max(0.0, second - lag) * 80e9 / 8) == 0


def test_a_modified_group_does_not_make_own_traffic_foreign() -> None:
    wire = Wire(leaf_spine(2))
    rate = 80e9 / 8
    for second in range(30):
        since = second if second < 10 else second - 10 + 0.4 if second < 20 else second - 20 + 0.1
        assert wire.read(second * rate, since * rate) == 0


def test_noise_is_not_foreign_and_capacity_has_a_floor() -> None:
    fabric = leaf_spine(2)
    count = len(fabric.arcs)
    load = np.zeros(count)
    load[0], load[1], load[2] = 1.9e9, 2.1e9, 100e9
    up = np.ones(count, bool)
    up[3] = False
    state = link_state(
        fabric, 4, 7.0, up, load, [Averages(2.0, load, np.zeros(count))], np.zeros(count)
    )
    assert state.usable_bps[:5].tolist() == pytest.approx([100e9, 97.9e9, 5e9, 0, 100e9])
    assert state.foreign_bps[:3].tolist() == pytest.approx([0, 2.1e9, 100e9])
    assert (state.version, state.measured_at_s[0]) == (4, 7.0)
    quiet = link_state(fabric, 4, 7.0, up, load, [], np.zeros(count))
    assert quiet.usable_bps[:5].tolist() == [100e9, 100e9, 100e9, 0, 100e9]
