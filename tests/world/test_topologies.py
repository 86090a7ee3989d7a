"""Every example fabric works: emulated switches, one intent for all hosts, every pair talks."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest

from controller.fabric.load import load
from controller.intents.model import Connectivity, IntentState, Selector
from controller.openflow.model import Field
from tests.dataplane.fabrics import packet
from tests.world.probes import Probe
from tests.world.world import CONVERGE_S, World

pytestmark = pytest.mark.once

FILES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))
WANTED = {"leaf-spine", "rail-optimised", "fat-tree", "dual-plane", "torus", "dragonfly"}
WANTED |= {"two-sites", "edge"}


def test_the_examples_are_all_there() -> None:
    assert {file.stem for file in FILES} >= WANTED


@pytest.mark.timeout(300)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_host_reaches_every_other(file: Path) -> None:
    network = load(file.read_bytes(), file.name)
    world = World(network, 1, metrics=False)
    world.want({"all": Connectivity(Selector(all=True))})
    deadline = world.now + CONVERGE_S
    while not (world.is_settled() and world.statuses["all"].state is IntentState.ACTIVE):
        assert world.now < deadline, f"not at rest: {world.statuses}"
        world.step()

    to_gateway = {Field.ETH_DST: network.gateway_mac}
    probes = world.hardware.probes
    probes.follow(
        Probe(a, b, packet(a, b, version) | to_gateway)
        for a, b in permutations(network.nics, 2)
        for version in (4, 6)
    )
    strays = [str(probe) for probe in probes if not probe.arrives or probe.strays]
    assert not strays, strays[:9]
    senders = Counter(probe.source.host for probe in probes)
    assert senders.keys() == network.host_by_name.keys()
