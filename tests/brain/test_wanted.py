"""What the engine is told of the intents in the book."""

from __future__ import annotations

from dataclasses import replace

from controller.brain.wanted import WantedIntents
from controller.intents.model import (
    Connectivity,
    Intent,
    IntentState,
    IntentStatus,
    PointToPoint,
    Selector,
)
from tests.telemetry.fabrics import leaf_spine

FABRIC = leaf_spine(4)
PAIR = Intent("pair", PointToPoint(Selector(hosts=("h1",)), Selector(hosts=("h2", "h9")), 8.0))
ALL = Intent("all", Connectivity(Selector(all=True)))


def test_each_kind_is_expanded_and_what_is_missing_is_said() -> None:
    wanted = WantedIntents().of({"pair": PAIR, "all": ALL}, FABRIC)
    assert wanted["all"].endpoints == set(FABRIC.nic_by_id)
    assert wanted["all"].problem is None
    pair = wanted["pair"]
    assert (pair.nics, pair.peers) == ({"h1/eth0"}, {"h2/eth0"})
    assert [flow.rate_bps for flow in pair.flows] == [8.0]
    assert "has no host 'h9'" in (pair.problem or "")


def test_what_is_being_withdrawn_is_not_wanted() -> None:
    leaving = replace(PAIR, status=IntentStatus(IntentState.WITHDRAWING, "Deleted"))
    assert WantedIntents().of({"pair": leaving}, FABRIC) == {}


def test_a_spec_is_expanded_once_on_a_fabric() -> None:
    wants = WantedIntents()
    first = wants.of({"pair": PAIR}, FABRIC)["pair"]
    again = wants.of({"pair": replace(PAIR, generation=2)}, FABRIC)["pair"]
    assert again.generation == 2
    assert again.flows is first.flows
    assert wants.of({"pair": PAIR}, leaf_spine(9))["pair"].problem is None
