"""Live metrics move flows: foreign load appears on a link, and weights move away from it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from controller.lab.handle import Lab
from controller.lab.session import LabController
from controller.lab.traffic import ForeignLoad, UdpFlow
from heald.v1 import fabric_pb2
from mininet_tests.conftest import StartController, StartLab
from mininet_tests.running import LEAF_SPINE, connect_everyone, planned_weights, wait_for

pytestmark = pytest.mark.lab

LINK_BPS = 50e6
FOREIGN_BPS = 0.6 * LINK_BPS
OFFERED_BPS = 22e6
"""By each of two hosts in many flows: beside 60 % foreign load, half of that does not fit."""
REACTION_S = 5.0


@pytest.fixture
def lab(start_lab: StartLab) -> Iterator[Lab]:
    lab = start_lab(LEAF_SPINE)
    yield lab
    lab.close()


def weight_of(lab: Lab, port: int) -> float:
    """Share of leaf1's buckets that lead out of this uplink."""
    groups = planned_weights(lab, "leaf1").values()
    return sum(w.get(port, 0) for w in groups) / sum(sum(w.values()) for w in groups)


def received_bps(lab: Lab, seconds: float) -> float:
    """What h5 and h7 get over a time: L2 bits per second on their access ports."""

    def total() -> int:
        return lab.port_counters("leaf3")[1].tx_bytes + lab.port_counters("leaf4")[1].tx_bytes

    began, before = time.monotonic(), total()
    wait_for("time has passed", lambda: time.monotonic() - began >= seconds, seconds + 5)
    return 8 * (total() - before) / (time.monotonic() - began)


def run(lab: Lab, controller: LabController) -> tuple[float, float, float, float]:
    """(weight before, throughput right after the load appeared, weight and throughput later)."""
    connect_everyone(controller)
    flows = [
        UdpFlow(lab, source, to, rate_bps=OFFERED_BPS, size=1400, source_ports=128)
        for source, to in (("h1", "h5"), ("h2", "h7"))
    ]
    with flows[0], flows[1]:
        # Until what is measured has replaced what was assumed.
        wait_for("traffic flows", lambda: received_bps(lab, 1.0) > OFFERED_BPS)
        received_bps(lab, 6.0)
        before = weight_of(lab, 11)
        with ForeignLoad(lab, "leaf1", 11, FOREIGN_BPS):
            began = time.monotonic()
            harmed = received_bps(lab, 1.0)
            while weight_of(lab, 11) >= before and time.monotonic() - began < REACTION_S:
                time.sleep(0.1)
            after = weight_of(lab, 11)
            received_bps(lab, 4.0)  # a second step may follow the first
            return before, harmed, after, received_bps(lab, 3.0)


def test_weights_move_away_from_foreign_load_within_five_seconds(
    lab: Lab, start_controller: StartController
) -> None:
    before, harmed, after, healed = run(lab, start_controller(lab))
    assert after < before, f"the weight on the loaded uplink stays {before:.2f}"
    assert healed > 1.05 * harmed, f"{harmed / 1e6:.1f} Mbit/s became {healed / 1e6:.1f}"


def test_a_full_link_shows_its_drops(lab: Lab, start_controller: StartController) -> None:
    """Losses happen in queues, which port counters know nothing of."""
    controller = start_controller(lab)
    connect_everyone(controller)
    with controller.client() as client, ForeignLoad(lab, "leaf1", 11, 2 * LINK_BPS):

        def load() -> fabric_pb2.LinkLoad:
            report = next(iter(client.watch_links()))
            return next(each for each in report.links if each.from_port == "leaf1:11")

        wait_for("drops are reported", lambda: load().dropped_pps > 100, timeout_s=15)
        wait_for("the link is full", lambda: load().carried_bps > 0.85 * LINK_BPS)
        wait_for("the load is foreign", lambda: load().foreign_bps > 0.8 * LINK_BPS)
        assert load().usable_bps < 0.2 * LINK_BPS


def test_without_metrics_they_stay(lab: Lab, start_controller: StartController) -> None:
    """The control: so the other test cannot pass by itself."""
    before, harmed, after, healed = run(lab, start_controller(lab, options=["--fabric-nometrics"]))
    assert after == before
    assert healed < 1.05 * harmed
