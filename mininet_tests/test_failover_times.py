"""How long switches need to move traffic away from what has died, with nobody to help them.

The controller has filled the switches and is gone. Two probes of 5 kHz run side by side over the
same links: one by Heald's rules, one by hand-made groups of two buckets. ``pytest -s`` prints what
either has lost, in milliseconds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import PathWatch, UdpFlow
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.hand_made import UDP_PORT, HandMade
from mininet_tests.running import LEAF_SPINE, connect_everyone, planned_weights, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]

RATE_PPS = 5000
REPETITIONS = 5
AT_MOST = 1.2
"""Times what the hand-made group loses."""
MORE_RETURNS = 2
"""Of 20; one was seen in a machine with other work."""
TICK_MS = 1.0
"""Packets are sent, and die, a few at a time: nothing below this can be told apart."""
QUIET_S = 0.15
"""Long enough to see what comes late."""
BFD_MS, MULTIPLIER = 100, 5


@dataclass(frozen=True)
class Pair:
    """A probe from ``source`` to ``target`` over ``spine``, and a hand-made one between their
    neighbours. ``bounce`` is the leaf that a hand-made detour takes."""

    source: str
    target: str
    by_hand: tuple[str, str]
    spine: str
    other: str
    ingress: str
    egress: str
    bounce: str


PAIRS = (
    Pair("h1", "h3", ("h2", "h4"), "spine1", "spine2", "leaf1", "leaf2", "leaf3"),
    Pair("h3", "h5", ("h4", "h6"), "spine2", "spine1", "leaf2", "leaf3", "leaf4"),
    Pair("h5", "h7", ("h6", "h8"), "spine1", "spine2", "leaf3", "leaf4", "leaf1"),
    Pair("h7", "h1", ("h8", "h2"), "spine2", "spine1", "leaf4", "leaf1", "leaf2"),
)


@dataclass(frozen=True)
class Failure:
    """``at`` is the switch that repairs, ``toward`` the one that it loses."""

    name: str
    at: str
    toward: str
    fail: Callable[[], None]
    mend: Callable[[], None]


class Net:
    """A lab whose switches have their rules, and nobody else."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def port(self, switch: str, neighbour: str) -> int:
        arcs = self.lab.fabric.arcs_from[switch]
        return next(a.tail.port for a in arcs if a.head.switch == neighbour)

    def is_live(self, switch: str, port: int) -> bool:
        text = self.lab.ovs_ofctl("dump-ports-desc", switch, str(port))
        state = re.search(r"state: +(.*)", text)
        config = re.search(r"config: +(.*)", text)
        assert state and config
        return state[1] == "LIVE" and "PORT_DOWN" not in config[1]

    def failures(self, pair: Pair) -> list[Failure]:
        lab, leaf, spine, far = self.lab, pair.ingress, pair.spine, pair.egress
        up, back = self.port(leaf, spine), self.port(spine, leaf)
        down = self.port(spine, far)
        return [
            Failure(
                "local link down",
                leaf,
                spine,
                lambda: lab.end_down(leaf, up),
                lambda: lab.end_up(leaf, up),
            ),
            Failure(
                "far end down",
                leaf,
                spine,
                lambda: lab.end_down(spine, back),
                lambda: lab.end_up(spine, back),
            ),
            Failure(
                "port disabled",
                leaf,
                spine,
                lambda: lab.port_down(leaf, up),
                lambda: lab.port_up(leaf, up),
            ),
            Failure(
                "switch killed",
                leaf,
                spine,
                lambda: lab.switch_down(spine),
                lambda: lab.switch_up(spine),
            ),
            Failure(
                "link down further on",
                spine,
                far,
                lambda: lab.end_down(spine, down),
                lambda: lab.end_up(spine, down),
            ),
        ]

    def planned_backups(self, failure: Failure) -> set[int]:
        """Ports of the repairing switch by which its groups send on what can no longer go by the
        dead one."""
        dead = self.port(failure.at, failure.toward)
        groups = {int(g["id"]): g for line in self.lab.groups(failure.at) if (g := _group(line))}
        found: set[int] = set()
        for group in groups.values():
            if group["type"] == "ff" and _first_ports(group, groups) >= {dead}:
                found |= _first_ports(group, groups, dead)
        return found - {dead}

    def path(self, switch: str, source_port: int) -> set[int]:
        """Ports by which the switch sends the flow now."""
        ports = [(switch, arc.tail.port) for arc in self.lab.fabric.arcs_from[switch]]
        seen: set[int] = set()

        def sends() -> bool:
            # On a busy machine the watch may not have its turn while it lasts.
            with PathWatch(self.lab, ports) as watch:
                time.sleep(QUIET_S)
            seen.update(port for _, port in watch.packets.get(source_port, ()))
            return bool(seen)

        wait_for(f"{switch} sends the flow", sends)
        return seen

    def source_port(self, pair: Pair) -> int:
        """Of a flow that the switches hash onto the pair's spine."""
        up = {(pair.ingress, self.port(pair.ingress, s)) for s in (pair.spine, pair.other)}
        wanted = pair.ingress, self.port(pair.ingress, pair.spine)
        found: list[int] = []

        def sent_there() -> bool:
            # With BFD a link may be out of use for a moment while its ends agree on an interval.
            with (
                PathWatch(self.lab, sorted(up)) as watch,
                UdpFlow(
                    self.lab, pair.source, pair.target, rate_pps=2000, source_ports=32, count=640
                ) as flow,
            ):
                flow.stop()
            found.extend(port for port, seen in watch.packets.items() if set(seen) == {wanted})
            return bool(found)

        wait_for(f"a flow by {pair.spine}", sent_there)
        return found[0]


def _group(line: str) -> dict[str, str] | None:
    match = re.match(r"group_id=(?P<id>\d+),type=(?P<type>\w+),?(?P<rest>.*)", line)
    return match.groupdict() if match and int(match["id"]) >> 24 == 0x48 else None


def _first_ports(
    group: dict[str, str], groups: dict[int, dict[str, str]], dead: int | None = None
) -> set[int]:
    """Where the group sends packets while ``dead`` is dead."""
    out: set[int] = set()
    for bucket in group["rest"].split("bucket=")[1:]:
        inner = re.search(r"actions=group:(\d+)", bucket)
        port = re.search(r"output:(\d+)", bucket)
        if inner:
            out |= _first_ports(groups[int(inner[1])], groups, dead)
        elif port and int(port[1]) != dead:
            out.add(int(port[1]))
        if out and group["type"] == "ff":
            break
    return out


@dataclass
class Loss:
    """Packets lost, by Heald's rules and by hand-made ones, in one failure and its mending."""

    failure: str
    began: float
    mended: float
    ended: float
    heald: int = 0
    by_hand: int = 0
    at_return: int = 0
    by_hand_at_return: int = 0


def measured(
    net: Net,
    pair: Pair,
    failures: list[Failure],
    settled: Callable[[], bool] = lambda: True,
) -> list[Loss]:
    """Each failure a few times, under both probes; the path afterwards once for each kind."""
    lab = net.lab
    source_port = net.source_port(pair)
    losses = []
    ours = UdpFlow(lab, pair.source, pair.target, rate_pps=RATE_PPS, first_source_port=source_port)
    theirs = UdpFlow(lab, *pair.by_hand, rate_pps=RATE_PPS, port=UDP_PORT)
    (last,) = lab.fabric.host_by_name[pair.target].nics[0].attachments
    (by_hand,) = lab.fabric.host_by_name[pair.by_hand[1]].nics[0].attachments
    before = lab.port_counters(pair.egress)
    with ours, theirs:
        for end in (last, by_hand):
            wait_for(
                "packets arrive",
                lambda port=end.port: (
                    lab.port_counters(pair.egress)[port].tx_packets
                    > before[port].tx_packets + RATE_PPS / 10
                ),
            )
        for failure in failures:
            port = net.port(failure.at, failure.toward)
            backups = net.planned_backups(failure)
            for repetition in range(REPETITIONS):
                began = time.time()
                failure.fail()
                wait_for(
                    f"{failure.at} has seen: {failure.name}",
                    lambda f=failure, p=port: not net.is_live(f.at, p),
                )
                time.sleep(QUIET_S)
                if repetition == 0:
                    assert net.path(failure.at, source_port) <= backups, failure
                mended = time.time()
                failure.mend()
                wait_for(
                    f"{failure.at} has seen the end of: {failure.name}",
                    lambda f=failure, p=port: net.is_live(f.at, p),
                )
                time.sleep(QUIET_S)
                wait_for("all is as before", settled, timeout_s=60)
                losses.append(Loss(failure.name, began, mended, time.time()))
    for loss in losses:
        loss.heald = _lost(ours, loss.began, loss.mended)
        loss.by_hand = _lost(theirs, loss.began, loss.mended)
        loss.at_return = _lost(ours, loss.mended, loss.ended)
        loss.by_hand_at_return = _lost(theirs, loss.mended, loss.ended)
    return losses


def _lost(flow: UdpFlow, began: float, ended: float) -> int:
    return sum(missing for when, missing in flow.received.holes if began <= when < ended)


def judge(losses: Sequence[tuple[Pair, Loss]]) -> None:
    """Prints the medians of each pair, and compares those of all: switches take up the ports that
    have died at their own pace, which scatters more than what is to be told apart."""
    kinds = list(dict.fromkeys(loss.failure for _, loss in losses))
    print(f"\nlost, in ms: medians of {REPETITIONS}, and of all pairs")
    wrong = []
    for kind in kinds:
        for pair in PAIRS:
            _said(kind, f"{pair.ingress} to {pair.egress}", _of(losses, kind, pair))
        heald, by_hand = _said(kind, "all", _of(losses, kind, None))
        if heald > AT_MOST * by_hand + TICK_MS:
            wrong.append(f"{kind}: {heald:.1f} ms, by hand {by_hand:.1f} ms")
        # Nothing, unless the machine has no time to carry packets at all.
        more = median(x.at_return - x.by_hand_at_return for x in _of(losses, kind, None))
        if _ms(more) > TICK_MS:
            wrong.append(f"{kind}: lost when traffic returned")
        ours, theirs = _returns(_of(losses, kind, None))
        if ours > theirs + MORE_RETURNS:
            wrong.append(f"{kind}: {ours} returns with loss, {theirs} by hand")
    assert not wrong, "\n".join(wrong)


def _of(losses: Sequence[tuple[Pair, Loss]], kind: str, pair: Pair | None) -> list[Loss]:
    return [loss for of, loss in losses if loss.failure == kind and pair in (of, None)]


def _returns(found: Sequence[Loss]) -> tuple[int, int]:
    """How many returns of traffic cost packets, and how many by hand."""
    ours = sum(loss.at_return > 0 for loss in found)
    return ours, sum(loss.by_hand_at_return > 0 for loss in found)


def _said(kind: str, pair: str, found: Sequence[Loss]) -> tuple[float, float]:
    heald = _ms(median(loss.heald for loss in found))
    by_hand = _ms(median(loss.by_hand for loss in found))
    worst = _ms(max(loss.heald for loss in found))
    returns, theirs = _returns(found)
    print(
        f"{kind:22} {pair:15} Heald {heald:6.1f} (worst {worst:6.1f})  by hand {by_hand:6.1f}  "
        f"returns with loss: {returns} of {len(found)}, by hand {theirs}"
    )
    return heald, by_hand


def _ms(packets: float) -> float:
    return packets / RATE_PPS * 1e3


def uses_both(lab: Lab, leaf: str) -> bool:
    """Whether each of its ingress groups has weight on either uplink: a link is out of use for a
    moment when BFD begins on it."""
    uplinks = {arc.tail.port for arc in lab.fabric.arcs_from[leaf]}
    groups = planned_weights(lab, leaf).values()
    return bool(groups) and all(weights.keys() == uplinks for weights in groups)


def prepared(lab: Lab, controller: LabController) -> Net:
    """With rules of Heald and by hand; then the controller is gone."""
    connect_everyone(controller)
    leaves = [s.name for s in lab.fabric.switches if s.role == "leaf"]
    wait_for("both spines are used", lambda: all(uses_both(lab, leaf) for leaf in leaves))
    by_hand = HandMade(lab)
    for pair in PAIRS:
        by_hand.path(*pair.by_hand, pair.spine, pair.other, pair.bounce)
    controller.stop()
    return Net(lab)


@pytest.fixture(scope="module")
def plain(start_lab: StartLab, start_controller: StartController) -> Net:
    lab = start_lab(LEAF_SPINE)
    return prepared(lab, start_controller(lab, options=["--fabric-nometrics"]))


@pytest.fixture(scope="module")
def with_bfd(
    start_lab: StartLab, start_controller: StartController, tmp_path_factory: pytest.TempPathFactory
) -> Net:
    file = tmp_path_factory.mktemp("bfd") / "leaf-spine.yaml"
    bfd = f"bfd: {{interval: {BFD_MS}ms, multiplier: {MULTIPLIER}}}"
    text = LEAF_SPINE.read_text(encoding="utf-8").replace("link: {", f"link: {{{bfd}, ", 1)
    file.write_text(text, encoding="utf-8")
    lab = start_lab(Path(file))
    controller = start_controller(lab, options=["--fabric-nometrics"])
    wait_for("BFD is up on every link", lambda: bfd_is_up(lab))
    return prepared(lab, controller)


def bfd_is_up(lab: Lab) -> bool:
    found = lab.vsctl("--columns=name", "--format=csv", "--no-headings", "find", "interface",
                      "bfd_status:state=up")  # fmt: skip
    return len(found.split()) == 2 * len(lab.fabric.links)


def is_watched(net: Net, a: str, b: str) -> bool:
    """Whether both ends have agreed on the interval: a session begins with one of a second."""
    ends = net.lab.interface(a, net.port(a, b)), net.lab.interface(b, net.port(b, a))
    daemon = f"{net.lab.run_dir}/ovs-vswitchd.ctl"
    said = [
        net.lab.exec_in_namespace(["ovs-appctl", "-t", daemon, "bfd/show", end]).stdout
        for end in ends
    ]
    return all(
        f"RX Interval: Approx {BFD_MS}ms" in text and "Forwarding: true" in text for text in said
    )


def test_switches_are_as_quick_as_hand_made_groups(plain: Net) -> None:
    losses = [
        (pair, loss) for pair in PAIRS for loss in measured(plain, pair, plain.failures(pair))
    ]
    judge(losses)


def test_links_that_die_in_silence_are_found_by_bfd(with_bfd: Net) -> None:
    lab = with_bfd.lab
    losses = []
    for pair in PAIRS:
        silent = Failure(
            "silent",
            pair.ingress,
            pair.spine,
            lambda p=pair: lab.link_silent(p.ingress, p.spine),
            lambda p=pair: lab.link_heard(p.ingress, p.spine),
        )
        losses += [
            (pair, loss)
            for loss in measured(
                with_bfd, pair, [silent], lambda p=pair: is_watched(with_bfd, p.ingress, p.spine)
            )
        ]
    judge(losses)
    found = median(_ms(loss.heald) for _, loss in losses)
    assert found < 5 * BFD_MS * MULTIPLIER
