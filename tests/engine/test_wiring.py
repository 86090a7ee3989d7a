"""The engine and the cables: links that lead elsewhere are planned around, and said once."""

from __future__ import annotations

from collections import deque

import pytest

from controller.engine import commands as cmd
from controller.engine import events as ev
from controller.fabric.model import PortRef
from tests.engine.world import World, everyone, fabric

SESSION = 1


def port(text: str) -> PortRef:
    switch, number = text.split(":")
    return PortRef(switch, int(number))


class CabledWorld(World):
    """Probes that the engine sends come out where the cables lead."""

    def __init__(self) -> None:
        network = fabric()
        self.to = {arc.tail: arc.head for arc in network.arcs}
        self.coming: deque[ev.HeardFrame] = deque()
        self.probes: list[cmd.OutgoingProbe] = []
        super().__init__(network, everyone(network))
        self.connect()

    def _run(self, commands: list[cmd.Command]) -> None:
        super()._run(commands)
        for command in commands:
            if isinstance(command, cmd.SendProbes):
                for probe in command.probes:
                    self.probes.append(probe)
                    at = self.to[PortRef(probe.switch, probe.port)]
                    self.coming.append(ev.HeardFrame(at.switch, SESSION, at.port, probe.frame))

    def probe_for(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self.advance(0.05)
            self.event(ev.ProbesDue())
            frames = tuple(self.coming)
            self.coming.clear()
            self.event(ev.FramesHeard(frames))
            if round(self.now / 0.05) % 5 == 0:
                self.event(ev.Tick())

    def swap(self, one: str, other: str) -> None:
        a, b = port(one), port(other)
        ends = a, b, self.to[a], self.to[b]
        for live in (False, True):
            for end in ends:
                self.event(ev.PortChanged(end.switch, SESSION, end.port, live))
        far_a, far_b = self.to[a], self.to[b]
        self.to |= {a: far_b, far_b: a, b: far_a, far_a: b}

    def loads(self, *links: str) -> list[float]:
        plan = self.engine.plan
        assert plan is not None
        return [
            plan.load_bps.get((arc.tail.switch, arc.tail.port), 0.0)
            for arc in self.network.arcs
            if arc.link in links
        ]


@pytest.fixture
def world() -> CabledWorld:
    made = CabledWorld()
    made.probe_for(1.5)
    return made


def leads_over(world: CabledWorld, *links: str) -> set[str]:
    """Which of the links some tree of the plan leads over, by whatever weight or detour."""
    assert world.engine.plan is not None
    tails = {
        PortRef(switch, number)
        for tree in world.engine.plan.trees
        for switch, number in tree.next_port.items()
    }
    return {arc.link for arc in world.network.arcs if arc.tail in tails and arc.link in links}


WRONG = ("leaf2:11-spine1:2", "leaf2:12-spine2:2")


def warnings(world: CabledWorld, word: str) -> list[str]:
    return [text for text in world.log if word in text]


def test_a_fabric_as_declared_is_proven_and_nothing_is_said(world: CabledWorld) -> None:
    report = world.engine.wiring.report()
    assert {verdict.wired.value for _, verdict in report.links} == {"ok"}
    assert report.probed == len(world.network.arcs)
    assert not world.engine.problems()
    for state in ("miswired", "one-way", "missing"):
        assert not warnings(world, state)


def test_swapped_cables_carry_nothing_until_they_are_right_again(world: CabledWorld) -> None:
    assert all(world.loads(*WRONG))
    world.swap("leaf2:11", "leaf2:12")
    world.probe_for(4.0)
    assert not any(world.loads(*WRONG))
    assert not leads_over(world, *WRONG)
    up = world.engine.link_state.up
    assert {arc.link for arc in world.network.arcs if not up[arc.index]} == set(WRONG)
    assert "leaf2:11 and leaf2:12 look swapped" in world.engine.problems()
    assert not [p for p in world.engine.problems() if p.endswith("is down")]
    assert len(warnings(world, "look swapped")) == 1
    assert len(warnings(world, "is miswired")) == 2
    world.swap("leaf2:11", "leaf2:12")
    world.probe_for(4.0)
    assert all(world.loads(*WRONG))
    assert not world.engine.problems()
    assert len(warnings(world, "is wired as declared again")) == 2


def test_links_without_proof_keep_carrying(world: CabledWorld) -> None:
    """All probes of a spine vanish, its ports stay up."""
    for tail, head in list(world.to.items()):
        if head.switch == "spine1":
            world.to[tail] = PortRef("nowhere", 1)
    world.probe_for(6.0)
    up = world.engine.link_state.up
    assert up.all()
    assert len(warnings(world, "is one-way")) == 4
    assert len([p for p in world.engine.problems() if "is one-way" in p]) == 4


def test_forged_and_replayed_frames_are_counted_said_once_and_change_nothing(
    world: CabledWorld,
) -> None:
    real = world.probes[-1].frame
    forged = real[:-3] + bytes([real[-3] ^ 1]) + real[-2:]
    for frame in (real, forged, real, forged, b"", b"\0" * 300):
        world.event(ev.FramesHeard((ev.HeardFrame("leaf1", SESSION, 1, frame),)))
    world.event(ev.FramesHeard((ev.HeardFrame("leaf1", SESSION + 1, 1, forged),)))
    world.event(ev.FramesHeard((ev.HeardFrame("leaf1", SESSION, 999, forged),), shed=3))
    report = world.engine.wiring.report()
    counted = {(i.where, i.why.value): i.frames for i in report.ignored}
    assert counted == {
        ("leaf1:1", "replayed"): 2,
        ("leaf1:1", "forged"): 2,
        ("leaf1:1", "other LLDP"): 2,
        ("leaf1", "forged"): 1,
    }
    assert report.shed == 3
    assert len(warnings(world, "probe ignored")) == 3
    assert not report.unexpected and not world.engine.problems()
    assert world.engine.link_state.up.all()


def test_a_cable_that_the_topology_does_not_have_is_a_problem(world: CabledWorld) -> None:
    """spine1:2 leads to leaf2's access port 1, where h3 should be."""
    world.to[port("spine1:2")] = port("leaf2:1")
    world.probe_for(3.0)
    assert warnings(world, "a cable that the topology does not have") == [
        "a cable that the topology does not have: leaf2:1 is joined to spine1:2"
    ]
    assert "leaf2:1 and leaf2:11 look swapped" in world.engine.problems()
    assert not any(world.loads("leaf2:11-spine1:2"))


def test_all_cables_wrong_are_a_few_lines_of_log(world: CabledWorld) -> None:
    for arc in world.network.arcs:
        world.to[arc.tail] = arc.tail
    before = len(world.log)
    world.event(ev.FramesHeard(()))
    world.probe_for(3.0)
    assert len(warnings(world, "is miswired")) <= 11 * 20
    assert len(world.log) - before < 60
