"""Point-to-point intents become flows, or problems that name every field that is wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.model import Fabric, TrafficClass
from controller.intents.demands import DemandKey, PinnedFlow, Reach
from controller.intents.expand import BESIDE_FLOWS_SHARE, demands_of
from controller.intents.kinds import check, expand
from controller.intents.model import OnShortage, PointToPoint, Protection, Selector
from tests.telemetry.fabrics import fabric

NIC_BPS = 100e9
CLASSES = (TrafficClass("storage", 26, 3), TrafficClass("rest", None, 0))


def make_fabric() -> Fabric:
    """h4 is on two leaves; h1 and h2 share one; the links to s2 are one risk."""
    made = fabric(
        ["a", "b", "c", "s1", "s2"],
        [(leaf, spine, 400e9) for leaf in "abc" for spine in ("s1", "s2")],
        {"h1": ["a"], "h2": ["a"], "h3": ["b"], "h4": ["b", "c"], "h5": ["c"]},
        CLASSES,
        NIC_BPS,
    )
    links = (replace(k, srlgs=("duct",)) if "s2" in k.name else k for k in made.links)
    return replace(made, links=tuple(links))


FABRIC = make_fabric()
HOSTS = [host.name for host in FABRIC.hosts]


def hosts(*names: str) -> Selector:
    return Selector(hosts=names)


def flows(spec: PointToPoint) -> tuple[PinnedFlow, ...]:
    assert not check(spec, FABRIC)
    return expand("job", spec, FABRIC).flows


def nic(host: str) -> str:
    return f"{host}/eth0"


def test_a_pair_is_one_flow_that_carries_all_that_was_asked() -> None:
    spec = PointToPoint(
        hosts("h1"),
        hosts("h3"),
        40e9,
        "storage",
        2e-5,
        ("s1",),
        ("duct", "a-s2-1"),
        Protection.NODE,
        priority=7,
        on_shortage=OnShortage.DEGRADE,
    )
    (flow,) = flows(spec)
    assert flow.id == ("job", nic("h1"), nic("h3"), "a", 0)
    assert flow.egress == ("b",)
    assert (flow.traffic_class, flow.rate_bps, flow.max_latency_s) == ("storage", 40e9, 2e-5)
    assert (flow.include, flow.avoid) == (("s1",), ("duct", "a-s2-1"))
    assert (flow.protection, flow.priority) == (Protection.NODE, 7)
    assert flow.on_shortage is OnShortage.DEGRADE


def test_without_a_class_it_is_that_of_unmarked_packets() -> None:
    assert {f.traffic_class for f in flows(PointToPoint(hosts("h1"), hosts("h3")))} == {"rest"}


def test_a_sender_on_two_switches_reserves_its_part_at_each() -> None:
    made = flows(PointToPoint(hosts("h4"), hosts("h1"), 10e9))
    assert [(f.id.ingress, f.rate_bps) for f in made] == [("b", 10e9), ("c", 10e9)]
    (back,) = flows(PointToPoint(hosts("h1"), hosts("h4"), 10e9))
    assert (back.id.ingress, back.egress) == ("a", ("b", "c"))


def test_the_way_back_has_the_same_source_ports() -> None:
    spec = PointToPoint(hosts("h1"), hosts("h3"), 10e9, bidirectional=True, udp_source_ports=(9, 8))
    assert [(f.id.source, f.id.destination, f.id.udp_source_port) for f in flows(spec)] == [
        (nic("h1"), nic("h3"), 8),
        (nic("h1"), nic("h3"), 9),
        (nic("h3"), nic("h1"), 8),
        (nic("h3"), nic("h1"), 9),
    ]


@given(
    st.sets(st.sampled_from(HOSTS), min_size=1),
    st.sets(st.sampled_from(HOSTS), min_size=1),
    st.booleans(),
    st.sets(st.integers(1, 65535), max_size=3),
    st.floats(0, 1e9),
)
def test_rates_add_up_to_what_was_asked_in_each_direction(
    sources: set[str], destinations: set[str], both: bool, ports: set[int], rate_bps: float
) -> None:
    spec = PointToPoint(
        hosts(*sources),
        hosts(*destinations),
        rate_bps,
        bidirectional=both,
        udp_source_ports=tuple(ports),
    )
    if sources == destinations and len(sources) == 1:
        assert [p.path for p in check(spec, FABRIC)] == ["destination"]
        assert expand("job", spec, FABRIC).reach == Reach("job", frozenset())
        return
    made = flows(spec)
    assert len({f.id for f in made}) == len(made)
    forward = {(a, b) for a in sources for b in destinations if a != b}
    wanted = forward | ({(b, a) for a, b in forward} if both else set())
    assert {(f.id.source, f.id.destination) for f in made} == {(nic(a), nic(b)) for a, b in wanted}
    assert {f.id.udp_source_port for f in made} == (ports or {0})
    by_ingress: dict[int, float] = defaultdict(float)
    for flow in made:
        attached = FABRIC.nic_by_id[flow.id.source].attachment_set
        assert flow.id.ingress in attached
        by_ingress[attached.index(flow.id.ingress)] += flow.rate_bps
    assert by_ingress[0] == pytest.approx(rate_bps * (2 if both else 1))


def test_everything_wrong_is_said_at_once_with_its_field() -> None:
    spec = PointToPoint(
        source=Selector(hosts=("h1", "h9")),
        destination=Selector(nics=("h3/eth1",)),
        rate_bps=-1.0,
        traffic_class="storag",
        max_latency_s=-1e-6,
        include=("s1", "s3", "s1"),
        avoid=("duct", "a-s1-O", "s1"),
        udp_source_ports=(0, 65536, 5, 5),
    )
    found = {p.path: p.message for p in check(spec, FABRIC)}
    assert set(found) == {
        "source.hosts[1]",
        "destination.nics[0]",
        "rate_bps",
        "traffic_class",
        "max_latency_s",
        "include[1]",
        "include[2]",
        "avoid[1]",
        "avoid[2]",
        "udp_source_ports[0]",
        "udp_source_ports[1]",
        "udp_source_ports[3]",
    }
    assert "did you mean 'storage'?" in found["traffic_class"]
    assert "no switch, link or shared risk group 's3'" in found["include[1]"]
    assert "did you mean 'a-s1-0'?" in found["avoid[1]"]
    assert "is in include, too" in found["avoid[2]"]


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_what_is_no_quantity(bad: float) -> None:
    spec = PointToPoint(hosts("h1"), hosts("h3"), rate_bps=bad, max_latency_s=bad)
    assert [p.path for p in check(spec, FABRIC)] == ["rate_bps", "max_latency_s"]


@pytest.mark.parametrize(
    ("source", "destination", "says"),
    [
        (Selector(), hosts("h1"), "source: chooses nothing; set all, hosts"),
        (hosts("h1"), hosts("h1"), "destination: is h1/eth0, as is the source"),
    ],
)
def test_two_ends_are_needed(source: Selector, destination: Selector, says: str) -> None:
    (problem,) = check(PointToPoint(source, destination), FABRIC)
    assert f"{problem.path}: {problem.message}".startswith(says)


def test_a_rate_beyond_the_nics_themselves_is_refused_unless_less_will_do() -> None:
    spec = PointToPoint(hosts("h1", "h2"), hosts("h3"), 150e9)
    (problem,) = check(spec, FABRIC)
    assert problem.path == "rate_bps"
    assert "h3/eth0 would receive 150 Gbit/s over its 100 Gbit/s" in problem.message
    assert not check(replace(spec, destination=hosts("h3", "h5")), FABRIC)
    assert not check(replace(spec, on_shortage=OnShortage.DEGRADE), FABRIC)


def test_too_many_flows_are_refused_before_they_are_made() -> None:
    spec = PointToPoint(hosts("h1"), hosts("h3"), udp_source_ports=tuple(range(1, 5000)))
    (problem,) = check(spec, FABRIC)
    assert "4999 flows" in problem.message
    assert "at most 4096" in problem.message
    assert not expand("job", spec, FABRIC).flows


def test_what_the_fabric_lost_is_said_and_the_rest_goes_on() -> None:
    spec = PointToPoint(
        hosts("h1", "h9"), hosts("h3"), 8.0, "gone", include=("s9",), avoid=("duct", "s8")
    )
    made = expand("job", spec, FABRIC)
    assert len(made.problems) == 4
    (flow,) = made.flows
    assert (flow.rate_bps, flow.traffic_class) == (8.0, "rest")
    assert (flow.include, flow.avoid) == ((), ("duct",))


def test_sources_and_destinations_talk_but_not_sources_among_themselves() -> None:
    made = expand("job", PointToPoint(hosts("h1", "h3"), hosts("h4", "h5")), FABRIC)
    demands = demands_of(FABRIC, [made.reach], made.flows)
    pairs = {(key.ingress, key.egress) for key in demands.keys}
    assert ("a", ("b", "c")) in pairs
    assert ("c", ("a",)) in pairs  # acknowledgements
    assert ("a", ("b",)) not in pairs
    assert ("b", ("a",)) in pairs  # from h4, which is on b, too
    assert ("c", ("b", "c")) not in pairs  # h5 and h4 are both destinations
    assert list(demands.flows) == sorted(made.flows, key=lambda flow: flow.id)


def test_little_is_assumed_to_go_beside_flows() -> None:
    both = Reach("pair", frozenset({nic("h1")}), frozenset({nic("h3"), nic("h5")}))
    like = Reach("all", frozenset({nic("h1"), nic("h5")}))
    demands = demands_of(FABRIC, [both, like])
    rate = dict(zip(demands.keys, demands.rate_bps, strict=True))
    assert rate[DemandKey("a", ("c",), "rest")] == NIC_BPS
    assert rate[DemandKey("a", ("b",), "rest")] == BESIDE_FLOWS_SHARE * NIC_BPS
    assert rate[DemandKey("b", ("a",), "rest")] == BESIDE_FLOWS_SHARE * NIC_BPS
