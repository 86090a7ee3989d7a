"""Drains as an operator orders them, through the client library and a real server."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from controller.engine.foresight import Foresight
from controller.northbound.drains import DrainBook, drained_links, renamed_elements
from controller.northbound.ports import Principal
from controller.store.sqlite import SqliteStore
from heald import HealdError
from heald.v1 import fabric_pb2, fabric_pb2_grpc
from tests.dataplane import fabrics
from tests.northbound.harness import Served
from tests.world.edits import renamed


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


def test_a_drain_follows_what_it_is_of_to_a_new_name(tmp_path: Path) -> None:
    before = fabrics.leaf_spine(2, 2, 1)
    after = renamed(before, {"s0": "s1", "s1": "s0"})
    after = replace(after, links=tuple(replace(x, name=f"to-{x.name}") for x in after.links))
    names = renamed_elements(before, after)
    link = before.links[0].name

    async def rename() -> list[set[tuple[str, str]]]:
        store = await SqliteStore.open(tmp_path / "heald.db")
        book = await DrainBook.load(store, before.name)
        orders = book.with_more([("switch", "s0"), ("link", link)], "optic", Principal("me"))
        await book.replace(orders)
        await book.rename(names)
        again = await DrainBook.load(store, before.name)
        assert {d.switch or d.link for d in again.drains.values()} == {"s1", f"to-{link}"}
        await store.close()
        return [set(book.drains), set(again.drains)]

    renamed_to = {("switch", "s1"), ("link", f"to-{link}")}
    assert asyncio.run(rename()) == [renamed_to, renamed_to]
    assert len(drained_links(renamed_to, after)) == len(
        drained_links([("switch", "s0"), ("link", link)], before)
    )
