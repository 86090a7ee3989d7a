"""Which way traffic goes and why, as its owner is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.intents.model import IntentState as S
from controller.optimizer.plan import Pin, PlacedFlow, Plan
from heald import HealdError, connectivity, intent_name, point_to_point
from heald.v1 import intents_pb2 as pb
from tests.northbound.harness import Served, make_fabric, make_links, make_plan

EGRESS = ("leaf2",)


def placed(intent: str, source: str = "h1/eth0", destination: str = "h3/eth0") -> PlacedFlow:
    return PlacedFlow(intent_name(intent), source, destination, "leaf1", 0)


def plan_with(pins: dict[PlacedFlow, Pin], refused: frozenset[str] = frozenset()) -> Plan:
    return replace(make_plan(), pins=pins, refused=refused)


def links(hops: list[pb.Hop]) -> list[str]:
    return [hop.link for hop in hops]


def test_a_flow_is_told_its_path_its_backup_and_what_is_reserved_there(north: Served) -> None:
    pins = {
        placed("a"): Pin(EGRESS, 1, 2, 40e9, "node"),
        placed("b", "h2/eth0"): Pin(EGRESS, 2, None, 25e9),
    }
    with north.client() as client:
        client.apply(
            [
                point_to_point("a", "h1/eth0", "h3", rate_bps=40e9, protection="node"),
                point_to_point("b", "h2", "h3", rate_bps=25e9),
            ]
        )
        north.brain.show(plan=plan_with(pins), plan_committed=True)
        found = client.explain("a")
    assert (found.plan, found.committed, found.intent.name) == (7, True, intent_name("a"))
    (flow,) = found.flows
    assert (flow.source, flow.destination, flow.ingress) == ("h1/eth0", "h3/eth0", "leaf1")
    assert (flow.asked_bps, flow.reserved_bps) == (40e9, 40e9)
    assert (flow.asked_protection, flow.protection) == (pb.PointToPoint.NODE, pb.PointToPoint.NODE)
    assert links(list(flow.path)) == ["leaf1-spine1", "leaf2-spine1"]
    assert links(list(flow.backup)) == ["leaf1-spine2", "leaf2-spine2"]
    first = flow.path[0]
    assert (first.switch, first.port, first.next_switch) == ("leaf1", 1, "spine1")
    assert (first.capacity_bps, first.reserved_bps, first.latency_s) == (400e9, 40e9, 5e-7)
    assert [hop.reserved_bps for hop in flow.backup] == [65e9, 65e9]
    assert flow.latency_s == flow.backup_latency_s == pytest.approx(1e-6)
    assert (flow.reason, flow.shortage) == ("", "")
    assert not found.spreads


def test_who_holds_a_full_link_is_named_with_the_cure(north: Served) -> None:
    a, b, c = (intent_name(id) for id in "abc")
    full = Pin(
        EGRESS,
        None,
        shortage="NO_CAPACITY",
        binding=("leaf1-spine1", "leaf1-spine2"),
        rivals=(a, b),
    )
    pins = {
        placed("a"): Pin(EGRESS, 1, None, 350e9),
        placed("b"): Pin(EGRESS, 2, None, 380e9),
        placed("c", "h2/eth0"): full,
    }
    with north.client() as client:
        client.apply(
            [
                point_to_point("a", "h1/eth0", "h3", priority=3),
                point_to_point("b", "h1/eth0", "h3", priority=5),
                point_to_point("c", "h2", "h3", rate_bps=60e9, priority=1),
            ]
        )
        north.brain.show(plan=plan_with(pins, frozenset({c})))
        (flow,) = client.explain("c").flows
    assert flow.reason == "InsufficientCapacity"
    assert flow.shortage == (
        "leaf1-spine2: intent b (380 Gbit/s) holds 380 Gbit/s of 400 Gbit/s; "
        "leaf1-spine1: intent a (350 Gbit/s) holds 350 Gbit/s of 400 Gbit/s; "
        "ask for at most 50 Gbit/s for this flow, or raise the priority above 3"
    )
    assert list(flow.binding) == ["leaf1-spine1", "leaf1-spine2"]
    assert list(flow.rivals) == [a, b]
    assert not flow.path


@pytest.mark.parametrize(
    ("avoid", "seen", "cure"),
    [
        ([], False, "ask for at most 50 Gbit/s"),
        (["spine1"], False, "ask for at most 20 Gbit/s"),
        (["leaf1-spine1"], False, "ask for at most 20 Gbit/s"),
        (["spine1"], True, "raise the priority above 0"),  # a link of spine2 is down
    ],
)
def test_what_could_be_had_keeps_to_what_is_avoided(
    north: Served, avoid: list[str], seen: bool, cure: str
) -> None:
    pins = {
        placed("a"): Pin(EGRESS, 1, 2, 350e9),
        placed("b", "h1/eth1"): Pin(EGRESS, 2, None, 30e9),
        placed("c", "h2/eth0"): Pin(
            EGRESS,
            None,
            shortage="NO_CAPACITY",
            binding=("leaf1-spine1", "leaf1-spine2"),
            rivals=(intent_name("a"),),
        ),
    }
    with north.client() as client:
        client.apply(
            [
                point_to_point("a", "h1/eth0", "h3"),
                point_to_point("b", "h1/eth1", "h3"),
                point_to_point("c", "h2", "h3", rate_bps=60e9, avoid=avoid),
            ]
        )
        links = make_links(make_fabric()) if seen else None
        north.brain.show(plan=plan_with(pins, frozenset({intent_name("c")})), links=links)
        (flow,) = client.explain("c").flows
    assert flow.shortage.split("; ")[-1].startswith(cure)


@pytest.mark.parametrize(
    ("pin", "reason", "words"),
    [
        (
            Pin(EGRESS, None, shortage="UNREACHABLE", binding=("leaf1-spine1",)),
            "Unroutable",
            ["leaf1-spine1 down", "repair a link"],
        ),
        (Pin(EGRESS, None, shortage="CONSTRAINED"), "Constrained", ["spine1", "include or avoid"]),
        (
            Pin(EGRESS, None, shortage="TOO_SLOW", best_latency_s=3e-6),
            "LatencyTooHigh",
            ["takes 3 us, more than 2 us", "allow more latency"],
        ),
        (
            Pin(EGRESS, 1, None, 1e9, shortage="NOT_DISJOINT", binding=("leaf1-spine1",)),
            "NotDisjoint",
            ["share no link", "all pass leaf1-spine1", "less protection"],
        ),
    ],
)
def test_every_shortage_has_its_words(
    north: Served, pin: Pin, reason: str, words: list[str]
) -> None:
    asked = point_to_point(
        "a",
        "h1/eth0",
        "h3",
        rate_bps=1e9,
        max_latency_s=2e-6,
        include=["spine1"],
        protection="link",
    )
    with north.client() as client:
        client.apply([asked])
        north.brain.show(plan=plan_with({placed("a"): pin}))
        found = client.explain("a")
    (flow,) = found.flows
    assert flow.reason == reason
    for part in words:
        assert part in flow.shortage
    # What has no path of its own goes like everything else.
    assert [s.ingress for s in found.spreads] == ([] if pin.primary else ["leaf1"])


def test_a_plan_older_than_the_intent_says_so(north: Served) -> None:
    with north.client() as client:
        client.apply([point_to_point("a", "h1/eth0", "h3")])
        assert client.explain("a").plan == 0
        north.brain.show(plan=make_plan())
        (flow,) = client.explain("a").flows
    assert "wait for the next" in flow.shortage


def test_connectivity_spreads_over_trees_by_their_weights(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("all", all=True)])
        north.brain.show(plan=make_plan(), links=make_links(make_fabric()))
        found = client.explain("all")
        only = client.explain("all", source="h1", destination="h4/eth0")
    ends = [(s.ingress, tuple(s.egress), s.traffic_class) for s in found.spreads]
    assert ends == [
        ("leaf1", ("leaf2",), "best-effort"),
        ("leaf2", ("leaf1",), "best-effort"),
    ]
    there, back = found.spreads
    assert [(way.tree, way.share) for way in there.ways] == [(2, 11 / 16), (1, 5 / 16)]
    assert links(list(there.ways[0].path)) == ["leaf1-spine2", "leaf2-spine2"]
    assert [hop.up for hop in there.ways[0].path] == [True, False]
    assert not back.ways
    assert list(only.spreads) == [there]
    assert not found.flows


def test_what_cannot_be_explained(north: Served) -> None:
    with north.client() as client:
        with pytest.raises(HealdError, match="there is no intent"):
            client.explain("none")
        client.apply([connectivity("all", all=True)])
        with pytest.raises(HealdError) as caught:
            client.explain("all", source="h9", destination="h1/eth3")
    assert [v.field for v in caught.value.violations] == ["source", "destination"]
    assert "did you mean 'h1/eth" in caught.value.violations[1].description


def test_more_flows_than_an_answer_takes_are_counted(north: Served) -> None:
    ports = list(range(1, 1301))
    pins = {placed("a")._replace(udp_source_port=port): Pin(EGRESS, 1) for port in ports}
    with north.client() as client:
        client.apply([point_to_point("a", "h1/eth0", "h3", udp_source_ports=ports)])
        north.brain.show(plan=plan_with(pins))
        found = client.explain("a")
    assert (len(found.flows), found.omitted) == (1000, 300)


def test_a_point_to_point_intent_lives_like_any_other(north: Served) -> None:
    asked = point_to_point("a", "h1/eth0", "h3", rate_bps=1e9, include=["spine1"])
    with north.client() as client:
        first = client.apply([asked]).intents[0]
        assert client.apply([asked]).intents[0] == first
        assert client.get("a").spec == asked.spec
        north.report("a", S.PLANNED, S.INSTALLING, S.ACTIVE)
        asked.spec.point_to_point.rate_bps = 2e9
        asked.etag = first.etag
        second = client.apply([asked]).intents[0]
        assert (second.generation, second.status.state) == (2, pb.PENDING)
        with pytest.raises(HealdError, match="get it and decide again"):
            client.apply([asked])
        other = client.apply([connectivity("a", hosts=["h1", "h2"])]).intents[0]
        assert other.generation == 3
        north.stop()
        north.start()
        assert client.get("a") == other


def test_wrong_point_to_point_intents_name_their_fields(north: Served) -> None:
    strange = point_to_point("b", "h1/eth0", "h3")
    strange.spec.point_to_point.protection = 9  # type: ignore[assignment]
    with north.client() as client, pytest.raises(HealdError) as caught:
        client.apply(
            [
                point_to_point("a", "h11", "h3", avoid=["spine1", "spin2"], traffic_class="gold"),
                strange,
            ],
            validate_only=True,
        )
    found = {v.field: v.description for v in caught.value.violations}
    a, b = (f"intents[{i}].spec.point_to_point" for i in (0, 1))
    assert set(found) == {
        f"{a}.source.hosts[0]",
        f"{a}.avoid[1]",
        f"{a}.traffic_class",
        f"{b}.protection",
    }
    assert "did you mean 'spine2'?" in found[f"{a}.avoid[1]"]
    assert "NONE, LINK, NODE, SRLG" in found[f"{b}.protection"]
