"""The files of intents that come with Heald are right for the leaf-spines that do."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli.intent_file import read
from controller.fabric.load import load
from controller.intents.kinds import check
from controller.northbound.convert import spec_from_message

TOPOLOGIES = Path(__file__).parents[2] / "topologies"

FABRICS = sorted(TOPOLOGIES.glob("leaf-spine*.yaml"))
INTENTS = sorted(TOPOLOGIES.glob("intents/*.yaml"))


@pytest.mark.parametrize("fabric", FABRICS, ids=lambda path: path.stem)
@pytest.mark.parametrize("intents", INTENTS, ids=lambda path: path.stem)
def test_every_example_can_be_asked_for(fabric: Path, intents: Path) -> None:
    file = read(intents.name, intents.read_bytes())
    assert file.intents
    assert not file.mistakes
    network = load(fabric.read_bytes(), fabric.name)
    for message in file.intents:
        assert not check(spec_from_message(message.spec), network)
