"""Drains as an operator orders them, through the client library and a real server."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from controller.engine.foresight import Foresight
from controller.northbound.drains import drained_links
from heald import HealdError
from heald.v1 import fabric_pb2, fabric_pb2_grpc
from tests.northbound.harness import Served


def test_a_drain_outlives_a_restart_and_says_who_ordered_it_and_why(north: Served) -> None:
    link = north.brain.view().fabric.links[0].name
    with north.client() as client:
        client.drain([link], ["spine1"], reason="new optic")
        assert north.brain.drain_changes == 1
        north.stop()
        north.start()
        found = {d.link or d.switch: d for d in client.status().drains}
        assert set(found) == {link, "spine1"}
        assert {d.reason for d in found.values()} == {"new optic"}
        assert all(d.principal and d.time.seconds > 0 for d in found.values())
        client.undrain([link])
        assert [d.switch for d in client.status().drains] == ["spine1"]


def test_draining_again_keeps_the_first_order(north: Served) -> None:
    with north.client() as client:
        client.drain(switches=["spine1"], reason="first")
        client.drain(switches=["spine1"], reason="second")
        assert [d.reason for d in client.status().drains] == ["first"]


def test_a_drained_switch_takes_all_its_links(north: Served) -> None:
    fabric = north.brain.view().fabric
    of_spine = {x.name for x in fabric.links if "spine1" in (x.a.switch, x.b.switch)}
    assert of_spine
    assert drained_links([("switch", "spine1")], fabric) == of_spine
    assert drained_links([("link", "gone"), ("switch", "gone")], fabric) == frozenset()


def test_what_would_cut_somebody_off_is_refused_unless_forced(north: Served) -> None:
    north.brain.foresight = Foresight(0.3, 0.6, ("a",))
    spines = ["spine1", "spine2"]
    with north.client() as client:
        seen = client.drain(switches=spines, validate_only=True)
        assert (seen.effect.mlu_before, seen.effect.mlu_after) == (0.3, 0.6)
        assert list(seen.effect.cut_off) == ["leaf1 to leaf2"]
        assert list(seen.effect.degraded) == ["a"]
        with pytest.raises(HealdError) as caught:
            client.drain(switches=spines)
        assert caught.value.code == "FAILED_PRECONDITION"
        assert "leaf1 to leaf2" in str(caught.value)
        assert not client.status().drains
        assert north.brain.drain_changes == 0
        assert len(client.drain(switches=spines, force=True).drains) == 2


def test_before_any_plan_a_drain_is_guarded_all_the_same(north: Served) -> None:
    with north.client() as client:
        with pytest.raises(HealdError) as caught:
            client.drain(switches=["leaf1"])
        assert caught.value.code == "FAILED_PRECONDITION"
        assert not client.drain(switches=["spine1"]).effect.HasField("mlu_after")


def test_who_goes_away_meanwhile_leaves_store_and_memory_alike(north: Served) -> None:
    """A call that is cancelled has either changed both or neither."""
    stub = fabric_pb2_grpc.FabricServiceStub(grpc.insecure_channel(north.address))
    for delay_s in (0.0, 0.03, 0.05, 0.055, 0.06, 0.08):
        call = stub.Drain.future(fabric_pb2.DrainRequest(switches=["spine1"]))
        time.sleep(delay_s)
        call.cancel()
        with north.client() as client:
            # It comes after whatever the other has begun.
            client.drain(switches=["spine2"], validate_only=True)
            before = {d.switch for d in client.status().drains}
            north.stop()
            north.start()
        with north.client() as client:
            assert {d.switch for d in client.status().drains} == before
            if before:
                client.undrain(switches=["spine1"])


def test_two_drains_at_once_do_not_cut_off_together_what_neither_does_alone(north: Served) -> None:
    """Every link of the fabric leads to one of the two spines."""

    def drain(spine: str) -> str:
        with north.client() as client:
            try:
                client.drain(switches=[spine])
            except HealdError as error:
                return error.code
        return "drained"

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(drain, ("spine1", "spine2"))) == ["FAILED_PRECONDITION", "drained"]
    with north.client() as client:
        assert len(client.status().drains) == 1


def test_everything_that_is_wrong_is_said_at_once(north: Served) -> None:
    with north.client() as client:
        with pytest.raises(HealdError) as caught:
            client.drain(["nowhere"], ["spine9", "spine1"])
        assert [v.field for v in caught.value.violations] == ["links[0]", "switches[0]"]
        assert "did you mean 'spine" in caught.value.violations[1].description
        with pytest.raises(HealdError) as caught:
            client.drain()
        assert caught.value.violations[0].description == "name a link or a switch"
        for reason in ("two\nlines", "\x1b[31mred", "x" * 201):
            with pytest.raises(HealdError) as caught:
                client.drain(switches=["spine1"], reason=reason)
            assert [v.field for v in caught.value.violations] == ["reason"]
        with pytest.raises(HealdError) as caught:
            client.undrain(switches=["spine1"])
        assert "is not drained" in caught.value.violations[0].description
        assert not client.status().drains
