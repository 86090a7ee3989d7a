"""Connectivity intents become demands."""

from __future__ import annotations

import pytest

from controller.fabric.model import TrafficClass
from controller.intents.demands import DemandKey
from controller.intents.expand import connectivity
from tests.telemetry.fabrics import fabric, leaf_spine


def nics(*hosts: str) -> frozenset[str]:
    return frozenset(f"{h}/eth0" for h in hosts)


def test_each_nic_sends_its_rate_in_equal_parts_to_the_others() -> None:
    demands = connectivity(leaf_spine(4), {"job": nics("h1", "h2", "h3")}, version=7)
    assert demands.version == 7
    assert len(demands.keys) == 6
    assert list(demands.keys) == sorted(set(demands.keys))
    assert set(demands.rate_bps) == {50e9}
    assert DemandKey("leaf1", ("leaf3",), "default") in demands.keys
    assert demands.reaches[0].intent == "job"
    assert demands.reaches[0].nics == nics("h1", "h2", "h3")


def test_nics_on_one_leaf_add_up_and_need_no_demand_among_themselves() -> None:
    net = fabric(
        ["a", "b", "s"],
        [("a", "s", 1e9), ("b", "s", 1e9)],
        {"h1": ["a"], "h2": ["a"], "h3": ["b"]},
        nic_bps=8.0,
    )
    demands = connectivity(net, {"job": nics("h1", "h2", "h3")})
    assert dict(zip(demands.keys, demands.rate_bps, strict=True)) == {
        DemandKey("a", ("b",), "default"): 8.0,  # each of two sends half of 8 across
        DemandKey("b", ("a",), "default"): 8.0,
    }


def test_a_dual_homed_nic_enters_by_both_leaves_and_is_one_egress() -> None:
    net = fabric(
        ["a", "b", "c", "s"],
        [("a", "s", 1e9), ("b", "s", 1e9), ("c", "s", 1e9)],
        {"h1": ["a", "b"], "h2": ["c"], "h3": ["a"]},
        nic_bps=8.0,
    )
    demands = connectivity(net, {"job": nics("h1", "h2", "h3")})
    rate = dict(zip(demands.keys, demands.rate_bps, strict=True))
    assert rate == {
        DemandKey("a", ("c",), "default"): 2.0 + 4.0,
        DemandKey("b", ("c",), "default"): 2.0,
        DemandKey("b", ("a",), "default"): 2.0,  # what enters by a is delivered there
        DemandKey("c", ("a", "b"), "default"): 4.0,
        DemandKey("c", ("a",), "default"): 4.0,
    }


def test_intents_do_not_reach_each_other_but_a_shared_nic_reaches_both() -> None:
    intents = {"red": nics("h1", "h2"), "blue": nics("h2", "h3")}
    demands = connectivity(leaf_spine(4), intents)
    rate = dict(zip(demands.keys, demands.rate_bps, strict=True))
    assert DemandKey("leaf1", ("leaf3",), "default") not in rate
    assert rate[DemandKey("leaf1", ("leaf2",), "default")] == 100e9
    assert rate[DemandKey("leaf2", ("leaf1",), "default")] == 50e9


def test_every_class_gets_keys_and_the_default_one_the_rate() -> None:
    net = fabric(
        ["a", "b"],
        [("a", "b", 1e9)],
        {"h1": ["a"], "h2": ["b"]},
        (TrafficClass("roce", 26, 3), TrafficClass("rest", None, 0)),
        nic_bps=10.0,
    )
    demands = connectivity(net, {"job": nics("h1", "h2")})
    rate = {key[0::2]: bps for key, bps in zip(demands.keys, demands.rate_bps, strict=True)}
    assert rate["a", "rest"] == 10.0
    assert 0 < rate["a", "roce"] < 1.0


def test_an_intent_of_one_nic_asks_for_nothing() -> None:
    demands = connectivity(leaf_spine(2), {"lonely": nics("h1")})
    assert demands.keys == ()
    assert len(demands.reaches) == 1


def test_an_unknown_nic_is_named() -> None:
    with pytest.raises(KeyError, match=r"intent job: .*h9/eth0"):
        connectivity(leaf_spine(2), {"job": nics("h9")})
