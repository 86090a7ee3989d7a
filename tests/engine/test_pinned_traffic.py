"""What pins carry is Heald's own, and no demand of anybody else's."""

from __future__ import annotations

import numpy as np

from controller.dataplane import ids
from controller.engine.events import CountersRead
from controller.engine.measure import Measurements
from controller.intents.model import IntentState
from tests.engine.test_pins import named, p2p, plan_of, settled
from tests.engine.world import World, everyone, fabric

PINNED_BPS = 30e6


def sample(world: World, switch: str, time_s: float, counted: bool) -> CountersRead:
    """The pin of leaf1 sends since time 0; ``counted`` says whether its group says so."""
    sent = int(PINNED_BPS / 8 * time_s)
    way = {"leaf1": 11, "spine1": 3}
    rows = []
    for group_id in world.holds[switch].groups:
        if ids.is_pin_group(group_id):
            rows = [(group_id, 0, sent if counted else 0), (group_id, 1, 0)]
    none = np.zeros(0, np.int64)
    group, index, count = np.array(rows, np.int64).reshape(-1, 3).T
    ports = [arc.tail.port for arc in world.network.arcs_from[switch]]
    tx = [sent if way.get(switch) == port else 0 for port in ports]
    return CountersRead(
        switch,
        1,
        time_s,
        np.array(ports),
        np.array(tx),
        np.zeros(len(ports), np.int64),
        group,
        index,
        count,
        none,
        none,
        none,
    )


def measured(counted: bool) -> tuple[float, float, float]:
    """Most foreign load; demand from leaf1 to leaf3 measured, and a priori."""
    network = fabric()
    flow = p2p(network, "p", "h1", "h5", rate_bps=40e6, include=("spine1",))
    world = settled(network, {**everyone(network), **named(flow)})
    assert world.states["p"][-1] is IntentState.ACTIVE
    measurements = Measurements(network)
    for second in range(12):
        for switch in ("leaf1", "spine1"):
            measurements.add(sample(world, switch, float(second), counted), world.holds[switch])
    assert measurements.update(plan_of(world))
    state = measurements.link_state(world.engine.link_state.up, 12.0)
    rates = dict(zip(world.engine.demands.keys, world.engine.demands.rate_bps, strict=True))
    after = measurements.demands(world.engine.demands)
    changed = {
        key: rate for key, rate in zip(after.keys, after.rate_bps, strict=True) if rate > rates[key]
    }
    assert not changed
    return float(state.foreign_bps.max()), float(state.carried_bps.max()), PINNED_BPS


def test_pinned_traffic_is_not_foreign_and_makes_no_demand() -> None:
    foreign, carried, sent = measured(counted=True)
    assert foreign == 0.0
    assert carried > 0.9 * sent


def test_what_no_group_counts_is_foreign() -> None:
    foreign, _, sent = measured(counted=False)
    assert foreign > 0.9 * sent
