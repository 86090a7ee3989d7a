"""What follows from which probes arrive where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.discovery.evidence import LOST_PROBES, SUPERSEDED, Evidence, Wired
from controller.discovery.probe import LIFE_S, Rejection
from controller.discovery.swaps import Cable, Swap, suspected_swaps
from controller.fabric.model import Fabric, Link, PortRef, Switch, TrafficClass

LEAVES, SPINES = ("leaf1", "leaf2", "leaf3"), ("spine1", "spine2", "spine3")


def port(text: str) -> PortRef:
    switch, number = text.split(":")
    return PortRef(switch, int(number))


def leaf_spine() -> Fabric:
    """leafL:(10 + S) is joined to spineS:L."""
    links = tuple(
        Link(f"l{leaf}s{spine}", port(f"leaf{leaf}:1{spine}"), port(f"spine{spine}:{leaf}"), 1e9, 0)
        for leaf in (1, 2, 3)
        for spine in (1, 2, 3)
    )
    switches = tuple(Switch(name, i, "leaf") for i, name in enumerate((*LEAVES, *SPINES), 1))
    classes = (TrafficClass("default", None, 0),)
    v4, v6 = IPv4Address("10.0.0.1"), IPv6Address("fd00::1")
    return Fabric("test", switches, (), links, classes, 0x0E0000000001, v4, v6)


class Cabled:
    """The fabric as it is really cabled: ``to`` says where each port leads. ``deaf`` directions
    lose all."""

    def __init__(self) -> None:
        self.fabric = leaf_spine()
        self.evidence = Evidence(self.fabric)
        self.to = {arc.tail: arc.head for arc in self.fabric.arcs}
        self.declared = dict(self.to)
        self.deaf: set[PortRef] = set()
        self.listening = {s.name for s in self.fabric.switches}
        self.now = 0.0
        for name in self.listening:
            self.evidence.connected(name, {p.port for p in self.to if p.switch == name})

    def round(self, times: int = 1) -> None:
        for _ in range(times):
            for ref in self.declared:
                self.probe(ref)
            self.now += 1.0

    def probe(self, ref: PortRef) -> int:
        nonce = self.evidence.send(ref, self.listening, self.now)
        at = self.to.get(ref)
        if at is not None and ref not in self.deaf:
            assert self.evidence.heard(nonce, at, self.now) is None
        return nonce

    def swap(self, one: str, other: str, noticed: bool = True) -> None:
        """Exchange the cables of two ports; where it is ``noticed`` they lose their carriers."""
        a, b = port(one), port(other)
        far_a, far_b = self.to.get(a), self.to.get(b)
        touched = [p for p in (a, b, far_a, far_b) if p is not None]
        for live in (False, True) if noticed else ():
            for ref in touched:
                self.evidence.port_changed(ref, live)
        for near, far in ((a, far_b), (b, far_a)):
            self.to.pop(near, None)
            if far is not None:
                self.to[near], self.to[far] = far, near

    def states(self) -> Mapping[str, Wired]:
        return {n: v.wired for n, v in self.evidence.verdicts.items() if v.wired is not Wired.OK}

    def swaps(self) -> list[str]:
        found = suspected_swaps(self.evidence.strays, self.declared, self.evidence.is_live)
        return [str(swap) for swap in found]


@pytest.fixture
def cabled() -> Cabled:
    made = Cabled()
    made.round()
    return made


def test_a_fabric_as_declared_is_proven_by_one_probe_from_each_port() -> None:
    cabled = Cabled()
    assert set(cabled.states().values()) == {Wired.UNPROVEN}
    cabled.round()
    assert not cabled.states() and not cabled.evidence.barred and not cabled.evidence.strays


@pytest.mark.parametrize(
    ("one", "other", "links", "text"),
    [
        ("leaf2:12", "leaf2:13", {"l2s2", "l2s3"}, "leaf2:12 and leaf2:13 look swapped"),
        ("spine1:2", "spine1:3", {"l2s1", "l3s1"}, "spine1:2 and spine1:3 look swapped"),
        (
            *("leaf1:11", "leaf2:12", {"l1s1", "l2s2"}),
            "leaf1:11 and leaf2:12, or spine1:1 and spine2:2, look swapped",
        ),
    ],
)
@pytest.mark.parametrize("noticed", [True, False])
def test_swapped_cables_are_named_barred_and_taken_back(
    cabled: Cabled, one: str, other: str, links: set[str], text: str, noticed: bool
) -> None:
    cabled.swap(one, other, noticed)
    cabled.round()
    assert cabled.states() == dict.fromkeys(links, Wired.MISWIRED)
    assert cabled.evidence.barred == links
    assert cabled.swaps() == [text]
    cabled.round(3 * LOST_PROBES)
    assert cabled.evidence.barred == links
    cabled.swap(one, other, noticed)
    assert cabled.evidence.barred == links, "nothing is proven yet"
    cabled.round(1 if noticed else 1 + SUPERSEDED)
    assert not cabled.states() and not cabled.evidence.barred and not cabled.swaps()


def test_three_cables_in_a_circle_are_miswired_and_no_two_are_said_to_be_swapped(
    cabled: Cabled,
) -> None:
    cabled.swap("leaf1:11", "leaf1:12")
    cabled.swap("leaf1:12", "leaf1:13")
    cabled.round()
    assert cabled.states() == dict.fromkeys(("l1s1", "l1s2", "l1s3"), Wired.MISWIRED)
    assert not cabled.swaps()
    detail = cabled.evidence.verdicts["l1s1"].detail
    assert detail == "leaf1:11 is joined to spine2:1; spine1:1 is joined to leaf1:13"


def test_a_cable_in_an_access_port_is_found(cabled: Cabled) -> None:
    """leaf1:1 has no link in the topology; leaf1:11 now has what was in it, a host that is dumb."""
    cabled.swap("leaf1:11", "leaf1:1")
    cabled.round()
    assert cabled.states() == {"l1s1": Wired.MISWIRED}
    assert cabled.evidence.strays == {Cable(port("leaf1:1"), port("spine1:1"))}
    assert cabled.swaps() == ["leaf1:1 and leaf1:11 look swapped"]
    cabled.evidence.port_changed(port("leaf1:11"), live=False)
    cabled.round()
    assert not cabled.swaps(), "nothing is in leaf1:11"


def test_one_direction_that_is_lost_is_said_and_takes_no_link_out_of_use(cabled: Cabled) -> None:
    cabled.deaf.add(port("leaf1:11"))
    cabled.round(LOST_PROBES - 1)
    assert not cabled.states(), "a few packets may be lost"
    cabled.round()
    assert cabled.states() == {"l1s1": Wired.ONE_WAY}
    verdict = cabled.evidence.verdicts["l1s1"]
    assert verdict.detail == "probes of leaf1:11 do not arrive at spine1:1"
    cabled.deaf.add(port("spine1:1"))
    cabled.round(LOST_PROBES)
    assert cabled.states() == {"l1s1": Wired.MISSING} and not cabled.evidence.barred
    cabled.deaf.clear()
    cabled.round()
    assert not cabled.states()


def test_a_loop_at_one_port_is_miswired(cabled: Cabled) -> None:
    cabled.to[port("leaf1:11")] = port("leaf1:11")
    cabled.round()
    assert cabled.evidence.verdicts["l1s1"].detail.startswith("leaf1:11 hears itself")
    assert not cabled.swaps()


def test_what_brings_probes_now_here_now_there_stays_miswired_without_a_moment_of_use(
    cabled: Cabled,
) -> None:
    for number in range(20):
        for ref in cabled.declared:
            cabled.probe(ref)
            assert cabled.evidence.barred or not number
            if ref == port("leaf1:11"):
                other = cabled.evidence.send(ref, cabled.listening, cabled.now)
                cabled.evidence.heard(other, port("leaf3:1"), cabled.now)
            assert cabled.evidence.barred <= {"l1s1"}
    assert cabled.states() == {"l1s1": Wired.MISWIRED}


def test_old_proof_ends_with_a_port_and_what_is_down_is_missing(cabled: Cabled) -> None:
    cabled.evidence.port_changed(port("leaf1:11"), live=False)
    assert cabled.states() == {"l1s1": Wired.MISSING}
    assert cabled.evidence.verdicts["l1s1"].detail == "leaf1:11 is down"
    assert not cabled.evidence.verdicts["l1s1"].alarming, "port status tells it"
    cabled.evidence.port_changed(port("leaf1:11"), live=True)
    assert cabled.states() == {"l1s1": Wired.UNPROVEN}
    cabled.round()
    assert not cabled.states()


def test_who_cannot_hear_loses_nothing(cabled: Cabled) -> None:
    """A switch without its rules, or without a session, does not make its neighbours' links bad."""
    cabled.listening.remove("spine1")
    deaf = {ref for ref, far in cabled.declared.items() if far.switch == "spine1"}
    cabled.deaf |= deaf
    cabled.round(3 * LOST_PROBES)
    assert not cabled.states()
    cabled.evidence.disconnected("spine1")
    assert cabled.states() == dict.fromkeys(("l1s1", "l2s1", "l3s1"), Wired.UNPROVEN)
    assert cabled.evidence.verdicts["l1s1"].detail == "no session with spine1"
    cabled.evidence.connected("spine1", {1, 2, 3})
    cabled.deaf -= deaf
    cabled.listening.add("spine1")
    cabled.round()
    assert not cabled.states()


def test_no_probes_at_all_are_no_evidence(cabled: Cabled) -> None:
    """A controller that is too busy to send any loses no link."""
    cabled.now += 3600.0
    cabled.probe(port("leaf1:11"))
    assert not cabled.states()


def test_a_probe_counts_once_and_only_for_a_while(cabled: Cabled) -> None:
    evidence, at = cabled.evidence, port("spine1:1")
    nonce = cabled.probe(port("leaf1:11"))
    assert evidence.heard(nonce, port("leaf3:1"), cabled.now) is Rejection.REPLAYED
    assert evidence.heard(nonce, at, cabled.now) is Rejection.REPLAYED
    late = evidence.send(port("leaf1:11"), cabled.listening, cabled.now)
    cabled.now += LIFE_S + 0.1
    assert evidence.heard(late, port("leaf3:1"), cabled.now) is Rejection.LATE
    before = evidence.send(port("leaf1:11"), cabled.listening, cabled.now)
    evidence.port_changed(port("leaf1:11"), live=False)
    evidence.port_changed(port("leaf1:11"), live=True)
    assert evidence.heard(before, port("leaf3:1"), cabled.now) is Rejection.LATE
    assert not evidence.strays and not evidence.barred


PORTS = sorted({arc.tail for arc in leaf_spine().arcs} | {port("leaf1:1"), port("leaf3:2")})


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PORTS), st.sampled_from(PORTS), st.booleans())))
def test_after_any_swaps_exactly_what_is_not_as_declared_is_barred(
    swaps: list[tuple[PortRef, PortRef, bool]],
) -> None:
    cabled = Cabled()
    cabled.round()
    for one, other, noticed in swaps:
        if one != other and cabled.to.get(one) != other:
            cabled.swap(str(one), str(other), noticed)
            cabled.round()
    cabled.round(LOST_PROBES + 1)
    wrong = set()
    for link in cabled.fabric.links:
        # A port that leads nowhere a probe is heard from proves nothing.
        heard = {cabled.to.get(link.a, link.b), cabled.to.get(link.b, link.a)}
        sources = {far for near, far in cabled.to.items() if near in (link.a, link.b)}
        if heard | sources != {link.a, link.b}:
            wrong.add(link.name)
    assert wrong <= cabled.evidence.barred
    proven = {n for n, v in cabled.evidence.verdicts.items() if v.wired is Wired.OK}
    really = {
        link.name
        for link in cabled.fabric.links
        if cabled.to.get(link.a) == link.b and cabled.to.get(link.b) == link.a
    }
    assert proven == really
    assert not proven & cabled.evidence.barred


@given(st.permutations([p for p in PORTS if p.switch.startswith("leaf") and p.port > 9]))
def test_a_suspected_swap_would_put_two_links_right(order: Collection[PortRef]) -> None:
    fabric = leaf_spine()
    leaves = sorted(order)
    peer = {arc.tail: arc.head for arc in fabric.arcs}
    now = {peer[one]: other for one, other in zip(leaves, order, strict=True)}
    strays = {Cable.between(s, leaf) for s, leaf in now.items() if peer[s] != leaf}
    for swap in suspected_swaps(strays, peer, lambda ref: True):
        mended = dict(now)
        ends = (swap.a, swap.b) if swap.a.switch in LEAVES else (peer[swap.a], peer[swap.b])
        first, second = (next(s for s, leaf in now.items() if leaf == end) for end in ends)
        mended[first], mended[second] = now[second], now[first]
        assert peer[first] == mended[first] and peer[second] == mended[second]


def test_parallel_links_name_both_sides() -> None:
    a1, a2, b1, b2 = (port(t) for t in ("a:1", "a:2", "b:1", "b:2"))
    peer = {a1: b1, b1: a1, a2: b2, b2: a2}
    crossed = {Cable(a1, b2), Cable(a2, b1)}
    assert suspected_swaps(crossed, peer, lambda _: True) == [Swap(a1, a2, (b1, b2))]
