"""Who may talk to whom."""

from __future__ import annotations

from dataclasses import replace

from controller.dataplane.policy import Policy
from controller.engine.plans import zones_of
from controller.intents.demands import Demands, Reach
from tests.dataplane.fabrics import demands as demands_of
from tests.dataplane.fabrics import leaf_spine, plan


def test_peers_are_reached_from_both_sides_but_no_side_reaches_itself() -> None:
    net = leaf_spine()
    a, b, c, d, e = (nic.id for nic in net.nics[:5])
    job = Reach("job", frozenset({a, b}), frozenset({c, e}))
    reaches = (job, Reach("all", frozenset({b, d})))
    asked = Demands(1, reaches, (), ())
    zones = zones_of(asked)
    assert set(zones) == {a, b, c, d, e}
    numbers = {zone: i for i, zone in enumerate(sorted(set(zones.values()), key=sorted), 1)}
    policy = Policy.of(net, replace(plan(net, demands_of(net)), zones=numbers), asked)
    peers = {nic: {peer.id for peer in policy.peers[policy.zone_of[nic]]} - {nic} for nic in zones}
    assert peers == {a: {c, e}, b: {c, d, e}, c: {a, b}, d: {b}, e: {a, b}}
